"""Trimming against brute force: features, agreement, thresholds, bound and alternatives."""

from __future__ import annotations

import itertools
from fractions import Fraction
from random import Random
from typing import Literal

import generators
import pytest

import bayestrim as bt
from bayestrim import reference

CLOSE = 1e-12
COSTS = (0.0, 0.1, 0.2, 0.5, 1.0, 1.0, 1.0, 2.5, 1 / 3, 7.0, 100.0)


def random_problem(random: Random, most_features: int = 6) -> bt.TrimProblem:
    """Return a naive Bayes problem with awkward prices: free features, thirds, decimals, and some out of reach."""
    classifier = generators.random_naive_bayes(random, most_features)
    style = random.choice(["unit", "odd", "odd"])
    costs = {name: 1.0 if style == "unit" else random.choice(COSTS) for name in classifier.features}
    budget = random.choice([0.0, 0.3, 1.0, 2.0, 3.0, random.uniform(0, sum(costs.values()))])
    return bt.TrimProblem(classifier, budget, costs)


def affordable(problem: bt.TrimProblem, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return every affordable subset of some features."""
    price = {name: Fraction(repr(problem.costs[name])) for name in names}
    every = itertools.chain.from_iterable(itertools.combinations(names, size) for size in range(len(names) + 1))
    return [subset for subset in every if sum(price[name] for name in subset) <= Fraction(repr(problem.budget))]


def values(problem: bt.TrimProblem, subsets: list[tuple[str, ...]]) -> dict[tuple[str, ...], Fraction]:
    """Return the agreement of each subset with the best threshold, or with the old one, by brute force."""
    if problem.threshold == "keep":
        table = reference.Table(problem.classifier)
        return {subset: table.eca(subset, table.threshold) for subset in subsets}
    return {subset: reference.maa(problem.classifier, subset).value for subset in subsets}


def relevant(result: bt.Trimming) -> tuple[str, ...]:
    """Return the features that can change a decision."""
    return tuple(name for name in result.problem.classifier.features if name not in result.irrelevant)


def check(result: bt.Trimming) -> None:
    """Compare a proved result with brute force over all affordable subsets."""
    problem = result.problem
    assert result.status is bt.Status.OPTIMAL
    exact = values(problem, affordable(problem, relevant(result)))
    best = float(max(exact.values()))
    assert result.agreement.kind == "exact"
    assert float(result.agreement) == pytest.approx(best, abs=CLOSE)
    assert result.bound == pytest.approx(best, abs=CLOSE)
    assert result.gap == pytest.approx(0.0, abs=CLOSE)
    assert problem.affordable(result.features)
    assert result.cost == pytest.approx(sum(problem.costs[name] for name in result.features))
    at = reference.eca(problem.classifier, result.features, result.threshold)
    assert float(at) == pytest.approx(best, abs=CLOSE)
    assert result.threshold in result.thresholds
    if result.alternatives:
        found = [result.agreement, *(choice.agreement for choice in result.alternatives)]
        wanted = sorted(map(float, exact.values()), reverse=True)[: len(found)]
        assert [float(agreement) for agreement in found] == pytest.approx(wanted, abs=CLOSE)
        subsets = [result.features, *(choice.features for choice in result.alternatives)]
        assert len(set(subsets)) == len(subsets)
        for choice in result.alternatives:
            assert float(choice.agreement) == pytest.approx(float(exact[choice.features]), abs=CLOSE)


@pytest.mark.parametrize("block", range(20))
def test_the_optimum_is_that_of_brute_force(block: int) -> None:
    """Whatever the ties, zeros and prices, nothing affordable does better, and the result is what it says."""
    for seed in range(50 * block, 50 * (block + 1)):
        problem = random_problem(Random(seed))
        check(bt.trim(problem))


@pytest.mark.parametrize("block", range(5))
def test_keeping_the_threshold_and_alternatives_agree_with_brute_force(block: int) -> None:
    """With the old threshold every subset counts, as it does among the next best ones."""
    for seed in range(30 * block, 30 * (block + 1)):
        random = Random(seed)
        given = random_problem(random, 5)
        rule: Literal["keep", "optimal"] = random.choice(("keep", "optimal"))
        problem = bt.TrimProblem(given.classifier, given.budget, given.costs, threshold=rule)
        check(bt.trim(problem, alternatives=random.randint(1, 4)))
        check(bt.trim(bt.TrimProblem(given.classifier, given.budget, given.costs, threshold="keep")))
