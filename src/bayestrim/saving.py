"""Problems as plain lists and dictionaries, which saved results and checkpoints hold."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from bayestrim import classifier, continuous
from bayestrim.classifier import Classifier
from bayestrim.problem import TrimProblem


def of_problem(problem: TrimProblem) -> dict[str, Any]:
    """Return a problem as plain lists and dictionaries; an infinite budget is None."""
    return {
        "budget": finite(problem.budget),
        "costs": dict(problem.costs),
        "threshold": problem.threshold,
        "setup_costs": {name: [price, list(members)] for name, (price, members) in problem.setup_costs.items()},
        "required": list(problem.required),
        "forbidden": list(problem.forbidden),
        "max_features": problem.max_features,
        "classifier": of_classifier(problem.classifier),
    }


def of_classifier(given: Classifier) -> dict[str, Any]:
    """Return a classifier, of states or of numbers, as plain lists and dictionaries."""
    if isinstance(given, continuous.GaussianNaiveBayes):
        return continuous.document(given)
    return classifier.document(given)


def to_classifier(saved: Mapping[str, Any]) -> Classifier:
    """Return the classifier that `of_classifier` described."""
    version = saved["format"], saved["version"]
    if version == (continuous.FORMAT, continuous.VERSION):
        return continuous.from_document(saved)
    if version == (classifier.FORMAT, classifier.VERSION):
        return classifier.from_document(saved)
    raise ValueError(f"a classifier of the format {version[0]!r}, version {version[1]!r}, is not supported")


def to_problem(saved: Mapping[str, Any]) -> TrimProblem:
    """Return the problem that `of_problem` described."""
    rest = (saved[key] for key in ("costs", "threshold", "setup_costs", "required", "forbidden", "max_features"))
    budget = math.inf if saved["budget"] is None else saved["budget"]
    return TrimProblem(to_classifier(saved["classifier"]), budget, *rest)


def finite(number: float) -> float | None:
    """Return a number, or None for an infinite one, which JSON does not know."""
    return number if math.isfinite(number) else None


def fingerprint(document: object) -> str:
    """Return a digest of plain lists and dictionaries, the same wherever and however they were made.

    Examples
    --------
    >>> fingerprint({"a": 1, "b": (2,)}) == fingerprint({"b": [2], "a": 1})
    True
    """
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
