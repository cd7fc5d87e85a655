"""The margin of a lattice: a bound of the mass of instances that it decides otherwise than they are.

An instance is positive iff its steps and its errors sum to at least the gap; the lattice looks at the steps alone. On
lattices of few cells, the joint distribution of both is written out. On finer ones, that would take too long: there the
errors of each cell's instances are bounded as Chernoff does, with the cell's own moments (docs/additive.md, section 3).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayestrim.kernels.lattice import Lattice
from bayestrim.kernels.sums import flipped, joint_errors, sums_of_both, sums_of_shifts
from bayestrim.network import FloatArray

TICKS = 32
"""Errors are counted in steps of this fraction of a cell."""
FEWEST_TICKS = 16
"""Coarser ticks are not worth it: where finding the margin takes too long with these, moments are used."""
DEVIATIONS = 5.0
"""Errors are followed so many standard deviations to either side."""
MOST_WORK = 1 << 25
"""The most operations that following errors may take under one class."""
TILTS = (1.0, 2.4)
"""Exponents of Chernoff's bound, in the reciprocal of the standard deviation of all errors."""
FARTHEST = 7.0
"""So many standard deviations from the border, cells are bounded together."""
FAR_TILT = 7.0
"""The exponent of that bound."""


class Part(NamedTuple):
    """Some features that follow each other.

    Attributes
    ----------
    begin, end
        From which to before which feature.
    reach
        How many cells their shifts span.
    deviation
        The standard deviation of their errors' sum.
    """

    begin: int
    end: int
    reach: int
    deviation: float


def flips(lattice: Lattice, error: FloatArray, gap: float, noise: float) -> float:
    """Return a bound of the mass of instances that the lattice decides otherwise than they are.

    Parameters
    ----------
    lattice
        The lattice.
    error
        The error of each value.
    gap
        The border less all offsets: an instance is positive iff its steps and errors sum to at least this.
    noise
        Nearer to it than this, it may be either.
    """
    cells = int(lattice.span.sum()) + 1
    if abs(gap) > lattice.step * (cells + 1) + np.abs(error).sum() + noise:
        return 0.0  # finite log-odds never come near the border
    masses = [_flips_of_class(lattice, error, gap, noise, weight) for weight in (lattice.p, lattice.q)]
    return lattice.prior * masses[0] + (1 - lattice.prior) * masses[1]


def _flips_of_class(lattice: Lattice, error: FloatArray, gap: float, noise: float, weight: FloatArray) -> float:
    """Return the same under one class: the features in two parts, whose shifts are followed apart."""
    features = len(lattice.span)
    middle = int(np.searchsorted(np.cumsum(lattice.span), lattice.span.sum() / 2)) if features else 0
    parts = [_part(lattice, error, weight, begin, end) for begin, end in ((0, middle), (middle, features))]
    ticks = float(TICKS)
    while ticks >= FEWEST_TICKS:
        unit = lattice.step / ticks
        work = sum(_ticks_wide(part, unit) * part.reach * (part.end - part.begin) for part in parts)
        if work <= MOST_WORK:
            return _followed(lattice, error, gap, noise, weight, parts, unit)
        ticks /= 2
    return _tilted(lattice, error, gap, noise, weight, parts)


def _part(lattice: Lattice, error: FloatArray, weight: FloatArray, begin: int, end: int) -> Part:
    values = slice(lattice.start[begin], lattice.start[end])
    deviation = math.sqrt(float(weight[values] @ error[values] ** 2))
    return Part(begin, end, int(lattice.span[begin:end].sum()) + 1, deviation)


def _ticks_wide(part: Part, unit: float) -> int:
    """Return how many ticks the errors of a part are given."""
    return 2 * (math.ceil(DEVIATIONS * part.deviation / unit) + 2) + 1


def _followed(
    lattice: Lattice,
    error: FloatArray,
    gap: float,
    noise: float,
    weight: FloatArray,
    parts: list[Part],
    unit: float,
) -> float:
    """Return the mass by the joint distribution of shifts and errors, in ticks of some width."""
    ticks, left_over, doubt = _in_ticks(lattice.start, error, unit)
    mass, tables, lasts = 0.0, [], []
    for part in parts:
        shape = part.reach, _ticks_wide(part, unit)
        table, spare = np.empty(shape), np.empty(shape)
        last, beyond = joint_errors(lattice.start, lattice.shift, ticks, weight, part.begin, part.end, table, spare)
        mass += beyond
        tables.append(table)
        lasts.append(last)
    border = lattice.t, lattice.step, unit, gap - left_over, doubt + noise
    return float(mass + flipped(tables[0], lasts[0], tables[1], lasts[1], *border))


def _in_ticks(
    start: npt.NDArray[np.int64], error: FloatArray, unit: float
) -> tuple[npt.NDArray[np.int64], float, float]:
    """Return errors in whole ticks, and what is left of an instance's: about so much, give or take so much."""
    ticks, middles, doubt = [np.empty(0, dtype=np.int64)], 0.0, 0.0
    for begin, end in pairwise(start.tolist()):
        errors = error[begin:end]
        first = errors[:1].sum()
        tick = (np.rint(first / unit) + np.rint((errors - first) / unit)).astype(np.int64)
        rest = errors - unit * tick
        middle = float(rest.max() + rest.min()) / 2 if len(rest) else 0.0
        doubt += float(np.abs(rest - middle).max(initial=0.0))
        middles += middle
        ticks.append(tick)
    return np.concatenate(ticks), middles, doubt


def _tilted(
    lattice: Lattice, error: FloatArray, gap: float, noise: float, weight: FloatArray, parts: list[Part]
) -> float:
    """Return a bound of the mass by what each cell's errors come to under exponential weights.

    For any tilt > 0, those of a cell's instances whose errors reach g have at most the mass
    exp(-tilt * g) * (sum of their masses, each times exp(tilt * error)), which is a sum of products like any other.
    """
    deviation = max(math.hypot(*(part.deviation for part in parts)), lattice.step / 1024)
    cells = max(math.ceil((FARTHEST * deviation + noise) / lattice.step) + 1, 0)
    count = parts[0].reach + parts[1].reach - 1
    first, t, end = max(lattice.t - cells, 0), min(lattice.t, count), min(lattice.t + cells, count)
    mass = _cells_at(lattice, weight, parts, first, end)
    total = 0.0
    for sign, low, high in ((1, first, t), (-1, t, end)):
        needed = sign * (gap - lattice.step * np.arange(low, high)) - noise  # what errors, with the sign, have to reach
        farther = sign * (gap - lattice.step * (lattice.t - sign * cells)) - noise
        bounds = mass[low - first : high - first]
        with np.errstate(over="ignore", invalid="ignore"):  # what is infinite bounds nothing
            for tilt in (times / deviation for times in TILTS):
                here = _cells_at(lattice, weight * np.exp(sign * tilt * error), parts, low, high)
                bounds = np.fmin(bounds, np.exp(-tilt * needed) * here)
            total += float(bounds.sum())
            if low > 0 if sign > 0 else high < count:
                tilt = FAR_TILT / deviation
                tilted = weight * np.exp(sign * tilt * error)
                sums = [tilted[begin:stop].sum() for begin, stop in pairwise(lattice.start.tolist())]
                total += float(np.fmin(1.0, np.exp(-tilt * farther) * np.prod(sums)))
    return total


def _cells_at(lattice: Lattice, weight: FloatArray, parts: list[Part], low: int, high: int) -> FloatArray:
    """Return what weights come to in the cells from `low` to before `high`."""
    sums = []
    for part in parts:
        one, two = np.zeros(part.reach), np.zeros(part.reach)
        chosen = part.begin + np.argsort(lattice.span[part.begin : part.end], kind="stable")
        spared = sums_of_shifts(lattice.start, lattice.shift, weight, chosen, one, two)
        sums.append(two if spared else one)
    found = np.empty(high - low)
    sums_of_both(sums[0], np.ascontiguousarray(sums[1][::-1]), low, found)
    return found
