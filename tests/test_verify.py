"""The independent check passes what is right and finds every kind of falsehood, each under its own name."""

from __future__ import annotations

import ast
import importlib
import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import generators
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayestrim as bt
from bayestrim import judges, reference
from bayestrim.allowance import Allowance
from bayestrim.errors import BayestrimError, ProblemError, VerificationError
from bayestrim.problem import ThresholdRule, TrimProblem
from bayestrim.ties import float_at_most
from bayestrim.trimming import Choice, Status, StopReason, Trimming
from bayestrim.verify import Verdict, Verification, verify

module = importlib.import_module("bayestrim.verify")  # the package's attribute of that name is the function

randoms = st.randoms(use_true_random=False)
SEEDS = range(200)


def subsets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return all subsets, smallest first."""
    return [kept for size in range(len(names) + 1) for kept in itertools.combinations(names, size)]


def choose(problem: TrimProblem, kept: tuple[str, ...]) -> Choice:
    """Return what is true of some features, by the definitions."""
    return choose_for(problem, problem.classifier, kept)


def choose_for(problem: TrimProblem, classifier: bt.Classifier, kept: tuple[str, ...]) -> Choice:
    """Return the same, computed with another classifier that decides alike."""
    old = classifier.threshold
    if problem.threshold == "keep":
        table = reference.Table(classifier)
        posteriors = [float_at_most(table.posterior(group)) for group in table.kept(kept).values()]
        low = max((p for p in posteriors if p < old), default=-math.inf)
        high = min((p for p in posteriors if p >= old), default=math.inf)
        value = table.eca(kept, reference.rational(old))
        return chosen(problem, kept, old, bt.ThresholdInterval(low, high), float(value))
    best = reference.maa(classifier, kept)
    intervals = [
        bt.ThresholdInterval(
            -math.inf if low < 0 else float_at_most(low), math.inf if high > 1 else float_at_most(high)
        )
        for low, high in best.intervals
    ]
    thresholds = next((interval for interval in intervals if old in interval), intervals[0])
    return chosen(problem, kept, thresholds.pick(old), thresholds, float(best.value))


def chosen(
    problem: TrimProblem, kept: tuple[str, ...], threshold: float, thresholds: bt.ThresholdInterval, value: float
) -> Choice:
    """Return a choice of a stated agreement."""
    return Choice(kept, problem.cost(kept), threshold, thresholds, bt.Interval(value, value))


def ranked(problem: TrimProblem) -> list[Choice]:
    """Return all affordable choices, best first."""
    affordable = [kept for kept in subsets(problem.classifier.features) if problem.affordable(kept)]
    return sorted((choose(problem, kept) for kept in affordable), key=lambda choice: -choice.agreement.lower)


def idle_features(classifier: bt.Classifier) -> tuple[str, ...]:
    """Return some features without which all decisions stay the same."""
    table = reference.Table(classifier)
    idle: list[str] = []
    for name in classifier.features:
        rest = [other for other in classifier.features if other not in (*idle, name)]
        if table.eca(rest, table.threshold) == 1:
            idle.append(name)
    return tuple(idle)


class Case(NamedTuple):
    """A right answer with three alternatives, and all affordable choices, best first."""

    answer: Trimming
    all: list[Choice]


def random_problem(random: Random) -> TrimProblem:
    """Return a random problem whose prices include free features and budgets that some features meet exactly."""
    make = random.choice([generators.random_classifier, generators.random_naive_bayes])
    classifier = make(random, 6) if make is generators.random_classifier else make(random, 4)
    costs = {name: random.choice([0.0, 0.1, 0.2, 0.3, 1.0, 2.5]) for name in classifier.features}
    met = TrimProblem(classifier, 0, costs).cost(generators.random_subset(random, classifier))
    budget = random.choice([met, met, 0.3, 1.0, math.inf])
    rule: ThresholdRule = random.choice(["optimal", "optimal", "keep"])
    return TrimProblem(classifier, budget, costs, rule)


def case_of(problem: TrimProblem) -> Case:
    """Return the right answer to a problem."""
    best, *others = ranked(problem)
    answer = Trimming(
        problem,
        best,
        best.agreement.lower,
        Status.OPTIMAL,
        StopReason.EXHAUSTED,
        alternatives=tuple(others[:3]),
        irrelevant=idle_features(problem.classifier),
    )
    return Case(answer, [best, *others])


def random_case(random: Random) -> Case:
    """Return the right answer to a random problem."""
    return case_of(random_problem(random))


@given(randoms)
def test_right_answers_pass_every_check(random: Random) -> None:
    """What brute force finds is found right, and all of it is checked."""
    answer = random_case(random).answer
    verification = verify(answer)
    assert verification.ok, verification.summary()
    assert not verification.unchecked
    assert all(check.passed for check in verification.checks)
    names = [check.name for check in verification.checks]
    always = ["features", "budget", "cost", "threshold", "agreement", "threshold interval", "bound", "optimality"]
    claimed = ["alternatives"] * bool(answer.alternatives) + ["irrelevant features"] * bool(answer.irrelevant)
    assert names == always + claimed
    verification.raise_if_failed()


@given(randoms)
def test_honest_modesty_passes_too(random: Random) -> None:
    """A subset that is not the best may be the answer if nothing else is claimed of it."""
    case = random_case(random)
    worst = case.all[-1]
    answer = replace(
        case.answer,
        choice=replace(
            worst, agreement=bt.Interval(worst.agreement.lower - 0.1, worst.agreement.lower + 0.1, "certified")
        ),
        bound=1.0,
        status=Status.FEASIBLE,
        stop_reason=StopReason.TIME_LIMIT,
        alternatives=(),
    )
    verification = verify(answer)
    assert verification.ok, verification.summary()
    assert "optimality" not in [check.name for check in verification.checks]


@given(randoms)
def test_counting_in_integers_equals_the_reference(random: Random) -> None:
    """The best agreement and the agreement at any threshold are those of `reference`."""
    problem = random_problem(random)
    classifier = problem.classifier
    judge = judges.count_all(case_of(problem).answer)
    assert judge is not None
    kept = tuple(name for name in classifier.features if random.random() < 0.5)
    behaviours = judge._behaviours(kept)
    assert max(behaviours.agreeing) == reference.maa(classifier, kept).value * judge._whole
    for threshold in (generators.random_threshold(random, classifier), *behaviours.limits, 0.0, bt.NEVER_POSITIVE):
        assert behaviours.at(threshold) == reference.eca(classifier, kept, threshold) * judge._whole


# Each of the following tells a falsehood about a case, or returns None where the case leaves no room for it.
Falsehood = Callable[[Case], Trimming | None]


def with_choice(answer: Trimming, **changes: Any) -> Trimming:
    """Return an answer with another choice."""
    return replace(answer, choice=replace(answer.choice, **changes))


def overstated(case: Case) -> Trimming:
    """Claim a millionth too much."""
    value = case.answer.agreement.lower + 1e-6
    return replace(with_choice(case.answer, agreement=bt.Interval(value, value)), bound=value)


def understated(case: Case) -> Trimming:
    """Claim a millionth too little."""
    value = case.answer.agreement.upper - 1e-6
    return with_choice(case.answer, agreement=bt.Interval(value, value))


def beside_the_interval(case: Case) -> Trimming:
    """State an interval of agreements that does not hold the agreement."""
    value = case.answer.agreement.lower
    return with_choice(case.answer, agreement=bt.Interval(value + 1e-8, value + 0.1, "certified"))


def no_number(case: Case) -> Trimming:
    """State no agreement at all."""
    return with_choice(case.answer, agreement=bt.Interval(math.nan, math.nan))


def unknown_feature(case: Case) -> Trimming:
    """Keep what is not there."""
    return with_choice(case.answer, features=(*case.answer.features, "no such feature"))


def feature_twice(case: Case) -> Trimming | None:
    """Keep one feature twice."""
    kept = case.answer.features
    return with_choice(case.answer, features=(*kept, kept[-1])) if kept else None


def wrong_order(case: Case) -> Trimming | None:
    """List features backwards."""
    kept = case.answer.features
    return with_choice(case.answer, features=kept[::-1]) if len(kept) > 1 else None


def unaffordable(case: Case) -> Trimming | None:
    """Exceed the budget by a billionth."""
    answer = case.answer
    smaller = replace(answer.problem, budget=answer.cost * (1 - 1e-9))
    return replace(answer, problem=smaller) if answer.cost else None


def wrong_cost(case: Case) -> Trimming:
    """State too much."""
    return with_choice(case.answer, cost=case.answer.cost * 1.001 + 0.001)


def infinite_cost(case: Case) -> Trimming:
    """State far too much."""
    return with_choice(case.answer, cost=math.inf)


def threshold_outside(case: Case) -> Trimming | None:
    """Use the lower end of the interval, which it does not hold."""
    low = case.answer.thresholds.low
    return with_choice(case.answer, threshold=low) if low >= 0 else None


def no_threshold(case: Case) -> Trimming:
    """Use what is no threshold."""
    return with_choice(case.answer, threshold=1.5)


def needless_change(case: Case) -> Trimming | None:
    """Replace the old threshold by another that does as well, or one that was to be kept."""
    answer, thresholds = case.answer, case.answer.thresholds
    tried = (math.nextafter(answer.threshold, side) for side in (-1.0, 2.0))
    others = [other for other in tried if 0 <= other <= 1 and other in thresholds]
    old = answer.problem.classifier.threshold
    return with_choice(answer, threshold=others[0]) if others and old in thresholds else None


def new_threshold_despite_keep(case: Case) -> Trimming | None:
    """Look for the best threshold where the old one was to be kept."""
    problem = case.answer.problem
    free = [choose(replace(problem, threshold="optimal"), other.features) for other in case.all]
    changed = [choice for choice in free if choice.threshold != problem.classifier.threshold]
    if not changed or problem.threshold != "keep":
        return None
    return replace(case.answer, choice=changed[0], bound=1.0, status=Status.FEASIBLE, alternatives=())


def value_at(case: Case, threshold: float) -> float:
    """Return the agreement of the chosen features at another threshold."""
    return float(reference.eca(case.answer.problem.classifier, case.answer.features, threshold))


def a_posterior_too_low(case: Case) -> Trimming | None:
    """Let the interval hold its lower end, where decisions are others."""
    answer, (low, high) = case.answer, (case.answer.thresholds.low, case.answer.thresholds.high)
    if low < 0 or abs(value_at(case, low) - value_at(case, answer.threshold)) < 1e-8:
        return None
    return with_choice(answer, thresholds=bt.ThresholdInterval(math.nextafter(low, -1.0), high))


def a_hair_too_high(case: Case) -> Trimming | None:
    """Let the interval hold the next number above its upper end, where decisions are others."""
    answer, (low, high) = case.answer, (case.answer.thresholds.low, case.answer.thresholds.high)
    above = math.nextafter(high, 2.0)
    if high > 1 or abs(value_at(case, above) - value_at(case, answer.threshold)) < 1e-8:
        return None
    return with_choice(answer, thresholds=bt.ThresholdInterval(low, above))


def all_thresholds(case: Case) -> Trimming | None:
    """Call all thresholds equal."""
    answer = case.answer
    ends, old = [0.0, bt.NEVER_POSITIVE], answer.problem.classifier.threshold
    differ = any(abs(value_at(case, end) - value_at(case, answer.threshold)) > 1e-8 for end in ends)
    wide = bt.ThresholdInterval(-math.inf, math.inf)
    return with_choice(answer, thresholds=wide) if differ and old in answer.thresholds else None


def worse(case: Case) -> Choice | None:
    """Return a choice that is clearly not the best."""
    return next((other for other in case.all if other.agreement.lower < case.all[0].agreement.lower - 1e-8), None)


def second_best_called_optimal(case: Case) -> Trimming | None:
    """Take a worse choice, describe it rightly, and call it the best."""
    other = worse(case)
    if other is None:
        return None
    return replace(case.answer, choice=other, bound=other.agreement.upper, alternatives=())


def bound_below_the_best(case: Case) -> Trimming | None:
    """Take a worse choice and claim that little more is to be had."""
    other = worse(case)
    bound = case.all[0].agreement.lower - 1e-8
    if other is None:
        return None
    return replace(case.answer, choice=other, bound=bound, status=Status.FEASIBLE, alternatives=())


def bound_below_the_choice(case: Case) -> Trimming:
    """Claim that not even the choice itself is possible."""
    return replace(case.answer, bound=case.answer.agreement.lower - 1e-6)


def bound_that_proves_nothing(case: Case) -> Trimming:
    """Call a choice optimal while more is thought possible."""
    return replace(case.answer, bound=case.answer.agreement.upper + 1e-6)


def no_bound(case: Case) -> Trimming:
    """Claim nothing in the guise of a number."""
    return replace(case.answer, bound=math.nan)


def differing(case: Case) -> bool:
    """Tell whether the alternatives differ in agreement."""
    values = [other.agreement.lower for other in case.answer.alternatives]
    return bool(values) and values[0] > values[-1] + 1e-8


def alternatives_backwards(case: Case) -> Trimming | None:
    """List the worst first."""
    return replace(case.answer, alternatives=case.answer.alternatives[::-1]) if differing(case) else None


def alternative_passed_over(case: Case) -> Trimming | None:
    """Leave out the best alternative, where it is one of its own and not another with an irrelevant feature."""
    first, *others = case.answer.alternatives or (case.answer.choice,)
    own = not set(first.features) & set(case.answer.irrelevant)
    return replace(case.answer, alternatives=tuple(others)) if differing(case) and own else None


def alternative_twice(case: Case) -> Trimming | None:
    """List one twice."""
    others = case.answer.alternatives
    return replace(case.answer, alternatives=(*others, others[-1])) if others else None


def answer_among_alternatives(case: Case) -> Trimming:
    """List the answer itself."""
    return replace(case.answer, alternatives=(case.answer.choice, *case.answer.alternatives))


def with_last(case: Case, **changes: Any) -> Trimming | None:
    """Return an answer with another last alternative."""
    if not case.answer.alternatives:
        return None
    *others, last = case.answer.alternatives
    return replace(case.answer, alternatives=(*others, replace(last, **changes)))


def alternative_overstated(case: Case) -> Trimming | None:
    """Claim a millionth too much, though not so much that the order is wrong."""
    before, last = (case.answer.choice, case.answer.choice, *case.answer.alternatives)[-2:]
    value = last.agreement.lower + 1e-6
    return with_last(case, agreement=bt.Interval(value, value)) if value < before.agreement.lower else None


def alternative_of_wrong_cost(case: Case) -> Trimming | None:
    """State the wrong price."""
    return with_last(case, cost=1e-3 + sum(case.answer.problem.costs.values()))


def alternative_of_wrong_thresholds(case: Case) -> Trimming | None:
    """State an interval that does not hold the threshold."""
    return with_last(case, thresholds=bt.ThresholdInterval(0.5, 0.5))


def alternative_of_varying_thresholds(case: Case) -> Trimming | None:
    """Call all thresholds equal."""
    if not case.answer.alternatives:
        return None
    last = case.answer.alternatives[-1]
    falsehood = all_thresholds(Case(replace(case.answer, choice=last), case.all))
    return falsehood and replace(case.answer, alternatives=(*case.answer.alternatives[:-1], falsehood.choice))


def alternative_of_needless_threshold(case: Case) -> Trimming | None:
    """Replace the old threshold by another that does as well."""
    if not case.answer.alternatives:
        return None
    last = case.answer.alternatives[-1]
    falsehood = needless_change(Case(replace(case.answer, choice=last), case.all))
    return falsehood and replace(case.answer, alternatives=(*case.answer.alternatives[:-1], falsehood.choice))


def alternative_that_is_none(case: Case) -> Trimming | None:
    """Keep what is not there."""
    return with_last(case, features=("no such feature",))


def unaffordable_alternative(case: Case) -> Trimming | None:
    """Offer what costs too much."""
    problem = case.answer.problem
    kept = next((kept for kept in subsets(problem.classifier.features) if not problem.affordable(kept)), None)
    return None if kept is None else replace(case.answer, alternatives=(choose(problem, kept),))


def irrelevant_that_matters(case: Case) -> Trimming | None:
    """Call a feature irrelevant that changes decisions."""
    classifier = case.answer.problem.classifier
    table = reference.Table(classifier)
    for name in classifier.features:
        if table.eca([other for other in classifier.features if other != name], table.threshold) < 1:
            return replace(case.answer, irrelevant=(name,))
    return None


FALSEHOODS: dict[Falsehood, str] = {
    unknown_feature: "features",
    feature_twice: "features",
    wrong_order: "features",
    unaffordable: "budget",
    wrong_cost: "cost",
    infinite_cost: "cost",
    threshold_outside: "threshold",
    no_threshold: "threshold",
    needless_change: "threshold",
    new_threshold_despite_keep: "threshold",
    overstated: "agreement",
    understated: "agreement",
    beside_the_interval: "agreement",
    no_number: "agreement",
    a_posterior_too_low: "threshold interval",
    a_hair_too_high: "threshold interval",
    all_thresholds: "threshold interval",
    bound_below_the_best: "bound",
    bound_below_the_choice: "bound",
    bound_that_proves_nothing: "bound",
    no_bound: "bound",
    second_best_called_optimal: "optimality",
    alternatives_backwards: "alternatives",
    alternative_passed_over: "alternatives",
    alternative_twice: "alternatives",
    answer_among_alternatives: "alternatives",
    alternative_overstated: "alternatives",
    alternative_of_wrong_cost: "alternatives",
    alternative_of_wrong_thresholds: "alternatives",
    alternative_of_varying_thresholds: "alternatives",
    alternative_of_needless_threshold: "alternatives",
    alternative_that_is_none: "alternatives",
    unaffordable_alternative: "alternatives",
    irrelevant_that_matters: "irrelevant features",
}
ALSO_WRONG: dict[Falsehood, set[str]] = {
    unknown_feature: {"cost"},
    feature_twice: {"budget", "cost"},
    beside_the_interval: {"bound"},
    overstated: {"bound"},  # where the choice agrees with certainty
    no_number: {"bound", "alternatives"},
    understated: {"bound", "alternatives"},
    second_best_called_optimal: {"bound"},
    bound_below_the_choice: {"bound"},
    unaffordable: {"alternatives", "optimality", "bound"},
}
"""Other checks that a falsehood may fail: one false statement often belies another."""


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Return right answers to random problems."""
    return [random_case(Random(seed)) for seed in SEEDS]


@pytest.mark.parametrize(("falsehood", "name"), FALSEHOODS.items(), ids=[f.__name__ for f in FALSEHOODS])
def test_every_falsehood_is_found_by_the_check_of_its_name(falsehood: Falsehood, name: str, cases: list[Case]) -> None:
    """It is found wherever there is room for it, and hardly anything else is accused."""
    told = [answer for answer in map(falsehood, cases) if answer is not None]
    assert len(told) >= 8
    for answer in told:
        verification = verify(answer)
        assert verification[name].verdict is Verdict.FAILED, verification.summary()
        accused = {check.name for check in verification.failed}
        assert accused <= {name, *ALSO_WRONG.get(falsehood, set())}, verification.summary()


def test_what_fails_raises_an_error_that_lists_the_checks(cases: list[Case]) -> None:
    """The error is one of this package's and an assertion that failed."""
    verification = verify(wrong_cost(cases[0]))
    assert not verification.ok
    with pytest.raises(VerificationError, match=r"^the result is wrong about: cost\n(.|\n)*WRONG +cost ") as caught:
        verification.raise_if_failed()
    assert isinstance(caught.value, BayestrimError)
    assert isinstance(caught.value, AssertionError)
    assert len(verification.summary().splitlines()) == len(verification.checks)


def test_nothing_that_searches_or_computes_agreements_is_imported() -> None:
    """The check imports value modules, the reference and sampling."""
    trees = [ast.parse(Path(str(source.__file__)).read_text(encoding="utf-8")) for source in (module, judges)]
    imports = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom | ast.Import)]
    ours = {
        f"{node.module}.{alias.name}" if node.module == "bayestrim" else node.module
        for node in imports
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bayestrim")
        for alias in node.names
    }
    values = {
        "allowance",
        "classifier",
        "continuous",
        "curve",
        "errors",
        "inference",
        "judges",
        "network",
        "problem",
        "reference",
        "result",
        "trimming",
    }
    assert ours <= {f"bayestrim.{name}" for name in values}
    nodes = [node for tree in trees for node in ast.walk(tree)]
    assert {node.attr for node in nodes if isinstance(node, ast.Attribute) and is_inference(node)} == {"sample"}


def is_inference(node: ast.Attribute) -> bool:
    """Tell whether something of the module `inference` is used."""
    return isinstance(node.value, ast.Name) and node.value.id == "inference"


def naive_bayes(chances: dict[str, tuple[float, float]], threshold: float = 0.5) -> bt.Classifier:
    """Return a classifier with features that are positive with one chance in the class and another beside it."""
    variables = [bt.Variable("C", ("yes", "no")), *(bt.Variable(name, ("+", "-")) for name in chances)]
    tables = {name: [[p, 1 - p], [q, 1 - q]] for name, (p, q) in chances.items()}
    network = bt.BayesianNetwork(variables, {name: ["C"] for name in tables}, {"C": [0.4, 0.6], **tables})
    return bt.Classifier(network, "C", threshold=threshold)


def test_irrelevant_features_need_not_appear_in_alternatives() -> None:
    """Adding a coin makes no other choice, but what a coin hides must be listed."""
    coin = naive_bayes({"strong": (0.9, 0.2), "coin": (0.5, 0.5), "weak": (0.7, 0.4)})
    problem = TrimProblem(coin, 2)
    choices = [choose(problem, kept) for kept in [("strong",), ("weak",), ()]]
    by_value = sorted(choices, key=lambda choice: -choice.agreement.lower)
    best = choose(problem, ("strong", "weak"))
    answer = Trimming(problem, best, 1.0, Status.OPTIMAL, StopReason.EXHAUSTED, tuple(by_value), ("coin",))
    assert verify(answer).ok, verify(answer).summary()
    missing = replace(answer, alternatives=tuple(by_value[1:]))
    assert [check.name for check in verify(missing).failed] == ["alternatives"]
    unnamed = replace(answer, irrelevant=())
    assert [check.name for check in verify(unnamed).failed] == ["alternatives"]


def test_what_is_irrelevant_beside_others_may_matter_without_them() -> None:
    """A copy changes no decision, yet where the original is too dear the copy is worth keeping."""
    network = bt.BayesianNetwork(
        [bt.Variable(name, ("yes", "no")) for name in ("C", "original", "copy")],
        {"original": ["C"], "copy": ["original"]},
        {"C": [0.5, 0.5], "original": [[0.9, 0.1], [0.1, 0.9]], "copy": [[0.9, 0.1], [0.1, 0.9]]},
    )
    problem = TrimProblem(bt.Classifier(network, "C"), 1, {"original": 2})
    nothing, copy = choose(problem, ()), choose(problem, ("copy",))
    assert (nothing.agreement.lower, copy.agreement.lower) == (0.5, 0.9)
    right = Trimming(problem, copy, 0.9, Status.OPTIMAL, StopReason.EXHAUSTED, irrelevant=("copy",))
    assert verify(right).ok, verify(right).summary()
    wrong = replace(right, choice=nothing, bound=0.5)
    assert {check.name for check in verify(wrong).failed} == {"bound", "optimality"}


def test_costs_too_fine_for_integers_may_be_rounded() -> None:
    """A budget exceeded by less than the twelfth digit passes, by the eleventh does not."""
    classifier = naive_bayes({"a": (0.9, 0.2), "b": (0.7, 0.4)})
    for excess, verdict in ((1e-13, Verdict.PASSED), (1e-11, Verdict.FAILED)):
        problem = TrimProblem(classifier, 2, {"a": 1 + 2 * excess})
        answer = Trimming(problem, choose(problem, ("a", "b")), 1.0, Status.FEASIBLE, StopReason.HEURISTIC)
        assert verify(answer)["budget"].verdict is verdict


# Twenty-five features, of which ten matter: brute force on those ten says what is true of all.
CHANCES = {f"F{i}": (round(0.95 - 0.03 * i, 2), round(0.25 + 0.02 * i, 2)) for i in range(10)}
COINS = {f"coin {i}": (0.3, 0.3) for i in range(15)}
LARGE = naive_bayes(dict(sorted({**CHANCES, **COINS}.items(), key=lambda item: item[0][-1])))
SMALL = naive_bayes({name: CHANCES[name] for name in LARGE.features if name in CHANCES})
BEST = ("F0", "F1", "F2", "F3")


def large_answer(kept: tuple[str, ...] = BEST, evidence: dict[str, str] | None = None, **changes: Any) -> Trimming:
    """Return a true statement about some features of the large classifier, called optimal."""
    large, small = LARGE.given(evidence or {}), SMALL.given(evidence or {})
    problem = TrimProblem(large, len(BEST))
    choice = choose_for(problem, small, kept)
    coins = tuple(name for name in large.features if name in COINS)
    answer = Trimming(problem, choice, choice.agreement.upper, Status.OPTIMAL, StopReason.EXHAUSTED, irrelevant=coins)
    return replace(answer, **changes)


def verdicts(verification: Verification) -> dict[str, str]:
    """Return the names of the checks that did not pass."""
    return {check.name: check.verdict.name for check in verification.checks if not check.passed}


def test_where_instances_are_too_many_they_are_sampled() -> None:
    """Right statements about 25 features pass, alternatives among them, whatever is drawn."""
    problem = large_answer().problem
    others = [choose_for(problem, SMALL, kept) for kept in [("F0", "F1", "F2", "F4"), ("F0", "F1"), ()]]
    for seed in range(3):
        verification = verify(large_answer(alternatives=tuple(others)), seed=seed)
        assert verification.ok, verification.summary()
        assert not verification.unchecked
        assert "on a sample of 100,000 instances" in verification["agreement"].detail


def test_the_same_seed_draws_the_same() -> None:
    """Verification is repeatable."""
    false = with_choice(large_answer(), agreement=bt.Interval(0.999, 0.999))
    assert verify(false, samples=2000, seed=1) == verify(false, samples=2000, seed=1)
    assert verify(false, samples=2000, seed=1) != verify(false, samples=2000, seed=2)


def large_worse() -> Choice:
    """Return a true statement about features that are far from the best."""
    return large_answer(("F4", "F5", "F8", "F9")).choice


LARGE_FALSEHOODS: dict[str, tuple[Callable[[], Trimming], set[str]]] = {
    "agreement overstated": (
        lambda: large_answer(choice=moved(large_worse(), 0.05), status=Status.FEASIBLE),
        {"agreement"},
    ),
    "agreement understated": (
        lambda: large_answer(choice=moved(large_answer().choice, -0.05), bound=1.0, status=Status.FEASIBLE),
        {"agreement"},
    ),
    "thresholds that differ": (
        lambda: with_choice(large_answer(), thresholds=bt.ThresholdInterval(0.01, 0.99)),
        {"threshold interval"},
    ),
    "a bound too small": (
        lambda: large_answer(choice=large_worse(), bound=large_worse().agreement.lower + 0.01, status=Status.FEASIBLE),
        {"bound"},
    ),
    "no optimum": (
        lambda: large_answer(choice=large_worse(), bound=large_worse().agreement.lower),
        {"bound", "optimality"},
    ),
    "an alternative overstated": (
        lambda: large_answer(alternatives=(moved(large_worse(), 0.02),)),
        {"alternatives"},
    ),
    "an irrelevant feature that matters": (lambda: large_answer(irrelevant=("F4",)), {"irrelevant features"}),
}


def moved(choice: Choice, shift: float) -> Choice:
    """Return a choice that says to agree more or less often than it does."""
    value = choice.agreement.lower + shift
    return replace(choice, agreement=bt.Interval(value, value))


@pytest.mark.parametrize(("tell", "names"), LARGE_FALSEHOODS.values(), ids=list(LARGE_FALSEHOODS))
def test_samples_find_falsehoods(tell: Callable[[], Trimming], names: set[str]) -> None:
    """A hundredth more or less shows on a hundred thousand instances, and nothing else is accused."""
    assert verdicts(verify(tell())) == dict.fromkeys(names, "FAILED")


def test_samples_are_conditioned_on_evidence() -> None:
    """A classifier that knows something already is checked on the instances that agree with it."""
    answer = large_answer(("F1", "F2", "F3"), {"F0": "-"}, status=Status.FEASIBLE, bound=1.0)
    unconditioned = large_answer(("F1", "F2", "F3")).agreement
    assert abs(float(answer.agreement) - float(unconditioned)) > 0.02
    assert verdicts(verify(answer)) == {}
    assert verdicts(verify(with_choice(answer, agreement=unconditioned))) == {"agreement": "FAILED"}


def test_samples_keep_the_threshold_where_it_is_to_be_kept() -> None:
    """What a better threshold would do is no objection."""
    large, small = generators.with_threshold(LARGE, 0.9), generators.with_threshold(SMALL, 0.9)
    problem = TrimProblem(large, 1, threshold="keep")
    best = max(
        (choose_for(problem, small, (name,)) for name in small.features), key=lambda choice: choice.agreement.lower
    )
    free = reference.maa(small, best.features)
    assert free.value > best.agreement.lower + 0.05
    answer = Trimming(problem, best, best.agreement.upper, Status.OPTIMAL, StopReason.EXHAUSTED)
    assert verdicts(verify(answer)) == {}


def test_subsets_as_good_as_the_best_raise_no_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four features that say the same: on a sample some pair always looks better than the one that was chosen."""
    monkeypatch.setattr(judges, "MOST_WORLDS", 0)
    problem = TrimProblem(naive_bayes(dict.fromkeys("abcd", (0.8, 0.3))), 2)
    best = choose(problem, ("b", "d"))
    answer = Trimming(problem, best, best.agreement.upper, Status.OPTIMAL, StopReason.EXHAUSTED)
    assert all(verify(answer, samples=5000, seed=seed).ok for seed in range(10))


def test_thresholds_do_not_cut_between_posteriors_that_rounding_tells_apart() -> None:
    """Equal posteriors computed in two ways may differ in their last digit; a threshold takes both or none."""
    near = [0.3, math.nextafter(0.3, 1), 0.6, 0.7]
    decided = [False, True, False, True]
    cut = judges._best_cut(np.array(near), np.array(decided))
    assert cut == pytest.approx(0.65)
    assert judges._best_cut(np.array([0.5]), np.array([True])) == 0.0
    assert judges._best_cut(np.array([0.5]), np.array([False])) == bt.NEVER_POSITIVE
    rounding = judges._best_cut(np.array(near[:2]), np.array(decided[:2]))
    assert rounding in (0.0, bt.NEVER_POSITIVE)


def rare_answer() -> Trimming:
    """Return an answer where next to no instance agrees with the evidence."""
    chances = {**{f"F{i}": (0.9, 0.2) for i in range(20)}, "rare": (1e-7, 2e-7)}
    problem = TrimProblem(naive_bayes(chances).given({"rare": "+"}), 0)
    agreement = bt.Interval(0.5, 0.9, "certified")
    choice = Choice((), 0.0, 0.5, bt.ThresholdInterval(0.1, math.inf), agreement)
    return Trimming(problem, choice, 0.9, Status.OPTIMAL, StopReason.EXHAUSTED, irrelevant=("F1",))


def test_what_cannot_be_checked_is_said_so() -> None:
    """Evidence too rare to sample leaves checks open: they neither pass nor fail."""
    verification = verify(rare_answer(), samples=10_000)
    names = ["agreement", "threshold interval", "bound", "optimality", "irrelevant features"]
    assert verdicts(verification) == dict.fromkeys(names, "UNCHECKED")
    assert [check.name for check in verification.unchecked] == names
    assert verification.ok
    verification.raise_if_failed()
    assert all("of 200,000 instances drawn agree with the evidence" in c.detail for c in verification.unchecked)


def test_falsehoods_that_show_without_a_sample_are_found_without_one() -> None:
    """A bound below the choice, and alternatives that cannot be, need no probabilities."""
    false = replace(rare_answer(), bound=0.4, alternatives=(rare_answer().choice,))
    verification = verify(false, samples=1000)
    assert [check.name for check in verification.failed] == ["bound", "alternatives"]


def test_decisions_out_of_reach_leave_checks_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a network is too large to decide its instances, verification says so."""

    def give_up(*_: object) -> None:
        raise bt.TooLargeError("a table of 2^99 entries")

    monkeypatch.setattr(bt.Classifier, "decide", give_up)
    verification = verify(large_answer(), samples=1000)
    assert verification["agreement"].verdict is Verdict.UNCHECKED
    assert verification["agreement"].detail == "sampled instances cannot be decided: a table of 2^99 entries"


@pytest.mark.parametrize("limit", ["MOST_WORLDS", "MOST_BITS"])
def test_samples_raise_no_false_alarm(limit: str, monkeypatch: pytest.MonkeyPatch, cases: list[Case]) -> None:
    """Small answers, with all their ties and zeros, pass when they are sampled instead of counted."""
    monkeypatch.setattr(judges, limit, 0)
    verifications = [verify(case.answer, samples=2000) for case in cases[:60]]
    assert all(verification.ok for verification in verifications)
    assert all("on a sample" in v["bound"].detail for v in verifications if not v.unchecked)
    assert sum(not verification.unchecked for verification in verifications) > 40


def test_where_subsets_are_too_many_neighbours_and_random_ones_are_tried(
    monkeypatch: pytest.MonkeyPatch, cases: list[Case]
) -> None:
    """Right answers pass, and a choice that one swap would better is found out."""
    monkeypatch.setattr(judges, "MOST_SUBSETS", 6)
    found = 0
    for case in cases:
        verification = verify(case.answer)
        assert verification.ok, verification.summary()
        false = second_best_called_optimal(case)
        found += false is not None and bool(verify(false)["optimality"].verdict is Verdict.FAILED)
    assert found > 20


@pytest.mark.parametrize("seed", range(10))
def test_rivals_are_affordable_and_differ(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours and random subsets fit in the budget and come once each."""
    random = Random(seed)
    costs = {name: random.choice([0.0, 0.1, 0.2, 1.0]) for name in SMALL.features}
    problem = TrimProblem(SMALL, 0.7, costs)
    kept = next(kept for kept in reversed(subsets(SMALL.features)) if problem.affordable(kept))
    answer = Trimming(problem, choose(problem, kept), 1.0, Status.FEASIBLE, StopReason.HEURISTIC)
    monkeypatch.setattr(judges, "MOST_SUBSETS", 12)
    judge = judges.count_all(answer)
    assert judge is not None
    rivals = module._find_rivals(answer, judge, seed)
    assert not rivals.complete
    assert len(set(rivals.subsets)) == len(rivals.subsets) > 5
    assert kept in rivals.subsets
    assert all(problem.affordable(features) for features in rivals.subsets)
    everything = Allowance(problem).subsets(10**6)
    assert everything is not None
    assert sorted(everything) == sorted(kept for kept in subsets(SMALL.features) if problem.affordable(kept))


def test_a_statistical_interval_may_miss_by_a_little() -> None:
    """What holds at 95 % need not hold at a billionth; far off is far off all the same."""
    answer = large_answer(choice=large_worse(), bound=1.0, status=Status.FEASIBLE)
    value = answer.agreement.lower
    near = bt.Interval(value + 0.001, value + 0.01, "statistical", 0.95)
    far = bt.Interval(value + 0.09, value + 0.1, "statistical", 0.95)
    assert verdicts(verify(with_choice(answer, agreement=near))) == {}
    assert verdicts(verify(with_choice(answer, agreement=far))) == {"agreement": "FAILED"}
    exact = naive_bayes({"a": (0.9, 0.2)})
    problem = TrimProblem(exact, 0)
    none = choose(problem, ())
    missed = bt.Interval(none.agreement.lower + 0.001, none.agreement.lower + 0.01, "statistical", 0.95)
    small = Trimming(problem, replace(none, agreement=missed), 1.0, Status.FEASIBLE, StopReason.EXHAUSTED)
    assert verdicts(verify(small)) == {}
    sure = replace(missed, kind="certified", confidence=None)
    assert verdicts(verify(with_choice(small, agreement=sure))) == {"agreement": "FAILED"}


@pytest.mark.parametrize("samples", [0, 999, -1, 1e5, True, "many"])
def test_too_few_samples_are_refused(samples: Any) -> None:
    """The message says how many are needed."""
    with pytest.raises(ProblemError, match=r"^samples=.*; it must be a whole number, 1000 or more$"):
        verify(large_answer(), samples=samples)


def test_relative_entropy_bounds_the_binomial() -> None:
    """Chernoff's bound lies above the exact tail, and not far above in its logarithm."""
    for chance, share in ((0.9, 0.8), (0.99, 0.95), (0.5, 0.3), (1.0, 0.99), (0.2, 0.0)):
        count, p = 100, Fraction(chance)
        most = round(share * count)
        tail = sum(math.comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(most + 1))
        bound = math.exp(-count * judges._divergence(most / count, chance))
        assert float(tail) <= bound * (1 + 1e-12) <= 30 * float(tail) or tail == bound == 0
