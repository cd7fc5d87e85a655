"""Trimming: the features to keep and the threshold that change the fewest decisions, and the proof."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from os import PathLike
from typing import Any

from bayestrim.classifier import Classifier
from bayestrim.curve import BudgetCurve
from bayestrim.engines import Engine, EngineChoice, choose, instead, make_engine
from bayestrim.engines.continuous import ContinuousEngine
from bayestrim.engines.sampled import SampledEngine
from bayestrim.engines.sparse import SparseEngine
from bayestrim.errors import OutOfTimeError, ProblemError, TooLargeError, suggestion
from bayestrim.kernels import announce_compilation
from bayestrim.problem import Limits, SetupCosts, ThresholdRule, TrimProblem
from bayestrim.search.answers import (
    at_its_cost,
    everything,
    found,
    impossible,
    unknown,
    unknown_cheapest,
    unknown_curve,
)
from bayestrim.search.budgets import Descent
from bayestrim.search.checkpoint import Checkpoint, read_checkpoint
from bayestrim.search.events import Clock, Event, Listener
from bayestrim.search.interrupts import interruptible
from bayestrim.search.run import Outcome, Request
from bayestrim.search.strategies import STRATEGIES
from bayestrim.search.workers import Crew
from bayestrim.trimming import SearchStats, StopReason, Trimming

__all__ = ["STRATEGIES", "Event", "frontier", "resume", "trim"]


def trim(  # noqa: PLR0913  (the package's main function: each argument stands for itself)
    classifier: Classifier | TrimProblem,
    budget: float | None = None,
    costs: Mapping[str, float] | None = None,
    *,
    agreement: float | None = None,
    setup_costs: SetupCosts | None = None,
    required: Sequence[str] = (),
    forbidden: Sequence[str] = (),
    max_features: int | None = None,
    threshold: ThresholdRule = "optimal",
    alternatives: int = 0,
    strategy: str = "auto",
    engine: str = "auto",
    limits: Limits | None = None,
    executor: Executor | None = None,
    n_jobs: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    on_event: Listener | None = None,
    seed: int | None = None,
) -> Trimming:
    """Find the features to keep, and the new threshold, that change the fewest decisions; prove that none do better.

    Parameters
    ----------
    classifier
        The classifier, or a whole problem (then without budget, prices, constraints and threshold).
    budget
        The most that the kept features may cost together.
    costs
        What features cost, by name; those not named cost 1.
    agreement
        Ask for the cheapest features that agree at least so often, instead of for the best that a budget buys.
    setup_costs
        What features share: from any name to a cost, paid once if any of the features is kept, and the features.
    required, forbidden
        Features that must be kept, and those that must not.
    max_features
        How many features may be kept.
    threshold
        ``"optimal"`` chooses a new threshold for each subset; ``"keep"`` uses the classifier's own.
    alternatives
        So many next best subsets are found, and proved to be, as well.
    strategy
        ``"branch-and-bound"`` and ``"exhaustive"`` prove; ``"greedy"`` and ``"information-gain"`` only look. ``"auto"``
        is branch-and-bound.
    engine
        What computes agreements: ``"additive"`` where the features are independent given the class, ``"table"``
        otherwise, ``"merged"`` where no table fits but instances have few classes that can be told apart, ``"sampled"``
        where they have many; ``"auto"`` finds out. ``"circuit"`` makes the table by way of a compiled circuit (extra
        ``sdd``). ``"sparse"`` lists the most probable instances only.
    limits
        When to stop before the end; the best so far is returned, with what is proved about it.
    executor
        Who works: any `concurrent.futures.Executor`, of processes or machines. By default this process does.
    n_jobs
        How many threads of this process work, -1 for one on each processor; or how many workers the executor has.
    checkpoint
        A file in which the search keeps what it knows, every few seconds and at the end. If it is there already, the
        search goes on from it; one of another problem is refused.
    on_event
        Is told (see `Event`) when the search starts, improves and ends, and now and then how far it is.
    seed
        For engines that draw samples.

    Examples
    --------
    >>> import bayestrim as bt
    >>> quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+", threshold=0.07)
    >>> print(bt.trim(quiz, budget=2).summary())
    keep       Q1, Q2
    drop       Q3
    cost       2 of a budget of 2
    threshold  0.169521, or any in (0.0769231, 0.333333]
    agreement  97.48% of decisions stay the same
    proof      no affordable subset agrees more; everything was searched
    """
    prices = (costs, setup_costs, required, forbidden, max_features)
    problem = _problem(classifier, _budget(classifier, budget, agreement is not None), prices, threshold)
    if not isinstance(alternatives, int) or isinstance(alternatives, bool) or alternatives < 0:
        raise ProblemError(f"alternatives={alternatives!r}; it must be a whole number, 0 or more")
    if strategy not in ("auto", *STRATEGIES):
        raise ProblemError(f"there is no strategy {strategy!r}{suggestion(strategy, ['auto', *STRATEGIES])}")
    share = None if agreement is None else _checked_share(agreement)
    options = {"alternatives": alternatives, "strategy": strategy, "engine": engine, "seed": seed}
    limits = limits or Limits()
    kept = _checkpoint(checkpoint, problem, {**options, "agreement": share}, limits)
    request = Request(problem, alternatives + 1, limits, Crew(executor, n_jobs), kept)
    clock = Clock(request.limits.seconds, on_event)
    announce_compilation()
    with interruptible(clock.interrupt):
        if share is not None:
            return _cheapest(request, options, clock, share)
        return _search(request, options, clock)


def _checkpoint(
    path: str | PathLike[str] | None, problem: TrimProblem, question: Mapping[str, Any], limits: Limits
) -> Checkpoint | None:
    if path is None:
        return None
    listed = limits.samples if question["engine"] == "sparse" else None  # there it says what is searched
    return Checkpoint(path, problem, {**question, "gap": limits.gap, "samples": listed})


def _search(request: Request, options: Mapping[str, Any], clock: Clock) -> Trimming:
    """Search, unless the answer is plain."""
    problem = request.problem
    if not problem.affordable(problem.required):
        return impossible(problem, clock)
    if request.wanted == 1 and problem.affordable(problem.classifier.features):
        return everything(problem, clock)
    choice = choose(problem.classifier, options["engine"], request.limits, clock.left)
    if choice.name != "table" or options["engine"] != "auto" or request.checkpoint is not None:
        return _searched_or_unknown(request, options, choice, clock)
    try:
        return _searched(request, options, choice, clock, clock.half)
    except MemoryError as error:
        sampling, late = instead(choice, error), isinstance(error, OutOfTimeError)
    try:
        return _searched(request, options, sampling, clock, clock.left)
    except TooLargeError:
        if not late:
            raise
    return _searched_or_unknown(request, options, choice, clock)  # the table, then, if all the time is enough for it


def _searched_or_unknown(request: Request, options: Mapping[str, Any], choice: EngineChoice, clock: Clock) -> Trimming:
    try:
        return _searched(request, options, choice, clock, _time_for(choice, clock))
    except OutOfTimeError:
        return unknown(request.problem, clock)


def _searched(
    request: Request,
    options: Mapping[str, Any],
    choice: EngineChoice,
    clock: Clock,
    left: Callable[[], float],
) -> Trimming:
    """Search with the engine that was chosen, which has so many seconds to get ready."""
    engine = make_engine(request.problem.classifier, choice, request.limits, options["seed"], left)
    strategy = _strategy(options["strategy"])
    _check_checkpoint(request, strategy, engine)
    _ = engine.tie_mass  # takes a while where instances are many: within the time limit, not after it
    return found(request, engine, STRATEGIES[strategy](request, engine, clock), clock)


def _check_checkpoint(request: Request, strategy: str, engine: Engine) -> None:
    """Refuse a checkpoint of what is not cut into slices."""
    kept = strategy == "branch-and-bound" and not isinstance(engine, ContinuousEngine | SampledEngine)
    if request.checkpoint is not None and not kept:
        raise ProblemError(
            f"strategy {strategy!r} keeps no checkpoints here; 'branch-and-bound' does, but not on samples, nor where "
            "features are numbers"
        )


def _strategy(name: str) -> str:
    return "branch-and-bound" if name == "auto" else name


def _checked_share(agreement: Any) -> float:
    number: Any = numbers.Real
    if not (isinstance(agreement, number) and not isinstance(agreement, bool) and 0 <= agreement <= 1):
        raise ProblemError(f"agreement={agreement!r}; it must be a share of decisions, from 0 to 1")
    return float(agreement)


def _descent(request: Request, options: Mapping[str, Any], clock: Clock) -> Descent:
    """Return searches at ever smaller budgets."""
    if request.wanted > 1 or request.limits.gap > 0:
        raise ProblemError("alternatives and gaps are for a search at one budget")
    engine = _engine(request, options, clock)
    strategy = _strategy(options["strategy"])
    if strategy not in PROVING:
        raise ProblemError(f"strategy {strategy!r} proves nothing; use one of {', '.join(PROVING)}")
    if isinstance(engine, SampledEngine):
        raise ProblemError(
            "samples prove nothing about the cheapest features; give Limits(memory=…) that lets the table fit, or the "
            "classifier fewer features"
        )
    if isinstance(engine, SparseEngine) and engine.rest:
        raise ProblemError(
            f"instances of probability {engine.rest:.3g} are not listed, so that the cheapest features cannot be "
            "proved; say Limits(samples=…) for more instances, or use engine='table'"
        )
    _check_checkpoint(request, strategy, engine)
    _ = engine.tie_mass

    def answer(request: Request, outcome: Outcome, clock: Clock) -> Trimming:
        return found(request, engine, outcome, clock)

    return Descent(request, engine, STRATEGIES[strategy], answer, clock)


def _cheapest(request: Request, options: Mapping[str, Any], clock: Clock, agreement: float) -> Trimming:
    """Find the cheapest features that agree often enough."""
    if not request.problem.affordable(request.problem.required):
        return replace(impossible(request.problem, clock), target=agreement)
    try:
        descent = _descent(request, options, clock)
    except OutOfTimeError:
        return replace(unknown_cheapest(request.problem, clock), target=agreement)
    with descent.kept():
        result, reached = descent.cheapest(agreement)
    clock.last_part()
    clock.finish(result.features, result.agreement.lower, result.bound, descent.evaluations, descent.nodes)
    if not reached and descent.reason is StopReason.EXHAUSTED:
        return replace(impossible(request.problem, clock), target=agreement)
    return replace(result, stats=SearchStats(descent.evaluations, descent.nodes, clock.total))


def frontier(  # noqa: PLR0913  (as for `trim`)
    classifier: Classifier | TrimProblem,
    costs: Mapping[str, float] | None = None,
    *,
    up_to: float | None = None,
    setup_costs: SetupCosts | None = None,
    required: Sequence[str] = (),
    forbidden: Sequence[str] = (),
    max_features: int | None = None,
    threshold: ThresholdRule = "optimal",
    strategy: str = "auto",
    engine: str = "auto",
    limits: Limits | None = None,
    executor: Executor | None = None,
    n_jobs: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    on_event: Listener | None = None,
    seed: int | None = None,
) -> BudgetCurve:
    """Find what each amount of money buys: every worthwhile pair of cost and agreement, each proved.

    Parameters
    ----------
    classifier
        The classifier, or a whole problem, whose budget is then the end of the curve.
    costs
        What features cost, by name; those not named cost 1.
    up_to
        The largest budget of interest; by default what everything costs.
    setup_costs, required, forbidden, max_features, threshold, strategy, engine, executor, n_jobs, seed
        As for `trim`.
    checkpoint
        As for `trim`: finished points are kept, and what is open of the next.
    on_event
        As for `trim`; an ``"improved"`` event is told for each point.
    limits
        When to stop; for all points together. Points that were not reached are filled in without a proof.

    Examples
    --------
    >>> import bayestrim as bt
    >>> quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+", threshold=0.07)
    >>> print(bt.frontier(quiz))
    cost  agreement  threshold  proof     features
       0   73.1800%   1.000000  best      nothing
       1   90.8200%   0.070000  best      Q1
       2   97.4800%   0.169521  best      Q1, Q2
       3  100.0000%   0.070000  best      Q1, Q2, Q3
    """
    prices = (costs, setup_costs, required, forbidden, max_features)
    problem = _problem(classifier, _budget(classifier, up_to, True), prices, threshold)
    options, limits = {"strategy": strategy, "engine": engine, "seed": seed}, limits or Limits()
    kept = _checkpoint(checkpoint, problem, {**options, "curve": True}, limits)
    request = Request(problem, 1, limits, Crew(executor, n_jobs), kept)
    clock = Clock(request.limits.seconds, on_event)
    if not problem.affordable(problem.required):
        clock.finish((), 0.0, 0.0, 0, 0)
        return BudgetCurve(problem, (), StopReason.EXHAUSTED, SearchStats(seconds=clock.seconds))
    with interruptible(clock.interrupt):
        try:
            descent = _descent(request, options, clock)
        except OutOfTimeError:
            return unknown_curve(problem, clock)
        with descent.kept():
            if problem.affordable(problem.classifier.features):
                clock.next_part()
                descent.whole = at_its_cost(everything(problem, clock))
            points = tuple(reversed(list(descent.points())))
    clock.last_part()
    clock.finish(points[-1].features, points[-1].agreement.lower, points[-1].bound, descent.evaluations, descent.nodes)
    return BudgetCurve(problem, points, descent.reason, SearchStats(descent.evaluations, descent.nodes, clock.total))


def resume(
    path: str | PathLike[str],
    *,
    limits: Limits | None = None,
    executor: Executor | None = None,
    n_jobs: int | None = None,
    on_event: Listener | None = None,
) -> Trimming | BudgetCurve:
    """Go on with what was stopped, from its checkpoint alone; return what `trim` or `frontier` would have returned.

    Parameters
    ----------
    path
        What `trim` or `frontier` was given as its checkpoint; it is kept up to date as before.
    limits
        When to stop, counted from now; the gap stays that of the search.
    executor, n_jobs, on_event
        As for `trim`.
    """
    problem, question = read_checkpoint(path)
    limits = replace(limits or Limits(), gap=question.pop("gap"))
    samples = question.pop("samples")
    if samples is not None:
        limits = replace(limits, samples=samples)
    ask: Callable[..., Trimming | BudgetCurve] = frontier if question.pop("curve", False) else trim
    return ask(problem, limits=limits, executor=executor, n_jobs=n_jobs, checkpoint=path, on_event=on_event, **question)


PROVING = ("branch-and-bound", "exhaustive")
"""The strategies that prove what they find."""


def _engine(request: Request, options: Mapping[str, Any], clock: Clock) -> Engine:
    classifier, limits = request.problem.classifier, request.limits
    choice = choose(classifier, options["engine"], limits, clock.left)
    return make_engine(classifier, choice, limits, options["seed"], _time_for(choice, clock))


def _time_for(choice: EngineChoice, clock: Clock) -> Callable[[], float]:
    """Return how long an engine may go on: the additive one narrows what it says a little longer than it searches."""
    return clock.left_to_answer if choice.name == "additive" else clock.left


Prices = tuple[Mapping[str, float] | None, SetupCosts | None, Sequence[str], Sequence[str], int | None]


def _budget(given: Classifier | TrimProblem, budget: float | None, unlimited: bool) -> float | None:
    """Return the budget that was given, or an unlimited one where none is needed."""
    return math.inf if budget is None and unlimited and not isinstance(given, TrimProblem) else budget


def _problem(
    given: Classifier | TrimProblem, budget: float | None, prices: Prices, threshold: ThresholdRule
) -> TrimProblem:
    costs, setup_costs, required, forbidden, max_features = prices
    if isinstance(given, TrimProblem):
        if budget is not None or any(price not in (None, ()) for price in prices) or threshold != "optimal":
            raise ProblemError(
                "a TrimProblem has its own budget, prices, constraints and threshold; give them there: "
                "dataclasses.replace(problem, budget=…)"
            )
        return given
    if budget is None:
        raise ProblemError("a budget is needed: the most that the kept features may cost (each costs 1 if not said)")
    return TrimProblem(given, budget, costs or {}, threshold, setup_costs or {}, required, forbidden, max_features)
