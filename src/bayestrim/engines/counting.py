"""Exact losses by counting instances in halves, and the instances that only exact arithmetic can decide.

The log-odds of an instance are the sum of those of its parts. Sorted lists of the parts' instances meet in the middle:
40 features of two states have 10^12 instances, but two lists of 10^6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayestrim.classifier import Classifier
from bayestrim.engines.cut import Cut, best_cut
from bayestrim.engines.independent import FOREVER, Feature, Independent, all_values, instance_count
from bayestrim.kernels.exact import count_pairs, pairs_between
from bayestrim.network import FloatArray
from bayestrim.rows import IntArray

LONGEST_LIST = 1 << 20
"""No list of a part's instances may be longer."""
MOST_STEPS = 1 << 28
"""The most steps that counting may take for one subset: about half a second."""
SORTING = 100
"""Making and sorting a list takes so many steps for each instance in it."""
MOST_TIES = 1 << 14
"""The most instances in the tie band that are decided one by one."""


@dataclass(frozen=True)
class Ties:
    """What lies in the tie band.

    Attributes
    ----------
    mass
        Its probability.
    negative
        The instances in it that exact arithmetic decides negative, as places in the features' values
        [instances, features]; all others count as positive.
    negative_mass
        Their probability.
    unsettled
        The probability of those that could not be decided exactly.
    """

    mass: float
    negative: IntArray
    negative_mass: float
    unsettled: float


@dataclass(frozen=True)
class Kept:
    """The instances of kept features and what the full classifier decides about them.

    Attributes
    ----------
    features
        The kept features.
    mass
        Probability by [decision, class, instance], positive first; only instances that are possible.
    cells
        The number of each instance among all instances of the features.
    """

    features: tuple[Feature, ...]
    mass: FloatArray
    cells: IntArray

    def best_loss(self) -> float:
        """Return the mass of decisions that change under the best decisions that read the kept features."""
        return float(self.mass.sum(axis=1).min(axis=0).sum())

    def codes(self, chosen: IntArray) -> IntArray:
        """Return some of the instances as state numbers [instances, features]."""
        places = _places(self.features, self.cells[chosen])
        states = [feature.states[place] for feature, place in zip(self.features, places, strict=True)]
        return np.array(states, dtype=np.int64).reshape(len(self.features), len(chosen)).T


def halves(features: Sequence[Feature]) -> tuple[list[Feature], list[Feature]]:
    """Split features into two parts with about equally many instances."""
    one: list[Feature] = []
    two: list[Feature] = []
    for feature in sorted(features, key=lambda f: -len(f.odds)):
        (one if instance_count(one) <= instance_count(two) else two).append(feature)
    return one, two


class Parts(NamedTuple):
    """Dropped features in two parts, and the steps that counting with them takes."""

    one: tuple[Feature, ...]
    two: tuple[Feature, ...]
    steps: int


def parts(kept: Sequence[Feature], dropped: Sequence[Feature]) -> Parts | None:
    """Split the dropped features so that counting takes fewest steps; None where even that is too many."""
    ordered = tuple(sorted(dropped, key=lambda feature: len(feature.odds)))
    count = instance_count(kept)
    splits = []
    for i in range(len(ordered) + 1):
        inner = count + instance_count(ordered[i:])
        if inner <= 2 * LONGEST_LIST:
            steps = instance_count(ordered[:i]) * inner + SORTING * inner
            splits.append(Parts(ordered[:i], ordered[i:], steps))
    best = min(splits, key=lambda split: split.steps, default=None)
    return None if best is None or best.steps > MOST_STEPS else best


def find_ties(classifier: Classifier, model: Independent) -> Ties | None:
    """Return what lies in the tie band; None where the instances are too many to look."""
    nothing = np.empty((0, len(model.features)), dtype=np.int64)
    if abs(model.border) >= FOREVER:
        return Ties(0.0, nothing, 0.0, 0.0)
    sides = halves(model.features)
    if max(instance_count(side) for side in sides) > LONGEST_LIST:
        return None
    lists = [all_values(side) for side in sides]
    orders = [_finite_order(odds) for odds, _, _ in lists]
    sorted_odds = [odds[order] for (odds, _, _), order in zip(lists, orders, strict=True)]
    pairs = np.empty((MOST_TIES, 2), dtype=np.int64)
    low, high = model.border, model.border + 2 * model.band
    count = pairs_between(sorted_odds[0], sorted_odds[1], low, high, pairs)
    if count > MOST_TIES:
        mass = _mass_between(model, lists, low, high)
        return Ties(mass, nothing, 0.0, mass)
    cells = [orders[side][pairs[:count, side]] for side in (0, 1)]
    both = [lists[0][side][cells[0]] * lists[1][side][cells[1]] for side in (1, 2)]
    of_pairs = model.prior * both[0] + (1 - model.prior) * both[1]
    places = np.empty((count, len(model.features)), dtype=np.int64)
    column = {feature.name: i for i, feature in enumerate(model.features)}
    for side, numbers in zip(sides, cells, strict=True):
        for feature, values in zip(side, _places(side, numbers), strict=True):
            places[:, column[feature.name]] = values
    possible = np.flatnonzero(of_pairs > 0)
    places, of_pairs = places[possible], of_pairs[possible]
    states = [feature.states[column] for feature, column in zip(model.features, places.T, strict=True)]
    codes = np.array(states, dtype=np.int64).reshape(len(states), len(places)).T
    settled = classifier.exact_posteriors.of(model.names).settle(codes, classifier.threshold)
    negative = ~settled.positive
    return Ties(
        float(of_pairs.sum()),
        places[negative],
        float(of_pairs[negative].sum()),
        float(of_pairs[~settled.exact].sum()),
    )


def _finite_order(odds: FloatArray) -> IntArray:
    order = np.argsort(odds, kind="stable")
    return order[np.isfinite(odds[order])]


def _mass_between(
    model: Independent, lists: Sequence[tuple[FloatArray, FloatArray, FloatArray]], low: float, high: float
) -> float:
    (odds, p, q), (others, other_p, other_q) = lists
    order = _finite_order(others)
    others = others[order]
    finite = np.isfinite(odds)
    begin, end = np.searchsorted(others, low - odds[finite]), np.searchsorted(others, high - odds[finite], "right")
    total = 0.0
    for prior, mine, theirs in ((model.prior, p, other_p), (1 - model.prior, q, other_q)):
        sums = np.append(0.0, np.cumsum(theirs[order]))
        total += prior * float(mine[finite] @ (sums[end] - sums[begin]))
    return total


def _places(features: Sequence[Feature], cells: IntArray) -> tuple[npt.NDArray[np.int64], ...]:
    """Return for each feature the place of its value in instances given by number."""
    if not features:
        return ()
    return np.unravel_index(cells, [len(feature.odds) for feature in features])


def count_kept(model: Independent, kept: Sequence[Feature], dropped: Sequence[Feature], ties: Ties) -> Kept | None:
    """Return what is decided about each instance of the kept features; None where that is out of reach."""
    split = parts(kept, dropped)
    if split is None:
        return None
    odds, p, q = all_values(kept)
    cells = np.flatnonzero((p > 0) | (q > 0))
    cells = cells[np.argsort(odds[cells], kind="stable")]
    odds, p, q = odds[cells], p[cells], q[cells]
    one, two = all_values(split.one), all_values(split.two)
    one_possible = (one[1] > 0) | (one[2] > 0)
    order = np.flatnonzero((two[1] > 0) | (two[2] > 0))
    order = order[np.argsort(two[0][order], kind="stable")]
    positive = np.empty((2, len(cells)))
    sums = [np.append(np.cumsum(side[order][::-1])[::-1], 0.0) for side in two[1:]]
    one_odds, one_p, one_q = (column[one_possible] for column in one)
    count_pairs(odds, one_odds, one_p, one_q, two[0][order], sums[0], sums[1], model.border, positive)
    mass = _by_decision(model, p, q, np.minimum(positive, 1.0))
    _move_negative(model, kept, dropped, ties, cells, mass)
    return Kept(tuple(kept), mass, cells)


def _by_decision(model: Independent, p: FloatArray, q: FloatArray, positive: FloatArray) -> FloatArray:
    p, q = model.prior * p, (1 - model.prior) * q
    return np.array([[p * positive[0], q * positive[1]], [p * (1 - positive[0]), q * (1 - positive[1])]])


def _move_negative(
    model: Independent,
    kept: Sequence[Feature],
    dropped: Sequence[Feature],
    ties: Ties,
    cells: IntArray,
    mass: FloatArray,
) -> None:
    """Move instances that were counted as positive, though they are not, to the negative ones."""
    if not len(ties.negative):
        return
    column = {feature.name: i for i, feature in enumerate(model.features)}
    places = [ties.negative[:, column[feature.name]] for feature in kept]
    sizes = [len(feature.odds) for feature in kept]
    number = np.ravel_multi_index(places, sizes) if kept else np.zeros(len(ties.negative), dtype=np.int64)
    where = np.argsort(cells, kind="stable")
    at = where[np.searchsorted(cells, number, sorter=where)]
    for side, prior in ((0, model.prior), (1, 1 - model.prior)):
        share = np.full(len(at), prior)
        for feature in (*kept, *dropped):
            weights = feature.p if side == 0 else feature.q
            share *= weights[ties.negative[:, column[feature.name]]]
        moved = np.bincount(at, share, len(cells))
        mass[0, side] = np.maximum(mass[0, side] - moved, 0.0)
        mass[1, side] += moved


def cut_kept(classifier: Classifier, kept: Kept) -> Cut:
    """Return the best threshold for kept features (the paper's second algorithm)."""
    exact = classifier.exact_posteriors.of([feature.name for feature in kept.features])
    possible = np.flatnonzero(kept.mass.sum(axis=(0, 1)) > 0)

    def posteriors(chosen: IntArray) -> list[Fraction | None]:
        return exact.posteriors(kept.codes(possible[chosen]))

    return best_cut(np.ascontiguousarray(kept.mass[:, :, possible]), posteriors, classifier.threshold, exact.band)
