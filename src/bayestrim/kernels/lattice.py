"""Losses on a lattice: distributions of whole-numbered log-odds, and the depth-first search over subsets.

The log-odds of a feature's value are a whole number of steps (its *shift*, 0 or more) plus an offset of the feature,
up to a small rounding. Cell k of a *kept* distribution holds the mass of the kept features' values whose shifts sum to
k, under each class (a and b). The *lift* of cell k is the probability, under each class, that the dropped features'
shifts sum to at least t - k, so that the decision is positive. Nothing is ever removed from a distribution: sums are
only built up, from numbers that are not negative, so that rounding stays relative.

All work space is one array, `memory`, in which distributions and lifts are pairs of rows, the positive class first.
They are passed as the place where the pair begins, since slices of one dimension are all but free when compiled.

The loss of a set of kept features is the mass of the decisions that change: one minus its agreement.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayestrim.kernels import inner, kernel, uncounted

ZERO: int = np.int64(0)  # type: ignore[assignment]
"""The number 0 where it is an argument: a literal would have the function compiled once more for it."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Lattice(NamedTuple):
    """A problem on a lattice; features are numbered in the order in which the search decides them.

    Attributes
    ----------
    start
        Where the values of each feature begin in `shift`, `p` and `q`; [features + 1].
    shift
        The steps of each value of finite log-odds; the smallest of each feature is 0.
    p, q
        The probability of each such value under the positive and the negative class.
    plus
        The probability under the positive class of values that the negative class never shows; [features].
    offset, low, high
        What the steps leave out: log-odds = offset + step * shift + something between low and high; [features].
    span
        The largest shift of each feature.
    prior
        The probability of the positive class.
    bias
        Its log-odds.
    step
        The width of a cell in log-odds.
    t
        The decision is positive where all shifts sum to at least this.
    cells
        Kept cells from this one on are decided positive whatever is dropped, and cannot lose.
    zeros
        Whether any value has infinite log-odds; then no cell is certain of its decision.
    width
        The length of a row of work space: one more than all shifts together, and one to spare.
    """

    start: Ints
    shift: Ints
    p: Floats
    q: Floats
    plus: Floats
    offset: Floats
    low: Floats
    high: Floats
    span: Ints
    prior: float
    bias: float
    step: float
    t: int
    cells: int
    zeros: bool
    width: int


class Lift(NamedTuple):
    """Where the lift of kept cells is written out, and what it is elsewhere, by class.

    Attributes
    ----------
    first
        Cells below this have the lift (`floor`, 0).
    floor
        The probability under the positive class that a dropped value alone makes the decision positive.
    b_end
        The lift under the negative class of cells from `t` on; under the positive class it is 1.
    """

    first: int
    floor: float
    b_end: float


@inner
def uncounted_lattice(lattice: Lattice) -> Lattice:
    """Return the same lattice over arrays without reference counting."""
    return Lattice(
        uncounted(lattice.start), uncounted(lattice.shift), uncounted(lattice.p), uncounted(lattice.q),
        uncounted(lattice.plus), uncounted(lattice.offset), uncounted(lattice.low), uncounted(lattice.high),
        uncounted(lattice.span), lattice.prior, lattice.bias, lattice.step, lattice.t, lattice.cells, lattice.zeros,
        lattice.width,
    )  # fmt: skip


@inner
def scale(memory: Floats, to: int, of: int, factor: float, more: float, count: int) -> None:
    """Write more + factor * of[...] to a stretch of the memory."""
    if count > 0:
        target, source = memory[to : to + count], memory[of : of + count]
        for i in range(count):
            target[i] = more + factor * source[i]


@inner
def mix(memory: Floats, to: int, one: int, u: float, two: int, w: float, more: float, count: int) -> None:
    """Write more + u * one[...] + w * two[...] to a stretch of the memory."""
    if count > 0:
        target, x, y = memory[to : to + count], memory[one : one + count], memory[two : two + count]
        for i in range(count):
            target[i] = more + u * x[i] + w * y[i]


@inner
def add(memory: Floats, to: int, of: int, factor: float, count: int) -> None:
    """Add factor * of[...] to a stretch of the memory."""
    if count > 0:
        target, source = memory[to : to + count], memory[of : of + count]
        for i in range(count):
            target[i] += factor * source[i]


@inner
def raise_by(memory: Floats, to: int, more: float, count: int) -> None:
    """Add a number to a stretch of the memory."""
    if count > 0:
        target = memory[to : to + count]
        for i in range(count):
            target[i] += more


@inner
def fill(memory: Floats, to: int, value: float, count: int) -> None:
    """Set a stretch of the memory to a number."""
    if count > 0:
        target = memory[to : to + count]
        for i in range(count):
            target[i] = value


@inner
def copy_pair(memory: Floats, to: int, of: int, first: int, end: int, width: int) -> None:
    """Copy the cells from `first` to before `end` of a pair of rows."""
    scale(memory, to + first, of + first, 1.0, 0.0, end - first)
    scale(memory, to + width + first, of + width + first, 1.0, 0.0, end - first)


@inner
def spread_row(
    memory: Floats,
    of: int,
    last: int,
    shift: Ints,
    weight: Floats,
    begin: int,
    stop: int,
    first: int,
    end: int,
    to: int,
) -> int:
    """Add a feature to a distribution under one class: to[k] = sum over values of weight * of[k - shift].

    Parameters
    ----------
    memory, of, last
        The distribution, zero beyond cell `last`.
    shift, weight, begin, stop
        The feature's values are those from `begin` to before `stop`.
    first, end
        Only cells from `first` to before `end` are wanted.
    to
        Another row than `of`; written from `first` to the returned cell.

    Returns
    -------
    int
        The last cell of the new distribution.
    """
    if begin == stop:
        return -1
    reach: int = min(last + shift[stop - 1], end - 1)
    if stop == begin + 2:  # most features: one pass instead of three
        s, u, w = shift[begin + 1], weight[begin], weight[begin + 1]
        both = max(first, s)
        single = max(both, min(last, reach) + 1)
        below = min(s, reach + 1)
        scale(memory, to + first, of + first, u, 0.0, min(below, last + 1) - first)
        blank = max(first, last + 1)
        fill(memory, to + blank, 0.0, below - blank)
        mix(memory, to + both, of + both, u, of + both - s, w, 0.0, single - both)
        scale(memory, to + single, of + single - s, w, 0.0, reach + 1 - single)
        return reach
    fill(memory, to + first, 0.0, reach + 1 - first)
    for v in range(begin, stop):
        s = shift[v]
        k = max(first, s)
        add(memory, to + k, of + k - s, weight[v], min(last + s, reach) + 1 - k)
    return reach


@inner
def spread(memory: Floats, of: int, last: int, i: int, first: int, to: int, lattice: Lattice) -> int:
    """Add feature i to a distribution under both classes; return its last cell."""
    begin, stop, end, width = lattice.start[i], lattice.start[i + 1], lattice.cells, lattice.width
    shift, p, q = lattice.shift, lattice.p, lattice.q
    spread_row(memory, of, last, shift, p, begin, stop, first, end, to)
    return spread_row(memory, of + width, last, shift, q, begin, stop, first, end, to + width)


@inner
def raise_row(
    memory: Floats,
    of: int,
    first: int,
    floor: float,
    end: float,
    shift: Ints,
    weight: Floats,
    start: int,
    stop: int,
    plus: float,
    t: int,
    to: int,
) -> int:
    """Drop a feature under one class: to[k] = plus + sum over values of weight * of[k + shift], for cells below t.

    Parameters
    ----------
    memory, of, first, floor, end
        The lift: `floor` below cell `first`, `end` from cell t on, written out between.
    shift, weight, start, stop
        The feature's values are those from `start` to before `stop`.
    plus
        The mass of the feature's values that make any decision positive.
    t
        The cell from which decisions are positive.
    to
        Another row than `of`; written between the returned cell and t.

    Returns
    -------
    int
        The first cell that is written out.
    """
    begin: int = max(0, first - (shift[stop - 1] if stop > start else 0))
    if stop == start + 2:
        s, u, w = shift[start + 1], weight[start], weight[start + 1]
        out, over = max(begin, min(first, t)), max(begin, t - s)  # from here on: written out, and at the end
        near, far = min(out, over), max(out, over)
        scale(memory, to + begin, of + begin + s, w, plus + u * floor, near - begin)
        mix(memory, to + out, of + out, u, of + out + s, w, plus, over - out)
        fill(memory, to + over, plus + u * floor + w * end, out - over)
        scale(memory, to + far, of + far, u, plus + w * end, t - far)
        return begin
    fill(memory, to + begin, plus, t - begin)
    for v in range(start, stop):
        s, w = shift[v], weight[v]
        out, over = max(begin, min(first - s, t)), max(begin, t - s)
        raise_by(memory, to + begin, w * floor, min(out, t) - begin)
        add(memory, to + out, of + out + s, w, over - out)
        end_from = max(out, over)
        raise_by(memory, to + end_from, w * end, t - end_from)
    return begin


@inner
def drop(memory: Floats, of: int, lift: Lift, i: int, to: int, lattice: Lattice) -> Lift:
    """Write the lift after feature i is dropped as well."""
    width, plus, t = lattice.width, lattice.plus[i], lattice.t
    begin, stop, shift, p, q = lattice.start[i], lattice.start[i + 1], lattice.shift, lattice.p, lattice.q
    raise_row(memory, of + width, lift.first, 0.0, lift.b_end, shift, q, begin, stop, 0.0, t, to + width)
    first = raise_row(memory, of, lift.first, lift.floor, 1.0, shift, p, begin, stop, plus, t, to)
    finite_p, finite_q = 0.0, 0.0
    for v in range(begin, stop):
        finite_p += p[v]
        finite_q += q[v]
    return Lift(first, plus + finite_p * lift.floor, finite_q * lift.b_end)


@inner
def lesser(x: float, y: float, a_lift: float, b_lift: float) -> float:
    """Return the lesser of the masses decided positive and negative, of masses x and y under the two classes."""
    positive = x * a_lift + y * b_lift
    negative = x + y - positive
    return positive if positive < negative else negative


@inner
def merged_loss(memory: Floats, kept: int, last: int, lifted: int, lift: Lift, spare: int, lattice: Lattice) -> float:
    """Return the loss if the kept features were read only as far as their cell: an upper bound of the true one.

    The sum over cells of min(mass decided positive, mass decided negative). `spare` is a row to work in.
    """
    width, prior = lattice.width, lattice.prior
    other = 1 - prior
    begin, end = lift.first, min(lattice.t, last + 1)
    total = 0.0
    if begin < end:
        count = end - begin
        a = memory[kept + begin : kept + end]
        b = memory[kept + width + begin : kept + width + end]
        a_lift = memory[lifted + begin : lifted + end]
        b_lift = memory[lifted + width + begin : lifted + width + end]
        cell = memory[spare : spare + count]
        for k in range(count):
            cell[k] = lesser(prior * a[k], other * b[k], a_lift[k], b_lift[k])
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0  # four sums at a time, which a processor adds together
        for k in range(count // 4):
            s0 += cell[4 * k]
            s1 += cell[4 * k + 1]
            s2 += cell[4 * k + 2]
            s3 += cell[4 * k + 3]
        for k in range(4 * (count // 4), count):
            s0 += cell[k]
        total = (s0 + s1) + (s2 + s3)
    if lattice.zeros:
        for k in range(min(begin, last + 1)):
            total += lesser(prior * memory[kept + k], other * memory[kept + width + k], lift.floor, 0.0)
        for k in range(lattice.t, last + 1):
            total += lesser(prior * memory[kept + k], other * memory[kept + width + k], 1.0, lift.b_end)
    return total


@inner
def decided_share(memory: Floats, lifted: int, lift: Lift, k: int, lattice: Lattice) -> tuple[float, float]:
    """Return 2 * lift - 1 of a cell, under each class."""
    if k < lift.first:
        return 2 * lift.floor - 1, -1.0
    if k < lattice.t:
        return 2 * memory[lifted + k] - 1, 2 * memory[lifted + lattice.width + k] - 1
    return 1.0, 2 * lift.b_end - 1


@inner
def merging_gain(
    memory: Floats,
    kept: int,
    last: int,
    lifted: int,
    lift: Lift,
    centre: float,
    low: float,
    high: float,
    lattice: Lattice,
) -> float:
    """Return the most by which reading whole cells overstates the loss.

    Instances in a cell have odds between r_lo and r_hi, whose logarithms are centre + step * k + low and + high. With
    y = 2 * lift - 1 under the positive class and z under the negative one, an instance of masses (x, w) loses
    (x + w - |x y + w z|) / 2. The modulus is convex and homogeneous, so that over a cell of masses (A, B) it sums to
    at most u |r_lo y + z| + v |r_hi y + z|, where (A, B) = u (r_lo, 1) + v (r_hi, 1). Merging counts |A y + B z|,
    which is the same unless the sign changes between r_lo and r_hi. The odds, y and z all grow with the cell, so
    that those cells follow each other; bisection finds the first.
    """
    first = 0 if lattice.zeros else lift.first
    beyond = last + 1 if lattice.zeros else min(last + 1, lattice.t)
    end = beyond
    while first < end:
        k = (first + end) // 2
        y, z = decided_share(memory, lifted, lift, k, lattice)
        if y > 0 and np.exp(centre + lattice.step * k + high) * y + z > 0:
            end = k
        else:
            first = k + 1
    gain = 0.0
    for k in range(first, beyond):
        y, z = decided_share(memory, lifted, lift, k, lattice)
        odds = centre + lattice.step * k
        r_lo = np.exp(odds + low)
        if r_lo * y + z >= 0:
            break
        r_hi = np.exp(odds + high)
        x, w = lattice.prior * memory[kept + k], (1 - lattice.prior) * memory[kept + lattice.width + k]
        v = (x - r_lo * w) / (r_hi - r_lo)
        whole = abs(x * y + w * z)
        split = v * (r_hi * y + z) - (w - v) * (r_lo * y + z)
        if not split <= x + w:  # the mass is so small that the odds overflow: nothing is more than all of it
            split = x + w
        gain += max(0.0, split - whole) / 2
    return gain


@inner
def build_kept(chosen: Bools, memory: Floats, to: int, spare: int, lattice: Lattice) -> int:
    """Write the distribution of chosen features; return its last cell. `spare` is another pair of rows."""
    if lattice.cells == 0:
        return -1
    memory[to] = memory[to + lattice.width] = 1.0
    last = ZERO
    for i in range(len(chosen)):
        if chosen[i]:
            last = spread(memory, to, last, i, ZERO, spare, lattice)
            copy_pair(memory, to, spare, ZERO, last + 1, lattice.width)
    return last


@inner
def build_lift(dropped: Bools, memory: Floats, to: int, spare: int, lattice: Lattice) -> Lift:
    """Write the lift when all of some features are dropped. `spare` is another pair of rows."""
    lift = Lift(lattice.t, 0.0, 1.0)
    for i in range(len(dropped)):
        if dropped[i]:
            lift = drop(memory, to, lift, i, spare, lattice)
            copy_pair(memory, to, spare, lift.first, lattice.t, lattice.width)
    return lift


@kernel
def losses(subsets: Bools, memory: Floats, lower: Floats, upper: Floats, lattice: Lattice) -> None:
    """Bound the loss of each of many subsets of kept features, each from nothing.

    Parameters
    ----------
    subsets
        Which features are kept, [subsets, features].
    memory
        Work space, seven rows.
    lower, upper
        Receive bounds of the losses, as far as the lattice's decisions are the true ones.
    lattice
        The problem.
    """
    lattice, memory = uncounted_lattice(lattice), uncounted(memory)
    width = lattice.width
    for s in range(len(subsets)):
        kept = subsets[s]
        last = build_kept(kept, memory, ZERO, 4 * width, lattice)
        lift = build_lift(~kept, memory, 2 * width, 4 * width, lattice)
        merged = merged_loss(memory, ZERO, last, 2 * width, lift, 6 * width, lattice)
        centre, low, high = lattice.bias, 0.0, 0.0
        for i in range(len(kept)):
            if kept[i]:
                centre += lattice.offset[i]
                low += lattice.low[i]
                high += lattice.high[i]
        gain = merging_gain(memory, ZERO, last, 2 * width, lift, centre, low, high, lattice)
        lower[s], upper[s] = merged - gain, merged


class Order(NamedTuple):
    """What features cost, in the order in which the search decides them.

    Attributes
    ----------
    cost
        The cost of each feature, as an integer.
    until
        Features from one to before this are equal and cost the same: where one is excluded, so are the others.
    needs
        The set-ups that each feature needs, as bits.
    fee
        What each set-up costs, once.
    budget
        The most that the kept features may cost.
    most
        How many features may be kept.
    """

    cost: Ints
    until: Ints
    needs: Ints
    fee: Ints
    budget: int
    most: int


class Outlook(NamedTuple):
    """Bounds of what the money that is left can still buy, below one node; see module `outlook`, which makes them.

    Attributes
    ----------
    alpha, beta
        An instance of masses a and b under the two classes, in a cell of the kept sum, will lose at least
        alpha * a + beta * b, whatever is bought; [positions, units + 1, cells], the positions from `position` on.
    base
        What is added to the kept cell for each feature that is kept, before `first` is taken away; [features].
    position, first
        Where positions and cells of the table begin.
    unit
        How much money is a unit; 0 if units are features. Without a table, -1.
    """

    alpha: Floats
    beta: Floats
    base: Ints
    position: int
    first: int
    unit: int


def no_outlook() -> Outlook:
    """Return an outlook that says nothing."""
    return Outlook(np.empty((1, 1, 1)), np.empty((1, 1, 1)), np.empty(0, dtype=np.int64), 0, 0, -1)


class Stack(NamedTuple):
    """Work space of `explore`: one level for each feature excluded on the way down, and one more.

    Attributes
    ----------
    memory
        Five spare rows, then six rows for each level: a pair for the distribution of the included features, one for
        the same with all undecided features from the position `CUT` on, and one for the lift when the excluded and
        the unaffordable features are dropped.
    number
        Whole numbers of each level, at the places named below; [levels, 11].
    share
        Other numbers of each level, likewise; [levels, 7].
    included
        Which features are included; [levels, features].
    """

    memory: Floats
    number: Ints
    share: Floats
    included: Bools


SPARE_ROWS = 5
LEVEL_ROWS = 6
POSITION = 0  # the first undecided feature
BEGIN = 1  # the position at which the level began
LEFT = 2  # what may still be spent
CUT = 3
OWN_LAST = 4
BASE_LAST = 5
LIFT_FIRST = 6
TRIED = 7  # whether excluding the feature at the position was tried
PAID = 8  # the set-ups that are paid, as bits
SLOTS = 9  # how many features may still be included
MOVED = 10  # how far the kept cells are moved for the outlook
FLOOR = 0
B_END = 1
BOUND = 2  # a lower bound of the loss of everything below this level
UPPER = 3  # the upper bound of the loss of all features that are not dropped
OFFSET = 4  # and low and high at 5 and 6, summed over those features


class Nodes(NamedTuple):
    """Open nodes of the search tree: everything before `position` is decided.

    Attributes
    ----------
    included
        Which features are included; [nodes, features].
    begin
        Subsets that end before this position have been considered.
    position
        The first undecided feature.
    bound
        A lower bound of the loss of every subset below.
    """

    included: Bools
    begin: Ints
    position: Ints
    bound: Floats


def new_nodes(nodes: int, features: int) -> Nodes:
    """Return room for open nodes."""
    return Nodes(
        np.zeros((nodes, features), dtype=np.bool_),
        np.zeros(nodes, dtype=np.int64),
        np.zeros(nodes, dtype=np.int64),
        np.zeros(nodes),
    )


def new_stack(lattice: Lattice) -> Stack:
    """Return work space for `explore`."""
    features = len(lattice.span)
    levels = features + 2
    return Stack(
        np.zeros((SPARE_ROWS + LEVEL_ROWS * levels) * lattice.width),
        np.zeros((levels, 11), dtype=np.int64),
        np.zeros((levels, 7)),
        np.zeros((levels, features), dtype=np.bool_),
    )


class Found(NamedTuple):
    """Subsets that the search could not rule out, with bounds of their losses; [subsets, features] and [subsets]."""

    included: Bools
    bound: Floats


@inner
def uncounted_outlook(outlook: Outlook) -> Outlook:
    """Return the same outlook over arrays without reference counting."""
    return Outlook(
        uncounted(outlook.alpha), uncounted(outlook.beta), uncounted(outlook.base), outlook.position, outlook.first,
        outlook.unit,
    )  # fmt: skip


@inner
def own_row(level: int, lattice: Lattice) -> int:
    """Return where a level's distribution of included features begins."""
    return (SPARE_ROWS + LEVEL_ROWS * level) * lattice.width


@inner
def base_row(level: int, lattice: Lattice) -> int:
    """Return where a level's distribution with the features beyond the cut begins."""
    return (SPARE_ROWS + LEVEL_ROWS * level + 2) * lattice.width


@inner
def lift_row(level: int, lattice: Lattice) -> int:
    """Return where a level's lift begins."""
    return (SPARE_ROWS + LEVEL_ROWS * level + 4) * lattice.width


@inner
def lift_at(stack: Stack, level: int) -> Lift:
    """Return the lift's description at a level."""
    return Lift(stack.number[level, LIFT_FIRST], stack.share[level, FLOOR], stack.share[level, B_END])


@inner
def drop_at(stack: Stack, level: int, i: int, to: int, lattice: Lattice) -> None:
    """Drop a feature at a level, and write the lift and the sums of what is left to the same level or another."""
    own = to == level
    target = ZERO if own else lift_row(to, lattice)
    lift = drop(stack.memory, lift_row(level, lattice), lift_at(stack, level), i, target, lattice)
    if own:
        copy_pair(stack.memory, lift_row(level, lattice), target, lift.first, lattice.t, lattice.width)
    stack.number[to, LIFT_FIRST] = lift.first
    stack.share[to, FLOOR] = lift.floor
    stack.share[to, B_END] = lift.b_end
    stack.share[to, OFFSET] = stack.share[level, OFFSET] - lattice.offset[i]
    stack.share[to, OFFSET + 1] = stack.share[level, OFFSET + 1] - lattice.low[i]
    stack.share[to, OFFSET + 2] = stack.share[level, OFFSET + 2] - lattice.high[i]


@inner
def keep_in(memory: Floats, row: int, last: int, i: int, lattice: Lattice) -> int:
    """Add a feature to a distribution in place; return its last cell."""
    reach = spread(memory, row, last, i, ZERO, ZERO, lattice)
    copy_pair(memory, row, ZERO, ZERO, reach + 1, lattice.width)
    return reach


@inner
def price_of(order: Order, i: int, paid: int) -> int:
    """Return what a feature costs where some set-ups are paid."""
    price: int = order.cost[i]
    missing, s = order.needs[i] & ~paid, 0
    while missing != 0:
        if missing & 1:
            price += order.fee[s]
        missing >>= 1
        s += 1
    return price


@inner
def in_reach(order: Order, i: int, left: int, paid: int, slots: int) -> bool:
    """Tell whether an undecided feature can still be included.

    What is out of reach stays so further down: a set-up that another feature paid cost at least as much as it saves.
    """
    return slots > 0 and price_of(order, i, paid) <= left


@inner
def reachable(stack: Stack, level: int, order: Order, i: int) -> bool:
    """Tell the same at a level."""
    return in_reach(order, i, stack.number[level, LEFT], stack.number[level, PAID], stack.number[level, SLOTS])


@inner
def prospect(stack: Stack, level: int, position: int, outlook: Outlook, lattice: Lattice) -> float:
    """Bound the loss of what is included at a level and whatever can be bought from a position on."""
    left = stack.number[level, SLOTS] if outlook.unit == 0 else stack.number[level, LEFT] // outlook.unit
    units: int = min(left, outlook.alpha.shape[1] - 1)
    place = position - outlook.position
    move = stack.number[level, MOVED] - outlook.first
    own, width = own_row(level, lattice), lattice.width
    begin, end = max(0, -move), min(stack.number[level, OWN_LAST] + 1, outlook.alpha.shape[2] - move)
    if begin >= end:
        return 0.0
    a, b = stack.memory[own + begin : own + end], stack.memory[own + width + begin : own + width + end]
    alpha = uncounted(outlook.alpha[place, units])[begin + move : end + move]
    beta = uncounted(outlook.beta[place, units])[begin + move : end + move]
    s0, s1, s2, s3, count = 0.0, 0.0, 0.0, 0.0, end - begin
    for k in range(count // 2):
        s0 += alpha[2 * k] * a[2 * k]
        s1 += alpha[2 * k + 1] * a[2 * k + 1]
        s2 += beta[2 * k] * b[2 * k]
        s3 += beta[2 * k + 1] * b[2 * k + 1]
    if count % 2:
        s0 += alpha[count - 1] * a[count - 1]
        s2 += beta[count - 1] * b[count - 1]
    return lattice.prior * (s0 + s1) + (1 - lattice.prior) * (s2 + s3)


@inner
def rebuild_base(stack: Stack, level: int, cut: int, order: Order, lattice: Lattice) -> None:
    """Write the distribution of the included features and of the affordable undecided ones from a position on."""
    last, row = stack.number[level, OWN_LAST], base_row(level, lattice)
    copy_pair(stack.memory, row, own_row(level, lattice), ZERO, last + 1, lattice.width)
    for i in range(cut, len(order.cost)):
        if reachable(stack, level, order, i):
            last = keep_in(stack.memory, row, last, i, lattice)
    stack.number[level, CUT] = cut
    stack.number[level, BASE_LAST] = last


@inner
def bound_at(
    stack: Stack, level: int, lift_level: int, begin: int, order: Order, lattice: Lattice
) -> tuple[float, float]:
    """Bound the loss of what a level's base holds and the affordable features from `begin` to the cut.

    The lift and the sums are those of `lift_level`.
    """
    memory, width = stack.memory, lattice.width
    cut = stack.number[level, CUT]
    lift = lift_at(stack, lift_level)
    to_come = 0  # shifts still to be added: cells so far below the first that matters can reach it
    for i in range(begin, cut):
        if reachable(stack, level, order, i):
            to_come += lattice.span[i]
    first = 0 if lattice.zeros else lift.first
    row, last = base_row(level, lattice), stack.number[level, BASE_LAST]
    free = ZERO
    for i in range(begin, cut):
        if reachable(stack, level, order, i):
            to_come -= lattice.span[i]
            last = spread(memory, row, last, i, max(0, first - to_come), free, lattice)
            row, free = free, 2 * width - free
    lifted = lift_row(lift_level, lattice)
    merged = merged_loss(memory, row, last, lifted, lift, 4 * width, lattice)
    centre = lattice.bias + stack.share[lift_level, OFFSET]
    low, high = stack.share[lift_level, OFFSET + 1], stack.share[lift_level, OFFSET + 2]
    return merged - merging_gain(memory, row, last, lifted, lift, centre, low, high, lattice), merged


@inner
def enter(stack: Stack, nodes: Nodes, node: int, order: Order, outlook: Outlook, lattice: Lattice) -> None:
    """Write the first level for an open node."""
    count = len(order.cost)
    money, paid, slots = order.budget, ZERO, order.most
    for i in range(count):
        stack.included[0, i] = nodes.included[node, i]
        if nodes.included[node, i]:
            money -= price_of(order, i, paid)
            paid |= order.needs[i]
            slots -= 1
    dropped = ~stack.included[0]
    for i in range(nodes.position[node], count):
        dropped[i] = not in_reach(order, i, money, paid, slots)
    stack.number[0, POSITION] = nodes.position[node]
    stack.number[0, BEGIN] = nodes.begin[node]
    stack.number[0, LEFT] = money
    stack.number[0, PAID] = paid
    stack.number[0, SLOTS] = slots
    stack.number[0, TRIED] = 0
    stack.number[0, MOVED] = 0
    if outlook.unit >= 0:
        for i in range(count):
            if nodes.included[node, i]:
                stack.number[0, MOVED] += outlook.base[i]
    stack.number[0, CUT] = 0  # the base is not there yet
    own, lifted = own_row(ZERO, lattice), lift_row(ZERO, lattice)
    stack.number[0, OWN_LAST] = build_kept(stack.included[0], stack.memory, own, ZERO, lattice)
    lift = build_lift(dropped, stack.memory, lifted, ZERO, lattice)
    stack.number[0, LIFT_FIRST] = lift.first
    stack.share[0, FLOOR] = lift.floor
    stack.share[0, B_END] = lift.b_end
    stack.share[0, BOUND] = nodes.bound[node]
    stack.share[0, UPPER] = 1.0
    stack.share[0, OFFSET] = stack.share[0, OFFSET + 1] = stack.share[0, OFFSET + 2] = 0.0
    for i in range(count):
        if not dropped[i]:
            stack.share[0, OFFSET] += lattice.offset[i]
            stack.share[0, OFFSET + 1] += lattice.low[i]
            stack.share[0, OFFSET + 2] += lattice.high[i]


@inner
def descend(stack: Stack, level: int, position: int, lower: float, upper: float, lattice: Lattice) -> None:
    """Write the next level, in which all that was undecided before a position is excluded; its lift is there."""
    below = level + 1
    for place in (LEFT, CUT, OWN_LAST, BASE_LAST, PAID, SLOTS, MOVED):
        stack.number[below, place] = stack.number[level, place]
    stack.number[below, POSITION] = stack.number[below, BEGIN] = position
    stack.number[below, TRIED] = 0
    stack.share[below, BOUND] = max(lower, stack.share[level, BOUND])
    stack.share[below, UPPER] = upper
    width, memory = lattice.width, stack.memory
    copy_pair(memory, own_row(below, lattice), own_row(level, lattice), ZERO, stack.number[level, OWN_LAST] + 1, width)
    copy_pair(
        memory, base_row(below, lattice), base_row(level, lattice), ZERO, stack.number[level, BASE_LAST] + 1, width
    )
    for i in range(stack.included.shape[1]):
        stack.included[below, i] = stack.included[level, i]


@inner
def include(stack: Stack, level: int, order: Order, outlook: Outlook, lattice: Lattice, limit: float) -> int:
    """Include the feature at the position; drop what has become unaffordable; return how many bounds that took.

    The level's bound is raised; it reaches `limit` where nothing below can be wanted.
    """
    count, cut = len(order.cost), stack.number[level, CUT]
    i, before = stack.number[level, POSITION], stack.number[level, LEFT]
    own, base = own_row(level, lattice), base_row(level, lattice)
    stack.included[level, i] = True
    stack.number[level, OWN_LAST] = keep_in(stack.memory, own, stack.number[level, OWN_LAST], i, lattice)
    paid_before, slots_before = stack.number[level, PAID], stack.number[level, SLOTS]
    stack.number[level, LEFT] = before - price_of(order, i, paid_before)
    stack.number[level, PAID] = paid_before | order.needs[i]
    stack.number[level, SLOTS] = slots_before - 1
    stack.number[level, POSITION] = i + 1
    stack.number[level, TRIED] = 0
    near, far, evaluations = 0, 0, 0
    if outlook.unit >= 0:
        stack.number[level, MOVED] += outlook.base[i]
        evaluations += 1
        lower = prospect(stack, level, i + 1, outlook, lattice)
        stack.share[level, BOUND] = max(lower, stack.share[level, BOUND])
        if lower >= limit:
            return evaluations
    stack.number[level, BASE_LAST] = keep_in(stack.memory, base, stack.number[level, BASE_LAST], i, lattice)
    for g in range(i + 1, count):
        if in_reach(order, g, before, paid_before, slots_before) and not reachable(stack, level, order, g):
            if g < cut:
                near += 1
                drop_at(stack, level, g, level, lattice)
            else:
                far += 1
    if near > 0 and far > 0:  # a bound that counts the far ones as kept, and need not move them
        evaluations += 1
        lower, _ = bound_at(stack, level, level, i + 1, order, lattice)
        if lower >= limit:
            stack.share[level, BOUND] = lower
            return evaluations
    if far > 0:
        for g in range(cut, count):
            if in_reach(order, g, before, paid_before, slots_before) and not reachable(stack, level, order, g):
                drop_at(stack, level, g, level, lattice)
        rebuild_base(stack, level, cut, order, lattice)
    if near + far > 0:
        evaluations += 1
        lower, upper = bound_at(stack, level, level, i + 1, order, lattice)
        stack.share[level, BOUND] = max(lower, stack.share[level, BOUND])
        stack.share[level, UPPER] = upper
    return evaluations


@inner
def report(stack: Stack, level: int, every: bool, found: Found, sets: int) -> int:
    """Write down a level's included features; and, where every subset counts, the parts that grew into them."""
    count = stack.included.shape[1]
    for end in range(stack.number[level, BEGIN] if every else count, count + 1):
        if end == count or stack.included[level, end]:
            for g in range(count):
                found.included[sets, g] = g < end and stack.included[level, g]
            found.bound[sets] = stack.share[level, BOUND]
            sets += 1
    return sets


@inner
def leave(stack: Stack, level: int, left: Nodes) -> None:
    """Write down what is still to be searched at a level."""
    position = stack.number[level, POSITION]
    for g in range(stack.included.shape[1]):
        left.included[level, g] = stack.included[level, g]
    if stack.number[level, TRIED] == 1:  # all that is left is to include the feature
        left.included[level, position] = True
        position += 1
    left.begin[level] = stack.number[level, BEGIN]
    left.position[level] = position
    left.bound[level] = stack.share[level, BOUND]


@kernel
def explore(
    lattice: Lattice,
    order: Order,
    outlook: Outlook,
    nodes: Nodes,
    node: int,
    limit: float,
    rise: float,
    every: bool,
    most: int,
    ahead: int,
    stack: Stack,
    found: Found,
    left: Nodes,
) -> tuple[int, int, int, int, float]:
    """Search below an open node, depth first, for subsets of kept features whose loss may be less than a limit.

    A node includes some features, excludes others, and leaves those from a position on undecided. The loss of all
    features that are not excluded bounds what any subset below can reach (a subset knows less). It is tested each
    time a feature is excluded, by choice or because it has become unaffordable.

    Parameters
    ----------
    lattice, order
        The problem.
    outlook
        The outlook of the open node, or of one above it.
    nodes, node
        The open node.
    limit
        Only losses less than this are wanted.
    rise
        A subset that is found lowers the limit to its own loss and this: twice the lattice's margin, less the gap
        that the search may leave.
    every
        Look for every subset under the limit, and leave the limit as it is. Otherwise a subset to which an affordable
        feature could still be added is passed over, since adding it never increases the loss.
    most
        Stop after so many bounds.
    ahead
        How far beyond the position the base's cut is set when the base is rebuilt.
    stack
        Work space.
    found
        Receives the subsets.
    left
        Receives the nodes that are still open after a stop.

    Returns
    -------
    tuple
        The numbers of bounds computed, of nodes visited, of subsets found, and of nodes left, and the limit at the end.
    """
    lattice = uncounted_lattice(lattice)
    stack = Stack(uncounted(stack.memory), uncounted(stack.number), uncounted(stack.share), uncounted(stack.included))
    order = Order(
        uncounted(order.cost), uncounted(order.until), uncounted(order.needs), uncounted(order.fee), order.budget,
        order.most,
    )  # fmt: skip
    count = len(order.cost)
    outlook = uncounted_outlook(outlook)
    enter(stack, nodes, node, order, outlook, lattice)
    evaluations, visited, sets, level = 0, 1, ZERO, ZERO
    while level >= 0 and evaluations < most and sets + count + 1 <= len(found.bound):
        i = stack.number[level, POSITION]
        while i < count and not reachable(stack, level, order, i):
            i += 1
        stack.number[level, POSITION] = i
        if stack.share[level, BOUND] >= limit:
            level -= 1
        elif i == count:  # nothing can be added: the included features are a candidate
            sets = report(stack, level, every, found, sets)
            if not every:
                limit = min(limit, stack.share[level, UPPER] + rise)
            level -= 1
        elif stack.number[level, TRIED] == 1:
            evaluations += include(stack, level, order, outlook, lattice, limit)
        else:
            stack.number[level, TRIED] = 1
            until = order.until[i]
            foreseen = 0.0
            if outlook.unit >= 0:
                evaluations += 1
                foreseen = prospect(stack, level, until, outlook, lattice)
                if foreseen >= limit:
                    continue
            if until > stack.number[level, CUT]:
                rebuild_base(stack, level, order.until[min(count, until + ahead) - 1], order, lattice)
            drop_at(stack, level, i, level + 1, lattice)
            for g in range(i + 1, until):
                drop_at(stack, level + 1, g, level + 1, lattice)
            lower, upper = bound_at(stack, level, level + 1, until, order, lattice)
            evaluations += 1
            if lower < limit:
                descend(stack, level, until, max(lower, foreseen), upper, lattice)
                visited += 1
                level += 1
    for j in range(level + 1):
        leave(stack, j, left)
    return evaluations, visited, sets, level + 1, limit
