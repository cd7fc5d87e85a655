"""Prices that features share, and constraints: what they mean, and that searches find the best that they allow."""

from __future__ import annotations

import itertools
from fractions import Fraction
from random import Random
from typing import Any

import generators
import pytest

import bayestrim as bt
from bayestrim import reference
from bayestrim.errors import ProblemError

CLOSE = 1e-12
COSTS = (0.0, 0.0, 0.1, 0.2, 0.5, 1.0, 1.0, 1.0, 2.5, 1 / 3, 7.0, 100.0)


def constrained(random: Random, classifier: bt.Classifier) -> bt.TrimProblem:
    """Return a problem with shared costs, required and forbidden features and a largest number of them."""
    names = classifier.features
    even = random.random() < 0.4
    costs = {name: 1.0 if even else random.choice(COSTS) for name in names}
    setups = {
        f"set-up {i}": (random.choice(COSTS), random.sample(names, random.randint(0, len(names))))
        for i in range(random.randint(0, 3))
    }
    fate = {name: random.choice(["", "", "", "", "", "required", "forbidden"]) for name in names}
    required = [name for name in names if fate[name] == "required"]
    forbidden = [name for name in names if fate[name] == "forbidden"]
    most = random.choice([None, None, *range(len(required), len(names) + 1)])
    everything = bt.TrimProblem(classifier, 0, costs, setup_costs=setups).cost(names)
    budget = random.choice([0.0, 0.3, 1.0, 2.0, 3.0, random.uniform(0, everything), random.uniform(0, everything)])
    rule = random.choice(["optimal", "optimal", "keep"])
    return bt.TrimProblem(classifier, budget, costs, rule, setups, required, forbidden, most)  # type: ignore[arg-type]


def price(problem: bt.TrimProblem, kept: tuple[str, ...]) -> Fraction:
    """Return what features cost, by the definition."""
    spent = sum((Fraction(repr(problem.costs[name])) for name in kept), Fraction(0))
    for amount, members in problem.setup_costs.values():
        if any(name in members for name in kept):
            spent += Fraction(repr(amount))
    return spent


def allowed(problem: bt.TrimProblem) -> list[tuple[str, ...]]:
    """Return every subset that keeps to the budget and the constraints, by the definition."""
    names = problem.classifier.features
    most = len(names) if problem.max_features is None else problem.max_features
    return [
        kept
        for size in range(most + 1)
        for kept in itertools.combinations(names, size)
        if price(problem, kept) <= Fraction(repr(problem.budget))
        and all(name in kept for name in problem.required)
        and not any(name in kept for name in problem.forbidden)
    ]


def value(problem: bt.TrimProblem, kept: tuple[str, ...]) -> float:
    """Return how often a subset agrees, by brute force."""
    if problem.threshold == "keep":
        return float(reference.eca(problem.classifier, kept, problem.classifier.threshold))
    return float(reference.maa(problem.classifier, kept).value)


def check(problem: bt.TrimProblem, **options: Any) -> bt.Trimming:
    """Hold a search's answer against brute force."""
    result = bt.trim(problem, **options)
    subsets = allowed(problem)
    if not subsets:
        assert result.status is bt.Status.INFEASIBLE
        return result
    assert result.status is bt.Status.OPTIMAL
    assert result.features in subsets
    assert Fraction(repr(result.cost)) == pytest.approx(price(problem, result.features))
    best = sorted((value(problem, kept) for kept in subsets), reverse=True)
    assert float(result.agreement) == pytest.approx(best[0], abs=CLOSE)
    if result.alternatives and not result.irrelevant:
        found = [float(result.agreement), *(float(other.agreement) for other in result.alternatives)]
        assert found == pytest.approx(best[: len(found)], abs=CLOSE)
    return result


@pytest.mark.parametrize("block", range(10))
def test_the_best_that_is_allowed_is_found(block: int) -> None:
    """With shared costs, features that must or must not be kept and a largest number, brute force finds no better."""
    for seed in range(60 * block, 60 * (block + 1)):
        random = Random(seed)
        problem = constrained(random, generators.random_naive_bayes(random, 6))
        check(problem, alternatives=random.choice([0, 0, 2]))


@pytest.mark.parametrize("block", range(3))
def test_tables_keep_to_the_constraints_too(block: int) -> None:
    """The same where features depend on each other."""
    for seed in range(30 * block, 30 * (block + 1)):
        random = Random(seed)
        check(constrained(random, generators.random_classifier(random, 5)))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("a\ud83db",), "the name of a set-up cost must not hold control characters"),
        (("",), "the name of a set-up cost must not be empty"),
        ((1, "1"), "two have the name '1'"),
    ],
)
def test_names_of_set_up_costs_that_files_could_not_hold_are_refused(names: tuple[Any, ...], words: str) -> None:
    """A name that cannot be written would be found out in the middle of a search; of two alike, one would be lost."""
    classifier = generators.random_naive_bayes(Random(1), 3)
    with pytest.raises(ProblemError, match=f"^setup_costs: {words}"):
        bt.TrimProblem(classifier, 1, setup_costs=dict.fromkeys(names, (1.0, classifier.features[:1])))
