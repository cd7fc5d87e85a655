"""The certified lattice: log-odds rounded to whole steps, and how much that can change any agreement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayestrim.engines.independent import ROUNDING, Feature, Independent
from bayestrim.engines.margin import flips
from bayestrim.kernels.lattice import Lattice, losses
from bayestrim.network import FloatArray

STEPS_TRIED = 256
"""So many widths of a cell are tried, from the widest on; the one whose errors vary least is taken."""
WIDEST = 1.25
"""How much wider than the narrowest the widest of them is."""


@dataclass(frozen=True)
class Grid:
    """A lattice and its margin.

    Attributes
    ----------
    lattice
        The numbers the kernels work on; features in the order of `features`.
    margin
        The lattice's losses, and its bounds of losses, are true to this: the mass of instances it decides otherwise
        than they are, and rounding.
    """

    features: tuple[Feature, ...]
    lattice: Lattice
    margin: float

    def losses(self, subsets: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """Return the lattice's lower and upper bounds of the losses of subsets [subsets, features]; add the margin."""
        lower, upper = np.empty(len(subsets)), np.empty(len(subsets))
        losses(subsets, np.empty(7 * self.lattice.width), lower, upper, self.lattice)
        return lower, upper


def make_grid(
    model: Independent, features: Sequence[Feature], cells: int, *, margin: bool = True, leeway: float = 0.0
) -> Grid:
    """Return a lattice for all of a model's features, in a given order.

    Parameters
    ----------
    model
        The classifier.
    features
        Its features, in the order in which they are to be numbered.
    cells
        About how many cells the sum of all features spans.
    margin
        Whether to find the margin, which takes longest; without it, the lattice's losses are mere estimates.
    leeway
        Instances whose log-odds lie so near the border may be decided either way.
    """
    swing = sum(feature.swing for feature in features)
    step = _best_step(features, swing / max(cells - 1, 1)) if swing > 0 else 1.0
    placed = place(model, features, step)
    wrong = flips(*placed, model.noise + leeway) if margin else 1.0
    return Grid(tuple(features), placed.lattice, wrong + rounding(model, placed.lattice.width - 1))


class Placed(NamedTuple):
    """Features on a lattice, the error of each finite value, and the border less all offsets."""

    lattice: Lattice
    error: FloatArray
    gap: float


def place(model: Independent, features: Sequence[Feature], step: float) -> Placed:
    """Put features, in a given order, on a lattice of some step."""
    values = [lattice_values(feature, step) for feature in features]
    start = np.cumsum([0, *(len(value.shift) for value in values)])
    offset = np.array([value.offset for value in values])
    span = np.array([value.shift.max(initial=0) for value in values], dtype=np.int64)
    gap = model.border - float(offset.sum())
    most = int(span.sum()) + 1
    t = int(min(max(math.ceil(gap / step), 0), most)) if abs(gap / step) < 2 * most + 2 else (0 if gap < 0 else most)
    zeros = any(not np.isfinite(feature.odds).all() for feature in features)
    lattice = Lattice(
        start=start,
        shift=np.concatenate([np.empty(0, dtype=np.int64), *(value.shift for value in values)]),
        p=np.concatenate([np.empty(0), *(value.p for value in values)]),
        q=np.concatenate([np.empty(0), *(value.q for value in values)]),
        plus=np.array([float(feature.p[np.isposinf(feature.odds)].sum()) for feature in features]),
        offset=offset,
        low=np.array([value.error.min(initial=0.0) for value in values]),
        high=np.array([value.error.max(initial=0.0) for value in values]),
        span=span,
        prior=model.prior,
        bias=model.bias,
        step=step,
        t=t,
        cells=most if zeros else t,
        zeros=zeros,
        width=most + 1,
    )
    return Placed(lattice, np.concatenate([np.empty(0), *(value.error for value in values)]), gap)


def rounding(model: Independent, cells: int) -> float:
    """Return more than 64-bit rounding can add up to in a loss.

    Every number of a distribution is a sum of products of one probability for each feature, none negative. Its relative
    error is at most one rounding for each feature's product, one for each value that is added, and some hundred for
    each probability itself. Masses sum to 1, over `cells` terms. The odds of a cell, of which its share of
    `merging_gain` is a multiple smaller than its mass, are off by the roundings of their logarithm.
    """
    return 2 * ROUNDING * (1000 * (len(model.features) + 1) + model.values + cells + model.reach)


@dataclass(frozen=True)
class LatticeValues:
    """A feature's finite values on the lattice: odds = offset + step * shift + error."""

    shift: npt.NDArray[np.int64]
    p: FloatArray
    q: FloatArray
    offset: float
    error: FloatArray


def lattice_values(feature: Feature, step: float) -> LatticeValues:
    """Round a feature's finite log-odds to whole steps, such that the errors have mean 0."""
    finite = np.isfinite(feature.odds)
    odds, p, q = feature.odds[finite], feature.p[finite], feature.q[finite]
    if not len(odds):
        return LatticeValues(np.empty(0, dtype=np.int64), p, q, 0.0, odds)
    order = np.argsort(odds, kind="stable")
    odds, p, q = odds[order], p[order], q[order]
    shift = np.rint((odds - odds[0]) / step).astype(np.int64)
    rest = odds - step * shift
    weight = p + q
    offset = float((weight * rest).sum() / weight.sum())  # errors of mean 0 cancel best
    return LatticeValues(shift, p, q, offset, rest - offset)


def _best_step(features: Sequence[Feature], narrowest: float) -> float:
    """Return the width of a cell, of a range, that leaves the least variance of errors in cells."""
    steps = narrowest * np.linspace(WIDEST, 1.0, STEPS_TRIED)
    variance = np.zeros(STEPS_TRIED)
    for feature in features:
        finite = np.isfinite(feature.odds)
        if finite.sum() < 2:
            continue
        odds, weight = feature.odds[finite], (feature.p + feature.q)[finite]
        above = (odds - odds.min())[:, None]
        rest = above - steps * np.rint(above / steps)
        mean = weight @ rest / weight.sum()
        variance += weight @ (rest - mean) ** 2 / 2
    return float(steps[np.argmin(variance)])
