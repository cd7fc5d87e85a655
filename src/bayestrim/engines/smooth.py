"""Features that are numbers: what a Gaussian feature says, as masses of log-odds between given ends.

With z counted in standard deviations of the narrower of a feature's two distributions, from its mean towards the other
one's, the log-odds of the narrow one are u(z) = c - b z - a z², a and b not negative. The values of at least some
log-odds are an interval, so that the mass between two log-odds is that of two intervals (one if the variances are
equal): differences of normal distribution functions. The proof that this gives certified answers is in
docs/gaussian.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayestrim.continuous import DiscreteFeature, GaussianFeature, GaussianNaiveBayes
from bayestrim.engines.grid import lattice_values
from bayestrim.engines.independent import ENDLESS, FOREVER, Feature
from bayestrim.kernels.normal import masses_between
from bayestrim.network import FloatArray
from bayestrim.ties import BAND

PARTS = 8
"""Each cell is divided into so many parts, whose errors are followed."""
HALVINGS = 60
"""Quantiles are found by halving an interval so often."""
MASS_ROUNDING = 4e-15
"""More than 64-bit rounding can do to the mass between two log-odds."""
IN_SIGHT = 39.0
"""Standard deviations beyond which a 64-bit float holds no mass."""


@dataclass(frozen=True)
class Placed:
    """A feature on a lattice: odds = offset + step * cell + error.

    Attributes
    ----------
    p, q
        The mass of each part of each cell under the positive and the negative class; [cells, parts]. What is missing
        from p has log-odds that are taken as infinite, what is missing from q as minus infinite.
    offset
        As above.
    error
        The error of the middle of each part; [cells, parts].
    doubt
        How far an error may be from the middle of its part.
    p_lost, q_lost
        The masses, under the class that hardly shows them, of the log-odds that are taken as infinite.
    """

    p: FloatArray
    q: FloatArray
    offset: float
    error: FloatArray
    doubt: float
    p_lost: float = 0.0
    q_lost: float = 0.0

    @property
    def low(self) -> float:
        """The least error."""
        return float(self.error.min(initial=0.0)) - self.doubt

    @property
    def high(self) -> float:
        """The largest error."""
        return float(self.error.max(initial=0.0)) + self.doubt

    def centred(self) -> Placed:
        """Return the same with errors of mean 0, which cancel best."""
        weight = self.p + self.q
        mean = float((weight * self.error).sum() / weight.sum()) if weight.any() else 0.0
        return Placed(self.p, self.q, self.offset + mean, self.error - mean, self.doubt, self.p_lost, self.q_lost)


@dataclass(frozen=True)
class Smooth:
    """What a Gaussian feature says.

    Attributes
    ----------
    name
        Its name.
    mean, ratio
        The wider distribution's mean and standard deviation, in standard deviations from the narrower one's mean.
    a, b, c
        The log-odds of the narrower class, as above.
    narrow_is_positive
        Whether the narrower distribution is that of the positive class.
    """

    name: str
    mean: float
    ratio: float
    a: float
    b: float
    c: float
    narrow_is_positive: bool

    @property
    def peak(self) -> float:
        """The largest log-odds of the narrower class."""
        return self.c + self.b * self.b / (4 * self.a) if self.a > 0 else math.inf

    def edges(self, odds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return between which z the narrower class has at least some log-odds; both the same where it never has."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root = np.sqrt(np.maximum(self.b * self.b + 4 * self.a * (self.c - odds), 0.0))
            right = 2 * (self.c - odds) / (self.b + root)
            left = -(self.b + root) / (2 * self.a) if self.a > 0 else np.full(len(odds), -math.inf)
        right = np.where(self.b + root > 0, right, 0.0)
        return left, np.where(odds >= self.peak, left, right)

    def masses(self, odds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the masses between ascending log-odds, under the narrower and the wider class."""
        narrow, wide = np.zeros(len(odds) - 1), np.zeros(len(odds) - 1)
        for edge in self.edges(odds):
            masses_between(edge, narrow)
            masses_between((edge - self.mean) / self.ratio, wide)
        return narrow, wide

    def narrow_below(self, odds: float) -> float:
        """Return the narrower class's mass of smaller log-odds."""
        left, right = (float(edge[0]) for edge in self.edges(np.array([odds])))
        return (math.erfc(-left * math.sqrt(0.5)) + math.erfc(right * math.sqrt(0.5))) / 2

    def wide_above(self, odds: float) -> float:
        """Return the wider class's mass of log-odds as large, or larger."""
        left, right = self.edges(np.array([odds]))
        mass = np.zeros(1)
        masses_between((np.concatenate([left, right]) - self.mean) / self.ratio, mass)
        return float(mass[0])

    def ends(self, tail: float) -> tuple[float, float]:
        """Return log-odds of the narrower class beyond which the class that hardly shows them has at most some mass.

        Either class has at most the mass 1/r of values that are r times as likely under the other one.
        """
        farthest = math.log(1 / tail)
        low = _last(-farthest, min(farthest, self.peak), lambda u: self.narrow_below(u) <= tail)
        high = -_last(-min(farthest, self.peak), -low, lambda u: self.wide_above(-u) <= tail)
        return low, max(high, math.nextafter(low, math.inf))

    def place(self, step: float, tail: float) -> Placed:
        """Return the feature on a lattice."""
        low, high = self.ends(tail)
        cells = max(1, math.ceil((high - low) / step))
        cell = step if cells > 1 else high - low
        part = cell / PARTS
        odds: FloatArray = low + part * np.arange(cells * PARTS + 1, dtype=np.float64)
        narrow, wide = (mass.reshape(cells, PARTS) for mass in self.masses(odds))
        lost = self.narrow_below(low), self.wide_above(float(odds[-1]))
        error = np.tile((np.arange(PARTS) + 0.5) * part - cell / 2, (cells, 1))
        doubt = part / 2 + self._noise(odds)
        if self.narrow_is_positive:
            return Placed(narrow, wide, low + cell / 2, error, doubt, *lost).centred()
        narrow, wide = narrow[::-1, ::-1], wide[::-1, ::-1]
        return Placed(wide, narrow, -(low + cell * (cells - 0.5)), error, doubt, *reversed(lost)).centred()

    def _noise(self, odds: FloatArray) -> float:
        """Return how far the log-odds at the computed edges may be from what they should be."""
        worst = 0.0
        for edge in self.edges(odds):
            other = (edge - self.mean) / self.ratio
            seen = np.isfinite(edge) & (np.minimum(np.abs(edge), np.abs(other)) < IN_SIGHT) & (odds < self.peak)
            z, other = edge[seen], other[seen]
            size = (z * z + other * other) / 2 + abs(math.log(self.ratio)) + np.abs(odds[seen])
            there = (other - z) * (other + z) / 2 + math.log(self.ratio)
            worst = max(worst, float((np.abs(there - odds[seen]) + 1e-15 * size).max(initial=0.0)))
        return worst


def _last(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """Return about the largest number for which something holds, that holds for small ones and not for large ones."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


def smooth(feature: GaussianFeature) -> Smooth:
    """Return what a Gaussian feature says."""
    narrow, wide = sorted((feature.positive, feature.negative), key=lambda moments: moments[1])
    share = narrow[1] / wide[1]
    mean = abs(wide[0] - narrow[0]) / math.sqrt(narrow[1])
    return Smooth(
        feature.name,
        mean,
        math.sqrt(wide[1] / narrow[1]),
        (wide[1] - narrow[1]) / (2 * wide[1]),
        mean * share,
        mean * mean * share / 2 + (math.log(wide[1]) - math.log(narrow[1])) / 2,
        narrow == feature.positive,
    )


@dataclass(frozen=True)
class Told:
    """A feature with states that matters, and what its states say."""

    feature: Feature

    @property
    def name(self) -> str:
        """Its name."""
        return self.feature.name

    def ends(self, _: float) -> tuple[float, float]:
        """Return the least and the largest of its finite log-odds."""
        finite = self.feature.odds[np.isfinite(self.feature.odds)]
        return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)

    def place(self, step: float, _: float) -> Placed:
        """Return the feature on a lattice: each value is a part, in as many parts as most values share a cell."""
        values = lattice_values(self.feature, step)
        cells = int(values.shift.max(initial=0)) + 1
        count = np.bincount(values.shift, minlength=cells)
        place = np.arange(len(values.shift)) - np.concatenate([[0], np.cumsum(count)])[values.shift]
        arrays = [np.zeros((cells, int(count.max(initial=1)))) for _ in range(3)]
        for array, column in zip(arrays, (values.p, values.q, values.error), strict=True):
            array[values.shift, place] = column
        return Placed(arrays[0], arrays[1], values.offset, arrays[2], 0.0)


@dataclass(frozen=True)
class SmoothModel:
    """A classifier with Gaussian features, as log-odds (see `Independent`).

    Attributes
    ----------
    features
        The features that can change a decision.
    prior, bias, border, band
        As there.
    threshold
        The threshold, between 0 and 1 where any Gaussian feature matters.
    """

    features: tuple[Smooth | Told, ...]
    prior: float
    bias: float
    border: float
    band: float
    threshold: float

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the features that can change a decision."""
        return tuple(feature.name for feature in self.features)

    def lost(self, placed: Placed, threshold: float) -> float:
        """Return how many of a threshold's decisions may change where a feature's farthest log-odds are infinite."""
        if placed.q_lost == placed.p_lost == 0:
            return 0.0
        return (1 - self.prior) * placed.q_lost * threshold / (1 - threshold) + (
            self.prior * placed.p_lost * (1 - threshold) / threshold
        )


def smooth_model(classifier: GaussianNaiveBayes) -> SmoothModel:
    """Return a classifier's features as log-odds."""
    threshold, prior = classifier.threshold, classifier.prior
    bias = math.log(prior) - math.log1p(-prior)
    border = FOREVER if threshold >= 1 else -FOREVER
    if 0 < threshold < 1:
        border = classifier.threshold_odds - bias - BAND
    features: list[Smooth | Told] = []
    for part in classifier.parts:
        if isinstance(part, DiscreteFeature):
            feature = _told(part, 0 < threshold <= 1)
            if len(feature.odds) > 1 and feature.odds.max() > feature.odds.min():
                features.append(Told(feature))
        elif part.matters and 0 < threshold <= 1:
            features.append(smooth(part))
    return SmoothModel(tuple(features), prior, bias, border, BAND, threshold)


def _told(part: DiscreteFeature, heeded: bool) -> Feature:
    p, q = np.array(part.positive), np.array(part.negative)
    possible = np.flatnonzero((p > 0) | (q > 0))
    odds = part.state_odds[possible]
    return Feature(part.name, possible, p[possible], q[possible], odds if heeded else np.clip(odds, -ENDLESS, ENDLESS))
