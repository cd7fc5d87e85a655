"""Exact confidence limits of a share that was counted in a sample (Clopper and Pearson's)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

BISECTIONS = 60
"""Halvings of an interval of length 1 until its ends are neighbours."""


def clopper_pearson(hits: int, trials: int, confidence: float) -> tuple[float, float]:
    """Return limits that hold the true share at least as often as the confidence says.

    Parameters
    ----------
    hits, trials
        How many of how many independent trials came out right.
    confidence
        Between 0 and 1; half of the doubt goes to either side.

    Examples
    --------
    >>> [round(limit, 6) for limit in clopper_pearson(8, 10, 0.95)]
    [0.443905, 0.974789]
    """
    doubt = (1 - confidence) / 2
    logs = np.cumsum(np.concatenate([[0.0], np.log(np.arange(1, trials + 1))]))
    counts = np.arange(trials + 1)
    ways = logs[-1] - logs - logs[::-1]

    def chance(share: float, first: int, last: int) -> float:
        """Return the probability of first to last hits."""
        inside = slice(first, last + 1)
        terms = ways[inside] + counts[inside] * math.log(share) + (trials - counts[inside]) * math.log1p(-share)
        return float(np.exp(terms).sum())

    low = _root(lambda share: chance(share, hits, trials) - doubt) if hits > 0 else 0.0
    high = _root(lambda share: doubt - chance(share, 0, hits)) if hits < trials else 1.0
    return low, high


def _root(increasing: Callable[[float], float]) -> float:
    """Return where an increasing function of a share changes its sign."""
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if increasing(middle) > 0 else (middle, high)
    return (low + high) / 2
