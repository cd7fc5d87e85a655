"""The additive engine: features that are independent given the class, whose log-odds add up.

There the best decisions that read some features are a threshold's decisions (the paper's third proposition): MAA and
MPA are the same, and grow with the features.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from bayestrim.classifier import Classifier
from bayestrim.contraction import endless
from bayestrim.engines.band import Ties, find_ties, listable
from bayestrim.engines.counting import (
    MOST_STEPS,
    Kept,
    count_kept,
    cut_kept,
    parts,
)
from bayestrim.engines.fine import Fine, Loss, fine
from bayestrim.engines.grid import make_grid
from bayestrim.engines.independent import ENDLESS, FOREVER, Feature, Independent, instance_count
from bayestrim.engines.turn import thresholds_about
from bayestrim.kernels import announce_compilation
from bayestrim.result import Interval, MaxAgreement, ThresholdInterval
from bayestrim.ties import as_written

CELLS = (1 << 17, 1 << 19, 1 << 20)
"""Agreements out of reach of counting are certified on lattices of so many cells, one finer than the other."""
TIE_CELLS = 1 << 16
"""Where nobody can look into the tie band, its mass is bounded on a lattice of so many cells."""
QUICK_LIST = 1 << 16
"""Lists of instances as long as this are made and sorted in milliseconds."""
NARROW = 1e-4
"""How wide a certified interval may be."""
QUICK_STEPS = 1 << 22
"""Counting that takes no more steps than this is some milliseconds' work."""
STEPS_A_SECOND = 1 << 28
"""Where time is short, counting is expected to take no more steps than this in a second, and what follows from it."""


class AdditiveEngine:
    """Answers about a classifier whose features are independent given the class.

    Exact where instances can be counted in halves (some 40 features of two states), certified by a lattice beyond.

    Parameters
    ----------
    classifier
        The classifier.
    model
        Its features as log-odds.
    left
        Tells how many seconds are left. Where they are few, answers are less narrow than they could be.
    """

    name = "additive"

    def __init__(self, classifier: Classifier, model: Independent, left: Callable[[], float] = endless) -> None:
        announce_compilation()
        # It must not be held by what the classifier's life bounds (see `engine_for`): a copy is held instead.
        self._classifier = classifier.restricted(classifier.features)
        self.model = model
        self._last: tuple[tuple[str, ...], Kept | None] | None = None  # what was counted last is often asked again
        self._lattices: tuple[tuple[str, ...], dict[int, Fine]] = (), {}  # and so is what was put on lattices
        self._left = left
        self._pace = 0.0  # what a cell of the last lattice took, in seconds

    @cached_property
    def ties(self) -> Ties | None:
        """What lies in the tie band, None where there are too many instances to look."""
        return find_ties(self._classifier, self.model)

    @cached_property
    def tie_mass(self) -> float:
        """The probability of the tie band; where instances are too many to look, an upper bound of it."""
        if self.ties is not None:
            return self.ties.mass
        return make_grid(self.model, self.model.features, TIE_CELLS, leeway=2 * self.model.band).margin

    def _timed(self, cells: int, make: Callable[[], Fine]) -> Fine:
        begin = time.monotonic()
        made = make()
        self._pace = (time.monotonic() - begin) / cells
        return made

    def _in_time(self, cells: int) -> bool:
        """Tell whether a lattice of so many cells can likely be made in the time that is left."""
        return self._pace * cells <= self._left()

    def _ever_finer(self, made: Container[int] = ()) -> Iterator[int]:
        """Yield ever more cells, as long as a lattice of so many is made or can be in time."""
        for cells in CELLS:
            if cells > CELLS[0] and cells not in made and not self._in_time(cells):
                return
            yield cells

    @property
    def unsettled(self) -> float:
        """The probability of instances that count as positive although exact arithmetic might say otherwise."""
        return self.ties.unsettled if self.ties is not None else 0.0

    def _sides(self, features: Iterable[str]) -> tuple[list[Feature], list[Feature]]:
        """Return the features that are kept and matter, and those that are dropped and matter."""
        wanted = set(features)
        kept = [feature for feature in self.model.features if feature.name in wanted]
        return kept, [feature for feature in self.model.features if feature.name not in wanted]

    def counted(self, features: Iterable[str]) -> Kept | None:
        """Return what is decided about each instance of some features, None where that is out of reach."""
        kept, dropped = self._sides(features)
        if not self._countable_in_time(kept, dropped):
            return None
        names = tuple(feature.name for feature in kept)
        if self._last is None or self._last[0] != names:
            self._last = names, None if self.ties is None else count_kept(self.model, kept, dropped, self.ties)
        return self._last[1]

    def _countable_in_time(self, kept: Sequence[Feature], dropped: Sequence[Feature]) -> bool:
        left = self._left()
        if math.isinf(left):
            return True
        split = parts(kept, dropped)
        return split is None or split.steps <= max(QUICK_STEPS, left * STEPS_A_SECOND)

    def best_loss(self, features: Iterable[str]) -> Loss:
        """Return bounds of the loss of some features under the best threshold; equal where it is exact."""
        kept = self.counted(features)
        if kept is not None:
            loss = kept.best_loss()
            return Loss(max(0.0, loss - self.unsettled), loss + self.unsettled)
        return self._certified(tuple(features), Fine.best_loss)

    @cached_property
    def quick(self) -> bool:
        """Whether what lies in the tie band can be found out in passing."""
        return instance_count(self.model.features) <= QUICK_LIST**2

    @cached_property
    def listable(self) -> bool:
        """Whether what lies in the tie band can be found out at all."""
        return not self.model.finite or listable(self.model) is not None

    @property
    def leeway(self) -> float:
        """How near the border log-odds must lie to be decided either way, where nobody can look."""
        return 0.0 if self.listable else 2 * self.model.band

    @property
    def doubt(self) -> float:
        """The probability of instances that are positive to the lattice, and may be negative in exact arithmetic."""
        return self.ties.negative_mass + self.ties.unsettled if self.ties is not None else 0.0

    def countable(self, features: Sequence[str], steps: int = MOST_STEPS) -> bool:
        """Tell whether the loss of some features can be counted exactly in so many steps."""
        split = parts(*self._sides(features))
        return split is not None and split.steps <= steps and self.listable

    def exact_loss(self, features: Sequence[str], threshold: float | None) -> Loss:
        """Return the loss of some features under the best threshold or a given one, by counting."""
        if threshold is None:
            return self.best_loss(features)
        agreement = self.eca(features, threshold)
        return Loss(1 - agreement.upper, 1 - agreement.lower)

    def _fine(self, features: Iterable[str], cells: int) -> Fine:
        """Return the kept and the dropped features on a lattice."""
        made = self._made(features)
        if cells not in made:
            kept, dropped = self._sides(features)
            made[cells] = self._timed(cells, lambda: fine(self.model, kept, dropped, cells, self.leeway))
        return made[cells]

    def _made(self, features: Iterable[str]) -> dict[int, Fine]:
        """Return the lattices of some features that were made already, if these are what was asked about last."""
        names = tuple(feature.name for feature in self._sides(features)[0])
        if self._lattices[0] != names:
            self._lattices = names, {}
        return self._lattices[1]

    def _certified(self, features: Sequence[str], ask: Callable[[Fine], Loss]) -> Loss:
        """Ask ever finer lattices until the answer is narrow enough, or the time is short.

        To them, all of the tie band is positive.
        """
        low, high = 0.0, 1.0
        for cells in self._ever_finer(self._made(features)):
            loss = ask(self._fine(features, cells))
            low, high = max(low, loss.lower), min(high, loss.upper)
            if high - low <= NARROW:
                break
        return Loss(max(0.0, low - self.doubt), min(1.0, high + self.doubt))

    def eca(self, features: Sequence[str], threshold: float) -> Interval:
        """Return the expected agreement with the classifier that keeps the features and uses the threshold."""
        kept = self.counted(features)
        if kept is None:
            border, everything, anything = self._border(threshold)
            return self._certified(features, lambda f: f.loss_at(border, everything, anything)).agreement()
        exact = self._classifier.exact_posteriors.of([feature.name for feature in kept.features])
        sides = kept.mass.sum(axis=0)
        positive, tied = exact.decide_in_floats(sides[0], sides[1], threshold)
        slack = self.unsettled
        if tied.any():
            settled = exact.settle(kept.codes(np.flatnonzero(tied)), threshold)
            positive[tied] = settled.positive
            slack += float(sides.sum(axis=0)[tied][~settled.exact].sum())
        by_decision = kept.mass.sum(axis=1)
        loss = float(by_decision[1][positive].sum() + by_decision[0][~positive].sum())
        return Loss(loss - slack, loss + slack).agreement("exact" if slack == 0 else "certified")

    def _border(self, threshold: float) -> tuple[float, bool, bool]:
        """Return from which log-odds on kept features are positive, and whether posteriors of 0 and of 1 are."""
        limit = as_written(threshold)
        if abs(self.model.bias) >= FOREVER:
            always = limit <= (1 if self.model.bias > 0 else 0)
            return (-math.inf if always else math.inf), limit <= 0, limit <= 1
        if not 0 < limit < 1:
            return (-math.inf if limit <= 0 else math.inf if limit > 1 else ENDLESS / 2), limit <= 0, limit <= 1
        return math.log(limit) - math.log(1 - limit) - self.model.bias, False, True

    def mpa(self, features: Sequence[str]) -> Interval:
        """Return the maximum potential agreement of the features."""
        loss = self.best_loss(features)
        exact = self.unsettled == 0 and self.counted(features) is not None
        return loss.agreement("exact" if exact else "certified")

    def maa(self, features: Sequence[str]) -> MaxAgreement:
        """Return the best expected agreement over all thresholds, and the thresholds."""
        kept = self.counted(features)
        if kept is None:
            return self._certified_maa(features)
        best = cut_kept(self._classifier, kept)
        slack = self.unsettled
        exact = slack == 0 and best.potential == best.value
        value = Loss(1 - best.potential - slack, 1 - best.value + slack).agreement("exact" if exact else "certified")
        return MaxAgreement(value, best.thresholds, best.thresholds.pick(self._classifier.threshold))

    def _certified_maa(self, features: Sequence[str]) -> MaxAgreement:
        """Cut the kept instances where a lattice says that their decisions turn; certify that cut."""
        thresholds = self._likely_cut(features)
        threshold = thresholds.pick(self._classifier.threshold)
        upper = self.best_loss(features).lower
        reached = self.eca(features, threshold)
        return MaxAgreement(Interval(reached.lower, max(reached.lower, 1 - upper), "certified"), thresholds, threshold)

    def _likely_cut(self, features: Sequence[str]) -> ThresholdInterval:
        kept, _ = self._sides(features)
        return thresholds_about(self._fine(features, CELLS[0]).turn(), self.model.bias, kept)
