"""What every strategy is given and gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from bayestrim.engines.fine import Loss
from bayestrim.problem import Limits, TrimProblem
from bayestrim.purse import Purse
from bayestrim.search.checkpoint import Checkpoint
from bayestrim.search.contest import Features
from bayestrim.search.workers import Crew
from bayestrim.trimming import Choice, StopReason


@dataclass(frozen=True)
class Request:
    """A search to be made.

    Attributes
    ----------
    problem
        The problem.
    wanted
        How many subsets are wanted: the best, and alternatives.
    limits
        When to stop before the end.
    crew
        Who does the work.
    checkpoint
        Where to keep what is known, and what was known before.
    seeds
        Subsets that may be good.
    floor
        No loss is less than this.
    enough
        Look only for a subset of at most this loss, and be content with the first.
    most
        The budget in the purse's unit, where it is less than the problem's.
    """

    problem: TrimProblem
    wanted: int
    limits: Limits
    crew: Crew = field(default_factory=Crew)
    checkpoint: Checkpoint | None = None
    seeds: tuple[Features, ...] = ()
    floor: float = 0.0
    enough: float | None = None
    most: int | None = None

    @property
    def threshold(self) -> float | None:
        """The new threshold, None if it is to be optimised."""
        return self.problem.classifier.threshold if self.problem.threshold == "keep" else None

    @property
    def every(self) -> bool:
        """Whether every affordable subset counts, and not only those to which nothing can be added.

        With the best threshold, knowing more never hurts; with a given one it may. And alternatives may be small.
        """
        return self.wanted > 1 or self.threshold is not None

    @cached_property
    def purse(self) -> Purse:
        """Prices, budget and constraints as whole numbers, for all features."""
        purse = self.problem.purse()
        return purse if self.most is None else replace(purse, budget=self.most)

    def purse_of(self, names: Sequence[str]) -> Purse:
        """Return the same for some features, when no others are kept but those that must be."""
        place = {name: i for i, name in enumerate(self.problem.classifier.features)}
        return self.purse.narrowed([place[name] for name in names])


@dataclass(frozen=True)
class Outcome:
    """What a strategy found.

    Attributes
    ----------
    best
        The best subsets, best first.
    losses
        Bounds of their losses.
    lower
        A lower bound of the losses of all affordable subsets that are not among the best.
    reason
        Why the search ended.
    evaluations, nodes
        What it took.
    choices
        The best subsets with their thresholds and agreements, where those are known already.
    """

    best: list[Features]
    losses: list[Loss]
    lower: float
    reason: StopReason
    evaluations: int
    nodes: int = 0
    choices: tuple[Choice, ...] = ()
