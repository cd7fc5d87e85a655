"""Results: of what a search found, and those that need no search."""

from __future__ import annotations

import math
from dataclasses import replace

from bayestrim.classifier import Classifier
from bayestrim.curve import BudgetCurve, CurvePoint
from bayestrim.engines import Engine
from bayestrim.engines.additive import AdditiveEngine
from bayestrim.engines.continuous import ContinuousEngine
from bayestrim.engines.merged import MergedEngine
from bayestrim.engines.sampled import SampledEngine
from bayestrim.engines.sparse import SparseEngine
from bayestrim.engines.table import TableEngine
from bayestrim.problem import TrimProblem
from bayestrim.result import Interval, ThresholdInterval
from bayestrim.search.contest import Features
from bayestrim.search.events import Clock
from bayestrim.search.run import Outcome, Request
from bayestrim.trimming import Choice, SearchStats, Status, StopReason, Trimming


def impossible(problem: TrimProblem, clock: Clock) -> Trimming:
    """Say that what is required costs more than the budget."""
    classifier = problem.classifier
    choice = Choice((), 0.0, classifier.threshold, _only(classifier), Interval(0.0, 0.0))
    clock.finish((), 0.0, 0.0, 0, 0)
    stats = SearchStats(seconds=clock.seconds)
    return Trimming(problem, choice, 0.0, Status.INFEASIBLE, StopReason.EXHAUSTED, stats=stats)


def _only(classifier: Classifier) -> ThresholdInterval:
    """Return the interval that holds the classifier's own threshold and no other."""
    return ThresholdInterval(math.nextafter(classifier.threshold, -1.0), classifier.threshold)


def unknown(problem: TrimProblem, clock: Clock) -> Trimming:
    """Say that there was no time to find out anything: what is required is kept, and may agree always or never."""
    classifier = problem.classifier
    features = classifier.checked_subset(problem.required)
    agreement = Interval(0.0, 1.0, "certified")
    choice = Choice(features, problem.cost(features), classifier.threshold, _only(classifier), agreement)
    clock.finish(features, 0.0, 1.0, 0, 0)
    stats = SearchStats(seconds=clock.total)
    return Trimming(problem, choice, 1.0, Status.FEASIBLE, _why(clock), engine="table", tie_mass=1.0, stats=stats)


def unknown_cheapest(problem: TrimProblem, clock: Clock) -> Trimming:
    """Say that there was no time to find out what is cheapest: everything, if that is affordable, agrees always."""
    if not problem.affordable(problem.classifier.features):
        return unknown(problem, clock)
    whole = at_its_cost(everything(problem, clock))
    return replace(whole, status=Status.FEASIBLE, stop_reason=_why(clock))


def unknown_curve(problem: TrimProblem, clock: Clock) -> BudgetCurve:
    """Say the same of a budget curve: its ends are known, if any of it."""
    ends = [at_its_cost(unknown(problem, clock))]
    if problem.affordable(problem.classifier.features):
        ends.append(at_its_cost(everything(problem, clock)))
    points = tuple(CurvePoint.of(end) for end in ends)
    return BudgetCurve(problem, points, _why(clock), SearchStats(seconds=clock.total))


def at_its_cost(result: Trimming) -> Trimming:
    """Return a result as the answer to the problem whose budget is its cost."""
    return replace(result, problem=replace(result.problem, budget=result.cost))


def _why(clock: Clock) -> StopReason:
    return StopReason.INTERRUPTED if clock.interrupted else StopReason.TIME_LIMIT


def everything(problem: TrimProblem, clock: Clock) -> Trimming:
    """Return the classifier as it is, which the budget pays for."""
    classifier = problem.classifier
    cost = problem.cost(classifier.features)
    choice = Choice(classifier.features, cost, classifier.threshold, _only(classifier), Interval(1.0, 1.0))
    clock.finish(classifier.features, 1.0, 1.0, 0, 0)
    stats = SearchStats(seconds=clock.seconds)
    return Trimming(problem, choice, 1.0, Status.OPTIMAL, StopReason.EXHAUSTED, stats=stats)


def found(request: Request, engine: Engine, outcome: Outcome, clock: Clock) -> Trimming:
    """Return an outcome with the thresholds and agreements of its subsets."""
    problem = request.problem
    choices = outcome.choices or [_choice(problem, engine, features) for features in outcome.best]
    proved = outcome.reason is StopReason.EXHAUSTED and _in_order(outcome)
    bound = choices[0].agreement.upper
    if not proved:
        bound = max(bound, 1 - outcome.lower, *(1 - loss.lower for loss in outcome.losses))
    irrelevant: Features = ()
    if isinstance(engine, AdditiveEngine | ContinuousEngine):
        irrelevant = tuple(name for name in problem.classifier.features if name not in engine.model.names)
    elif isinstance(engine, TableEngine | SparseEngine | MergedEngine | SampledEngine):
        irrelevant = engine.irrelevant
    bound = min(1.0, bound)
    clock.finish(choices[0].features, choices[0].agreement.lower, bound, outcome.evaluations, outcome.nodes)
    return Trimming(
        problem,
        choices[0],
        bound,
        Status.OPTIMAL if proved else Status.FEASIBLE,
        outcome.reason,
        tuple(choices[1:]),
        irrelevant,
        min(1.0, engine.tie_mass),  # a sum of floats
        engine.name,
        SearchStats(outcome.evaluations, outcome.nodes, clock.total),
    )


ROUNDING = 1e-12
"""Losses are sums of floats; differences smaller than this mean nothing."""


def _in_order(outcome: Outcome) -> bool:
    """Tell whether each loss surely is at most the next one, and the last at most all others."""
    nexts = [*(loss.lower for loss in outcome.losses[1:]), outcome.lower]
    return all(mine.upper <= other + ROUNDING for mine, other in zip(outcome.losses, nexts, strict=True))


def _choice(problem: TrimProblem, engine: Engine, features: Features) -> Choice:
    classifier = problem.classifier
    features = classifier.checked_subset({*features, *problem.required})  # some of these may not matter
    if problem.threshold == "keep":
        agreement = engine.eca(features, classifier.threshold)
        return Choice(features, problem.cost(features), classifier.threshold, _only(classifier), agreement)
    best = engine.maa(features)
    return Choice(features, problem.cost(features), best.threshold, best.thresholds, best.value)
