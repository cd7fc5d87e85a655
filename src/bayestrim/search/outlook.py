"""Outlooks of nodes of the search tree: what the money that is left can still buy (docs/bounds.md)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bayestrim.kernels.lattice import Lattice, Order, Outlook, no_outlook
from bayestrim.kernels.outlook import Frame, fill_outlook

MOST_UNITS = 64
"""Larger budgets are counted in coarser units, in which prices are rounded down."""
MOST_ENTRIES = 1 << 22
"""Larger tables are not made: each entry takes 16 bytes, and 5 ns or so."""
ROUNDED = 1e-6
"""Cones are so much wider, on either side, than the logarithms say: more than rounding, and never empty."""
FARTHEST = 300.0
"""Cells of larger log-odds, either way, are not bounded: masses there are smaller than any that matter."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def outlook_of(lattice: Lattice, order: Order, included: npt.NDArray[np.bool_], position: int) -> Outlook:
    """Return the outlook of a node, which holds for all nodes below as well.

    Set-ups of undecided features count as paid, and so does what may not be kept for any other reason than money:
    ignoring a constraint can only lower a bound.

    Parameters
    ----------
    lattice, order
        The problem.
    included, position
        The node: which features are included, [features], and the first that is undecided.
    """
    undecided = np.arange(len(order.cost)) >= position
    left, slots = _left(order, included)
    number = _most_features(order.cost[undecided], left, slots)
    base = np.rint(lattice.offset / lattice.step).astype(np.int64)

    def reach(values: Floats | Ints) -> float:
        """Return the most that a sum over the included and the affordable undecided features can be."""
        more = np.sort(np.maximum(values[undecided], 0))[::-1][:number]
        return float(values[included].sum() + more.sum())

    rest = lattice.offset - lattice.step * base
    low, high = -reach(-(rest + lattice.low)), reach(rest + lattice.high)
    first, last = -int(reach(-base)), int(reach(base + lattice.span))
    cells, pad = last - first + 1, int(np.abs([base, base + lattice.span]).max(initial=0))
    unit, units, price = _in_units(order.cost, left, slots, number)
    shape = (len(order.cost) - position + 1, units + 1, cells + 2 * pad)
    if shape[0] * shape[1] * shape[2] > MOST_ENTRIES:
        return no_outlook()
    odds = lattice.bias + lattice.step * (first + np.arange(cells))
    told = (odds + low > -FARTHEST) & (odds + high < FARTHEST)
    at_low, at_high = np.where(told, odds + low, low) - ROUNDED, np.where(told, odds + high, high) + ROUNDED
    frame = Frame(base, price, pad, first, np.exp(at_low), np.exp(at_high), told.astype(float))
    alpha, beta = np.zeros(shape), np.zeros(shape)
    fill_outlook(included, position, alpha, beta, np.empty(shape[1:]), np.empty((5, cells)), lattice, frame)
    return Outlook(alpha, beta, base, position, first - pad, unit)


def _left(order: Order, included: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Return the money and the places that a node has left."""
    setups = int(np.bitwise_or.reduce(order.needs[included], initial=0))
    fees = sum(int(fee) for s, fee in enumerate(order.fee) if setups >> s & 1)
    return max(0, order.budget - int(order.cost[included].sum()) - fees), max(0, order.most - int(included.sum()))


def _most_features(cost: Ints, left: int, slots: int) -> int:
    """Return how many features can be had at most."""
    return min(int(np.searchsorted(np.cumsum(np.sort(cost)), left, side="right")), slots)


def _in_units(cost: Ints, left: int, slots: int, number: int) -> tuple[int, int, Ints]:
    """Return the unit, how many are left, and prices in units; features are the units where places are scarcer."""
    if number == slots:
        return 0, slots, np.ones_like(cost)
    step = max(1, int(np.gcd.reduce(cost)))  # what all prices are multiples of
    unit = step * max(1, -(-(left // step) // MOST_UNITS))
    return unit, left // unit, cost // unit
