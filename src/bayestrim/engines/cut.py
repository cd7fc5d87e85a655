"""The best threshold: where to cut instances that are sorted by posterior (the paper's second algorithm)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayestrim import ties
from bayestrim.network import FloatArray
from bayestrim.result import ThresholdInterval
from bayestrim.rows import IntArray

EQUAL = 1e-12
"""Agreements closer than this count as equal: their sums are not more exact."""
EXACT_MEMBERS = 256
"""Up to so many instances of equal posterior have the ends of a threshold interval computed exactly."""
CROWDED = 15.0
"""Log-odds from which floats below 1 are so far apart that the ends are always computed exactly."""

Posteriors = Callable[[IntArray], list[Fraction | None]]


class Cut(NamedTuple):
    """The best cut of instances sorted by posterior.

    Attributes
    ----------
    value
        The agreement it reaches.
    potential
        What no cut exceeds; more than `value` only where nearly equal posteriors could not be told apart.
    thresholds
        The thresholds that make this cut, or cuts equally good beside it.
    """

    value: float
    potential: float
    thresholds: ThresholdInterval


def best_cut(mass: FloatArray, posteriors: Posteriors, preferred: float, band: float = ties.BAND) -> Cut:
    """Find the threshold of highest agreement for instances with their probability by [decision, class, instance].

    Positive comes first on both axes, and every instance has some probability; the rest is as in `cut_sides`.
    """
    return cut_sides(mass.sum(axis=0), mass.sum(axis=1), posteriors, preferred, band)


def cut_sides(
    sides: FloatArray, decided: FloatArray, posteriors: Posteriors, preferred: float, band: float = ties.BAND
) -> Cut:
    """Find the threshold of highest agreement, never separating instances of equal posterior.

    Parameters
    ----------
    sides
        Probability by [class, instance], positive first; every instance has some.
    decided
        The same probability by [decision, instance].
    posteriors
        Gives exact posteriors of instances by number, None where that is out of reach.
    preferred
        Of several best intervals of thresholds, take the one that holds this; otherwise the lowest.
    band
        Log-odds this near to each other may be equal.

    Notes
    -----
    Instances sorted by posterior fall into runs whose neighbours are within the tie band. Cutting inside a run is
    possible only if its posteriors differ after all; that is found out exactly, and only where such a cut could beat
    the best cut between runs, or where the preferred threshold may be one. Posteriors so close that no float lies
    between them cannot be cut apart either.
    """
    runs = _Runs(sides, decided, posteriors, band)
    runs.split(runs.around(preferred))
    while True:
        agreement = runs.agreement()
        value = float(agreement.max())
        inside = runs.best_inside()
        if runs.split(np.flatnonzero(inside > value + EQUAL)):
            continue
        good = np.flatnonzero(agreement >= value - EQUAL)
        thresholds = _thresholds(good, runs, preferred)
        if thresholds is not None:
            missed = max(float(inside.max()), runs.lost)
            return Cut(value, missed if missed > value + EQUAL else value, thresholds)
        runs.discard(good, value)


def _thresholds(good: IntArray, runs: _Runs, preferred: float) -> ThresholdInterval | None:
    """Return the thresholds that make one of the good cuts, or None where no float does."""
    stretches = np.split(good, np.flatnonzero(np.diff(good) > 1) + 1)
    intervals = (ThresholdInterval(runs.below(int(stretch[0])), runs.above(int(stretch[-1]))) for stretch in stretches)
    first = None
    for interval in intervals:
        if preferred in interval:
            return interval
        if first is None and interval.low < interval.high:
            first = interval
    return first


class _Runs:
    """Instances sorted by posterior, in runs of posteriors that are not told apart.

    Cut number k decides the first k runs negative and the others positive. What is known of a run or cut is kept by
    the position of its first member in the sorted order, which splitting does not change.

    Attributes
    ----------
    lost
        The agreement of cuts that were discarded although a float may make them: their ends were not known exactly.
    """

    def __init__(self, sides: FloatArray, decided: FloatArray, posteriors: Posteriors, band: float) -> None:
        self.lost = -math.inf
        self._posteriors = posteriors
        self._band = band
        self._gain = decided[1] - decided[0]  # of deciding an instance negative
        self._everything_positive = float(decided[0].sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            self._log_odds = np.log(sides[0]) - np.log(sides[1])
            self._order = np.argsort(self._log_odds, kind="stable")
            gaps = np.diff(self._log_odds[self._order])  # infinity minus infinity is no gap
        positions = len(self._order) + 1
        self._starts: npt.NDArray[np.bool_] = np.concatenate([[True], gaps > band])
        self._equal = np.zeros(positions, dtype=bool)  # all posteriors of the run are equal
        self._tried = np.zeros(positions, dtype=bool)  # the run was compared exactly, or that was out of reach
        self._unmade = np.zeros(positions, dtype=bool)  # no float makes the cut
        self._guessed = False
        self._renumber()

    def _renumber(self) -> None:
        self._bounds = np.append(np.flatnonzero(self._starts), len(self._starts))
        self._equal[self._bounds[:-1][np.diff(self._bounds) == 1]] = True

    def _members(self, run: int) -> slice:
        return slice(int(self._bounds[run]), int(self._bounds[run + 1]))

    def _every_cut(self) -> FloatArray:
        """Return the agreement of each cut; sums of many terms are carried in extended precision."""
        per_run = np.add.reduceat(self._gain[self._order], self._bounds[:-1])
        changes = np.cumsum(per_run, dtype=np.longdouble).astype(np.float64)
        return np.concatenate([[self._everything_positive], self._everything_positive + changes])

    def agreement(self) -> FloatArray:
        """Return the agreement of each cut, minus infinity for those discarded."""
        return np.where(self._unmade[self._bounds], -np.inf, self._every_cut())

    def best_inside(self) -> FloatArray:
        """Return for each run what a cut inside it could reach at most, were its members in the best order."""
        improving = np.add.reduceat(np.maximum(self._gain[self._order], 0), self._bounds[:-1])
        return np.where(self._equal[self._bounds[:-1]], -np.inf, self._every_cut()[:-1] + improving)

    def around(self, threshold: float) -> IntArray:
        """Return the runs, of at most `EXACT_MEMBERS`, among whose posteriors a threshold may lie."""
        if not 0 < threshold < 1:
            return np.empty(0, dtype=np.int64)
        limit = ties.as_written(threshold)
        at = math.log(limit / (1 - limit))
        sorted_odds = self._log_odds[self._order]
        first, last = sorted_odds[self._bounds[:-1]], sorted_odds[self._bounds[1:] - 1]
        near = (first <= at + self._band) & (at - self._band <= last)
        return np.flatnonzero(near & (np.diff(self._bounds) <= EXACT_MEMBERS))

    def split(self, runs: IntArray) -> bool:
        """Compare runs exactly and split them where posteriors differ; return whether any had not been tried yet."""
        starts = self._bounds[runs]
        fresh = runs[~(self._tried[starts] | self._equal[starts])].tolist()
        for run in fresh:
            self._split(self._members(run))
        self._renumber()
        return bool(fresh)

    def _split(self, inside: slice) -> None:
        self._tried[inside.start] = True
        members = self._order[inside]
        exact = [posterior for posterior in self._posteriors(members) if posterior is not None]
        if len(exact) < len(members):
            return
        ranked = sorted(range(len(members)), key=exact.__getitem__)
        self._order[inside] = members[ranked]
        self._starts[inside] = [True, *(exact[a] < exact[b] for a, b in pairwise(ranked))]
        self._equal[inside] = True

    def discard(self, cuts: IntArray, value: float) -> None:
        """Pass over cuts that no float makes; where ends were not known exactly, remember what may have been lost."""
        self._unmade[self._bounds[cuts]] = True
        if self._guessed:
            self.lost = max(self.lost, value)

    def below(self, cut: int) -> float:
        """Return the largest float at which something below the cut is still positive; minus infinity if nothing is."""
        if cut == 0:
            return -math.inf
        exact, log_odds = self._ends(cut - 1)
        return ties.float_at_most(max(exact)) if exact else _probability(log_odds.max() + self._band / 4, math.inf)

    def above(self, cut: int) -> float:
        """Return the largest float at which everything above the cut is positive; infinity if there is nothing."""
        if cut == len(self._bounds) - 1:
            return math.inf
        exact, log_odds = self._ends(cut)
        return ties.float_at_most(min(exact)) if exact else _probability(log_odds.min() - self._band / 4, -math.inf)

    def _ends(self, run: int) -> tuple[list[Fraction], FloatArray]:
        """Return the exact posteriors of a run, where they are worth having and in reach, and its log-odds."""
        members = self._order[self._members(run)]
        log_odds = self._log_odds[members]
        exact: list[Fraction | None] = [None]
        if len(members) <= EXACT_MEMBERS or log_odds.max() > CROWDED:
            exact = self._posteriors(members)
        known = [posterior for posterior in exact if posterior is not None]
        if len(known) < len(members):
            self._guessed = True
            known = []
        return known, log_odds


def _probability(log_odds: float, towards: float) -> float:
    """Return a float that is surely on one side of the probability of some log-odds: two steps beyond the nearest."""
    odds = math.exp(-abs(log_odds))
    nearest = 1 / (1 + odds) if log_odds > 0 else odds / (1 + odds)
    return min(1.0, max(0.0, math.nextafter(math.nextafter(nearest, towards), towards)))
