"""What a naive Bayes classifier's subsets lose, from the definitions, and checks that hold results against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations
from random import Random

import numpy as np

import bayestrim as bt
from bayestrim import reference
from bayestrim.engines.additive import AdditiveEngine
from bayestrim.engines.fine import Fine, Loss, fine
from bayestrim.engines.grid import Grid, make_grid
from bayestrim.engines.independent import independent

Features = tuple[str, ...]


def subsets(names: Sequence[str]) -> list[Features]:
    """Return all subsets of some names."""
    return list(chain.from_iterable(combinations(names, size) for size in range(len(names) + 1)))


class Judge:
    """Exact losses of one classifier: where features are independent given the class, one minus MPA and MAA alike."""

    def __init__(self, classifier: bt.Classifier) -> None:
        self.table = reference.Table(classifier)

    def loss(self, features: Sequence[str]) -> Fraction:
        """Return the least loss of decisions that read some features."""
        groups = self.table.kept(features).values()
        return sum((min(self.table.agreeing(g, True), self.table.agreeing(g, False)) for g in groups), Fraction(0))

    def loss_at(self, features: Sequence[str], threshold: float) -> Fraction:
        """Return the loss of some features under a threshold."""
        return 1 - self.table.eca(features, reference.rational(threshold))


def engine_of(classifier: bt.Classifier) -> AdditiveEngine:
    """Return the additive engine of a classifier whose features are independent given the class."""
    model = independent(classifier)
    assert model is not None
    return AdditiveEngine(classifier, model)


def grid_faults(
    judge: Judge, engine: AdditiveEngine, cells: int, make: Callable[..., Grid] = make_grid
) -> Iterator[str]:
    """Yield the subsets whose exact loss the search's lattice of so many cells does not bracket."""
    grid = make(engine.model, engine.model.features, cells, leeway=engine.leeway)
    for features in subsets(engine.model.names):
        lower, upper = grid.losses(np.array([[name in features for name in engine.model.names]]))
        slack = grid.margin + engine.doubt
        loss = judge.loss(features)
        if not lower[0] - slack <= loss <= upper[0] + slack:
            yield f"{cells} cells, {features}: {lower[0]!r} to {upper[0]!r} with {slack!r}, not {float(loss)!r}"


def fine_faults(
    judge: Judge, engine: AdditiveEngine, cells: int, random: Random, make: Callable[..., Fine] = fine
) -> Iterator[str]:
    """Yield the subsets whose exact losses, under the best and under other thresholds, a lattice does not bracket."""
    for features in subsets(engine.model.names):
        kept, dropped = engine._sides(features)
        lattice = make(engine.model, kept, dropped, cells, engine.leeway)
        if not _brackets(lattice.best_loss(), judge.loss(features), engine.doubt):
            yield f"{cells} cells, {features}: {lattice.best_loss()}, not {float(judge.loss(features))!r}"
        threshold = random.choice([0.5, engine._classifier.threshold, random.random(), 0.0, 1.0])
        bounds = lattice.loss_at(*engine._border(threshold))
        if not _brackets(bounds, judge.loss_at(features, threshold), engine.doubt):
            yield f"{cells} cells, {features} at {threshold!r}: {bounds}"


def _brackets(bounds: Loss, loss: Fraction, doubt: float) -> bool:
    return bounds.lower - doubt <= loss <= bounds.upper + doubt
