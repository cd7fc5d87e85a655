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


def best_cut(mass: FloatArray, posteriors: Posteriors, preferred: float) -> Cut:
    """Find the threshold of highest agreement, never separating instances of equal posterior.

    Parameters
    ----------
    mass
        Probability by [decision, class, instance], positive first; every instance has some.
    posteriors
        Gives exact posteriors of instances by number, None where that is out of reach.
    preferred
        Of several best intervals of thresholds, take the one that holds this; otherwise the lowest.

    Notes
    -----
    Instances sorted by posterior fall into runs whose neighbours are within the tie band. Cutting inside a run is
    possible only if its posteriors differ after all; that is found out exactly, and only for runs where such a cut
    could beat the best cut between runs. Posteriors so close that no float lies between them cannot be cut apart
    either.
    """
    runs = _Runs(mass, posteriors)
    agreement = runs.agreement()
    inside = runs.best_inside(agreement)
    promising = np.flatnonzero(inside > agreement.max() + EQUAL).tolist()
    unresolved = max((float(inside[run]) for run in promising if not runs.split(run)), default=0.0)
    if promising:
        runs.renumber()
        agreement = runs.agreement()
    while True:
        value = float(agreement.max())
        good = np.flatnonzero(agreement >= value - EQUAL)
        thresholds = _thresholds(good, runs, preferred)
        if thresholds is not None:
            return Cut(value, max(value, unresolved), thresholds)
        agreement[good] = -np.inf


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

    Cut number k decides the first k runs negative and the others positive.
    """

    def __init__(self, mass: FloatArray, posteriors: Posteriors) -> None:
        self._posteriors = posteriors
        self._gain = mass[1].sum(axis=0) - mass[0].sum(axis=0)  # of deciding an instance negative
        self._everything_positive = float(mass[0].sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            self._log_odds = np.log(mass[:, 0].sum(axis=0)) - np.log(mass[:, 1].sum(axis=0))
            self._order = np.argsort(self._log_odds, kind="stable")
            gaps = np.diff(self._log_odds[self._order])  # infinity minus infinity is no gap
        self._starts: npt.NDArray[np.bool_] = np.concatenate([[True], gaps > ties.BAND])
        self.renumber()

    def renumber(self) -> None:
        """Count the runs anew after some were split."""
        self._bounds = np.append(np.flatnonzero(self._starts), len(self._starts))

    def _members(self, run: int) -> slice:
        return slice(int(self._bounds[run]), int(self._bounds[run + 1]))

    def agreement(self) -> FloatArray:
        """Return the agreement of each cut; sums of many terms are carried in extended precision."""
        per_run = np.add.reduceat(self._gain[self._order], self._bounds[:-1])
        changes = np.cumsum(per_run, dtype=np.longdouble).astype(np.float64)
        return np.concatenate([[self._everything_positive], self._everything_positive + changes])

    def best_inside(self, agreement: FloatArray) -> FloatArray:
        """Return for each run what a cut inside it could reach at most, were its members in the best order."""
        improving = np.add.reduceat(np.maximum(self._gain[self._order], 0), self._bounds[:-1])
        return np.where(np.diff(self._bounds) == 1, -np.inf, agreement[:-1] + improving)

    def split(self, run: int) -> bool:
        """Sort a run exactly and split it where posteriors differ; return whether that was in reach."""
        members = self._order[self._members(run)]
        exact = [posterior for posterior in self._posteriors(members) if posterior is not None]
        if len(exact) < len(members):
            return False
        ranked = sorted(range(len(members)), key=exact.__getitem__)
        self._order[self._members(run)] = members[ranked]
        self._starts[self._members(run)] = [True, *(exact[a] < exact[b] for a, b in pairwise(ranked))]
        return True

    def below(self, cut: int) -> float:
        """Return the largest float at which something below the cut is still positive; minus infinity if nothing is."""
        if cut == 0:
            return -math.inf
        exact, log_odds = self._ends(cut - 1)
        return ties.float_at_most(max(exact)) if exact else _probability(log_odds.max() + ties.BAND / 4)

    def above(self, cut: int) -> float:
        """Return the largest float at which everything above the cut is positive; infinity if there is nothing."""
        if cut == len(self._bounds) - 1:
            return math.inf
        exact, log_odds = self._ends(cut)
        return ties.float_at_most(min(exact)) if exact else _probability(log_odds.min() - ties.BAND / 4)

    def _ends(self, run: int) -> tuple[list[Fraction], FloatArray]:
        """Return the exact posteriors of a run, where they are worth having and in reach, and its log-odds."""
        members = self._order[self._members(run)]
        log_odds = self._log_odds[members]
        exact: list[Fraction | None] = [None]
        if len(members) <= EXACT_MEMBERS or log_odds.max() > CROWDED:
            exact = self._posteriors(members)
        known = [posterior for posterior in exact if posterior is not None]
        return (known if len(known) == len(members) else []), log_odds


def _probability(log_odds: float) -> float:
    """Return the probability of some log-odds, without overflow."""
    odds = math.exp(-abs(log_odds))
    return 1 / (1 + odds) if log_odds > 0 else odds / (1 + odds)
