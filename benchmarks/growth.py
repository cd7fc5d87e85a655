"""What the study of growth notes about each search, and the growth that is fitted to it."""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple

import numpy as np

SECONDS = 60.0
"""How long each search may take."""
FITTED = 30
"""Growth is fitted from this number of features on: with fewer, most evaluations go into the beginning."""


class Found(NamedTuple):
    """A line of the results: which instance, and what its search came to."""

    family: str
    value: float
    features: int
    seed: int
    nodes: int
    evaluations: int
    seconds: float
    gap_after_10_s: float
    gap_after_60_s: float

    @property
    def proved(self) -> bool:
        """Tell whether the optimum was proved."""
        return self.gap_after_60_s == 0

    @property
    def ended(self) -> bool:
        """Tell whether the whole tree was searched: proved, or with candidates that no lattice told apart."""
        return self.seconds < SECONDS


class Growth(NamedTuple):
    """How evaluations grow with the number of features, and how many are made in a second.

    Attributes
    ----------
    sizes
        The numbers of features that it was fitted to.
    factor
        How many times as many evaluations each feature more takes.
    start
        The logarithm of the evaluations at no feature, going by the fit.
    rate
        Evaluations in a second, at the largest of the sizes.
    """

    sizes: tuple[int, ...]
    factor: float
    start: float
    rate: float

    def reach(self, seconds: float) -> float:
        """Return the number of features whose search takes so long."""
        return (math.log(seconds * self.rate) - self.start) / math.log(self.factor)

    def seconds(self, size: float) -> float:
        """Return how long the search of so many features takes."""
        return math.exp(self.start + size * math.log(self.factor)) / self.rate


def growth(found: list[Found], family: str) -> Growth | None:
    """Fit a family's medians, up to the first size of which a search did not end; None for less than three sizes."""
    medians: dict[int, tuple[float, float]] = {}
    for size in sorted({one.features for one in found if one.family == family and one.features >= FITTED}):
        some = [one for one in found if (one.family, one.features) == (family, size)]
        if not all(one.ended for one in some):
            break
        work = statistics.median(one.evaluations for one in some)
        medians[size] = work, statistics.median(one.evaluations / one.seconds for one in some)
    if len(medians) < 3:
        return None
    slope, start = np.polyfit(list(medians), np.log([work for work, _ in medians.values()]), 1)
    return Growth(tuple(medians), math.exp(slope), float(start), medians[max(medians)][1])
