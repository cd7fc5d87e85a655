"""What lies in the tie band: instances that only exact arithmetic can decide, found by listing them in halves.

The log-odds of an instance are the sum of those of its parts. Sorted lists of the instances of two parts meet in the
middle: 40 features of two states have 10^12 instances, but two lists of 10^6. Features that say the same count as one
where even that is too many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bayestrim.classifier import Classifier
from bayestrim.engines.independent import Feature, Independent, all_values, places_of
from bayestrim.kernels.exact import pairs_between
from bayestrim.network import FloatArray
from bayestrim.rows import IntArray
from bayestrim.ties import Settled

LONGEST_LIST = 1 << 20
"""No list of a part's instances may be longer."""
MOST_TIES = 1 << 14
"""The most instances in the tie band that are decided one by one."""
CLEARINGS = 64
"""So many places below the tie band are tried for one where no instance lies."""


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
        The probability of those that could not be decided exactly, or cannot be listed.
    border
        From here on log-odds count as positive: none lie so near that rounding could decide.
    """

    mass: float
    negative: IntArray
    negative_mass: float
    unsettled: float
    border: float


def find_ties(classifier: Classifier, model: Independent) -> Ties | None:
    """Return what lies in the tie band; None where the instances are too many to look."""
    nothing = np.empty((0, len(model.features)), dtype=np.int64)
    if not model.finite:
        return Ties(0.0, nothing, 0.0, 0.0, model.border)
    sides = listable(model)
    if sides is None:
        return None
    lists = [all_values([block.values for block in side]) for side in sides]
    orders = [_finite_order(odds) for odds, _, _ in lists]
    one, two = (odds[order] for (odds, _, _), order in zip(lists, orders, strict=True))
    low, high = _clear_border(model, one, two), model.border + 2 * model.band + 2 * model.noise
    if low is None:
        mass = _mass_between(model, lists, model.border - CLEARINGS * 8 * model.jitter, high)
        return Ties(mass, nothing, 0.0, mass, model.border)
    pairs = np.empty((MOST_TIES, 2), dtype=np.int64)
    count = pairs_between(one, two, low, high, pairs)
    if count > MOST_TIES:
        mass = _mass_between(model, lists, low, high)
        return Ties(mass, nothing, 0.0, mass, low)
    cells = [orders[side][pairs[:count, side]] for side in (0, 1)]
    both = [lists[0][side][cells[0]] * lists[1][side][cells[1]] for side in (1, 2)]
    mass_of = model.prior * both[0] + (1 - model.prior) * both[1]
    possible = mass_of > 0
    places = _places_of_pairs(model, sides, [side[possible] for side in cells])
    states = [feature.states[column] for feature, column in zip(model.features, places.T, strict=True)]
    codes = np.array(states, dtype=np.int64).reshape(len(states), len(places)).T
    settled = classifier.exact_posteriors.of(model.names).settle(codes, classifier.threshold)
    return _decided(
        settled, mass_of[possible], places, low, merged=any(block.merged for side in sides for block in side)
    )


def _decided(settled: Settled, mass: FloatArray, places: IntArray, border: float, *, merged: bool) -> Ties:
    """Return ties that were decided exactly; of those that stand for others, only the mass is known."""
    negative = ~settled.positive
    unsettled = ~settled.exact | negative if merged else ~settled.exact
    if merged:
        negative = np.zeros_like(negative)
    total, of_negative, of_unsettled = (float(mass[chosen].sum()) for chosen in (slice(None), negative, unsettled))
    return Ties(total, places[negative], of_negative, of_unsettled, border)


def _clear_border(model: Independent, one: FloatArray, two: FloatArray) -> float | None:
    """Return a number at or little below the border to which no instance is so near that bracketing could decide."""
    nowhere = np.empty((0, 2), dtype=np.int64)
    for step in range(CLEARINGS):
        border = model.border - 8 * step * model.jitter
        if pairs_between(one, two, border - 3 * model.jitter, border + 3 * model.jitter, nowhere) == 0:
            return border
    return None


def _places_of_pairs(model: Independent, sides: Sequence[Sequence[Block]], cells: Sequence[IntArray]) -> IntArray:
    """Return instances as places in the features' values, from their numbers in the lists of the two sides."""
    places = np.empty((len(cells[0]), len(model.features)), dtype=np.int64)
    for side, numbers in zip(sides, cells, strict=True):
        for block, chosen in zip(side, places_of([block.values for block in side], numbers), strict=True):
            places[:, block.members] = block.places[chosen]
    return places


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


@dataclass(frozen=True)
class Block:
    """Features whose values say the same, taken as one: how often each value shows is all that counts.

    Attributes
    ----------
    members
        The numbers of the features.
    values
        The block as a feature.
    places
        An instance of each of its values, as places in the members' values; [values, members].
    """

    members: tuple[int, ...]
    values: Feature
    places: IntArray

    @property
    def merged(self) -> bool:
        """Whether a value stands for several instances."""
        return len(self.members) > 1


def listable(model: Independent) -> tuple[list[Block], list[Block]] | None:
    """Split the features into two parts whose instances can be listed, equal features taken as one if need be."""
    single = [_single(i, feature) for i, feature in enumerate(model.features)]
    if _longest(single) <= LONGEST_LIST:
        return halves(single)
    kinds: dict[tuple[bytes, ...], list[int]] = {}
    for i, feature in enumerate(model.features):
        order = np.lexsort((feature.q, feature.p))
        kinds.setdefault((feature.p[order].tobytes(), feature.q[order].tobytes()), []).append(i)
    counts = [(len(members), len(model.features[members[0]].odds)) for members in kinds.values()]
    if math.prod(math.comb(m + s - 1, s - 1) for m, s in counts) > LONGEST_LIST**2:
        return None
    blocks = [single[ms[0]] if len(ms) == 1 else _merged(model, ms) for ms in kinds.values()]
    return halves(blocks) if _longest(blocks) <= LONGEST_LIST else None


def _longest(blocks: Sequence[Block]) -> int:
    return max(math.prod(len(block.values.odds) for block in side) for side in halves(blocks))


def _single(i: int, feature: Feature) -> Block:
    return Block((i,), feature, np.arange(len(feature.odds))[:, None])


def _merged(model: Independent, members: Sequence[int]) -> Block:
    """Return equal features as one, whose values are the numbers of times that theirs show."""
    features = [model.features[i] for i in members]
    orders = [np.lexsort((feature.q, feature.p)) for feature in features]
    first, n, s = features[0], len(members), len(orders[0])
    bars = np.array(list(combinations(range(n + s - 1), s - 1)), dtype=np.int64).reshape(-1, s - 1)
    edges = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), n + s - 1)])
    counts = np.diff(edges, axis=1) - 1
    logs = np.array([math.lgamma(k + 1) for k in range(n + 1)])
    ways = logs[n] - logs[counts].sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        p, q = (
            np.exp(ways + np.where(counts > 0, counts * np.log(side[orders[0]]), 0.0).sum(axis=1))
            for side in (first.p, first.q)
        )
        odds = np.where(counts > 0, counts * first.odds[orders[0]], 0.0).sum(axis=1)
    ranks = np.array([np.repeat(np.arange(s), row) for row in counts])
    places = np.column_stack([order[ranks[:, j]] for j, order in enumerate(orders)])
    return Block(tuple(members), Feature("", np.arange(len(counts)), p, q, odds), places)


def halves(blocks: Sequence[Block]) -> tuple[list[Block], list[Block]]:
    """Split features into two parts with about equally many instances."""
    one: list[Block] = []
    two: list[Block] = []
    counts = [1, 1]
    for block in sorted(blocks, key=lambda b: -len(b.values.odds)):
        side = int(counts[0] > counts[1])
        (one, two)[side].append(block)
        counts[side] *= len(block.values.odds)
    return one, two
