"""Problems and limits: what they accept, what they refuse in which words, and money in decimals."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import pickle
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import bayestrim as bt
from bayestrim.errors import ProblemError
from bayestrim.problem import Limits, TrimProblem
from bayestrim.purse import LARGEST_INTEGER


def classifier_of(count: int) -> bt.Classifier:
    """Return a naive Bayes classifier with features F0, F1, … of two states."""
    variables = [bt.Variable("C", ("yes", "no")), *(bt.Variable(f"F{i}", ("+", "-")) for i in range(count))]
    tables = {f"F{i}": [[0.9, 0.1], [0.3, 0.7]] for i in range(count)}
    network = bt.BayesianNetwork(variables, {name: ["C"] for name in tables}, {"C": [0.4, 0.6], **tables})
    return bt.Classifier(network, "C")


FOUR = classifier_of(4)
FIVE = classifier_of(5)


def subsets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return all subsets."""
    return [kept for size in range(len(names) + 1) for kept in itertools.combinations(names, size)]


def exactly(number: float) -> Fraction:
    """Return what the shortest decimal that prints a float stands for."""
    return Fraction(Decimal(repr(float(number))))


def whole(problem: TrimProblem) -> tuple[tuple[int, ...], int]:
    """Return the costs of features and the budget as searches see them."""
    purse = problem.purse()
    return purse.costs, purse.budget


def test_costs_are_decimals() -> None:
    """A tenth and two tenths fit in three tenths, which 64-bit numbers deny."""
    assert 0.1 + 0.2 > 0.3
    problem = TrimProblem(FOUR, 0.3, {"F0": 0.1, "F1": 0.2})
    assert problem.affordable(["F0", "F1"])
    assert problem.cost(["F0", "F1"]) == 0.3
    assert whole(problem) == ((1, 2, 4, 4), 3)


def test_a_feature_that_is_not_named_costs_one() -> None:
    """The default price of every feature is 1, and the prices come in the classifier's order."""
    assert dict(TrimProblem(FOUR, 2).costs) == {"F0": 1.0, "F1": 1.0, "F2": 1.0, "F3": 1.0}
    assert list(TrimProblem(FOUR, 2, {"F2": 5, "F0": 0.5}).costs.items())[::2] == [("F0", 0.5), ("F2", 5.0)]


@pytest.mark.parametrize("costs", [None, {}])
def test_no_costs_are_costs_of_one(costs: Any) -> None:
    """None and an empty mapping name no prices."""
    assert TrimProblem(FOUR, 3, costs).cost(FOUR.features) == 4


@pytest.mark.parametrize("budget", [math.inf, np.inf, 10**400])
def test_an_infinite_budget_affords_everything(budget: Any) -> None:
    """Every subset fits, and the scaled budget is what all features cost together."""
    problem = TrimProblem(FOUR, budget, {"F0": 2.5})
    assert all(problem.affordable(kept) for kept in subsets(FOUR.features))
    assert whole(problem) == ((5, 2, 2, 2), 11)


def test_free_features_are_always_affordable() -> None:
    """Where all costs and the budget are 0 everything fits; a priced feature does not."""
    free = dict.fromkeys(FOUR.features, 0)
    assert TrimProblem(FOUR, 0, free).affordable(FOUR.features)
    assert whole(TrimProblem(FOUR, 0, free)) == ((0, 0, 0, 0), 0)
    priced = TrimProblem(FOUR, 0, {**free, "F3": 1e-9})
    assert not priced.affordable(["F3"])
    assert whole(priced) == ((0, 0, 0, 1), 0)


def test_a_classifier_without_features_has_a_problem_too() -> None:
    """There is nothing to buy."""
    problem = TrimProblem(classifier_of(0), 3)
    assert problem.affordable([])
    assert whole(problem) == ((), 0)


@pytest.mark.parametrize("number", [np.float64(0.25), np.int64(2), Fraction(1, 4), 3])
def test_numbers_of_all_kinds_become_floats(number: Any) -> None:
    """Budgets and costs may be any real numbers; what is kept are plain floats."""
    problem = TrimProblem(FOUR, number, {"F1": number})
    assert (type(problem.budget), problem.budget) == (float, float(number))
    assert (type(problem.costs["F1"]), problem.costs["F1"]) == (float, float(number))


def test_minus_zero_is_zero() -> None:
    """No price is printed as -0."""
    problem = TrimProblem(FOUR, -0.0, {"F0": -0.0})
    assert repr((problem.budget, problem.costs["F0"])) == "(0.0, 0.0)"


def test_costs_cannot_be_changed_afterwards() -> None:
    """Neither through the mapping that was given nor through the attribute."""
    costs = {"F0": 2.0}
    problem = TrimProblem(FOUR, 2, costs)
    costs["F0"] = 3.0
    assert problem.costs["F0"] == 2
    with pytest.raises(TypeError, match="does not support item assignment"):
        problem.costs["F0"] = 3.0  # type: ignore[index]


def test_problems_are_values() -> None:
    """They compare, hash, copy, pickle and can be made again with another budget."""
    problem = TrimProblem(FOUR, 2, {"F0": 0.5}, threshold="keep")
    for same in (
        copy.deepcopy(problem),
        pickle.loads(pickle.dumps(problem)),
        TrimProblem(FOUR, 2, problem.costs, "keep"),
    ):
        assert same == problem
        assert hash(same) == hash(problem)
    larger = dataclasses.replace(problem, budget=3)
    assert (larger.budget, larger.costs, larger.threshold) == (3, problem.costs, "keep")
    assert larger != problem


WRONG_AMOUNTS = {
    "negative": (-1, "-1"),
    "a little below zero": (-1e-300, "-1e-300"),
    "NaN": (math.nan, "nan"),
    "minus infinity": (-math.inf, "-inf"),
    "hugely negative": (-(10**30), "-1" + "0" * 30),
    "a truth value": (True, "True"),
    "a NumPy truth value": (np.True_, repr(np.True_)),
    "a string": ("2", "'2'"),
    "nothing": (None, "None"),
    "complex": (1j, "1j"),
    "a list": ([1], "[1]"),
}


@pytest.mark.parametrize(("amount", "shown"), WRONG_AMOUNTS.values(), ids=list(WRONG_AMOUNTS))
def test_amounts_that_are_none_are_refused(amount: Any, shown: str) -> None:
    """The message says which amount, what was given and what is allowed."""
    words = f"{re.escape(shown)}; it must be a number, 0 or more$"
    with pytest.raises(ProblemError, match=f"^the budget is {words}"):
        TrimProblem(FOUR, amount)
    with pytest.raises(ProblemError, match=f"^the cost of 'F1' is {words}"):
        TrimProblem(FOUR, 1, {"F1": amount})


@pytest.mark.parametrize("amount", [math.inf, 10**400])
def test_an_infinite_cost_is_refused(amount: Any) -> None:
    """It would not fit even in an infinite budget."""
    words = r"^the cost of 'F0' is infinite; leave out of the classifier what cannot be had$"
    with pytest.raises(ProblemError, match=words):
        TrimProblem(FOUR, math.inf, {"F0": amount})


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("f1", r"; did you mean 'F1'\?"),
        ("C", r"; known: 'F0', 'F1', 'F2', 'F3'"),
        (7, r"; known: 'F0', 'F1', 'F2', 'F3'"),
    ],
)
def test_prices_of_unknown_features_are_refused(name: Any, end: str) -> None:
    """The nearest name is suggested; the class is no feature."""
    words = f"^costs: {re.escape(repr(name))} is not a feature of the classifier{end}$"
    with pytest.raises(bt.UnknownNameError, match=words):
        TrimProblem(FOUR, 1, {name: 1.0})


@pytest.mark.parametrize("costs", [[1, 2, 3, 4], "F0", 3, [("F0", 1)]])
def test_costs_that_map_nothing_are_refused(costs: Any) -> None:
    """Prices go by name."""
    words = f"^costs must map the names of features to numbers, not be a {type(costs).__name__}$"
    with pytest.raises(ProblemError, match=words):
        TrimProblem(FOUR, 1, costs)


def test_what_is_no_classifier_is_refused() -> None:
    """A network alone does not decide."""
    words = r"^a Classifier is needed, not BayesianNetwork; make one with Classifier\(network, target, …\)$"
    with pytest.raises(ProblemError, match=words):
        TrimProblem(FOUR.network, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", ["best", None, 0.5, ["keep"]])
def test_other_threshold_rules_are_refused(rule: Any) -> None:
    """There are two."""
    words = f"^threshold={re.escape(repr(rule))}; it is 'optimal' or 'keep'$"
    with pytest.raises(ProblemError, match=words):
        TrimProblem(FOUR, 1, threshold=rule)


@pytest.mark.parametrize("ask", [TrimProblem.cost, TrimProblem.affordable])
def test_only_features_have_a_price(ask: Any) -> None:
    """A misspelt feature, or one name instead of a list, is a clear error; naming a feature twice buys it once."""
    problem = TrimProblem(FOUR, 1)
    with pytest.raises(bt.ClassifierError, match=r"^'F9' is not a feature of this classifier; known: 'F0', "):
        ask(problem, ["F9"])
    with pytest.raises(bt.ClassifierError, match=r"^features must be a list of names, not 'F1'$"):
        ask(problem, "F1")
    assert ask(problem, ["F1", "F1"]) == ask(problem, ["F1"]) == 1


decimals = st.decimals(min_value=0, max_value=1000, places=6, allow_nan=False).map(float)
few_digits = st.decimals(min_value=0, max_value=10, places=1, allow_nan=False).map(float)
prices = st.lists(st.one_of(decimals, few_digits, st.just(0.0)), min_size=5, max_size=5)


@st.composite
def decimal_problems(draw: st.DrawFn) -> TrimProblem:
    """Return problems priced in decimals, most with a budget that some features meet exactly."""
    costs = dict(zip(FIVE.features, draw(prices), strict=True))
    kept = draw(st.lists(st.sampled_from(FIVE.features), unique=True))
    met = float(sum((exactly(costs[name]) for name in kept), Fraction(0)))
    return TrimProblem(FIVE, draw(st.one_of(st.just(met), st.just(met), decimals, st.just(math.inf))), costs)


@given(decimal_problems())
@example(TrimProblem(FIVE, 0.3, {"F0": 0.1, "F1": 0.2, "F2": 0.300001}))
def test_scaled_decimals_are_exact(problem: TrimProblem) -> None:
    """Integers afford just what decimals do, for every subset, and are in proportion."""
    costs, budget = whole(problem)
    scaled = dict(zip(FIVE.features, costs, strict=True))
    assert all(isinstance(cost, int) for cost in (*costs, budget))
    for kept in subsets(FIVE.features):
        spent = sum((exactly(problem.costs[name]) for name in kept), Fraction(0))
        fits = spent <= (spent if math.isinf(problem.budget) else exactly(problem.budget))
        assert problem.affordable(kept) is fits
        assert (sum(scaled[name] for name in kept) <= budget) is fits
    single = [name for name in FIVE.features if problem.affordable([name])]
    for one, other in itertools.combinations(single, 2):
        assert scaled[one] * exactly(problem.costs[other]) == scaled[other] * exactly(problem.costs[one])


anything = st.floats(min_value=0, max_value=1e6, allow_subnormal=False)


@given(st.lists(anything, min_size=5, max_size=5), anything)
@example([1e6, 1e-10, 1e-10, 1e-10, 1e-10], 3e-10)
@example([1e300, 1e-300, 2e-300, 1.0, 0.0], 2e-300)
@example([math.pi, math.e, math.sqrt(2), 1 / 3, 0.1], math.pi + math.e)
def test_scaled_floats_are_exact_to_twelve_digits(amounts: list[float], limit: float) -> None:
    """With too many digits for integers, affordability may turn only where a sum meets the budget almost exactly."""
    problem = TrimProblem(FIVE, limit, dict(zip(FIVE.features, amounts, strict=True)))
    costs, budget = whole(problem)
    assert sum(costs) <= LARGEST_INTEGER
    scaled = dict(zip(FIVE.features, costs, strict=True))
    allowed = exactly(problem.budget)
    for kept in subsets(FIVE.features):
        spent = sum((exactly(problem.costs[name]) for name in kept), Fraction(0))
        if abs(spent - allowed) > allowed / 10**12:
            assert (sum(scaled[name] for name in kept) <= budget) is (spent <= allowed)
        assert problem.affordable(kept) is (spent <= allowed)


def test_a_large_price_takes_no_digits_from_small_ones() -> None:
    """What alone exceeds the budget does not matter, however much it costs."""
    small = {"F0": 1e-10, "F1": 2e-10, "F2": 4e-10}
    assert whole(TrimProblem(FOUR, 3e-10, {**small, "F3": 1e9})) == ((1, 2, 4, 4), 3)


@pytest.mark.parametrize(
    "limits",
    [
        Limits(),
        Limits(seconds=0, evaluations=0, gap=0),
        Limits(seconds=0.5, evaluations=10**12, gap=1),
        Limits(memory=2**33, samples=1),
        Limits(seconds=math.inf, evaluations=np.int64(5), gap=np.float64(0.001)),  # type: ignore[arg-type]
    ],
)
def test_limits_that_make_sense_are_taken(limits: Limits) -> None:
    """They are values, and the defaults set no limit."""
    assert limits == Limits(limits.seconds, limits.evaluations, limits.gap, limits.memory, limits.samples)
    assert Limits() == Limits(seconds=None, evaluations=None, gap=0.0, memory=None, samples=None)


SECONDS = "a number of seconds, 0 or more"
WHOLE = "a whole number, 0 or more"
BYTES = "a whole number of bytes, 1 or more"
COUNT = "a whole number, 1 or more"
SHARE = "a share of decisions, from 0 to 1"


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        *(("seconds", value, SECONDS) for value in (-1, -1e-9, math.nan, True, "60", [60])),
        *(("evaluations", value, WHOLE) for value in (-1, 2.0, math.inf, True, "10")),
        *(("memory", value, BYTES) for value in (0, -1, 1e9, True, "8 GiB")),
        *(("samples", value, COUNT) for value in (0, -1, 1e5, True)),
        *(("gap", value, SHARE) for value in (-0.1, 1.1, math.nan, True, "0.1", None, math.inf)),
    ],
)
def test_limits_that_make_no_sense_are_refused(name: str, value: Any, allowed: str) -> None:
    """The message says which limit, what was given and what is allowed."""
    with pytest.raises(ProblemError, match=f"^limits: {name}={re.escape(repr(value))}; it must be {allowed}$"):
        Limits(**{name: value})
