"""Decisions that rounding must not make: exact rational arithmetic inside a narrow band around the threshold.

Every probability and the threshold are read as the shortest decimal that prints them, ``Fraction(repr(p))``, and every
row of a table is divided by its sum. Outside the band 64-bit arithmetic is certain; inside it the masses
are computed again with integers. Where that would take too long (large networks with much to sum out), the band
counts as positive, and the caller is told.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bayestrim.inference import ClassMasses, IntArray, can_underflow
from bayestrim.network import BayesianNetwork, FloatArray
from bayestrim.rows import distinct

BoolArray = npt.NDArray[np.bool_]

BAND = 1e-9
"""Width of the band, in log-odds: some million roundings of 64-bit arithmetic."""
LOGARITHMIC_BAND = 1e-6
"""The same where masses are computed by their logarithms, which lose digits by their size."""
VANISHING = 1e-250
"""Beside masses of 1, sides of the comparison as small as this may be what underflow left."""
EXACT_OPERATIONS = 250_000
"""The most multiplications of short integers that one instance may take; beyond it, exactness is out of reach."""
SHORT_BITS = 2000
"""Products of about so many bits multiply about as fast as short integers; twice as long ones count twice."""
FEW = 16
"""So many instances are computed one by one, without a look for those that must come out the same."""
MOST_COMPARED = 64
"""The most states of a feature that are compared with each other for that."""
EXACT_BITS = 1 << 13
"""The longest common denominator of a table's rows, in bits, that exact arithmetic will carry."""


class Settled(NamedTuple):
    """Exact decisions of instances in the band.

    Attributes
    ----------
    positive
        Whether each is decided positive.
    exact
        Whether each was decided exactly; if not, it was out of reach and counts as positive.
    """

    positive: BoolArray
    exact: BoolArray


class ExactPosteriors:
    """Exact posteriors, and decisions that are exact where it matters.

    Parameters
    ----------
    network, target, positive_states
        The network, its class and the mask of positive states.
    features
        The variables that instances observe, in the order of their columns.
    evidence
        States, by number, of variables observed in every instance.

    Attributes
    ----------
    integers
        The network's tables in integers, as far as they were needed.
    """

    def __init__(
        self,
        network: BayesianNetwork,
        target: str,
        positive_states: BoolArray,
        features: Sequence[str],
        evidence: Mapping[str, int],
    ) -> None:
        self._network = network.ancestral([target, *features, *evidence])
        self._target = target
        self._positive = positive_states
        self._evidence = evidence
        self.integers = IntegerTables(self._network)
        self._features = tuple(features)
        self._masses = self._masses_of(features)
        self._stands_for: dict[str, IntArray] = {}

    def _masses_of(self, features: Sequence[str]) -> ClassMasses:
        return ClassMasses(self._network, self._target, features, self._evidence, self.integers)

    def of(self, features: Sequence[str]) -> ExactPosteriors:
        """Return the same for instances that observe some of the features, sharing the integer tables."""
        other = copy.copy(self)
        other._features = tuple(features)
        other._masses = self._masses_of(features)
        return other

    def posteriors(self, codes: IntArray) -> list[Fraction | None]:
        """Return the exact Pr(positive | instance) of each instance, None where that is out of reach.

        Parameters
        ----------
        codes
            State numbers [instances, features], -1 where not observed; none may have probability zero.
        """
        codes, which = distinct(self._merged(codes) if len(codes) > FEW else codes)
        found: list[Fraction | None] = [None] * len(codes)
        for rows, layout in self._masses.groups(codes):
            bits = self.integers.bits(layout.families)
            if bits is None or layout.plan.operations * (1 + bits / SHORT_BITS) > EXACT_OPERATIONS:
                continue
            masses = self._masses(codes[rows])
            positive, total = masses[self._positive].sum(axis=0), masses.sum(axis=0)
            for row, p, t in zip(rows.tolist(), positive, total, strict=True):
                found[row] = Fraction(int(p), int(t))
        return [found[row] for row in which.tolist()]

    def _merged(self, codes: IntArray) -> IntArray:
        """Return instances with each observed state replaced by its representative, so that fewer are distinct."""
        merged = codes.copy()
        for i, feature in enumerate(self._features):
            if (codes[:, i] >= 0).any() and len(self._network.variable(feature)) <= MOST_COMPARED:
                merged[:, i] = np.append(self._representatives(feature), -1)[codes[:, i]]
        return merged

    def _representatives(self, feature: str) -> IntArray:
        """Return for each state of a feature the first state that says the same of everything else.

        Such states give equal posteriors: their probabilities are proportional, whatever the parents, and the children
        do not tell them apart. A feature that does not matter has one representative for all its states.
        """
        if feature not in self._stands_for:
            states = range(len(self._network.variable(feature)))
            children = self._network.children(feature)
            first = list(states)
            if self.integers.bits([feature, *children]) is not None:
                own = np.moveaxis(self.integers[feature], -1, 0)
                below = [
                    np.moveaxis(self.integers[child], self._network.parents(child).index(feature), 0)
                    for child in children
                ]
                for state in states:
                    alike = (r for r in states[:state] if _proportional(own[r], own[state]))
                    first[state] = next((r for r in alike if all((t[r] == t[state]).all() for t in below)), state)
            self._stands_for[feature] = np.array(first, dtype=np.int64)
        return self._stands_for[feature]

    def settle(self, codes: IntArray, threshold: float) -> Settled:
        """Decide instances exactly, where that is in reach; what is not counts as positive."""
        limit = as_written(threshold)
        exact = self.posteriors(codes)
        positive = np.array([posterior is None or posterior >= limit for posterior in exact], dtype=bool)
        return Settled(positive, np.array([posterior is not None for posterior in exact], dtype=bool))

    def decide(self, positive: FloatArray, negative: FloatArray, codes: IntArray, threshold: float) -> BoolArray:
        """Decide instances of which the class masses are known to 64-bit accuracy.

        Parameters
        ----------
        positive, negative
            Pr(positive, instance) and Pr(negative, instance), up to a factor for each instance.
        codes
            The instances themselves, as in `posteriors`.
        threshold
            The threshold.
        """
        decided, tied = self.decide_in_floats(positive, negative, threshold)
        if tied.any():
            decided[tied] = self.settle(codes[tied], threshold).positive
        return decided

    def decide_in_floats(
        self, positive: FloatArray, negative: FloatArray, threshold: float
    ) -> tuple[BoolArray, BoolArray]:
        """Return the decisions of 64-bit arithmetic, and which lie in the band and must not be trusted."""
        return decide_in_floats(positive, negative, threshold, self.band, trust_zeros=not self._may_underflow)

    @property
    def band(self) -> float:
        """The width of the band: how near log-odds may come before 64-bit arithmetic is not trusted."""
        return LOGARITHMIC_BAND if self._may_underflow else BAND

    @cached_property
    def _may_underflow(self) -> bool:
        return can_underflow(self._network)


def decide_in_floats(
    positive: FloatArray, negative: FloatArray, threshold: float, band: float = BAND, *, trust_zeros: bool = True
) -> tuple[BoolArray, BoolArray]:
    """Return the decisions of 64-bit arithmetic, and which of them lie in the band and must not be trusted.

    The comparison is Pr(positive)·(1 − T) ≥ Pr(negative)·T, which needs no division and knows infinite odds. Where
    both sides vanish beside the masses themselves, something may have underflowed, unless zeros are trusted.
    """
    limit = as_written(threshold)
    if limit <= 0 or limit > 1:
        everywhere = np.full(positive.shape, limit <= 0)
        return everywhere, np.zeros_like(everywhere)
    for_, against = positive * float(1 - limit), negative * float(limit)
    larger = np.maximum(for_, against)
    tied = (np.abs(for_ - against) <= band * larger) & (larger > 0)
    vanishing = larger <= VANISHING * (positive + negative)
    if trust_zeros:
        vanishing &= (positive > 0) & (negative > 0)
    uncertain = (tied | vanishing) & (positive + negative > 0)
    decided = (for_ >= against) & (positive > 0)  # a tiny T times Pr(negative) may vanish; a posterior of 0 is below it
    return np.asarray(decided), np.asarray(uncertain)  # without features, NumPy makes them scalars


def as_written(number: float) -> Fraction:
    """Return the rational that a number's shortest decimal stands for: 0.1 is one tenth."""
    return Fraction(repr(float(number)))


def float_at_most(number: Fraction) -> float:
    """Return the largest float whose shortest decimal does not exceed a number."""
    near = float(number)
    while as_written(near) > number:
        near = math.nextafter(near, -math.inf)
    return near


class IntegerTables(Mapping[str, npt.NDArray[Any]]):
    """A network's tables as arrays of Python integers, each table scaled by a factor of its own."""

    def __init__(self, network: BayesianNetwork) -> None:
        self._network = network
        self._made: dict[str, npt.NDArray[Any]] = {}
        self._lengths: dict[str, int | None] = {}

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self._made:
            self._made[name] = _integer_table(self._network.table(name))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._network.names)

    def __len__(self) -> int:
        return len(self._network.names)

    def bits(self, names: Iterable[str]) -> int | None:
        """Return the bits of the largest product of one entry from each of some tables, None if that is too many."""
        total = 0
        for name in names:
            if name not in self._lengths:
                common = _common_sum(self._network.table(name))
                self._lengths[name] = None if common is None else common.bit_length()
            length = self._lengths[name]
            if length is None:
                return None
            total += length
        return total


def _proportional(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """Tell whether two arrays of integers, not negative, are multiples of each other."""
    one, other = np.ravel(one), np.ravel(other)
    largest = int(np.argmax(one))
    return bool(one[largest] and other[largest]) and bool((one * other[largest] == other * one[largest]).all())


def _as_integers(table: FloatArray) -> npt.NDArray[Any]:
    """Return integers proportional to a table's entries as written."""
    values, where = np.unique(table, return_inverse=True)
    fractions = [as_written(value) for value in values.tolist()]
    scale = math.lcm(*(fraction.denominator for fraction in fractions))
    integers: npt.NDArray[Any] = np.array([int(fraction * scale) for fraction in fractions], dtype=object)
    return integers[where].reshape(table.shape)


def _common_sum(table: FloatArray) -> int | None:
    """Return the smallest sum that all rows can be scaled to as integers, or None if it is too long."""
    common = 1
    for total in set(np.ravel(_as_integers(table).sum(axis=-1)).tolist()):
        common = math.lcm(common, total)
        if common.bit_length() > EXACT_BITS:
            return None
    return common


def _integer_table(table: FloatArray) -> npt.NDArray[Any]:
    """Return integers proportional to a table's rows as written, all rows with one and the same sum."""
    integers = _as_integers(table)
    sums = integers.sum(axis=-1, keepdims=True)
    common = math.lcm(*set(np.ravel(sums).tolist()))
    scaled: npt.NDArray[Any] = integers * (common // sums)
    return scaled
