"""The additive engine for Gaussian features: every answer is an interval that surely holds the truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from bayestrim.continuous import GaussianNaiveBayes
from bayestrim.engines.fine import Fine, Loss
from bayestrim.engines.independent import ENDLESS, Feature
from bayestrim.engines.rungs import BoolArray, Ladder, Rung
from bayestrim.engines.smooth import Told, smooth_model
from bayestrim.engines.turn import thresholds_about
from bayestrim.result import Interval, MaxAgreement, ThresholdInterval

NARROW = 5e-4
"""How wide a certified interval may be."""
NARROWER = 1e-4
"""How wide it may be where a threshold is chosen, which is done once for each answer."""
IGNORED = 1e-6
"""So little mass of infinite log-odds is not worth a threshold of its own."""
TURNING_RUNG = 2
"""The rung on which a threshold is looked for."""


class ContinuousEngine:
    """Answers about a naive Bayes classifier with Gaussian features.

    Parameters
    ----------
    classifier
        The classifier.
    """

    name = "additive"
    tie_mass = 0.0
    """Numbers tie with probability zero."""

    def __init__(self, classifier: GaussianNaiveBayes) -> None:
        self.model = smooth_model(classifier)
        self.ladder = Ladder(self.model)
        self._classifier = classifier.restricted(classifier.features)  # a copy, so that the original may be let go

    def chosen(self, features: Iterable[str]) -> BoolArray:
        """Return which features that matter are among some."""
        wanted = set(features)
        return np.array([name in wanted for name in self.model.names], dtype=bool)

    def narrowing(self, features: Iterable[str], threshold: float | None = None, first: int = 0) -> Iterator[Loss]:
        """Give ever narrower bounds of the loss of some features.

        Parameters
        ----------
        features
            The features that are kept.
        threshold
            The new threshold; None for the best one.
        first
            The rung to begin with.
        """
        low, high = 0.0, 1.0
        ask = self._question(self.chosen(features), threshold)
        for place in range(first, len(self.ladder)):
            loss = ask(self.ladder[place])
            low, high = max(low, loss.lower), min(high, loss.upper)
            yield Loss(low, high)

    def _question(self, chosen: BoolArray, threshold: float | None) -> Callable[[Rung], Loss]:
        """Return what to ask of a rung about some features."""
        if threshold is None:
            return lambda rung: rung.loss(chosen)
        if not 0 < threshold <= 1:
            nothing, always = np.zeros_like(chosen), threshold <= 0
            border = -math.inf if always else math.inf
            return lambda rung: rung.fine(nothing).loss_at(border, always, always)
        if threshold == 1:  # posteriors reach 1 by states alone
            states = chosen & np.array([isinstance(feature, Told) for feature in self.model.features], dtype=bool)
            return lambda rung: rung.loss_at(states, 1.0, ENDLESS / 2)
        border = _log_odds(threshold) - self.model.bias
        return lambda rung: rung.loss_at(chosen, threshold, border)

    def _narrowed(self, features: Iterable[str], threshold: float | None = None, narrow: float = NARROW) -> Loss:
        """Return bounds that are narrow, or as narrow as can be."""
        loss = Loss(0.0, 1.0)
        for loss in self.narrowing(features, threshold):
            if loss.upper - loss.lower <= narrow:
                break
        return loss

    def best_loss(self, features: Iterable[str]) -> Loss:
        """Return bounds of the loss of some features under the best threshold."""
        return self._narrowed(features)

    def mpa(self, features: Sequence[str]) -> Interval:
        """Return the maximum potential agreement of the features."""
        return self.best_loss(features).agreement()

    def eca(self, features: Sequence[str], threshold: float, narrow: float = NARROW) -> Interval:
        """Return the expected agreement with the classifier that keeps the features and uses the threshold."""
        constant = not 0 < self._classifier.threshold <= 1
        if constant and 0 < threshold <= 1:  # the other one's decisions, then, are compared with a constant
            other = ContinuousEngine(self._classifier.restricted(features, threshold))
            return other.eca([], self._classifier.threshold)
        return self._narrowed(features, threshold, narrow).agreement()

    def maa(self, features: Sequence[str]) -> MaxAgreement:
        """Return the best expected agreement over all thresholds, and a threshold that surely comes near it."""
        thresholds = self._likely_cut(self.chosen(features))
        threshold = thresholds.pick(self._classifier.threshold)
        reached = self.eca(features, threshold, NARROWER)
        best = self._narrowed(features, None, NARROWER).agreement()
        value = Interval(reached.lower, max(reached.lower, min(best.upper, 1.0)), "certified")
        return MaxAgreement(value, thresholds, threshold)

    def _likely_cut(self, chosen: BoolArray) -> ThresholdInterval:
        """Cut where a lattice says that decisions turn; among posteriors from states alone, between two of them."""
        lattice, old = self.ladder[TURNING_RUNG].fine(chosen), self._classifier.threshold
        if 0 < old < 1 and not (lattice.kept.p.any() or lattice.kept.q.any()):  # any threshold does for certainties
            return ThresholdInterval(math.nextafter(old, 0.0), old)
        kept = [feature for feature, wanted in zip(self.model.features, chosen, strict=True) if wanted]
        listed: list[Feature] = [feature.feature for feature in kept if isinstance(feature, Told)]
        return thresholds_about(_turn(lattice), self.model.bias, listed if len(listed) == len(kept) else None)


def _turn(lattice: Fine) -> float:
    """Return about which log-odds of kept features turn the best decision, with what is infinite on its own side."""
    turn, kept = lattice.turn(), lattice.kept
    seen = np.flatnonzero((kept.p > 0) | (kept.q > 0))
    if math.isfinite(turn) or not len(seen):
        return turn
    if turn < 0 and 1 - kept.q.sum() > IGNORED:
        return kept.offset + kept.low + lattice.step * (kept.first + int(seen[0]) - 1)
    if turn > 0 and 1 - kept.p.sum() > IGNORED:
        return kept.offset + kept.high + lattice.step * (kept.first + int(seen[-1]) + 1)
    return turn


def _log_odds(threshold: float) -> float:
    return math.log(threshold) - math.log1p(-threshold)
