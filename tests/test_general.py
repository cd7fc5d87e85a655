"""Trimming general networks against brute force: non-monotone MAA, ties, zeros, hidden and multi-state variables."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from fractions import Fraction
from random import Random
from typing import Any, Literal

import generators
import pytest

import bayestrim as bt
from bayestrim import contraction, engines, reference
from bayestrim.engines.table import TableEngine
from bayestrim.search import general
from bayestrim.search.events import Clock
from bayestrim.verify import verify

CLOSE = 1e-12
COSTS = (0.0, 0.1, 0.2, 0.5, 1.0, 1.0, 1.0, 2.5, 1 / 3, 7.0, 100.0)


def random_problem(random: Random, rule: Literal["keep", "optimal"] = "optimal", most: int = 7) -> bt.TrimProblem:
    """Return a problem about any kind of network, with awkward prices and now and then constraints."""
    classifier = generators.random_classifier(random, most)
    unit = random.random() < 0.5
    costs = {name: 1.0 if unit else random.choice(COSTS) for name in classifier.features}
    budget = random.choice([0.0, 0.3, 1.0, 2.0, 3.0, random.uniform(0, sum(costs.values()))])
    names = list(classifier.features)
    more: dict[str, Any] = {}
    if names and random.random() < 0.3:
        more["setup_costs"] = {"visit": (random.choice(COSTS), random.sample(names, random.randint(1, len(names))))}
    if names and random.random() < 0.2:
        more["required"] = [random.choice(names)]
    if names and random.random() < 0.2:
        more["forbidden"] = [name for name in random.sample(names, 1) if name not in more.get("required", ())]
    if random.random() < 0.2:
        more["max_features"] = random.randint(len(more.get("required", ())), len(names))
    return bt.TrimProblem(classifier, budget, costs, threshold=rule, **more)


def values(problem: bt.TrimProblem) -> dict[tuple[str, ...], Fraction]:
    """Return the agreement of every allowed subset, by brute force."""
    names, classifier = problem.classifier.features, problem.classifier
    every = itertools.chain.from_iterable(itertools.combinations(names, size) for size in range(len(names) + 1))
    allowed = [subset for subset in every if problem.affordable(subset)]
    if problem.threshold == "keep":
        table = reference.Table(classifier)
        return {subset: table.eca(subset, table.threshold) for subset in allowed}
    return {subset: reference.maa(classifier, subset).value for subset in allowed}


def check(result: bt.Trimming, exact: dict[tuple[str, ...], Fraction]) -> None:
    """Compare a proved result with brute force over all affordable subsets, and verify it."""
    if not exact:
        assert result.status is bt.Status.INFEASIBLE
        return
    best = float(max(exact.values()))
    assert result.status is bt.Status.OPTIMAL
    assert result.agreement.kind == "exact"
    assert float(result.agreement) == pytest.approx(best, abs=CLOSE)
    assert result.bound == pytest.approx(best, abs=CLOSE)
    assert float(reference.eca(result.problem.classifier, result.features, result.threshold)) == pytest.approx(
        best, abs=CLOSE
    )
    found = [result.agreement, *(choice.agreement for choice in result.alternatives)]
    wanted = sorted(map(float, exact.values()), reverse=True)[: len(found)]
    if result.alternatives and not result.irrelevant:
        assert [float(agreement) for agreement in found] == pytest.approx(wanted, abs=CLOSE)
    for choice in result.alternatives:
        assert float(choice.agreement) == pytest.approx(float(exact[choice.features]), abs=CLOSE)
    if result.problem.purse().plain:  # what is checked by brute force above, verify checks in its own way
        verify(result).raise_if_failed()


@pytest.mark.parametrize("block", range(20))
def test_the_optimum_of_any_network_is_that_of_brute_force(block: int) -> None:
    """On 10^3 networks of all shapes no affordable subset does better, and all statements are true."""
    for seed in range(50 * block, 50 * (block + 1)):
        problem = random_problem(Random(seed))
        check(bt.trim(problem, engine="table"), values(problem))


@pytest.mark.parametrize("block", range(5))
def test_the_old_threshold_and_alternatives_agree_with_brute_force(block: int) -> None:
    """With the old threshold, and among the next best subsets, brute force finds the same."""
    for seed in range(40 * block, 40 * (block + 1)):
        random = Random(10_000 + seed)
        problem = random_problem(random, random.choice(("keep", "optimal")), 6)
        check(bt.trim(problem, engine="table", alternatives=random.randint(0, 4)), values(problem))


def proxies() -> bt.Classifier:
    """Return a classifier that follows D; A is a noisy copy of D, and B says more about the class than A does."""
    names = ("C", "D", "A", "B")
    tables: dict[str, Any] = {"C": [0.5, 0.5], "D": [[0.9, 0.1], [0.1, 0.9]], "A": [[0.9, 0.1], [0.1, 0.9]]}
    return bt.Classifier(
        bt.BayesianNetwork(
            [bt.Variable(name, ("yes", "no")) for name in names],
            {"D": ["C"], "A": ["D"], "B": ["C"]},
            {**tables, "B": [[0.85, 0.15], [0.15, 0.85]]},
        ),
        "C",
        "yes",
    )


def test_spending_less_may_be_better() -> None:
    """A is the best to keep although the budget pays for B as well: who sees both trusts B, and D is what counts."""
    problem = bt.TrimProblem(proxies(), 2, {"D": 3})
    exact = values(problem)
    assert exact[("A", "B")] < exact[("A",)]
    result = bt.trim(problem)
    assert (result.engine, result.features, result.cost) == ("table", ("A",), 1)
    check(result, exact)


def test_pruning_too_much_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that gives up branches that are slightly better than what it has does not find what brute force does."""
    monkeypatch.setattr(general, "ROUNDING", 0.03)
    monkeypatch.setattr(general._Search, "_best_of", lambda *_: None)
    problems = [larger_problem(seed, 9) for seed in range(10)]
    exhaustive = [float(bt.trim(problem, strategy="exhaustive").agreement) for problem in problems]
    found = [float(bt.trim(problem).agreement) for problem in problems]
    assert found != pytest.approx(exhaustive, abs=CLOSE)


def larger_problem(seed: int, features: int = 14) -> bt.TrimProblem:
    """Return a problem whose search takes many nodes: features under four hidden causes."""
    random = Random(seed)
    names = [f"F{i}" for i in range(features)]
    hidden = ["H0", "H1", "H2", "H3"]
    parents = {name: ["C"] for name in hidden} | {name: random.sample(["C", *hidden], 2) for name in names}
    tables: dict[str, Any] = {"C": [0.3, 0.7]}
    tables |= {name: [[p, 1 - p] for p in (random.random(), random.random())] for name in hidden}
    tables |= {name: [[[p, 1 - p] for p in (random.random(), random.random())] for _ in "01"] for name in names}
    variables = [bt.Variable(name, ("yes", "no")) for name in ("C", *hidden, *names)]
    network = bt.BayesianNetwork(variables, parents, tables)
    return bt.TrimProblem(bt.Classifier(network, "C", "yes", names, 0.4), features // 3)


def test_a_start_from_a_few_features_does_not_change_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Greedy removal only orders the features and sets a mark; the exhaustive search finds the same best."""
    problem = larger_problem(1)
    found = bt.trim(problem)
    assert found.status is bt.Status.OPTIMAL
    assert float(found.agreement) == pytest.approx(float(bt.trim(problem, strategy="exhaustive").agreement), abs=CLOSE)
    monkeypatch.setattr(general, "FEWEST_CELLS", 1)
    monkeypatch.setattr(general, "PASSES", 0)
    monkeypatch.setattr(general, "ROOM", 2)
    sliced = bt.trim(problem)
    assert (sliced.features, sliced.agreement) == (found.features, found.agreement)
    assert sliced.status is bt.Status.OPTIMAL


def test_a_search_that_stops_early_states_a_true_bound() -> None:
    """After few evaluations, at a gap, or interrupted, the best is within the bound, and optimality is not claimed."""
    problem = larger_problem(2)
    best = float(bt.trim(problem).agreement)
    for limits in (bt.Limits(evaluations=1), bt.Limits(evaluations=70), bt.Limits(gap=0.05), bt.Limits(seconds=0)):
        result = bt.trim(problem, limits=limits)
        assert result.agreement.lower <= best + CLOSE <= result.bound + 2 * CLOSE
        assert result.status is bt.Status.FEASIBLE
        verify(result).raise_if_failed()

    interrupted = []

    def interrupt(event: object) -> None:
        interrupted.append(event)
        if len(interrupted) == 1:
            raise KeyboardInterrupt

    result = bt.trim(problem, on_event=interrupt)
    assert best <= result.bound + CLOSE


def test_plain_kernels_do_what_compiled_ones_do() -> None:
    """The same source, not compiled, gives the same answers."""
    here = os.path.dirname(__file__)
    script = f"""
import sys; sys.path.insert(0, {here!r})
from random import Random
import test_general
for seed in range(25):
    result = test_general.bt.trim(test_general.random_problem(Random(seed)), engine="table")
    print(result.features, result.agreement, result.stats.evaluations, result.stats.nodes)
"""
    plain = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, check=True
    )
    lines = []
    for seed in range(25):
        result = bt.trim(random_problem(Random(seed)), engine="table")
        lines.append(f"{result.features} {result.agreement} {result.stats.evaluations} {result.stats.nodes}")
    assert plain.stdout.decode().splitlines() == lines


def test_what_cannot_matter_is_named_and_not_searched() -> None:
    """Features that evidence or structure cuts off from the class are reported; proxies of others are not."""
    names = ("C", "A", "B", "D", "E")
    row = [[0.2, 0.8], [0.7, 0.3]]
    network = bt.BayesianNetwork(
        [bt.Variable(name, ("yes", "no")) for name in names],
        {"A": ["C"], "B": ["A"], "E": ["D"]},
        {"C": [0.3, 0.7], "A": row, "B": row, "D": [0.4, 0.6], "E": row},
    )
    result = bt.trim(bt.Classifier(network, "C", "yes"), 1, {"A": 5})
    assert result.irrelevant == ("D", "E")
    assert set(result.features) <= {"B"}
    choice = engines.choose(bt.Classifier(network, "C", "yes"), "table")
    assert (choice.name, choice.bits, choice.relevant) == ("table", 2.0, ("A", "B"))
    with pytest.raises(bt.ProblemError, match="no engine 'tabel'; did you mean 'table'"):
        engines.choose(bt.Classifier(network, "C", "yes"), "tabel")


def test_a_table_that_does_not_fit_the_memory_allowed_is_refused() -> None:
    """Who asks for the table is told the need before anything is allocated; who does not gets samples instead."""
    limits = bt.Limits(memory=10_000, samples=200)
    with pytest.raises(bt.TooLargeError, match=r"14 features .* GiB are needed, and .* are allowed"):
        bt.trim(larger_problem(1), engine="table", limits=limits)
    assert bt.trim(larger_problem(1), limits=limits).engine == "sampled"


def test_unsettled_ties_leave_the_table_engine_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where ties are out of reach of exact arithmetic, they widen the interval instead of being guessed."""
    monkeypatch.setattr("bayestrim.engines.table.MOST_SETTLED", 1)
    network = bt.BayesianNetwork(
        [bt.Variable(name, ("yes", "no")) for name in ("C", "A", "B")],
        {"A": ["C"], "B": ["C", "A"]},
        {"C": [0.5, 0.5], "A": [[0.3, 0.7], [0.7, 0.3]], "B": [[[0.7, 0.3], [0.3, 0.7]], [[0.3, 0.7], [0.7, 0.3]]]},
    )
    classifier = bt.Classifier(network, "C", "yes", threshold=0.5)
    engine = TableEngine(classifier)
    assert engine.unsettled > 0
    assert engine.mpa(["A"]).kind == "certified"
    result = bt.trim(classifier, 1, engine="table")
    exact = max(reference.maa(classifier, subset).value for subset in ((), ("A",), ("B",)))
    assert result.agreement.lower <= float(exact) <= result.bound


def test_tables_are_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan by which an engine is chosen is the one by which the table is made."""
    planned, right = [], contraction._planned

    def counting(*given: Any) -> Any:
        planned.append(given)
        return right(*given)

    monkeypatch.setattr(contraction, "_planned", counting)
    monkeypatch.setattr(contraction, "_plans", {})
    names = ("C", "H", "A", "B")
    network = bt.BayesianNetwork(
        [bt.Variable(name, ("+", "-")) for name in names],
        {"H": ["C"], "A": ["H"], "B": ["H"]},
        {"C": [0.3, 0.7], **{name: [[0.9, 0.1], [0.2, 0.8]] for name in "HAB"}},
    )
    classifier = bt.Classifier(network, "C", "+", ["A", "B"])
    assert bt.trim(classifier, 1).engine == "table"
    assert len([given for given in planned if len(given[2]) == 3]) == 1


def test_an_interruption_ends_planning() -> None:
    """After Ctrl-C no more orders are tried, whatever the time limit."""
    clock = Clock(3600)
    assert clock.left() > 3000
    clock.interrupt()
    assert clock.left() == 0
