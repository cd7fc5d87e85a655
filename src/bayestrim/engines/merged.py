"""The merged engine: exact answers where no table fits, from classes of instances that cannot be told apart.

Two things make what has to be looked at small. Of the features, only those decide that the others do not shield from
the class, whatever is observed (its *boundary*); and of the kept features, only those matter that the other kept ones
do not shield from the class and from what decides besides. If what is left has few instances, one table holds them;
otherwise instances are merged into classes (see `bayestrim.engines.merging`).
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from bayestrim import ties
from bayestrim.classifier import Classifier
from bayestrim.contraction import endless
from bayestrim.engines.cut import EQUAL, Posteriors, cut_sides
from bayestrim.engines.merging import Classes, Merging
from bayestrim.engines.relevance import boundary, sorted_out
from bayestrim.engines.table import TableEngine
from bayestrim.errors import OutOfTimeError, TooLargeError
from bayestrim.inference import probabilities
from bayestrim.network import BayesianNetwork, FloatArray
from bayestrim.result import Interval, MaxAgreement
from bayestrim.rows import IntArray

BoolArray = npt.NDArray[np.bool_]

MOST = 1 << 16
"""The most classes that are told apart, if it is not said how many."""
SMALL = 1 << 14
"""Up to so many instances, one table holds them all..."""
TABLED, FEW = 1 << 21, 1 << 12
"""...and up to so many where they do not form as few classes as this."""
MOST_EXACT = 1 << 12
"""The most classes that are told apart in exact arithmetic."""
LEAST_TIME = 10.0
"""So many seconds may be taken for the classes of all instances, even if fewer are left."""
REMEMBERED = 1 << 12
"""Subsets whose bounds are remembered."""
SAME = 1e-10
"""Log-odds of a group and of its instances differ by less than this, which is rounding."""
ROUNDING = 1e-11
"""How wrong sums over merged classes may be: each merger may change shares by a few roundings."""


class MergedEngine:
    """Exact answers from classes of instances.

    Parameters
    ----------
    classifier
        The classifier all questions are about.
    most
        How many classes may be told apart at a time.
    memory
        The bytes allowed for a table, by default half of what is free.
    irrelevant
        Features that are known not to matter.
    left
        Tells how many seconds are left for bounds, and to begin with; answers to other questions take their time.

    Attributes
    ----------
    deciding
        The features that decide: the others do not matter to whoever sees these.
    told_apart
        How many classes their instances form (or how many there are, where they are few).
    """

    name = "merged"

    def __init__(
        self,
        classifier: Classifier,
        most: int | None = None,
        memory: int | None = None,
        irrelevant: Sequence[str] = (),
        left: Callable[[], float] = endless,
    ) -> None:
        # It must not hold the classifier itself, whose life bounds its own (see `engine_for`): a copy is held instead.
        self.features, self.irrelevant = sorted_out(classifier, irrelevant)
        self._most, self._memory, self._left = most or MOST, memory, left
        self._classifier = classifier.restricted(self.features)
        network, target, evidence = classifier.network, classifier.target, classifier.evidence_codes
        self._merging = Merging(network, target, evidence, probabilities(network))
        self._integers = Merging(network, target, evidence, self._classifier.exact_posteriors.integers, exact=True)
        self._values: dict[tuple[str, ...], list[Fraction] | None] = {}
        self._bounds: dict[tuple[str, ...], float | None] = {}
        self.deciding = boundary(self._classifier, (target,), self.features)
        self._kind = dict(zip(self.features, _kinds(network, self.features), strict=True))
        start = time.monotonic()
        everything = self._judge((), lambda: max(left(), LEAST_TIME - (time.monotonic() - start)))
        self.tie_mass = everything.tie_mass
        self.told_apart = everything.told_apart if isinstance(everything, _Groups) else len(everything.decided.positive)

    def _judge(self, kept: tuple[str, ...], left: Callable[[], float] = endless) -> TableEngine | _Groups:
        """Return what answers questions about some kept features, none of them shielded by others."""
        others = tuple(name for name in self.deciding if name not in kept)
        classifier = self._classifier.restricted((*kept, *others))
        cells = math.prod(len(variable) for variable in classifier.feature_variables)
        if cells > SMALL:
            try:
                classes = self._merging.run(kept, others, self._most if cells > TABLED else min(FEW, self._most), left)
                return _Groups(self, classes, kept, others)
            except TooLargeError:
                if cells > TABLED:
                    raise
        return TableEngine(classifier, self._memory, left=left)

    def needed(self, features: Collection[str]) -> tuple[str, ...]:
        """Return those of some features that the others do not shield from the class and from what else decides."""
        others = [name for name in self.deciding if name not in features]
        kept = tuple(name for name in self.features if name in features)
        return boundary(self._classifier, (self._classifier.target, *others), kept)

    def eca(self, features: Sequence[str], threshold: float) -> Interval:
        """Return the expected agreement with the classifier that keeps the features and uses the threshold."""
        kept = self.needed(features)
        return self._judge(kept).eca(kept, threshold)

    def mpa(self, features: Sequence[str]) -> Interval:
        """Return the maximum potential agreement of the features."""
        kept = self.needed(features)
        return self._judge(kept).mpa(kept)

    def maa(self, features: Sequence[str]) -> MaxAgreement:
        """Return the best expected agreement over all thresholds."""
        kept = self.needed(features)
        return self._judge(kept).maa(kept)

    def bound(self, features: Collection[str]) -> float | None:
        """Return a lower bound of the loss of some features and all their subsets; None where that takes too long."""
        kept = self.needed(self._first_of_each_kind(features))
        if kept not in self._bounds:
            if len(self._bounds) >= REMEMBERED:
                self._bounds.clear()
            try:
                self._bounds[kept] = max(0.0, 1 - self._judge(kept, self._left).mpa(kept).upper)
            except OutOfTimeError:
                return None
            except TooLargeError:
                self._bounds[kept] = None
        return self._bounds[kept]

    def _first_of_each_kind(self, features: Collection[str]) -> set[str]:
        """Return as many features of each kind as there are among some: the first ones are as good as any."""
        counts = Counter(self._kind[name] for name in features)
        chosen = set()
        for name in self.features:
            if counts[self._kind[name]] > 0:
                counts[self._kind[name]] -= 1
                chosen.add(name)
        return chosen

    def twins(self, names: Sequence[str], apart: Sequence[object]) -> tuple[int, ...]:
        """Return for each feature the place of the first of the same kind, of those that nothing else tells apart."""
        first: dict[object, int] = {}
        return tuple(first.setdefault((self._kind[n], apart[i]), i) for i, n in enumerate(names))

    @property
    def whole(self) -> Subset:
        """All features, as the search takes them."""
        return Subset(self, self.features)

    def sides(self, rows: npt.NDArray[np.float64]) -> FloatArray:
        """Return the shares of positive and negative states, [2, rows]."""
        states = self._classifier.positive_states
        both = np.stack([rows[:, states].sum(axis=1), rows[:, ~states].sum(axis=1)])
        return np.asarray(both / rows.sum(axis=1))

    @property
    def threshold(self) -> float:
        """The classifier's threshold."""
        return self._classifier.threshold

    @property
    def band(self) -> float:
        """How near log-odds may come before 64-bit arithmetic is not trusted."""
        return self._classifier.exact_posteriors.band

    def values(self, features: Sequence[str]) -> list[Fraction] | None:
        """Return the exact posteriors that instances of some features have, in order; None where out of reach."""
        key = tuple(features)
        if key not in self._values:
            self._values[key] = self._exact_values(key)
        return self._values[key]

    def _exact_values(self, features: tuple[str, ...]) -> list[Fraction] | None:
        network, integers = self._classifier.network, self._classifier.exact_posteriors.integers
        if integers.bits(network.ancestors([self._classifier.target, *features, *self._classifier.evidence])) is None:
            return None
        try:
            rows = self._integers.run((), features, MOST_EXACT).rows
        except TooLargeError:
            return None
        states = self._classifier.positive_states
        pairs = zip(rows[:, states].sum(axis=1), rows.sum(axis=1), strict=True)
        return sorted({Fraction(int(positive), int(total)) for positive, total in pairs})

    def decide(
        self, sides: FloatArray, features: Sequence[str], threshold: float
    ) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Return decisions about classes of instances, which are unsure, and which lie in the tie band.

        The classes have Pr(positive, instance) and Pr(negative, instance), up to a factor, as [2, classes]. In
        the band, what exact arithmetic says of all instances of the features that lie there is said of each.
        """
        exact = self._classifier.exact_posteriors
        decided, near = exact.decide_in_floats(sides[0], sides[1], threshold)
        if not near.any():
            return decided, near, near
        limit, values = ties.as_written(threshold), self.values(features) or []
        shares = np.array([[float(value), float(1 - value)] for value in values]).reshape(-1, 2)
        close = ties.decide_in_floats(shares[:, 0], shares[:, 1], threshold, 2 * self.band)[1]
        verdicts = {value >= limit for value, inside in zip(values, close, strict=True) if inside}
        if len(verdicts) != 1:
            return decided, near, near
        return np.where(near, verdicts.pop(), decided), np.zeros_like(near), near


def _kinds(network: BayesianNetwork, names: Sequence[str]) -> list[object]:
    """Return what features share that may stand in for each other: their parents and table, and no children."""
    return [
        name if network.children(name) else (network.parents(name), network.table(name).tobytes()) for name in names
    ]


@dataclass(frozen=True)
class Subset:
    """Some features, and what every subset of them loses at least."""

    engine: MergedEngine
    features: tuple[str, ...]

    def __len__(self) -> int:
        """Return how many features decide."""
        return len(self.engine.deciding)

    def keeping(self, features: Iterable[str]) -> Subset:
        """Return the same for some of the features."""
        wanted = set(features)
        return Subset(self.engine, tuple(name for name in self.features if name in wanted))

    @property
    def loss(self) -> float:
        """A lower bound of the loss of all subsets."""
        return self.engine.bound(self.features) or 0.0


class _Groups:
    """Answers about some kept features, from groups of their instances that cannot be told apart.

    Attributes
    ----------
    tie_mass
        The probability of the tie band.
    told_apart
        How many classes of instances there are.
    """

    def __init__(self, engine: MergedEngine, classes: Classes, kept: tuple[str, ...], others: tuple[str, ...]) -> None:
        self._engine, self._kept = engine, kept
        shares = engine.sides(classes.rows)
        decided, unsure, near = engine.decide(classes.mass * shares, (*kept, *others), engine.threshold)
        self.tie_mass, self.told_apart = float(classes.mass[near].sum()), len(classes.mass)

        def sums(mass: FloatArray) -> FloatArray:
            return np.bincount(classes.group, mass).astype(float)

        self._sides = np.stack([sums(side) for side in classes.mass * shares])
        self._decided = np.stack([sums(classes.mass * chosen) for chosen in (decided & ~unsure, ~decided & ~unsure)])
        self._doubt = float(classes.mass[unsure].sum())

    def _interval(self, lower: float, upper: float) -> Interval:
        """Return what is known of an agreement from that of the sure decisions."""
        if lower == upper and not self._doubt:
            return Interval(min(1.0, lower), min(1.0, lower))
        return Interval(max(0.0, lower - ROUNDING), min(1.0, upper + self._doubt + ROUNDING), "certified")

    def mpa(self, _: Sequence[str]) -> Interval:
        """Return the maximum potential agreement."""
        value = float(self._decided.max(axis=0).sum())
        return self._interval(value, value)

    def eca(self, _: Sequence[str], threshold: float) -> Interval:
        """Return the agreement with a threshold of the kept features' posterior."""
        positive, unsure = self._engine.decide(self._sides, self._kept, threshold)[:2]
        alike = np.where(positive, *self._decided)
        low, high = (end(self._decided, axis=0)[unsure].sum() for end in (np.min, np.max))
        known = float(alike[~unsure].sum())
        return self._interval(known + float(low), known + float(high))

    def maa(self, _: Sequence[str]) -> MaxAgreement:
        """Return the best agreement over all thresholds."""
        engine, posteriors = self._engine, self._posteriors(_log_odds(*self._sides))
        best = cut_sides(self._sides, self._decided, posteriors, engine.threshold, engine.band)
        value = self._interval(best.value, best.potential if best.potential > best.value + EQUAL else best.value)
        return MaxAgreement(value, best.thresholds, best.thresholds.pick(engine.threshold))

    def _posteriors(self, log_odds: FloatArray) -> Posteriors:
        """Return what gives exact posteriors of groups: the only one that any instance has so near to the group's."""

        def of(chosen: IntArray) -> list[Fraction | None]:
            values = self._engine.values(self._kept)
            if values is None:
                return [None] * len(chosen)
            near = _log_odds(*np.array([[float(value), float(1 - value)] for value in values]).T)
            first = np.searchsorted(near, log_odds[chosen] - SAME, "left")
            last = np.searchsorted(near, log_odds[chosen] + SAME, "right")
            return [values[a] if b == a + 1 else None for a, b in zip(first, last, strict=True)]

        return of


def _log_odds(positive: FloatArray, negative: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(positive) - np.log(negative), dtype=float)
