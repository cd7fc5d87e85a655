"""The budget curve and the cheapest that agrees often enough, against brute force."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import generators
import pytest
from test_prices import allowed, constrained, price, value
from test_workers import wide

import bayestrim as bt
from bayestrim.errors import ProblemError

CLOSE = 1e-12


def true_curve(problem: bt.TrimProblem) -> list[tuple[Fraction, float]]:
    """Return every non-dominated pair of cost and agreement, by brute force."""
    pairs = sorted((price(problem, kept), -value(problem, kept)) for kept in allowed(problem))
    curve: list[tuple[Fraction, float]] = []
    for cost, loss in pairs:
        if not curve or -loss > curve[-1][1] + CLOSE:
            curve.append((cost, -loss))
    return curve


def check(problem: bt.TrimProblem) -> bt.BudgetCurve:
    """Hold a curve against brute force."""
    curve = bt.frontier(problem)
    expected = true_curve(problem)
    assert [point.cost for point in curve] == pytest.approx([float(cost) for cost, _ in expected])
    assert [float(point.agreement) for point in curve] == pytest.approx([best for _, best in expected], abs=CLOSE)
    assert curve.proved
    found = bt.verify(curve)
    assert found.ok, found.summary()
    return curve


@pytest.mark.parametrize("block", range(6))
def test_every_worthwhile_point_is_found(block: int) -> None:
    """Unit costs or odd ones, shared ones and constraints: no point is missing, and none is dominated."""
    for seed in range(25 * block, 25 * (block + 1)):
        check(constrained(Random(seed), generators.random_naive_bayes(Random(seed), 6)))


def test_tables_have_curves_too() -> None:
    """The same where features depend on each other."""
    for seed in range(25):
        check(constrained(Random(seed), generators.random_classifier(Random(seed), 4)))


@pytest.mark.parametrize("block", range(4))
def test_the_cheapest_that_agrees_often_enough(block: int) -> None:
    """It is the first point of the curve that does; where none does, that is said."""
    for seed in range(30 * block, 30 * (block + 1)):
        random = Random(seed)
        problem = constrained(random, generators.random_naive_bayes(random, 6))
        curve = true_curve(problem)
        wanted = random.choice([0.5, 0.9, 0.99, 1.0, *(best for _, best in curve)])
        result = bt.trim(problem, agreement=wanted)
        reached = [(cost, best) for cost, best in curve if best >= wanted - CLOSE]
        if not reached:
            assert result.status is bt.Status.INFEASIBLE
        else:
            assert result.status is bt.Status.OPTIMAL
            assert (result.cost, float(result.agreement)) == pytest.approx((float(reached[0][0]), reached[0][1]))
        found = bt.verify(result)
        assert found.ok, found.summary()


def test_a_larger_curve_is_that_of_single_searches() -> None:
    """At each whole budget, the curve says what a search at that budget finds."""
    classifier = wide(18, 4)
    curve = bt.frontier(classifier)
    assert curve.proved
    for budget in range(19):
        single = bt.trim(classifier, budget)
        at = [point for point in curve if point.cost <= budget][-1]
        assert float(at.agreement) == pytest.approx(float(single.agreement), abs=1e-9)
    assert bt.trim(classifier, agreement=0.97).cost == curve.cheapest(0.97).cost


def test_later_searches_profit_from_earlier_ones() -> None:
    """The whole curve takes fewer evaluations than its points one by one."""
    classifier = wide(20, 4)
    curve = bt.frontier(classifier)
    one_by_one = sum(bt.trim(classifier, budget).stats.nodes for budget in range(20))
    assert curve.stats.nodes <= 1.1 * one_by_one


def test_a_curve_is_a_sequence_with_a_table_and_a_frame() -> None:
    """It iterates, has a length, prints one line for each point, and converts to a data frame."""
    curve = bt.frontier(wide(8), {"F0": 2.5, "F1": 0.0})
    assert len(curve) == len(list(curve)) == len(curve[:]) == len(str(curve).splitlines()) - 1
    frame = curve.to_frame()
    assert list(frame["cost"]) == [point.cost for point in curve]
    assert list(frame["features"]) == [list(point.features) for point in curve]
    assert curve.cheapest(0.9) == next(point for point in curve if point.agreement.lower >= 0.9)
    with pytest.raises(ProblemError, match="no point of the curve agrees in 1 of decisions"):
        bt.frontier(wide(8), up_to=2).cheapest(1.0)


def test_a_curve_that_is_cut_short_says_so() -> None:
    """Points without a proof are marked, their bounds hold, and cheap ones are filled in from guesses."""
    whole = bt.frontier(wide(20, 4))
    cut = bt.frontier(wide(20, 4), limits=bt.Limits(evaluations=3000))
    assert cut.stop_reason is bt.StopReason.EVALUATION_LIMIT
    assert not cut.proved
    assert {point.status for point in cut} == {bt.Status.OPTIMAL, bt.Status.FEASIBLE}
    for point in cut:
        best = [other for other in whole if other.cost <= point.cost][-1]
        assert point.agreement.lower <= best.agreement.upper + 1e-9
        assert point.bound >= best.agreement.lower - 1e-9
    assert all(one.cost < other.cost for one, other in itertools.pairwise(cut))


def test_events_tell_of_points() -> None:
    """Each point is an improvement; the end comes once."""
    events: list[bt.Event] = []
    curve = bt.frontier(wide(10), on_event=events.append)
    kinds = [event.kind for event in events]
    assert kinds.count("finished") == 1
    assert kinds[-1] == "finished"
    assert {event.features for event in events if event.kind == "improved"} >= {point.features for point in curve}


def test_nothing_that_is_affordable_is_an_empty_curve() -> None:
    """What is required costs more than the budget."""
    assert len(bt.frontier(wide(4), up_to=1, required=["F0", "F1"])) == 0


@pytest.mark.parametrize("agreement", [-0.1, 1.1, True, "0.9"])
def test_shares_that_are_none_are_refused(agreement: Any) -> None:
    """The message says what is allowed."""
    with pytest.raises(ProblemError, match=r"^agreement=.*; it must be a share of decisions, from 0 to 1$"):
        bt.trim(wide(4), agreement=agreement)


# Properties of prices.


def random_problem(seed: int) -> bt.TrimProblem:
    """Return a constrained problem."""
    return constrained(Random(seed), generators.random_naive_bayes(Random(seed), 6))


def agreement(problem: bt.TrimProblem) -> float:
    """Return the best agreement, -1 where nothing is affordable."""
    result = bt.trim(problem)
    return -1.0 if result.status is bt.Status.INFEASIBLE else float(result.agreement)


@pytest.mark.parametrize("seed", range(40))
def test_more_budget_never_hurts(seed: int) -> None:
    """The best agreement grows with the budget, and with each constraint that is lifted."""
    problem = random_problem(seed)
    base = agreement(problem)
    for freer in (
        replace(problem, budget=problem.budget + 1),
        replace(problem, required=()),
        replace(problem, forbidden=()),
        replace(problem, max_features=None),
        replace(problem, setup_costs={}),
    ):
        assert agreement(freer) >= base - CLOSE


@pytest.mark.parametrize("seed", range(40))
def test_the_unit_of_money_changes_nothing(seed: int) -> None:
    """All prices and the budget in cents: the same features."""
    problem = random_problem(seed)
    cents = replace(
        problem,
        budget=float(100 * Fraction(repr(problem.budget))),
        costs={name: float(100 * Fraction(repr(cost))) for name, cost in problem.costs.items()},
        setup_costs={name: (float(100 * Fraction(repr(cost))), of) for name, (cost, of) in problem.setup_costs.items()},
    )
    one, other = bt.trim(problem), bt.trim(cents)
    assert (one.status, one.features, one.agreement) == (other.status, other.features, other.agreement)


@pytest.mark.parametrize("seed", range(40))
def test_free_set_ups_change_nothing(seed: int) -> None:
    """A set-up that costs nothing, and one that nobody needs, might as well not be there."""
    problem = random_problem(seed)
    names = problem.classifier.features
    more = {**problem.setup_costs, "free": (0.0, names), "idle": (5.0, ())}
    one, other = bt.trim(problem), bt.trim(replace(problem, setup_costs=more))
    assert (one.status, one.choice, one.bound) == (other.status, other.choice, other.bound)


@pytest.mark.parametrize("seed", range(40))
def test_a_set_up_of_one_feature_is_its_cost(seed: int) -> None:
    """What a feature does not share it might as well pay itself."""
    problem = random_problem(seed)
    name = problem.classifier.features[0]
    alone = replace(problem, setup_costs={**problem.setup_costs, "own": (0.75, [name])})
    own = float(Fraction(repr(problem.costs[name])) + Fraction("0.75"))
    paid = replace(problem, costs={**problem.costs, name: own})
    assert agreement(alone) == pytest.approx(agreement(paid), abs=CLOSE)


@pytest.mark.parametrize("seed", range(40))
def test_the_order_of_features_does_not_matter(seed: int) -> None:
    """A classifier that lists its features otherwise has the same best agreement."""
    problem = random_problem(seed)
    old = problem.classifier
    turned = bt.Classifier(old.network, old.target, old.positive, old.features[::-1], old.threshold)
    other = replace(problem, classifier=turned)
    assert agreement(other) == pytest.approx(agreement(problem), abs=CLOSE)


def test_keeping_everything_agrees_always() -> None:
    """The dearest point of a curve without an end is the classifier itself, exactly, as `trim` says."""
    for classifier in (wide(9), wide(45, 2)):
        limits = bt.Limits(evaluations=1)
        last = bt.frontier(classifier, limits=limits)[-1]
        assert (last.agreement, last.bound, last.status) == (bt.Interval(1.0, 1.0), 1.0, bt.Status.OPTIMAL)
        assert last.threshold == classifier.threshold


def test_the_start_of_a_search_keeps_the_time_limit() -> None:
    """With no time at all, whatever is affordable will do; hardly anything is evaluated."""
    result = bt.trim(wide(64, 2), 22, limits=bt.Limits(seconds=0))
    assert result.stop_reason is bt.StopReason.TIME_LIMIT
    assert result.problem.affordable(result.features)
    assert result.stats.evaluations < 50
