"""Exact losses by counting instances: those of the kept features one by one, those of the dropped in two halves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from operator import mul
from typing import NamedTuple

import numpy as np

from bayestrim.classifier import Classifier
from bayestrim.engines.band import LONGEST_LIST, Ties
from bayestrim.engines.cut import Cut, best_cut
from bayestrim.engines.independent import Feature, Independent, all_values, instance_count, places_of
from bayestrim.kernels.exact import count_pairs
from bayestrim.network import FloatArray
from bayestrim.rows import IntArray

MOST_STEPS = 1 << 28
"""The most steps that counting may take for one subset: about half a second."""
SORTING = 100
"""Making and sorting a list takes so many steps for each instance in it."""


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
        places = places_of(self.features, self.cells[chosen])
        states = [feature.states[place] for feature, place in zip(self.features, places, strict=True)]
        return np.array(states, dtype=np.int64).reshape(len(self.features), len(chosen)).T


class Parts(NamedTuple):
    """Dropped features in two parts, and the steps that counting with them takes."""

    one: tuple[Feature, ...]
    two: tuple[Feature, ...]
    steps: int


def parts(kept: Sequence[Feature], dropped: Sequence[Feature]) -> Parts | None:
    """Split the dropped features so that counting takes fewest steps; None where even that is too many."""
    ordered = tuple(sorted(dropped, key=lambda feature: len(feature.odds)))
    count = instance_count(kept)
    splits, before = [], list(accumulate((len(feature.odds) for feature in ordered), mul, initial=1))
    for i in range(len(ordered) + 1):
        inner = count + before[-1] // before[i]
        if inner <= 2 * LONGEST_LIST:
            steps = before[i] * inner + SORTING * inner
            splits.append(Parts(ordered[:i], ordered[i:], steps))
    best = min(splits, key=lambda split: split.steps, default=None)
    return None if best is None or best.steps > MOST_STEPS else best


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
    with np.errstate(invalid="ignore"):  # infinite odds of both signs meet only where there is no mass
        count_pairs(odds, one_odds, one_p, one_q, two[0][order], sums[0], sums[1], ties.border, positive)
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
