"""The table engine: the whole joint distribution of class and features, each cell decided once.

The paper's quantities for kept features are sums over the axes of the dropped ones. Three numbers of each instance are
enough: its probability with the positive class, with the negative class, and that of being decided positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from bayestrim import ties
from bayestrim.classifier import Classifier
from bayestrim.contraction import endless
from bayestrim.engines.cut import cut_sides
from bayestrim.engines.relevance import sorted_out
from bayestrim.errors import ImpossibleEvidenceError, OutOfTimeError
from bayestrim.inference import joint_table
from bayestrim.memory import check_memory
from bayestrim.network import FloatArray
from bayestrim.result import Interval, MaxAgreement
from bayestrim.rows import IntArray

BLOCK = 1 << 18
"""Cells that are decided at a time."""
MANY = 1 << 21
"""So many cells are decided in any case, which takes a tenth of a second."""
MOST_COPIES = 6
"""Arrays of the table's size held at once: the three numbers, and as much again while they are made."""
MOST_SETTLED = 1 << 20
"""The most instances of the tie band that are settled exactly; the others count as positive, and as unsettled."""


@dataclass(frozen=True)
class Decided:
    """Instances of some features.

    Attributes
    ----------
    features
        The features.
    sizes
        How many states each has.
    positive, negative
        Pr(positive, instance) and Pr(negative, instance); instances in the order of an array with one axis a feature.
    agreeing
        The probability that the instance comes with a positive decision of the original classifier.
    """

    features: tuple[str, ...]
    sizes: tuple[int, ...]
    positive: FloatArray
    negative: FloatArray
    agreeing: FloatArray

    @property
    def tables(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The three numbers."""
        return self.positive, self.negative, self.agreeing

    def without(self, feature: str) -> Decided:
        """Return the same for all features but one."""
        place = self.features.index(feature)
        before, after = self.features[:place], self.features[place + 1 :]
        shape = (math.prod(self.sizes[:place]), self.sizes[place], math.prod(self.sizes[place + 1 :]))
        sums = (table.reshape(shape).sum(axis=1).ravel() for table in self.tables)
        return Decided((*before, *after), (*self.sizes[:place], *self.sizes[place + 1 :]), *sums)

    def keeping(self, features: Iterable[str]) -> Decided:
        """Return the same for some of the features, dropping one after the other, the largest first.

        NumPy's sum over several axes at once may lose seven digits in a large table.
        """
        wanted, kept = set(features), self
        by_size = dict(zip(self.features, self.sizes, strict=True))
        for feature in sorted(self.features, key=lambda name: -by_size[name]):
            if feature not in wanted:
                kept = kept.without(feature)
        return kept

    def codes(self, chosen: IntArray) -> IntArray:
        """Return instances, given by number, as state numbers [instances, features]."""
        cells = np.unravel_index(chosen, self.sizes) if self.sizes else ()
        return np.array(cells, dtype=np.int64).reshape(len(self.sizes), len(chosen)).T

    @property
    def potential(self) -> float:
        """The agreement of the best decision for each instance (the MPA)."""
        return float(np.maximum(self.agreeing, self.positive + self.negative - self.agreeing).sum())


class TableEngine:
    """Exact answers from the joint table of the class and all features.

    Parameters
    ----------
    classifier
        The classifier all questions are about.
    memory
        The bytes allowed, by default half of what is free.
    irrelevant
        Features that are known not to matter.
    left
        Tells how many seconds are left for making the table. A large one is given up when they are over.
    """

    name = "table"

    def __init__(
        self,
        classifier: Classifier,
        memory: int | None = None,
        irrelevant: Sequence[str] = (),
        left: Callable[[], float] = endless,
    ) -> None:
        # It must not hold the classifier itself, whose life bounds its own (see `engine_for`).
        self.features, self.irrelevant = sorted_out(classifier, irrelevant)
        self.memory, self._left = memory, left
        self._threshold = classifier.threshold
        self._exact = classifier.exact_posteriors.of(self.features)
        sizes = tuple(len(classifier.network.variable(name)) for name in self.features)
        what = f"the table of all {len(sizes)} features of the classifier (kept or not; give Classifier fewer)"
        check_memory(MOST_COPIES * math.prod(sizes), what, memory)
        positive, negative = (np.array(side, dtype=float).ravel() for side in self._joint(classifier))
        total = positive.sum() + negative.sum()
        if not total > 0:
            raise ImpossibleEvidenceError(f"the evidence has probability zero: {dict(classifier.evidence)}")
        positive /= total
        negative /= total
        self.decided = Decided(self.features, sizes, positive, negative, np.zeros_like(positive))
        self.tie_mass, self.unsettled = self._decide(self.decided, self._exact, self._threshold, left)

    def _joint(self, classifier: Classifier) -> FloatArray:
        """Return Pr(positive or negative, features), up to a factor, as [2, states of each feature…]."""
        return joint_table(
            classifier.network,
            classifier.target,
            self.features,
            classifier.evidence_codes,
            positive=classifier.positive_states,
            memory=self.memory,
            left=self._left,
        )

    @staticmethod
    def _decide(
        table: Decided, exact: ties.ExactPosteriors, threshold: float, left: Callable[[], float] = endless
    ) -> tuple[float, float]:
        """Decide every instance, filling in `agreeing`; return the mass of the tie band, and what is unsettled of it.

        Only instances in the band need their state numbers, so only those are written out.
        """
        band: list[IntArray] = []
        for start in range(0, len(table.positive), BLOCK):
            if start >= MANY and left() <= 0:
                raise OutOfTimeError("there was no time to decide all instances")
            inside = slice(start, start + BLOCK)
            p, n = table.positive[inside], table.negative[inside]
            decided, unsure = exact.decide_in_floats(p, n, threshold)
            table.agreeing[inside] = np.where(decided | unsure, p + n, 0.0)
            band.append(np.flatnonzero(unsure) + start)
        tied = np.concatenate(band)
        if not len(tied):
            return 0.0, 0.0
        mass = table.positive[tied] + table.negative[tied]
        likely = tied if len(tied) <= MOST_SETTLED else tied[np.argsort(-mass, kind="stable")[:MOST_SETTLED]]
        settled = exact.settle(table.codes(likely), threshold)
        table.agreeing[likely[~settled.positive]] = 0.0
        done = likely[settled.exact]
        unsettled = float(mass.sum() - (table.positive[done] + table.negative[done]).sum())
        return float(mass.sum()), max(0.0, unsettled) if len(done) < len(tied) else 0.0

    @property
    def band(self) -> float:
        """How near log-odds may come before 64-bit arithmetic is not trusted."""
        return self._exact.band

    def eca(self, features: Sequence[str], threshold: float) -> Interval:
        """Return the expected agreement with the classifier that keeps the features and uses the threshold."""
        kept = self.decided.keeping(features)
        new = Decided(kept.features, kept.sizes, kept.positive, kept.negative, np.empty_like(kept.agreeing))
        _, slack = self._decide(new, self._exact.of(kept.features), threshold)
        positive = new.agreeing > 0
        agreement = kept.agreeing[positive].sum()
        agreement += (kept.positive + kept.negative - kept.agreeing)[~positive].sum()
        return _interval(agreement, agreement, self.unsettled + slack)

    def mpa(self, features: Sequence[str]) -> Interval:
        """Return the maximum potential agreement of the features."""
        value = self.decided.keeping(features).potential
        return _interval(value, value, self.unsettled)

    def maa(self, features: Sequence[str]) -> MaxAgreement:
        """Return the best expected agreement over all thresholds (the paper's second algorithm)."""
        kept = self.decided.keeping(features)
        exact = self._exact.of(kept.features)
        sides = np.stack([kept.positive, kept.negative])
        mass = sides.sum(axis=0)
        possible = np.flatnonzero(mass > 0)

        def posteriors(chosen: IntArray) -> list[Fraction | None]:
            return exact.posteriors(kept.codes(possible[chosen]))

        decided = np.stack([kept.agreeing, mass - kept.agreeing])[:, possible]
        best = cut_sides(sides[:, possible], decided, posteriors, self._threshold, exact.band)
        value = _interval(best.value, best.potential, self.unsettled)
        return MaxAgreement(value, best.thresholds, best.thresholds.pick(self._threshold))


def _interval(lower: float, upper: float, slack: float) -> Interval:
    low, high = (min(1.0, max(0.0, float(end))) for end in (lower - slack, upper + slack))
    return Interval(low, high, "exact" if low == high else "certified")
