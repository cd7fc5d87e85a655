"""What every strategy is given and gives back."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from bayestrim.engines.fine import Loss
from bayestrim.problem import Limits, TrimProblem
from bayestrim.search.contest import Contest, Features
from bayestrim.trimming import StopReason


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
    """

    problem: TrimProblem
    wanted: int
    limits: Limits

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
    def _scaled(self) -> tuple[tuple[int, ...], int]:
        return self.problem.scaled()

    @property
    def prices(self) -> tuple[int, ...]:
        """The costs of all features, as integers."""
        return self._scaled[0]

    @property
    def budget(self) -> int:
        """The budget, in the same unit."""
        return self._scaled[1]


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
    """

    best: list[Features]
    losses: list[Loss]
    lower: float
    reason: StopReason
    evaluations: int
    nodes: int = 0


@dataclass(frozen=True)
class Progress:
    """How far a search is.

    Attributes
    ----------
    features
        The best subset so far.
    agreement
        How often its decisions surely stay the same.
    bound
        No affordable subset agrees more often.
    evaluations
        How often an agreement, or a bound, was computed.
    seconds
        The time since the start.
    """

    features: Features
    agreement: float
    bound: float
    evaluations: int
    seconds: float


class Clock:
    """Tells when the time is over, and the caller how far the search is."""

    def __init__(self, seconds: float | None, listen: Callable[[Progress], None] | None) -> None:
        self._start = time.monotonic()
        self._seconds = seconds
        self._listen = listen

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return time.monotonic() - self._start

    def is_over(self) -> bool:
        """Tell whether the time is over."""
        return self._seconds is not None and self.seconds >= self._seconds

    def report(self, contest: Contest, lower: float, evaluations: int) -> None:
        """Tell the caller how far the search is."""
        if self._listen is not None and contest.ranking:
            best = contest.ranking[0]
            bound = 1 - min(best.loss.lower, max(0.0, lower))
            self._listen(Progress(best.features, 1 - best.loss.upper, bound, evaluations, self.seconds))
