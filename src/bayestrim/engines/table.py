"""The table engine: the whole joint distribution of class and features, each cell decided once.

The paper's quantities for kept features are sums over the axes of the dropped ones: of the mass decided positive and
negative, and of each class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayestrim import ties
from bayestrim.classifier import Classifier
from bayestrim.inference import joint_table
from bayestrim.network import FloatArray
from bayestrim.result import Interval, MaxAgreement, ThresholdInterval
from bayestrim.rows import IntArray

EQUAL = 1e-12
"""Agreements closer than this count as equal: their sums are not more exact."""
EXACT_CELLS = 256
"""Up to so many instances of equal posterior have the ends of a threshold interval computed exactly."""

Posteriors = Callable[[IntArray], list[Fraction] | None]


class TableEngine:
    """Exact answers from the joint table of the class and all features.

    Parameters
    ----------
    classifier
        The classifier all questions are about.
    """

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier
        self._exact = classifier.exact_posteriors
        joint = joint_table(classifier.network, classifier.target, classifier.features, classifier.evidence_codes)
        mass = np.stack([joint[classifier.positive_states].sum(axis=0), joint[~classifier.positive_states].sum(axis=0)])
        mass /= mass.sum()
        positive, self.tie_mass, self._slack = self._decide(mass, self._exact, classifier.threshold)
        self._mass = np.stack([np.where(positive, mass, 0), np.where(positive, 0, mass)])
        """Probability by [decision, class, state of each feature…]; positive comes first on both axes."""

    @staticmethod
    def _decide(
        mass: FloatArray, exact: ties.ExactPosteriors, threshold: float
    ) -> tuple[npt.NDArray[np.bool_], float, float]:
        """Decide every cell of [class, features…]; return the decisions, the mass of the band, and what is unsettled.

        Only cells in the band need their state numbers, so only those are written out.
        """
        decided, tied = ties.decide_in_floats(mass[0], mass[1], threshold, trust_zeros=exact.trusts_zeros)
        if not tied.any():
            return decided, 0.0, 0.0
        tie_mass = float(mass[:, tied].sum())
        settled = exact.settle(np.argwhere(tied), threshold)
        decided[tied] = True if settled is None else settled
        return decided, tie_mass, tie_mass if settled is None else 0.0

    def _kept(self, features: Sequence[str]) -> FloatArray:
        """Return probability by [decision, class, state of each kept feature…]."""
        dropped = tuple(i for i, name in enumerate(self._classifier.features) if name not in features)
        kept: FloatArray = self._mass.sum(axis=tuple(axis + 2 for axis in dropped))
        return kept

    def eca(self, features: Sequence[str], threshold: float) -> Interval:
        """Return the expected agreement with the classifier that keeps the features and uses the threshold."""
        kept = self._kept(features)
        decided, _, slack = self._decide(kept.sum(axis=0), self._exact.of(features), threshold)
        by_decision = kept.sum(axis=1)
        agreement = by_decision[0][decided].sum() + by_decision[1][~decided].sum()
        return _interval(agreement, agreement, self._slack + slack)

    def mpa(self, features: Sequence[str]) -> Interval:
        """Return the maximum potential agreement of the features."""
        value = self._kept(features).sum(axis=1).max(axis=0).sum()
        return _interval(value, value, self._slack)

    def maa(self, features: Sequence[str]) -> MaxAgreement:
        """Return the best expected agreement over all thresholds (the paper's second algorithm)."""
        exact = self._exact.of(features)
        kept = self._kept(features)
        cells = np.argwhere(kept.sum(axis=(0, 1)) > 0)
        mass = kept.reshape(2, 2, -1)[:, :, (kept.sum(axis=(0, 1)) > 0).ravel()]
        best = best_cut(mass, lambda chosen: exact.posteriors(cells[chosen]), self._classifier.threshold)
        value = _interval(best.value, best.potential, self._slack)
        return MaxAgreement(value, best.thresholds, best.thresholds.pick(self._classifier.threshold))


def _interval(lower: float, upper: float, slack: float) -> Interval:
    low, high = (min(1.0, max(0.0, float(end))) for end in (lower - slack, upper + slack))
    return Interval(low, high, "exact" if low == high else "certified")


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
        Gives exact posteriors of instances by number, or None where that is out of reach.
    preferred
        Of several best intervals of thresholds, take the one that holds this; otherwise the lowest.

    Notes
    -----
    Instances sorted by posterior fall into runs whose neighbours are within the tie band. Cutting inside a run is
    possible only if its posteriors differ after all; that is found out exactly, and only for runs where such a cut
    could beat the best cut between runs.
    """
    with np.errstate(divide="ignore"):
        log_odds = np.log(mass[:, 0].sum(axis=0)) - np.log(mass[:, 1].sum(axis=0))
    order = np.argsort(log_odds, kind="stable")
    with np.errstate(invalid="ignore"):
        starts = np.concatenate([[True], np.diff(log_odds[order]) > ties.BAND])
    gain = mass[1].sum(axis=0) - mass[0].sum(axis=0)  # of deciding an instance negative
    everything_positive = float(mass[0].sum())

    agreement = _cuts(everything_positive, gain[order], starts)
    inside = _best_inside(agreement, gain[order], starts)
    potential = float(max(agreement.max(), inside.max()))
    if potential > agreement.max() + EQUAL:
        promising = np.flatnonzero(inside > agreement.max() + EQUAL)
        if _split_runs(order, starts, promising, posteriors):
            agreement = _cuts(everything_positive, gain[order], starts)
            potential = float(agreement.max())
    else:
        potential = float(agreement.max())
    ends = _Ends(order, starts, mass[:, 0].sum(axis=0), mass[:, 1].sum(axis=0), posteriors)
    return Cut(float(agreement.max()), potential, _best_stretch(agreement, ends, preferred))


def _cuts(everything_positive: float, gain: FloatArray, starts: npt.NDArray[np.bool_]) -> FloatArray:
    """Return the agreement of the cut below the first run, and after each run."""
    per_run = np.add.reduceat(gain, np.flatnonzero(starts))
    return np.concatenate([[everything_positive], everything_positive + np.cumsum(per_run)])


def _best_inside(agreement: FloatArray, gain: FloatArray, starts: npt.NDArray[np.bool_]) -> FloatArray:
    """Return for each run what a cut inside it could reach at most, were its members in the best order."""
    improving = np.add.reduceat(np.maximum(gain, 0), np.flatnonzero(starts))
    single = np.diff(np.append(np.flatnonzero(starts), len(starts))) == 1
    best: FloatArray = np.where(single, -np.inf, agreement[:-1] + improving)
    return best


def _split_runs(order: IntArray, starts: npt.NDArray[np.bool_], runs: IntArray, posteriors: Posteriors) -> bool:
    """Sort the members of some runs exactly and split the runs where posteriors differ, in place."""
    bounds = np.append(np.flatnonzero(starts), len(starts))
    for run in runs:
        inside = slice(int(bounds[run]), int(bounds[run + 1]))
        members = order[inside]
        exact = posteriors(members)
        if exact is None:
            return False
        ranked = sorted(range(len(members)), key=exact.__getitem__)
        order[inside] = members[ranked]
        starts[inside] = [True] + [exact[a] < exact[b] for a, b in pairwise(ranked)]
    return True


class _Ends(NamedTuple):
    """What is needed to say where a run's posteriors begin and end."""

    order: IntArray
    starts: npt.NDArray[np.bool_]
    positive: FloatArray
    negative: FloatArray
    posteriors: Posteriors

    def lowest(self, run: int) -> float:
        """Return a threshold at which all of a run is positive, as high as can be."""
        exact, middle = self._posteriors(run)
        return ties.float_at_most(min(exact)) if exact else float(middle.min() * (1 - 2 * ties.BAND))

    def highest(self, run: int) -> float:
        """Return the lowest number above which all thresholds make all of a run negative."""
        exact, middle = self._posteriors(run)
        return ties.float_at_least(max(exact)) if exact else min(1.0, float(middle.max() * (1 + 2 * ties.BAND)))

    def _posteriors(self, run: int) -> tuple[list[Fraction] | None, FloatArray]:
        bounds = np.append(np.flatnonzero(self.starts), len(self.starts))
        members = self.order[bounds[run] : bounds[run + 1]]
        exact = self.posteriors(members) if len(members) <= EXACT_CELLS else None
        return exact, self.positive[members] / (self.positive[members] + self.negative[members])


def _best_stretch(agreement: FloatArray, ends: _Ends, preferred: float) -> ThresholdInterval:
    """Return the interval of thresholds of the best cuts: the one that holds the preferred, or the lowest."""
    good = np.flatnonzero(agreement >= agreement.max() - EQUAL)
    stretches = np.split(good, np.flatnonzero(np.diff(good) > 1) + 1)
    last = len(agreement) - 1

    def thresholds(stretch: IntArray) -> ThresholdInterval:
        first_cut, last_cut = int(stretch[0]), int(stretch[-1])
        low = -np.inf if first_cut == 0 else ends.highest(first_cut - 1)
        high = np.inf if last_cut == last else ends.lowest(last_cut)
        return ThresholdInterval(float(low), float(high))

    intervals = (thresholds(stretch) for stretch in stretches)
    first = next(intervals)
    if preferred in first:
        return first
    return next((interval for interval in intervals if preferred in interval), first)
