"""Everything that the page says, gathered before a word is written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from bayestrim import saving
from bayestrim.agreement import eca
from bayestrim.changes import Changes, changes
from bayestrim.classifier import Classifier
from bayestrim.curve import CurvePoint
from bayestrim.errors import BayestrimError
from bayestrim.report.calculator import calculator
from bayestrim.report.curve import thinned
from bayestrim.report.estimates import losses
from bayestrim.result import Interval
from bayestrim.trimming import Trimming

Value = TypeVar("Value")

MOST_LOSSES = 60
"""Of more kept features than this, what dropping each would cost is not computed."""


@dataclass(frozen=True)
class Facts:
    """What the page says.

    Attributes
    ----------
    result
        The answer.
    title
        The heading of the page, if it has one of its own.
    curve
        What other budgets buy, by ascending cost; None if it is not known.
    baseline
        The agreement with no feature at all.
    losses
        What dropping each kept feature as well would cost, where known.
    positive
        How often the original decision is positive.
    changes
        Which decisions change; None where that is out of reach.
    calculator
        What the page needs to compute posteriors.
    fingerprint
        The SHA-256 of the classifier.
    """

    result: Trimming
    title: str
    curve: Sequence[CurvePoint] | None
    baseline: Interval | None
    losses: Mapping[str, float]
    positive: Interval | None
    changes: Changes | None
    calculator: Mapping[str, Any]
    fingerprint: str

    @property
    def classifier(self) -> Classifier:
        """The classifier that was trimmed."""
        return self.result.problem.classifier

    @property
    def here(self) -> int:
        """The point of the curve that the result is, or the last that its budget pays for."""
        assert self.curve
        within = [i for i, point in enumerate(self.curve) if point.cost <= self.result.cost + 1e-9]
        return within[-1] if within else 0


def gather(result: Trimming, curve: Iterable[CurvePoint] | None, title: str, most: int) -> Facts:
    """Return what the page says about a result.

    Parameters
    ----------
    result
        The answer.
    curve
        What other budgets buy, if known.
    title
        The heading, or an empty string.
    most
        So many changed instances and explanations are shown.
    """
    points = None if curve is None else thinned(curve)
    positive = _if_possible(lambda: eca(result.problem.classifier, [], threshold=0.0))
    return Facts(
        result,
        title,
        points or None,
        None if positive is None else _baseline(result, positive),
        _if_possible(lambda: losses(result, MOST_LOSSES)) or {},
        positive,
        _if_possible(lambda: changes(result, most)),
        calculator(result.classifier),
        fingerprint(result.problem.classifier),
    )


def _if_possible(compute: Callable[[], Value]) -> Value | None:
    """Return a value, or None where it is too large to be computed: the page then says less."""
    try:
        return compute()
    except BayestrimError:
        return None


def _baseline(result: Trimming, positive: Interval) -> Interval:
    """Return how often one would agree without observing anything: with one and the same decision each time."""
    lower, upper = 1 - positive.upper, 1 - positive.lower
    if result.problem.threshold == "keep":
        blind = result.problem.classifier.restricted([])
        return positive if blind.decide({}) else replace(positive, lower=lower, upper=upper)
    return replace(positive, lower=max(positive.lower, lower), upper=max(positive.upper, upper))


def fingerprint(classifier: Classifier) -> str:
    """Return the SHA-256 of a classifier, every bit of its tables included, by which two pages speak of the same."""
    return saving.fingerprint(saving.of_classifier(classifier))


def is_bounded(result: Trimming) -> bool:
    """Tell whether the budget is a number."""
    return not math.isinf(result.budget)
