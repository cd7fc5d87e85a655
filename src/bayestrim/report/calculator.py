"""What the page needs to compute posteriors itself: the trimmed classifier's tables, or all answers in a list.

The page sums out what is not observed, as `inference` does: every table in the decimals it was given, and an order of
elimination. Where that is too much for a page but the kept features have few instances, the page gets the posterior
and the decision of each instead, with "not observed" as one more state of each feature.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from bayestrim.classifier import Classifier
from bayestrim.continuous import GaussianNaiveBayes
from bayestrim.elimination import plan_elimination
from bayestrim.errors import BayestrimError
from bayestrim.network import BayesianNetwork

MOST_NUMBERS = 4_000
"""A page carries so many entries of tables at most: some 80 kB."""
MOST_CELLS = 1 << 18
"""The largest product of tables that the page makes: a blink."""
MOST_ANSWERS = 3_000
"""A page carries so many posteriors at most: some 60 kB."""


def calculator(trimmed: Classifier) -> dict[str, Any]:
    """Return what the page's calculator needs, or why there is none.

    Returns
    -------
    dict
        ``kind`` is ``"tables"``, ``"answers"``, ``"odds"`` (of measurements) or ``"none"``. Variables are numbered;
        numbers of tables stand in the decimals they were given. None of it needs more than JSON.
    """
    if isinstance(trimmed, GaussianNaiveBayes):
        return _odds(trimmed)
    inputs = [{"name": v.name, "states": v.states, "cuts": v.cuts} for v in trimmed.feature_variables]
    return {"inputs": inputs, "threshold": trimmed.threshold, **(_tables(trimmed) or _answers(trimmed) or _none())}


def _odds(trimmed: GaussianNaiveBayes) -> dict[str, Any]:
    """Return what each feature's log-odds are computed from; they add up."""
    inputs, parts = [], []
    for part in trimmed.parts:
        inputs.append({"name": part.name, "states": getattr(part, "states", None), "cuts": None})
        parts.append({"positive": part.positive, "negative": part.negative})
    return {"inputs": inputs, "threshold": trimmed.threshold, "kind": "odds", "prior": trimmed.prior, "parts": parts}


def _tables(trimmed: Classifier) -> dict[str, Any] | None:
    network = _relevant(trimmed)
    if sum(network.table(name).size for name in network.names) > MOST_NUMBERS:
        return None
    number = {name: i for i, name in enumerate(network.names)}
    scopes = [[number[member] for member in (*network.parents(name), name)] for name in network.names]
    sizes = {number[name]: len(network.states(name)) for name in network.names}
    plan = plan_elimination(scopes, sizes, [number[trimmed.target]])
    if plan.widest > MOST_CELLS:
        return None
    return {
        "kind": "tables",
        "sizes": list(sizes.values()),
        "tables": [
            {"scope": scope, "values": network.table(name).ravel().tolist()}
            for name, scope in zip(network.names, scopes, strict=True)
        ],
        "order": list(plan.order),
        "target": number[trimmed.target],
        "positive": [int(i) for i in np.flatnonzero(trimmed.positive_states)],
        "features": [number[name] for name in trimmed.features],
        "evidence": {str(number[name]): code for name, code in trimmed.evidence_codes.items()},
    }


def _relevant(trimmed: Classifier) -> BayesianNetwork:
    return trimmed.network.ancestral([trimmed.target, *trimmed.features, *trimmed.evidence])


def _answers(trimmed: Classifier) -> dict[str, Any] | None:
    sizes = [len(variable) for variable in trimmed.feature_variables]
    if math.prod(size + 1 for size in sizes) > MOST_ANSWERS:
        return None
    rows = list(itertools.product(*([*range(size), -1] for size in sizes)))
    codes = np.array(rows, dtype=np.int64).reshape(len(rows), len(sizes))
    try:
        posteriors = np.asarray(trimmed.posterior(codes, impossible="nan"))
        possible = ~np.isnan(posteriors)
        decisions = np.zeros(len(codes), dtype=bool)
        decisions[possible] = trimmed.decide(codes[possible])
    except BayestrimError:  # an instance that is too large to be computed
        return None
    return {
        "kind": "answers",
        "posteriors": [float(p) if ok else None for p, ok in zip(posteriors, possible, strict=True)],
        "decisions": "".join("01"[int(decision)] for decision in decisions),
    }


def _none() -> dict[str, Any]:
    reason = (
        f"The trimmed classifier has more than {MOST_NUMBERS:,} probabilities and its kept features more than "
        f"{MOST_ANSWERS:,} combinations: too much for a page. Use it in Python, or with “bayestrim predict”."
    )
    return {"kind": "none", "reason": reason}
