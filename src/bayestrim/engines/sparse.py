"""The sparse engine: only the most probable instances are listed; what is left out is carried as certified slack.

Features are taken one after the other. What was seen so far is extended by each state of the next feature, with exact
probabilities; impossible instances never appear, and where there are too many the least probable are dropped. The
listed instances are decided exactly. All others together have a known probability, the rest, and may do as they please:
sums over the listed instances are lower bounds, and with the rest upper bounds. Without a rest everything is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from bayestrim import ties
from bayestrim.classifier import Classifier
from bayestrim.engines.cut import cut_sides
from bayestrim.engines.relevance import sorted_out
from bayestrim.errors import ImpossibleEvidenceError, TooLargeError
from bayestrim.inference import ClassMasses, joint_table
from bayestrim.network import FloatArray
from bayestrim.result import Interval, MaxAgreement, ThresholdInterval
from bayestrim.rows import IntArray, distinct

BoolArray = npt.NDArray[np.bool_]

LISTED = 1 << 16
"""The most instances that are listed, if it is not said how many."""
HEAD = 1 << 22
"""The first features are looked at together, as one table of at most so many cells."""
MOST_TABLED = 1 << 16
"""Up to so many instances of a subset, their posteriors are read from a table."""
MOST_WORK = 1 << 36
"""Networks on which the listed instances take more multiplications than this are refused."""
ROUNDING = 1e-10
"""How wrong the sum of the probabilities of all listed instances may be: they are products along the features."""


@dataclass(frozen=True)
class Cells:
    """Listed instances of some features.

    Attributes
    ----------
    features, sizes
        The features, and how many states each has.
    codes
        State numbers [instances, features].
    positive, negative
        Pr(positive, instance) and Pr(negative, instance), as far as instances of the original features are listed.
    agreeing
        The probability that the instance comes with a positive decision of the original classifier.
    rest
        The probability of all that is not listed, at most; 0 where everything is.
    """

    features: tuple[str, ...]
    sizes: tuple[int, ...]
    codes: IntArray
    positive: FloatArray
    negative: FloatArray
    agreeing: FloatArray
    rest: float

    def __len__(self) -> int:
        """Return how many instances are listed."""
        return len(self.codes)

    def keeping(self, features: Iterable[str]) -> Cells:
        """Return the same for some of the features."""
        wanted = set(features)
        columns = [i for i, name in enumerate(self.features) if name in wanted]
        if len(columns) == len(self.features):
            return self
        codes, which = distinct(self.codes[:, columns])
        names, sizes = tuple(self.features[i] for i in columns), tuple(self.sizes[i] for i in columns)

        def sums(side: FloatArray) -> FloatArray:
            return np.bincount(which, side, len(codes)).astype(float)

        return Cells(names, sizes, codes, sums(self.positive), sums(self.negative), sums(self.agreeing), self.rest)

    @property
    def opposing(self) -> FloatArray:
        """The probability that the instance comes with a negative decision of the original classifier."""
        return np.maximum(self.positive + self.negative - self.agreeing, 0.0)

    @property
    def loss(self) -> float:
        """What even the best decision for each instance gets wrong of what is listed."""
        return float(np.minimum(self.agreeing, self.opposing).sum())

    @property
    def potential(self) -> float:
        """What the best decision for each instance gets right of what is listed."""
        return float(np.maximum(self.agreeing, self.opposing).sum())


class SparseEngine:
    """Exact or certified answers from the most probable instances of all features.

    Parameters
    ----------
    classifier
        The classifier all questions are about.
    most
        How many instances are listed at most.
    memory
        The bytes allowed for the table of the first features, by default half of what is free.
    irrelevant
        Features that are known not to matter.
    """

    name = "sparse"

    def __init__(
        self,
        classifier: Classifier,
        most: int | None = None,
        memory: int | None = None,
        irrelevant: Sequence[str] = (),
    ) -> None:
        # It must not hold the classifier itself, whose life bounds its own (see `engine_for`): a copy is held instead.
        self.features, self.irrelevant = sorted_out(classifier, irrelevant)
        self._classifier = classifier.restricted(self.features)
        self._exact = self._classifier.exact_posteriors
        codes, mass, share, complete = _Listing(self._classifier, most or LISTED, memory).run()
        positive, negative = share * mass
        decided, sure, near = _decide(self._exact, positive, negative, codes, classifier.threshold)
        self.tie_mass = float(mass[near].sum())
        rest = 0.0 if complete and sure.all() else max(0.0, 1 - math.fsum(mass[sure])) + ROUNDING
        if not sure.any():
            raise TooLargeError("no instance can be decided exactly; give Classifier fewer features")
        sizes = tuple(len(variable) for variable in self._classifier.feature_variables)
        agreeing = np.where(decided, positive + negative, 0.0)
        self.cells = Cells(self.features, sizes, codes[sure], positive[sure], negative[sure], agreeing[sure], rest)

    @property
    def rest(self) -> float:
        """The probability of all instances that are not listed, at most."""
        return self.cells.rest

    def _interval(self, lower: float, upper: float) -> Interval:
        """Return what is known of an agreement from that of the listed instances."""
        if lower == upper and not self.rest:
            return Interval(min(1.0, lower), min(1.0, lower))
        slack = ROUNDING if self.rest else 0.0
        return Interval(max(0.0, lower - slack), min(1.0, upper + self.rest), "certified")

    def eca(self, features: Sequence[str], threshold: float) -> Interval:
        """Return the expected agreement with the classifier that keeps the features and uses the threshold."""
        return self._interval(*self.listed_eca(features, threshold))

    def mpa(self, features: Sequence[str]) -> Interval:
        """Return the maximum potential agreement of the features."""
        value = self.cells.keeping(features).potential
        return self._interval(value, value)

    def maa(self, features: Sequence[str]) -> MaxAgreement:
        """Return the best expected agreement over all thresholds.

        Thresholds beside the best may do otherwise with instances that are not listed: with a rest, it is all there is.
        """
        value, potential, thresholds = self._cut(features)
        threshold = thresholds.pick(self._classifier.threshold)
        if self.rest:
            thresholds = ThresholdInterval(math.nextafter(threshold, -math.inf), threshold)
        return MaxAgreement(self._interval(value, potential), thresholds, threshold)

    def listed_eca(self, features: Sequence[str], threshold: float) -> tuple[float, float]:
        """Return the probability of the listed instances on which the two decide alike, at least and at most."""
        kept = self.cells.keeping(features)
        exact = self._exact.of(kept.features)
        sides = self._sides(kept)
        positive, sure, _ = _decide(exact, sides[0], sides[1], kept.codes, threshold)
        alike, otherwise = np.where(positive, (kept.agreeing, kept.opposing), (kept.opposing, kept.agreeing))
        known = float(alike[sure].sum())
        unsure = alike[~sure], otherwise[~sure]
        return known + float(np.minimum(*unsure).sum()), known + float(np.maximum(*unsure).sum())

    def listed_maa(self, features: Sequence[str]) -> tuple[float, float]:
        """Return the same for the threshold that is best for the listed instances."""
        return self._cut(features)[:2]

    def _cut(self, features: Sequence[str]) -> tuple[float, float, ThresholdInterval]:
        kept = self.cells.keeping(features)
        exact = self._exact.of(kept.features)

        def posteriors(chosen: IntArray) -> list[Fraction | None]:
            return exact.posteriors(kept.codes[chosen])

        decided = np.stack([kept.agreeing, kept.opposing])
        best = cut_sides(self._sides(kept), decided, posteriors, self._classifier.threshold, exact.band)
        return best.value, best.potential, best.thresholds

    def _sides(self, kept: Cells) -> FloatArray:
        """Return Pr(positive, instance) and Pr(negative, instance), up to a factor, with all that is not listed."""
        if not self.rest:
            return np.stack([kept.positive, kept.negative])
        classifier = self._classifier.restricted(kept.features)
        if math.prod(kept.sizes) > MOST_TABLED:
            masses = ClassMasses(classifier.network, classifier.target, classifier.features, classifier.evidence_codes)(
                kept.codes
            )
            states = classifier.positive_states
            return np.stack([masses[states].sum(axis=0), masses[~states].sum(axis=0)])
        joint = _joint(classifier, classifier.features, None)
        place = np.ravel_multi_index(tuple(kept.codes.T), kept.sizes) if kept.sizes else np.zeros(1, np.int64)
        return np.ascontiguousarray(joint[:, place])


class _Listing:
    """Lists instances of a classifier's features, the most probable first seen."""

    def __init__(self, classifier: Classifier, most: int, memory: int | None) -> None:
        self._classifier, self._most, self._memory = classifier, most, memory
        self._complete = True

    def run(self) -> tuple[IntArray, FloatArray, FloatArray, bool]:
        """Return instances, their probabilities, their posteriors [positive or negative], and whether that is all."""
        classifier, features = self._classifier, self._classifier.features
        sizes = [len(variable) for variable in classifier.feature_variables]
        first = sum(bool(total <= HEAD) for total in np.cumprod(np.array(sizes, dtype=float)))
        joint = _joint(classifier, features[:first], self._memory)
        total = joint.sum()
        if not total > 0:
            raise ImpossibleEvidenceError(f"the evidence has probability zero: {dict(classifier.evidence)}")
        kept = self._likely(joint.sum(axis=0), joint.sum(axis=0) > 0)
        sides = joint[:, kept] / total
        cells = np.unravel_index(kept, sizes[:first]) if first else ()
        codes, mass = np.array(cells, dtype=np.int64).reshape(first, len(kept)).T, sides.sum(axis=0)
        for place in range(first, len(features)):
            codes, mass = self._extended(codes, mass, place)
        if first < len(features):
            masses, states = self._masses(classifier.target, len(features))(codes), classifier.positive_states
            sides = np.stack([masses[states].sum(axis=0), masses[~states].sum(axis=0)])
        return codes, mass, sides / sides.sum(axis=0), self._complete

    def _masses(self, target: str, known: int) -> ClassMasses:
        """Return what gives probabilities of a variable's states together with instances of the first features."""
        classifier = self._classifier
        masses = ClassMasses(classifier.network, target, classifier.features[:known], classifier.evidence_codes)
        if masses.operations * self._most > MOST_WORK:
            raise TooLargeError(
                f"an instance takes {masses.operations:,} multiplications, too many for {self._most:,} instances; give "
                "Classifier fewer features, or say Limits(samples=…) for fewer instances"
            )
        return masses

    def _extended(self, codes: IntArray, mass: FloatArray, place: int) -> tuple[IntArray, FloatArray]:
        """Return instances of one feature more, as many as may be listed."""
        chances = self._masses(self._classifier.features[place], place)(codes)
        chances = chances / chances.sum(axis=0)  # masses may come with a factor for each instance
        longer = (chances * mass).ravel()
        kept = self._likely(longer, chances.ravel() > 0)
        state, which = np.divmod(kept, len(codes))
        return np.concatenate([codes[which], state[:, None]], axis=1), longer[kept]

    def _likely(self, mass: FloatArray, possible: BoolArray) -> IntArray:
        """Return the most probable instances, as many as may be listed."""
        kept = np.flatnonzero(mass > 0)
        if len(kept) > self._most:
            kept = np.sort(kept[np.argpartition(-mass[kept], self._most)[: self._most]])
        self._complete &= len(kept) == np.count_nonzero(possible)
        return kept


def _joint(classifier: Classifier, features: Sequence[str], memory: int | None) -> FloatArray:
    """Return Pr(positive or negative, instance), up to a factor, of all instances of some features."""
    return joint_table(
        classifier.network,
        classifier.target,
        features,
        classifier.evidence_codes,
        positive=classifier.positive_states,
        memory=memory,
    ).reshape(2, -1)


def _decide(
    exact: ties.ExactPosteriors, positive: FloatArray, negative: FloatArray, codes: IntArray, threshold: float
) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Return decisions, which of them are sure, and which are so near the threshold that rounding could decide."""
    decided, near = exact.decide_in_floats(positive, negative, threshold)
    sure = ~near
    if near.any():
        settled = exact.settle(codes[near], threshold)
        decided[near], sure[near] = settled.positive, settled.exact
    return decided, sure, near
