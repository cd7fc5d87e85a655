"""Every way to search against brute force: what proves finds the optimum, what only looks says so."""

from __future__ import annotations

import math
from random import Random

import generators
import pytest
from judge import Judge
from test_trim import affordable, check, random_problem, relevant, values

import bayestrim as bt
from bayestrim.search import STRATEGIES
from bayestrim.verify import verify
from benchmarks.instances import random_naive_bayes

PROVING = ("branch-and-bound", "exhaustive")
CLOSE = 1e-12


def optimum(problem: bt.TrimProblem) -> float:
    """Return the best agreement of all affordable subsets, by brute force."""
    return float(max(values(problem, affordable(problem, problem.classifier.features)).values()))


def assert_honest(result: bt.Trimming, best: float) -> None:
    """Check what holds of any result: affordable, no better than the optimum, and its bound no less; and verify it."""
    assert result.problem.affordable(result.features)
    assert result.agreement.lower <= best + CLOSE
    assert result.bound >= best - CLOSE
    assert result.gap >= best - result.agreement.upper - CLOSE
    verify(result, samples=1000).raise_if_failed()


def assert_value_is_right(result: bt.Trimming) -> None:
    """Check a result's own agreement by brute force."""
    loss = Judge(result.problem.classifier).loss_at(result.features, result.threshold)
    assert float(result.agreement) == pytest.approx(1 - float(loss), abs=CLOSE)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_tells_the_truth(name: str) -> None:
    """Its subset is affordable, its agreement that of brute force; strategies that prove find the optimum."""
    for seed in range(60):
        problem = random_problem(Random(seed), 5)
        result = bt.trim(problem, strategy=name)
        assert_honest(result, optimum(problem))
        assert_value_is_right(result)
        if name in PROVING:
            check(result)
        elif not problem.affordable(problem.classifier.features):
            assert result.stop_reason is bt.StopReason.HEURISTIC
            assert result.status is bt.Status.FEASIBLE


@pytest.mark.parametrize("name", PROVING)
def test_strategies_that_prove_give_the_same_alternatives(name: str) -> None:
    """The next best subsets, in order, are those of brute force."""
    for seed in range(20):
        check(bt.trim(random_problem(Random(seed), 5), strategy=name, alternatives=3))


def test_greedy_beats_or_equals_what_knows_only_information_gain() -> None:
    """Over many problems; on single ones it may be the other way round."""
    totals = {
        name: math.fsum(float(bt.trim(random_naive_bayes(9, seed), 3, strategy=name).agreement) for seed in range(20))
        for name in ("greedy", "information-gain")
    }
    assert totals["greedy"] > totals["information-gain"]


@pytest.mark.parametrize("evaluations", [0, 1, 5, 20, 60])
def test_stopping_early_leaves_bounds_that_hold(evaluations: int) -> None:
    """Whatever the limit of evaluations, the optimum lies between the agreement and the bound."""
    for seed in range(6):
        problem = bt.TrimProblem(random_naive_bayes(9, seed), 3)
        result = bt.trim(problem, limits=bt.Limits(evaluations=evaluations))
        assert_honest(result, float(bt.trim(problem).agreement))
        if result.status is not bt.Status.OPTIMAL:
            assert result.stop_reason is bt.StopReason.EVALUATION_LIMIT


def test_no_time_at_all_still_gives_an_answer() -> None:
    """Not a good one, perhaps, but one that is affordable and whose bound holds."""
    problem = bt.TrimProblem(random_naive_bayes(12, 0), 4)
    for name in PROVING:
        result = bt.trim(problem, strategy=name, limits=bt.Limits(seconds=0))
        assert_honest(result, float(bt.trim(problem).agreement))


@pytest.mark.parametrize("gap", [1e-4, 0.01, 0.2, 1.0])
def test_a_gap_is_kept(gap: float) -> None:
    """The answer is at most so far below the optimum, and does not claim less."""
    for seed in range(6):
        problem = bt.TrimProblem(random_naive_bayes(10, seed), 3)
        result, best = bt.trim(problem, limits=bt.Limits(gap=gap)), float(bt.trim(problem).agreement)
        assert_honest(result, best)
        assert float(result.agreement) >= best - gap - CLOSE
        assert result.gap <= gap + CLOSE
        assert result.status is bt.Status.OPTIMAL or result.stop_reason is bt.StopReason.GAP


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_budget_of_nothing_buys_what_is_free(name: str) -> None:
    """The best constant decision, or the free features."""
    for seed in range(20):
        classifier = generators.random_naive_bayes(Random(seed), 5)
        nothing = bt.trim(classifier, 0, strategy=name)
        assert nothing.cost == 0
        assert float(nothing.agreement) == pytest.approx(1 - float(Judge(classifier).loss(())), abs=CLOSE)
        free = dict.fromkeys(classifier.features[::2], 0.0)
        result = bt.trim(classifier, 0, free, strategy=name)
        assert set(result.features) <= set(free)
        if name in PROVING:
            assert float(result.agreement) == pytest.approx(1 - float(Judge(classifier).loss(list(free))), abs=CLOSE)
        assert_honest(result, 1 - float(Judge(classifier).loss(list(free))))


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("budget", [math.inf, 1e300, 5.0])
def test_a_budget_that_buys_everything_returns_the_original(name: str, budget: float) -> None:
    """The same features and threshold, in full agreement."""
    for seed in range(10):
        classifier = generators.random_naive_bayes(Random(seed), 5)
        result = bt.trim(classifier, budget, strategy=name)
        assert result.features == classifier.features
        assert result.threshold == classifier.threshold
        assert float(result.agreement) == result.bound == 1.0
        assert result.status is bt.Status.OPTIMAL


@pytest.mark.parametrize("name", PROVING)
def test_what_cannot_be_paid_is_left_alone(name: str) -> None:
    """Features that cost more than the budget change nothing about the rest."""
    for seed in range(20):
        classifier = random_naive_bayes(7, seed)
        dear = dict.fromkeys(classifier.features[::3], 10.0**300)
        result = bt.trim(classifier, 2, dear, strategy=name)
        assert not set(result.features) & set(dear)
        rest = bt.trim(classifier, 2, forbidden=list(dear), strategy=name)
        assert float(result.agreement) == pytest.approx(float(rest.agreement), abs=CLOSE)
        check(result)


@pytest.mark.parametrize("name", STRATEGIES)
def test_keeping_the_threshold_keeps_it(name: str) -> None:
    """Every strategy reports the old threshold's agreement; those that prove find the best under it."""
    for seed in range(30):
        given = random_problem(Random(seed), 4)
        problem = bt.TrimProblem(given.classifier, given.budget, given.costs, threshold="keep")
        result = bt.trim(problem, strategy=name)
        assert result.threshold == given.classifier.threshold
        assert_value_is_right(result)
        assert_honest(result, optimum(problem))
        if name in PROVING:
            check(result)


def test_irrelevant_features_are_named_and_never_bought() -> None:
    """A feature of one state, and one that says the same under both classes, cannot change a decision."""
    seen = 0
    for seed in range(60):
        problem = random_problem(Random(seed), 5)
        result = bt.trim(problem)
        if problem.affordable(problem.classifier.features):
            continue
        assert not set(result.irrelevant) & set(result.features)
        everything = Judge(problem.classifier).loss(relevant(result))
        assert everything == 0
        seen += len(result.irrelevant)
    assert seen
