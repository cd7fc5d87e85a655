"""The budget curve, and its question asked directly: the cheapest features that agree often enough.

Both ask the same search many times, at ever smaller budgets. What a larger budget could not reach, a smaller one cannot
either, and what was found on the way is tried first: so most of the later searches only prove.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bayestrim.curve import CurvePoint
from bayestrim.engines import Engine
from bayestrim.engines.additive import AdditiveEngine
from bayestrim.engines.grid import make_grid
from bayestrim.network import FloatArray
from bayestrim.problem import Limits
from bayestrim.search.answers import at_its_cost
from bayestrim.search.contest import Features
from bayestrim.search.events import Clock
from bayestrim.search.run import Outcome, Request
from bayestrim.search.start import Evaluate, sweep
from bayestrim.search.steps import Steps
from bayestrim.search.strategies import Strategy, candidates, losses_of
from bayestrim.trimming import Status, StopReason, Trimming

Answer = Callable[[Request, Outcome, Clock], Trimming]
"""Makes a result of what a strategy found."""

ROUGH_CELLS = 1024
"""How fine the lattice is on which subsets are guessed to be good."""
TRIED = 3
"""So many of the subsets that are known are tried first at each budget."""
FILLED_IN = 0.15
"""So many seconds are spent on points that are not proved, once the time is over."""
ENOUGH = 1e-12
"""How much more than enough is still enough: losses are sums of floats."""


@dataclass
class Known:
    """Subsets that were found, with losses as far as they are known, for smaller budgets to try.

    Attributes
    ----------
    losses
        The loss of each subset, or an estimate.
    """

    losses: dict[Features, float]

    def add(self, outcome: Outcome) -> None:
        """Keep what a search found."""
        for features, loss in zip(outcome.best, outcome.losses, strict=True):
            self.losses[features] = loss.upper

    def likely(self, request: Request) -> tuple[Features, ...]:
        """Return the best subsets that a request affords."""
        place = {name: i for i, name in enumerate(request.problem.classifier.features)}
        purse, required = request.purse, request.problem.required
        near = [f for f in self.losses if purse.affords(sorted({place[name] for name in (*f, *required)}))]
        return tuple(sorted(near, key=lambda features: (self.losses[features], features))[:TRIED])


def guesses(request: Request, engine: Engine, clock: Clock) -> Known:
    """Return what removing features one by one leads to, cheaper and cheaper."""
    names, purse = candidates(request, engine)
    swept = sweep(purse, _estimates(request, engine, names), lambda: clock.is_over() or clock.interrupted)
    return Known({tuple(names[i] for i in np.flatnonzero(kept)): loss for kept, loss in swept})


def _estimates(request: Request, engine: Engine, names: Features) -> Evaluate:
    """Return what gives the losses of subsets, roughly where that is quicker."""
    if isinstance(engine, AdditiveEngine) and request.threshold is None:
        grid = make_grid(engine.model, engine.model.features, ROUGH_CELLS, margin=False)
        return lambda subsets: grid.losses(subsets)[1]

    def losses(subsets: npt.NDArray[np.bool_]) -> FloatArray:
        chosen = (tuple(names[i] for i in np.flatnonzero(subset)) for subset in subsets)
        return np.array([next(losses_of(request, engine, features)).upper for features in chosen])

    return losses


@dataclass
class Descent:
    """Searches at ever smaller budgets.

    Attributes
    ----------
    request
        The search at the largest budget.
    engine, strategy
        How to search.
    answer
        Makes results.
    clock
        Knows the time, all searches together.
    whole
        What keeps everything, where the budget pays for that: it agrees always, and need not be searched for.
    """

    request: Request
    engine: Engine
    strategy: Strategy
    answer: Answer
    clock: Clock
    whole: Trimming | None = None
    reason: StopReason = StopReason.EXHAUSTED
    evaluations: int = 0
    nodes: int = 0

    def __post_init__(self) -> None:
        checkpoint = self.request.checkpoint
        self._known = guesses(self.request, self.engine, self.clock)
        self._steps = Steps(self.request.problem, checkpoint)
        if checkpoint is not None:
            self.clock.earlier = checkpoint.seconds

    def _solve(self, request: Request) -> Outcome:
        self.clock.next_part()
        if self.reason is not StopReason.EXHAUSTED:  # the open nodes of the search that was stopped are what to keep
            request = replace(request, checkpoint=None)
        outcome = self._steps.found(request)
        if outcome is None:
            outcome = self._searched(request)
        self._known.add(outcome)
        self.evaluations += outcome.evaluations
        self.nodes += outcome.nodes
        if outcome.reason not in (StopReason.EXHAUSTED, StopReason.GAP):
            self.reason = outcome.reason
        return outcome

    def _searched(self, request: Request) -> Outcome:
        request = replace(request, seeds=self._known.likely(request), limits=self._limits())
        outcome = self.strategy(request, self.engine, self.clock)
        if request.checkpoint is not None:
            self._steps.went_on()
            self._steps.keep(request, outcome)
        return outcome

    def _limits(self) -> Limits:
        """Return the limits of the next search: those of all together are for this run."""
        limits = self.request.limits
        if limits.evaluations is None:
            return limits
        return replace(limits, evaluations=max(0, limits.evaluations - (self.evaluations - self._steps.before)))

    def _price(self, features: Features) -> int:
        place = {name: i for i, name in enumerate(self.request.problem.classifier.features)}
        return self.request.purse.price(sorted({place[n] for n in (*features, *self.request.problem.required)}))

    def _result(self, request: Request, outcome: Outcome) -> Trimming:
        """Return a result as the answer to the problem whose budget is its cost."""
        result = self.answer(request, outcome, self.clock)
        if not outcome.choices and self.reason is StopReason.EXHAUSTED:
            self._steps.keep(request, replace(outcome, choices=(result.choice,)))
        return at_its_cost(result)

    @contextmanager
    def kept(self) -> Iterator[Descent]:
        """Let the checkpoint say at the end, whatever ends it, what is known by then."""
        try:
            yield self
        finally:
            self._steps.close()

    def points(self) -> Iterator[CurvePoint]:
        """Yield the points of the budget curve, the dearest first."""
        request, waiting = self.request, None
        least = request.purse.price(request.purse.required)
        if self.whole is not None:
            waiting = CurvePoint.of(self.whole)
            request = replace(request, most=self._price(self.whole.features) - 1)
        while self.reason is StopReason.EXHAUSTED and (request.most is None or request.most >= least):
            outcome = self._solve(request)
            result = self._result(request, outcome)
            if waiting is not None and result.agreement.lower < waiting.agreement.lower - ENOUGH:
                yield waiting
            waiting = CurvePoint.of(result)
            floor = max(request.floor, min([1 - result.bound, *(loss.lower for loss in outcome.losses)]))
            request = replace(request, most=self._price(result.features) - 1, floor=floor)
        if waiting is not None:
            yield waiting
        if self.reason is not StopReason.EXHAUSTED and waiting is not None:
            yield from self._guessed(waiting, least)

    def _guessed(self, dearer: CurvePoint, least: int) -> Iterator[CurvePoint]:
        """Yield points that are not proved, from what is known, for what the search did not come to."""
        end, losses = self.clock.seconds + FILLED_IN, self._known.losses
        for features in sorted(losses, key=lambda features: (-self._price(features), losses[features])):
            if not least <= self._price(features) < self._price(dearer.features) or self.clock.seconds > end:
                continue
            loss = next(losses_of(self.request, self.engine, features))
            outcome = Outcome([features], [loss], max(0.0, 1 - dearer.bound), self.reason, 0)
            result = self._result(replace(self.request, floor=0.0), outcome)
            if result.agreement.lower < dearer.agreement.lower - ENOUGH:
                dearer = CurvePoint.of(result)
                yield dearer

    def cheapest(self, agreement: float) -> tuple[Trimming, bool]:
        """Return the cheapest choice that agrees so often, of these the one that agrees most; and whether any does.

        Guesses, cheapest first, say where to begin: at each price the search finds a choice that agrees often enough,
        or proves that there is none. From the first that is found on, prices go down until nothing is found.
        """
        enough, below = 1 - agreement, self.request.purse.price(self.request.purse.required) - 1
        request, best = replace(self.request, enough=enough), None
        for most in self._prices_to_try(enough):
            outcome = self._solve(replace(request, most=most))
            if self._reaches(outcome, enough):
                best = outcome.best[0]
                break
            if self.reason is not StopReason.EXHAUSTED:
                break
            below = most
        while best is not None and self.reason is StopReason.EXHAUSTED and self._price(best) - 1 > below:
            outcome = self._solve(replace(request, most=self._price(best) - 1))
            if not self._reaches(outcome, enough):
                break
            best = outcome.best[0]
        return self._best_at(outcome.best[0] if best is None else best, agreement), best is not None

    def _best_at(self, features: Features, agreement: float) -> Trimming:
        """Return what agrees most at the price of some features."""
        reason, request = self.reason, replace(self.request, most=self._price(features))
        self._known.losses[features] = 0.0  # to be tried first
        outcome = self._solve(request)
        result = replace(self._result(request, outcome), target=agreement)
        return result if reason is StopReason.EXHAUSTED else replace(result, status=Status.FEASIBLE, stop_reason=reason)

    def _reaches(self, outcome: Outcome, enough: float) -> bool:
        return outcome.losses[0].upper <= enough + ENOUGH

    def _prices_to_try(self, enough: float) -> list[int]:
        """Return the prices of guesses that may agree often enough, and the whole budget."""
        likely = (self._price(features) for features, loss in self._known.losses.items() if loss <= enough)
        return sorted({*(price for price in likely if price < self.request.purse.budget), self.request.purse.budget})
