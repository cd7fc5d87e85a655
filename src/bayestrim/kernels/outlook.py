"""What the money that is left can still buy: a table of lower bounds of losses, by position and money.

The features of a node are included, excluded or undecided. Which of the undecided will be kept is not known, but how
many can be paid is. The table holds, for every position in the order, every amount left and every cell of the kept
sum, a bound of the loss that an instance in that cell ends up with, whatever is bought; docs/bounds.md has the proof.

The loss in a cell is concave and homogeneous in the masses (a, b) under the two classes, and their ratio a / b lies in
a known range, the cell's *cone*. Each bound is a linear form alpha * a + beta * b that holds within the cone.

Cells are *signed* here: a feature's shifts are moved by whole steps, `base`, so that its log-odds are its signed
shifts times the step, up to a rest of about half a step. The log-odds of kept features then are known from their
cell, whichever they are. Rows have a pad at either end, wide enough for the largest signed shift.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayestrim.kernels import inner, kernel, uncounted
from bayestrim.kernels.lattice import Lattice

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Frame(NamedTuple):
    """What a table is laid out on.

    Attributes
    ----------
    base
        The signed shift of each feature's smallest shift; [features].
    price
        What each feature costs, in units, rounded down; [features].
    pad
        The length of a pad.
    first
        The signed cell of the first cell between the pads.
    low, high
        The least and the largest ratio of masses that occur in each cell, its cone; [cells].
    told
        1 in cells that are bounded, 0 in those whose ratios are beyond what floats hold; [cells].
    """

    base: Ints
    price: Ints
    pad: int
    first: int
    low: Floats
    high: Floats
    told: Floats


@inner
def assign(target: Floats, source: Floats) -> None:
    """Copy a row; NumPy's own assignment takes a second to compile, for errors that cannot happen here."""
    for k in range(len(source)):
        target[k] = source[k]


@inner
def averaged(
    source: Floats, target: Floats, weight: Floats, shift: Ints, begin: int, stop: int, origin: int, plus: float
) -> None:
    """Write target[k] = plus + sum over values of weight * source[origin + k + shift], for every cell k."""
    if stop == begin + 2:  # most features
        cells, u, w = len(target), weight[begin], weight[begin + 1]
        one, two = origin + shift[begin], origin + shift[begin + 1]
        x, y = source[one : one + cells], source[two : two + cells]
        for k in range(cells):
            target[k] = plus + u * x[k] + w * y[k]
        return
    target[:] = plus
    for v in range(begin, stop):
        move, w = origin + shift[v], weight[v]
        for k in range(len(target)):
            target[k] += w * source[move + k]


@inner
def dropped(row: Floats, i: int, positive: bool, over: bool, spare: Floats, lattice: Lattice, frame: Frame) -> None:
    """Write to `spare` the lift after feature i is dropped as well, or a bound of it near the ends.

    Lifts grow with the cell: beyond the ends they are at most row[0] and 1 (`over`), at least 0 and row[-1].
    """
    pad, end = frame.pad, len(row) - frame.pad
    row[:pad] = row[pad] if over else 0.0
    row[end:] = 1.0 if over else row[end - 1]
    begin, stop, origin = lattice.start[i], lattice.start[i + 1], pad + frame.base[i]
    if positive:
        averaged(row, spare, lattice.p, lattice.shift, begin, stop, origin, lattice.plus[i])
    else:
        averaged(row, spare, lattice.q, lattice.shift, begin, stop, origin, 0.0)


@inner
def bound_lifts(
    included: Bools,
    position: int,
    units: int,
    positive: bool,
    over: bool,
    rows: Floats,
    spare: Floats,
    lattice: Lattice,
    frame: Frame,
) -> None:
    """Bound the lift of every set that can be dropped below a node.

    What is dropped is what is excluded, and all undecided features but some that `units` can pay.

    Parameters
    ----------
    included, position, units
        The node, and what can be spent.
    positive
        Under which class.
    over
        Whether the bounds are upper ones.
    rows
        Row u receives the bounds where u units can be spent; [units + 1, cells between pads].
    spare
        Work space, [cells].
    lattice, frame
        The problem.
    """
    count, cells, pad = len(frame.base), len(spare), frame.pad
    threshold = lattice.t - frame.first
    for i in range(count):
        threshold += frame.base[i]
    first = rows[0, pad : pad + cells]
    for k in range(cells):
        first[k] = 1.0 if k >= threshold else 0.0
    for i in range(position):
        if not included[i]:
            dropped(rows[0], i, positive, over, spare, lattice, frame)
            assign(first, spare)
    for u in range(1, units + 1):
        assign(rows[u, pad : pad + cells], first)
    for i in range(count - 1, position - 1, -1):
        price = frame.price[i]
        for u in range(units, -1, -1):
            row = rows[u, pad : pad + cells]
            dropped(rows[u], i, positive, over, spare, lattice, frame)
            if price > u:
                assign(row, spare)
                continue
            other = rows[u - price, pad : pad + cells]
            if over:
                for k in range(cells):
                    row[k] = max(spare[k], other[k])
            else:
                for k in range(cells):
                    row[k] = min(spare[k], other[k])


@inner
def lesser_forms(
    alpha: Floats, beta: Floats, more_alpha: Floats, more_beta: Floats, to_alpha: Floats, to_beta: Floats, frame: Frame
) -> None:
    """Write the chord, over each cell's cone, of the lesser of two forms, which is concave and lies above it."""
    for k in range(len(to_alpha)):
        low, high = frame.low[k], frame.high[k]
        at_low = min(alpha[k] * low + beta[k], more_alpha[k] * low + more_beta[k])
        at_high = min(alpha[k] * high + beta[k], more_alpha[k] * high + more_beta[k])
        slope = frame.told[k] * max(0.0, (at_high - at_low) / (high - low))
        to_alpha[k] = slope
        to_beta[k] = frame.told[k] * at_low - slope * low


@kernel
def fill_outlook(
    included: Bools,
    position: int,
    alpha: Floats,
    beta: Floats,
    rows: Floats,
    spare: Floats,
    lattice: Lattice,
    frame: Frame,
) -> None:
    """Write the table of a node.

    Parameters
    ----------
    included, position
        The node: included features, [features], and the first undecided one.
    alpha, beta
        Receive the forms, [undecided features + 1, units + 1, pad + cells + pad]; zero at the pads.
    rows, spare
        Work space: [units + 1, pad + cells + pad] and [5, cells].
    lattice, frame
        The problem.
    """
    alpha, beta, rows, spare = uncounted(alpha), uncounted(beta), uncounted(rows), uncounted(spare)
    pad, cells, units, end = frame.pad, len(frame.low), alpha.shape[1] - 1, alpha.shape[0] - 1
    for side in range(4):  # under each class, from below and from above
        bound_lifts(included, position, units, side < 2, side % 2 == 1, rows, spare[4], lattice, frame)
        assign(spare[side], rows[units, pad : pad + cells])
    for k in range(cells):
        spare[1, k], spare[3, k] = 1 - spare[1, k], 1 - spare[3, k]
    for u in range(units + 1):
        to_alpha, to_beta = alpha[end, u, pad : pad + cells], beta[end, u, pad : pad + cells]
        lesser_forms(spare[0], spare[2], spare[1], spare[3], to_alpha, to_beta, frame)
    for place in range(end - 1, -1, -1):
        i = position + place
        begin, stop, origin, price = lattice.start[i], lattice.start[i + 1], pad + frame.base[i], frame.price[i]
        for u in range(units + 1):
            if price > u:
                assign(alpha[place, u], alpha[place + 1, u])
                assign(beta[place, u], beta[place + 1, u])
                continue
            averaged(alpha[place + 1, u - price], spare[0], lattice.p, lattice.shift, begin, stop, origin, 0.0)
            averaged(beta[place + 1, u - price], spare[1], lattice.q, lattice.shift, begin, stop, origin, 0.0)
            skip_alpha, skip_beta = alpha[place + 1, u, pad : pad + cells], beta[place + 1, u, pad : pad + cells]
            to_alpha, to_beta = alpha[place, u, pad : pad + cells], beta[place, u, pad : pad + cells]
            lesser_forms(skip_alpha, skip_beta, spare[0], spare[1], to_alpha, to_beta, frame)
