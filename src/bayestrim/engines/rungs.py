"""Lattices for features of many values: distributions as Fourier transforms, made once and multiplied for each subset.

A rung is one lattice; several of them, each finer than the one before, are a ladder that a question climbs until the
answer is narrow enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bayestrim.engines.fine import Distribution, Fine, Loss
from bayestrim.engines.independent import FOREVER
from bayestrim.engines.smooth import MASS_ROUNDING, Placed, Smooth, SmoothModel
from bayestrim.network import FloatArray

BoolArray = npt.NDArray[np.bool_]
ComplexArray = npt.NDArray[np.complex128]

TAIL = 1e-10
"""About how much all log-odds that are taken as infinite may matter."""
TILTS = (0.6, 1.2, 2.0, 3.0)
"""Exponents of Chernoff's bound, in the reciprocal of the errors' standard deviation."""
TRANSFORM = 16.0
"""More than the roundings of a Fourier transform, for each time that its length is halved."""


class Rung:
    """One lattice for all of a model's features.

    Parameters
    ----------
    model
        The model.
    cells
        How many cells it has, a power of two.

    Attributes
    ----------
    step
        The width of a cell.
    placed
        The features on it.
    """

    def __init__(self, model: SmoothModel, cells: int) -> None:
        self.model, self.cells = model, cells
        count = max(1, len(model.features))
        decisive = min(model.threshold, 1 - model.threshold) if 0 < model.threshold < 1 else 0.0
        tail = max(TAIL / count * decisive, 1e-300)
        ends = [feature.ends(tail) for feature in model.features]
        reach = sum(max(0.0, high - low) for low, high in ends)
        self.step = reach / (cells - 2 * count) if reach > 0 else 1.0
        self.placed = [feature.place(self.step, tail) for feature in model.features]
        assert sum(len(placed.p) - 1 for placed in self.placed) < cells
        sides = [[placed.p.sum(axis=1), placed.q.sum(axis=1)] for placed in self.placed]
        self._waves = np.array([[np.fft.rfft(side, cells) for side in both] for both in sides])

    @cached_property
    def margin(self) -> float:
        """Losses are true to this: the mass of instances the lattice decides otherwise than they are, and rounding."""
        if self.model.threshold < 1:
            decided = self._flips() + sum(self.model.lost(placed, self.model.threshold) for placed in self.placed)
        else:  # what a number says is finite, whatever the lattice makes of it
            numbers = zip(self.model.features, self.placed, strict=True)
            decided = sum(1 - float(placed.p.sum()) for feature, placed in numbers if isinstance(feature, Smooth))
        removed = sum(
            (1 - self.model.prior) * placed.q_lost + self.model.prior * placed.p_lost for placed in self.placed
        )
        return decided + removed + self.rounding

    @property
    def rounding(self) -> float:
        """More than 64-bit rounding can add up to in a loss."""
        parts = sum(placed.p.size for placed in self.placed)
        return (
            MASS_ROUNDING * parts
            + 2 * self._transform_error
            + float(np.finfo(float).eps) * (16 * len(self.placed) + self.cells + 64)
        )

    @property
    def _transform_error(self) -> float:
        """More than the rounding of products of transforms can add up to over all cells."""
        each = TRANSFORM * np.finfo(float).eps * math.log2(self.cells)
        return float((len(self.placed) + 1) * each * math.sqrt(self.cells))

    def product(self, chosen: BoolArray) -> ComplexArray:
        """Return the transform of the distribution of some features under each class."""
        product: ComplexArray = np.ones((2, self.cells // 2 + 1), dtype=np.complex128)
        for i in np.flatnonzero(chosen):
            product *= self._waves[i]
        return product

    def fine(self, chosen: BoolArray) -> Fine:
        """Return the distributions of the kept and of the dropped features."""
        products = np.stack([self.product(chosen), self.product(~chosen)])
        masses = np.maximum(np.fft.irfft(products, self.cells), 0.0)
        sides = [
            Distribution(
                0,
                mass[0],
                mass[1],
                sum(placed.offset for placed in features),
                sum(placed.low for placed in features),
                sum(placed.high for placed in features),
                0.0,
            )
            for mass, features in zip(masses, (self._some(chosen), self._some(~chosen)), strict=True)
        ]
        return Fine(self.model, sides[0], sides[1], self.step, self.margin)  # type: ignore[arg-type]

    def loss(self, chosen: BoolArray) -> Loss:
        """Return bounds of the loss of some features under the best threshold."""
        return self.fine(chosen).best_loss()

    def estimate(self, chosen: BoolArray) -> float:
        """Return about the loss of some features under the best threshold."""
        return self.loss(chosen).upper - self.margin

    def loss_at(self, chosen: BoolArray, threshold: float, border: float) -> Loss:
        """Return bounds of the loss of some features under a threshold above 0, and at most 1."""
        loss = self.fine(chosen).loss_at(border, False, True)
        apart = 0.0
        if threshold < 1:
            apart = sum(self.model.lost(placed, threshold) for placed in self._some(chosen))
        return Loss(max(0.0, loss.lower - apart), min(1.0, loss.upper + apart))

    def _some(self, chosen: BoolArray) -> list[Placed]:
        return [placed for placed, wanted in zip(self.placed, chosen, strict=True) if wanted]

    def _flips(self) -> float:
        """Return a bound of the mass of instances that the lattice decides otherwise than they are.

        With the errors e of an instance in cell k, Pr(k, e ≥ s) is at most exp(-θs) E[exp(θe); k] for any θ > 0, and
        so is Pr(k, e ≤ s) for any θ < 0; these expectations are distributions whose masses are multiplied by exp(θe).
        """
        model = self.model
        if abs(model.border) >= FOREVER:
            return 0.0
        gap = model.border - sum(placed.offset for placed in self.placed) - self.step * np.arange(self.cells)
        noise = 1e-13 * (abs(model.border) + self.step * self.cells + len(self.placed)) + 2 * model.band
        variance = max(
            sum(float((side * placed.error**2).sum()) for placed, side in zip(self.placed, sides, strict=True))
            for sides in ([placed.p for placed in self.placed], [placed.q for placed in self.placed])
        )
        deviation = math.sqrt(variance) or self.step
        worst = sum(max(-placed.low, placed.high) for placed in self.placed) + noise
        near = np.flatnonzero(np.abs(gap) <= worst)  # no errors are large enough elsewhere
        if not len(near):
            return 0.0
        gap, positive = gap[near], gap[near] <= 0
        flips = 0.0
        for side, prior in ((0, model.prior), (1, 1 - model.prior)):
            bound = self._tilted(side, 0.0)[near]
            for tilt in TILTS:
                theta = tilt / deviation
                for sign in (1, -1):
                    tilted = self._tilted(side, sign * theta)[near] * np.exp(-theta * (np.abs(gap) - noise))
                    bound = np.where(positive == (sign < 0), np.minimum(bound, tilted), bound)
            flips += prior * float(bound.sum())
        return flips + 2 * len(TILTS) * self._transform_error * math.exp(max(TILTS) ** 2 / 2)

    def _tilted(self, side: int, theta: float) -> FloatArray:
        """Return the distribution of cells under one class, each instance multiplied by exp(theta * error) or more."""
        product: ComplexArray = np.ones(self.cells // 2 + 1, dtype=np.complex128)
        for placed in self.placed:
            mass = placed.p if side == 0 else placed.q
            weight = np.exp(theta * placed.error + abs(theta) * placed.doubt)
            product *= np.fft.rfft((mass * weight).sum(axis=1), self.cells)
        tilted: FloatArray = np.maximum(np.fft.irfft(product, self.cells), 0.0)
        return tilted


class Ladder(Sequence[Rung]):
    """Lattices, each finer than the one before, made when they are asked for."""

    SIZES = (1 << 11, 1 << 13, 1 << 15, 1 << 17)

    def __init__(self, model: SmoothModel) -> None:
        self._model = model
        self._rungs: dict[int, Rung] = {}

    def __len__(self) -> int:
        return len(self.SIZES)

    def __getitem__(self, place: int) -> Rung:  # type: ignore[override]
        if place >= len(self.SIZES):
            raise IndexError(place)
        if place not in self._rungs:
            self._rungs[place] = Rung(self._model, self.SIZES[place])
        return self._rungs[place]
