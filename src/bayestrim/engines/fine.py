"""One agreement at a time, certified on a lattice as fine as it takes.

The search's own lattice is coarse, since it is asked a million times. Here the distributions of the kept and of the
dropped features are written out once, each over the cells that hold any mass worth counting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bayestrim.engines.grid import lattice_values, place, rounding
from bayestrim.engines.independent import Feature, Independent
from bayestrim.engines.margin import flips
from bayestrim.kernels.sums import distributions
from bayestrim.network import FloatArray
from bayestrim.result import Interval, Kind

NEGLIGIBLE = 1e-22
"""Cells at the ends of a distribution that hold less are cut off."""


class Loss(NamedTuple):
    """Bounds of the mass of decisions that change."""

    lower: float
    upper: float

    def agreement(self, kind: Kind = "certified") -> Interval:
        """Return what is left: one minus the loss."""
        low, high = (min(1.0, max(0.0, 1 - end)) for end in (self.upper, self.lower))
        return Interval(low, high, kind)


@dataclass(frozen=True)
class Distribution:
    """The sum of some features' shifts, under each class.

    Attributes
    ----------
    first
        The cell of the first entry.
    p, q
        The mass of each cell under the positive and the negative class; values of infinite log-odds are left out.
    offset, low, high
        What the shifts leave out, summed over the features.
    cut
        The mass that was cut off as negligible.
    """

    first: int
    p: FloatArray
    q: FloatArray
    offset: float
    low: float
    high: float
    cut: float


@dataclass(frozen=True)
class Fine:
    """The kept and the dropped features of a classifier on a lattice.

    Attributes
    ----------
    model
        The classifier.
    kept, dropped
        The two distributions.
    step
        The width of a cell.
    margin
        Losses are true to this.
    """

    model: Independent
    kept: Distribution
    dropped: Distribution
    step: float
    margin: float

    @cached_property
    def t(self) -> int:
        """The least sum of all shifts that the lattice decides positive."""
        return math.ceil(_within((self.model.border - self.kept.offset - self.dropped.offset) / self.step))

    def best_loss(self) -> Loss:
        """Return bounds of the loss of the best decisions that read the kept features (one minus their MPA)."""
        merged, gain = self._cells
        total = float(merged.sum())
        return Loss(max(0.0, total - float(gain.sum()) - self.margin), total + self.margin)

    def loss_at(self, border: float, everything: bool, anything: bool) -> Loss:
        """Return bounds of the loss of one threshold.

        Parameters
        ----------
        border
            Kept features are decided positive if their log-odds sum to at least this (give or take the tie band).
        everything
            Whether even a posterior of 0 is decided positive.
        anything
            Whether at least a posterior of 1 is decided positive.
        """
        model, kept = self.model, self.kept
        positive, negative = self._masses
        merged, gain = self._cells
        odds = kept.offset + self.step * (kept.first + np.arange(len(kept.p)))
        surely = odds + kept.low >= border + 2 * model.band
        surely_not = odds + kept.high < border - 2 * model.band
        least = np.where(surely, negative, np.where(surely_not, positive, merged - gain))
        most = np.where(surely, negative, np.where(surely_not, positive, positive + negative - (merged - gain)))
        infinite = (0.0 if anything else model.prior * (1 - kept.p.sum())) + (
            (1 - model.prior) * (1 - kept.q.sum()) if everything else 0.0
        )
        infinite = max(0.0, float(infinite))
        return Loss(max(0.0, float(least.sum()) + infinite - self.margin), float(most.sum()) + infinite + self.margin)

    def turn(self) -> float:
        """Return about which sum of kept log-odds the best decision turns positive; infinite where it never turns."""
        positive, negative = self._masses
        losses = np.append(0.0, np.cumsum(positive)) + np.append(np.cumsum(negative[::-1])[::-1], 0.0)
        turn = int(np.argmin(losses))  # cells before this one are decided negative
        if turn in (0, len(positive)):
            return -math.inf if turn == 0 else math.inf
        return self.kept.offset + self.step * (self.kept.first + turn - 0.5)

    @cached_property
    def _lifts(self) -> tuple[FloatArray, FloatArray]:
        """Return the probability that each kept cell becomes positive, under each class."""
        dropped = self.dropped
        need, count = self.t - self.kept.first - dropped.first, len(self.kept.p)
        sums = [np.append(np.cumsum(side[::-1])[::-1], 0.0) for side in (dropped.p, dropped.q)]
        tails = [_downwards(side, need, count) for side in sums]
        infinite = max(0.0, 1 - float(dropped.p.sum()))
        return np.minimum(tails[0] + infinite, 1.0), tails[1]

    @cached_property
    def _masses(self) -> tuple[FloatArray, FloatArray]:
        """Return the mass of each kept cell that is decided positive, and negative."""
        p_lift, q_lift = self._lifts
        p, q = self.model.prior * self.kept.p, (1 - self.model.prior) * self.kept.q
        return p * p_lift + q * q_lift, p * (1 - p_lift) + q * (1 - q_lift)

    @cached_property
    def _cells(self) -> tuple[FloatArray, FloatArray]:
        """Return the merged loss of each kept cell, and how much that may overstate it (see the kernels)."""
        positive, negative = self._masses
        p_lift, q_lift = self._lifts
        y, z = 2 * p_lift - 1, 2 * q_lift - 1
        gain = np.zeros(len(y))
        between = np.flatnonzero((z < 0) & (y > 0))
        y, z = y[between], z[between]
        odds = self.model.bias + self.kept.offset + self.step * (self.kept.first + between)
        turn = np.log(-z) - np.log(y) - odds
        here = (self.kept.low < turn) & (turn < self.kept.high)
        where, y, z, odds = between[here], y[here], z[here], odds[here]
        x, w = self.model.prior * self.kept.p[where], (1 - self.model.prior) * self.kept.q[where]
        with np.errstate(over="ignore", invalid="ignore"):
            r_lo, r_hi = np.exp(odds + self.kept.low), np.exp(odds + self.kept.high)
            v = (x - r_lo * w) / (r_hi - r_lo)
            split = v * (r_hi * y + z) - (w - v) * (r_lo * y + z)
            split = np.where(split <= x + w, split, x + w)
        gain[where] = np.maximum(0.0, split - np.abs(x * y + w * z)) / 2
        return np.minimum(positive, negative), gain


def fine(
    model: Independent, kept: Sequence[Feature], dropped: Sequence[Feature], cells: int, leeway: float = 0.0
) -> Fine:
    """Return the two distributions on a lattice of about so many cells.

    Instances whose log-odds lie within `leeway` of the border may be decided either way.
    """
    everything = [*kept, *dropped]
    swing = sum(feature.swing for feature in everything)
    step = swing / max(cells - 1, 1) if swing > 0 else 1.0
    sides = [_distribution(side, step) for side in (kept, dropped)]
    bare = Fine(model, sides[0], sides[1], step, 0.0)
    placed = place(model, everything, step)
    lattice = placed.lattice._replace(t=min(max(bare.t, 0), placed.lattice.width - 1))
    wrong = flips(lattice, placed.error, placed.gap, model.noise + leeway) + sides[0].cut + sides[1].cut
    return replace(bare, margin=wrong + rounding(model, cells + len(everything)))


def _distribution(features: Sequence[Feature], step: float) -> Distribution:
    values = [lattice_values(feature, step) for feature in features]
    values.sort(key=lambda value: int(value.shift.max(initial=0)))  # adding the widest last takes least time
    start = np.cumsum([0, *(len(value.shift) for value in values)])
    shift = np.concatenate([np.empty(0, dtype=np.int64), *(value.shift for value in values)])
    p, q = (np.concatenate([np.empty(0), *(getattr(value, side) for value in values)]) for side in ("p", "q"))
    cells = 1 + sum(int(value.shift.max(initial=0)) for value in values)
    one, two = np.empty((2, cells)), np.empty((2, cells))
    first, last, cut, spared = distributions(start, shift, p, q, NEGLIGIBLE, one, two)
    sums = (two if spared else one)[:, first : last + 1].copy()
    offset = sum(value.offset for value in values)
    low, high = (sum(float(end(value.error, initial=0.0)) for value in values) for end in (np.min, np.max))
    return Distribution(first, sums[0], sums[1], offset, low, high, NEGLIGIBLE * cut)


def _downwards(values: FloatArray, start: int, count: int) -> FloatArray:
    """Return values[start], values[start - 1], …: so many, the first and the last value standing for what is beyond."""
    last = len(values) - 1
    above, below = min(max(start - last, 0), count), min(max(start + 1, 0), count)
    found = np.empty(count)
    found[:above] = values[last]
    found[above:below] = values[start - below + 1 : start - above + 1][::-1]
    found[below:] = values[0]
    return found


def _within(cell: float) -> float:
    """Return a cell's number, or one as far beyond all cells as whole numbers allow."""
    return min(max(cell, -1e15), 1e15)
