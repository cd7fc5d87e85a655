"""The merged engine against brute force: whatever is merged, answers are exact, and searches prove what they find."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, Literal

import generators
import numpy as np
import pgmpy
import pytest
from test_sparse import values

import bayestrim as bt
from bayestrim import engines, reference
from bayestrim.engines import merged, merging, sampled
from bayestrim.engines.merged import MergedEngine
from bayestrim.engines.relevance import boundary
from bayestrim.engines.table import TableEngine
from bayestrim.search import sparse as sparse_search
from bayestrim.verify import verify

CLOSE = 1e-9
MODELS = Path(pgmpy.__file__).parent / "utils" / "example_models"


def never_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merge even what one table would hold."""
    monkeypatch.setattr(merged, "SMALL", 0)
    monkeypatch.setattr(merged, "TABLED", 0)


@pytest.fixture(params=["merged", "tabled"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Merge even what one table would hold, or not."""
    if request.param == "merged":
        never_table(monkeypatch)
    name: str = request.param
    return name


def alike_classifier(random: Random, most: int = 6) -> bt.Classifier:
    """Return a classifier with features that repeat, below the class or a hidden variable, and maybe tie with it."""
    hidden, states = random.choice([0, 1, 2]), random.choice([2, 2, 3])
    names = ["C", *(f"H{i}" for i in range(hidden))]
    variables = [bt.Variable("C", tuple(f"c{i}" for i in range(states)))]
    variables += [bt.Variable(name, ("yes", "no")) for name in names[1:]]
    parents: dict[str, list[str]] = {name: [random.choice(names[:i])] for i, name in enumerate(names) if i}
    sizes = {variable.name: len(variable) for variable in variables}
    tables: dict[str, Any] = {"C": generators.random_row(random, states)}
    for name in names[1:]:
        tables[name] = [generators.random_row(random, 2) for _ in range(sizes[parents[name][0]])]
    kinds = []
    for _ in range(random.randint(1, 2)):
        parent, size = random.choice(names), random.choice([2, 2, 3])
        kinds.append((parent, size, [generators.random_row(random, size) for _ in range(sizes[parent])]))
    for i in range(random.randint(2, most)):
        parent, size, table = random.choice(kinds)
        variables.append(bt.Variable(f"F{i}", tuple(f"s{j}" for j in range(size))))
        parents[f"F{i}"], tables[f"F{i}"] = [parent], table
    features = [variable.name for variable in variables if variable.name.startswith("F")]
    network = bt.BayesianNetwork(variables, parents, tables)
    classifier = bt.Classifier(network, "C", "c0", features)
    return generators.with_threshold(classifier, generators.random_threshold(random, classifier))


def random_classifier(seed: int) -> tuple[Random, bt.Classifier]:
    """Return a classifier of one of three kinds."""
    random = Random(seed)
    kinds = (lambda: generators.random_classifier(random, 7), lambda: alike_classifier(random))
    return random, kinds[seed % 2]()


def faults(engine: MergedEngine, classifier: bt.Classifier, features: list[str], threshold: float) -> list[str]:
    """Return which of an engine's statements are wrong, or not exact."""
    best = engine.maa(features)
    statements = {
        "eca": (engine.eca(features, threshold), reference.eca(classifier, features, threshold)),
        "mpa": (engine.mpa(features), reference.mpa(classifier, features)),
        "maa": (best.value, reference.maa(classifier, features).value),
        "eca of maa": (best.value, reference.eca(classifier, features, best.threshold)),
    }
    return [
        name
        for name, (interval, value) in statements.items()
        if interval.kind != "exact" or abs(float(interval) - float(value)) > CLOSE
    ]


def test_answers_are_those_of_brute_force(way: str) -> None:
    """On random networks, with hidden variables, zeros, ties, equal features and classes of several states."""
    several = 0
    for seed in range(240):
        random, classifier = random_classifier(seed)
        engine = MergedEngine(classifier)
        features = generators.random_subset(random, classifier)
        threshold = generators.random_threshold(random, classifier)
        assert not faults(engine, classifier, features, threshold), (way, seed)
        cells = math.prod(len(variable) for variable in classifier.feature_variables)
        several += engine.told_apart < cells
    assert several > 20


def test_tie_masses_are_those_of_the_table_engine(way: str) -> None:
    """The probability of the tie band does not depend on how instances are held."""
    tied = 0
    for seed in range(100):
        _, classifier = random_classifier(seed)
        mine, theirs = MergedEngine(classifier), TableEngine(classifier)
        assert mine.tie_mass == pytest.approx(theirs.tie_mass, abs=CLOSE), (way, seed)
        tied += mine.tie_mass > 0
    assert tied > 10


def test_bounds_hold_for_all_subsets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a set of features loses at least, no subset of it falls short of."""
    never_table(monkeypatch)
    for seed in range(60):
        random, classifier = random_classifier(seed)
        engine = MergedEngine(classifier)
        features = generators.random_subset(random, classifier)
        bound = engine.bound(features)
        assert bound is not None
        for size in range(len(features) + 1):
            for subset in itertools.combinations(features, size):
                assert bound <= 1 - float(reference.maa(classifier, subset).value) + CLOSE


def test_merging_what_is_only_near_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that takes messages for proportional that are not states values that brute force refutes."""
    never_table(monkeypatch)
    monkeypatch.setattr(merging, "ALIKE", 0.2)
    wrong = 0
    for seed in range(150):
        random, classifier = random_classifier(seed)
        wrong += bool(faults(MergedEngine(classifier), classifier, generators.random_subset(random, classifier), 0.5))
    assert wrong > 10


def test_joining_groups_of_equal_posterior_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The minimum of sums is not the sum of minima: MPA is wrong if an equal posterior is all that groups share.

    A says nothing about the class, but whether R does.
    """
    never_table(monkeypatch)
    right = merging.Merging.run

    def joined(self: Any, *arguments: Any) -> merging.Classes:
        classes = right(self, *arguments)
        if classes.rows.dtype == object:
            return classes
        shares = classes.mass[:, None] * classes.rows / classes.rows.sum(axis=1, keepdims=True)
        sums = np.stack([np.bincount(classes.group, column) for column in shares.T], axis=1)
        posteriors = np.round(sums / sums.sum(axis=1, keepdims=True), 9)
        return dataclasses.replace(classes, group=np.unique(posteriors, axis=0, return_inverse=True)[1][classes.group])

    states = ("+", "-")
    network = bt.BayesianNetwork(
        [bt.Variable(name, states) for name in "CAR"],
        {"R": ["A", "C"]},
        {"C": [0.4, 0.6], "A": [0.5, 0.5], "R": [[[0.95, 0.05], [0.6, 0.4]], [[0.5, 0.5], [0.5, 0.5]]]},
    )
    classifier = bt.Classifier(network, "C", "+")
    assert not faults(MergedEngine(classifier), classifier, ["A"], 0.5)
    monkeypatch.setattr(merging.Merging, "run", joined)
    assert faults(MergedEngine(classifier), classifier, ["A"], 0.5) == ["mpa"]


def test_forgetting_who_decides_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine whose boundary misses a feature states values that brute force refutes."""
    monkeypatch.setattr(merged, "boundary", lambda *arguments: boundary(*arguments)[1:])
    wrong = 0
    for seed in range(150):
        random, classifier = random_classifier(seed)
        wrong += bool(faults(MergedEngine(classifier), classifier, generators.random_subset(random, classifier), 0.5))
    assert wrong > 10


def repeated(count: int, threshold: float) -> bt.Classifier:
    """Return a class with many equal tests: right in four cases of five, whatever the class."""
    variables = [bt.Variable("C", ("yes", "no")), *(bt.Variable(f"T{i}", ("+", "-")) for i in range(count))]
    table = [[0.8, 0.2], [0.2, 0.8]]
    tables: dict[str, Any] = {"C": [0.5, 0.5], **{f"T{i}": table for i in range(count)}}
    network = bt.BayesianNetwork(variables, {f"T{i}": ["C"] for i in range(count)}, tables)
    return bt.Classifier(network, "C", "yes", threshold=threshold)


def test_equal_tests_are_counted() -> None:
    """Of fifty equal tests only the number of positive ones is looked at, and ties are exact: the sum says the same."""
    classifier, right = repeated(50, 0.5), Fraction(4, 5)
    engine = MergedEngine(classifier)
    assert engine.told_apart == 51
    assert engine.tie_mass == pytest.approx(math.comb(50, 25) * float(right * (1 - right)) ** 25)

    def chance(positive: int, of: int, p: Fraction) -> Fraction:
        return math.comb(of, positive) * p**positive * (1 - p) ** (of - positive)

    agreement = Fraction(0)
    for p in (right, 1 - right):
        for seen, unseen in itertools.product(range(6), range(46)):
            alike = (seen >= 3) == (seen + unseen >= 25)
            agreement += alike * chance(seen, 5, p) * chance(unseen, 45, p) / 2
    found = engine.eca([f"T{i}" for i in range(5)], 0.5)
    assert found.kind == "exact"
    assert float(found) == pytest.approx(float(agreement), abs=1e-12)


def test_equal_tests_are_trimmed() -> None:
    """The best ten of thirty equal tests are any ten; the additive engine agrees on what they reach."""
    classifier = repeated(30, 0.4)
    mine, theirs = (bt.trim(classifier, 10, engine=name) for name in ("merged", "additive"))
    assert (mine.engine, mine.status) == ("merged", bt.Status.OPTIMAL)
    assert float(mine.agreement) == pytest.approx(float(theirs.agreement), abs=1e-9)
    assert mine.stats.nodes < 200


@pytest.mark.parametrize("name", ["alarm", "water", "asia", "child", "insurance"])
def test_the_table_engine_agrees(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On public networks both say the same of any features, leaves or not."""
    if name != "water":  # where messages are too large
        never_table(monkeypatch)
    network, random = bt.read_network(MODELS / f"{name}.bif.gz"), Random(1)
    for _ in range(6):
        target = random.choice(network.roots)
        others = [other for other in network.names if other != target]
        features = random.sample(others, 4)
        classifier = bt.Classifier(network, target, network.states(target)[0], features, random.choice([0.1, 0.3, 0.5]))
        mine, theirs = MergedEngine(classifier), TableEngine(classifier)
        for size in range(len(features) + 1):
            subset = random.sample(features, size)
            assert float(mine.mpa(subset)) == pytest.approx(float(theirs.mpa(subset)), abs=CLOSE)
            assert float(mine.maa(subset).value) == pytest.approx(float(theirs.maa(subset).value), abs=CLOSE)
            threshold = random.random()
            assert float(mine.eca(subset, threshold)) == pytest.approx(float(theirs.eca(subset, threshold)), abs=CLOSE)


def test_all_variables_of_a_network_may_be_features() -> None:
    """Of ALARM's 36 other variables three decide; two of all are proved to be the best, and a table confirms it."""
    network = bt.read_network(MODELS / "alarm.bif.gz")
    classifier = bt.Classifier(network, "HYPOVOLEMIA", "TRUE", threshold=0.2)
    engine = MergedEngine(classifier)
    assert len(engine.deciding) == 3
    result = bt.trim(classifier, 2, engine="merged")
    assert result.status is bt.Status.OPTIMAL
    small = classifier.restricted({*engine.deciding, *result.features})
    assert float(result.agreement) == pytest.approx(float(bt.eca(small, result.features, result.threshold)), abs=CLOSE)


def random_problem(seed: int) -> tuple[Random, bt.TrimProblem]:
    """Return a problem with prices, and now and then with constraints."""
    random, classifier = random_classifier(seed)
    names = classifier.features
    unit = random.random() < 0.5
    costs = {name: 1.0 if unit else random.choice([0.0, 0.5, 1.0, 1.0, 2.5]) for name in names}
    more: dict[str, Any] = {}
    if names and random.random() < 0.3:
        more["setup_costs"] = {"visit": (0.5, random.sample(names, random.randint(1, len(names))))}
    if len(names) > 1 and random.random() < 0.3:
        more["required"], more["forbidden"] = names[:1], names[1:2]
    if random.random() < 0.2:
        more["max_features"] = random.randint(len(more.get("required", ())), len(names))
    rule: Literal["keep", "optimal"] = random.choice(("keep", "optimal"))
    return random, bt.TrimProblem(classifier, random.choice([0.0, 1.0, 2.0, 3.0]), costs, rule, **more)


def test_the_search_proves_the_best(way: str) -> None:
    """The best subset, and the next best, are proved, and are those of brute force."""
    for seed in range(160):
        random, problem = random_problem(seed)
        exact = sorted(map(float, values(problem).values()), reverse=True)
        result = bt.trim(problem, engine="merged", alternatives=random.choice([0, 0, 2]))
        if not exact:
            assert result.status is bt.Status.INFEASIBLE
            continue
        assert result.status is bt.Status.OPTIMAL, (way, seed)
        assert float(result.agreement) == pytest.approx(exact[0], abs=CLOSE)
        found = [float(result.agreement), *(float(choice.agreement) for choice in result.alternatives)]
        if not result.irrelevant:
            assert found == pytest.approx(exact[: len(found)], abs=CLOSE)
        verify(result).raise_if_failed()


def test_taking_different_features_for_equal_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that passes over features as equal to those left out before, which they are not, misses the best."""
    monkeypatch.setattr(MergedEngine, "twins", lambda _, names, apart: (0,) * len(names))
    monkeypatch.setattr(sparse_search._Forward, "order", lambda self: self._engine.features)
    missed = 0
    for seed in range(160):
        _, problem = random_problem(seed)
        exact = values(problem)
        if exact:
            result = bt.trim(problem, engine="merged")
            missed += float(result.agreement) < float(max(exact.values())) - CLOSE
    assert missed > 2


def test_what_cannot_be_told_apart_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where subsets have too many classes, nothing is said of them, and nothing is called optimal that is not."""
    never_table(monkeypatch)
    honest = 0
    for seed in range(160):
        _, problem = random_problem(seed)
        exact = values(problem)
        try:
            result = bt.trim(problem, engine="merged", limits=bt.Limits(samples=8))
        except bt.TooLargeError:
            continue
        if not exact:
            continue
        best = float(max(exact.values()))
        value = float(reference.eca(problem.classifier, result.features, result.threshold))
        assert result.agreement.lower - CLOSE <= value <= result.agreement.upper + CLOSE
        assert result.bound >= best - CLOSE
        if result.status is bt.Status.OPTIMAL:
            assert value == pytest.approx(best, abs=CLOSE)
        honest += result.status is bt.Status.FEASIBLE
    assert honest > 3


def test_a_search_can_be_stopped_and_continued(tmp_path: Path) -> None:
    """Stopped after few evaluations it says what is proved so far; from its checkpoint it ends where it would have."""
    network, path = bt.read_network(MODELS / "win95pts.bif.gz"), tmp_path / "search.json"
    classifier = bt.Classifier(network, "PrtMem", network.states("PrtMem")[0], network.leaves[:9], 0.95)
    limits = bt.Limits(evaluations=5)
    first = bt.trim(classifier, 3, engine="merged", limits=limits, checkpoint=path)
    assert first.stop_reason is bt.StopReason.EVALUATION_LIMIT
    resumed = bt.trim(classifier, 3, engine="merged", checkpoint=path)
    whole = bt.trim(classifier, 3, engine="merged", n_jobs=2)
    assert whole.status is resumed.status is bt.Status.OPTIMAL
    assert resumed.features == whole.features
    assert bt.trim(classifier, 3, engine="table").agreement.lower == pytest.approx(whole.agreement.lower, abs=CLOSE)


def test_without_time_there_is_an_answer() -> None:
    """A search that may take no time says what it knows, and does not call it optimal."""
    network = bt.read_network(MODELS / "insurance.bif.gz")
    classifier = bt.Classifier(network, "Age", "Adolescent", threshold=0.2)
    result = bt.trim(classifier, 4, engine="merged", limits=bt.Limits(seconds=0))
    assert result.stop_reason is bt.StopReason.TIME_LIMIT
    assert result.status is bt.Status.FEASIBLE
    assert result.agreement.kind == "exact"


def test_ties_out_of_reach_are_doubtful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no exact arithmetic is in reach, the tie band goes either way, and the interval holds the truth."""
    never_table(monkeypatch)
    monkeypatch.setattr(merged, "MOST_EXACT", 0)
    doubtful = 0
    for seed in range(150):
        random, classifier = random_classifier(seed)
        features = generators.random_subset(random, classifier)
        threshold = generators.random_threshold(random, classifier)
        engine = MergedEngine(classifier)
        statements = [
            (engine.eca(features, threshold), reference.eca(classifier, features, threshold)),
            (engine.mpa(features), reference.mpa(classifier, features)),
            (engine.maa(features).value, reference.maa(classifier, features).value),
        ]
        for interval, value in statements:
            assert interval.lower - CLOSE <= float(value) <= interval.upper + CLOSE, seed
            doubtful += interval.width > CLOSE
    assert doubtful > 10


def test_impossible_evidence_is_refused() -> None:
    """Evidence of probability zero has no classes."""
    yes_no = ("yes", "no")
    network = bt.BayesianNetwork(
        [bt.Variable(name, yes_no) for name in "CAB"],
        {"A": ["C"], "B": ["C"]},
        {"C": [0.5, 0.5], "A": [[1, 0], [1, 0]], "B": [[0.5, 0.5], [0.2, 0.8]]},
    )
    given = {"A": 1}
    walk = merging.Merging(network, "C", given, {name: np.asarray(network.table(name)) for name in network.names})
    with pytest.raises(bt.ImpossibleEvidenceError):
        walk.run((), ("B",), 10)


def test_too_many_classes_are_refused() -> None:
    """The refusal says how many may be told apart, or how much room their messages may take."""
    network = bt.read_network(MODELS / "hepar2.bif.gz")
    classifier = bt.Classifier(network, "Cirrhosis", ["decompensate", "compensate"], network.leaves, 0.5)
    with pytest.raises(bt.TooLargeError, match=r"1,000 classes|128,000 numbers"):
        MergedEngine(classifier, 1000)


def test_the_choice_says_that_it_was_asked_for() -> None:
    """Whoever asks for the engine gets it."""
    assert "cannot be told apart" in engines.choose(repeated(5, 0.5), "merged").reason


def test_where_few_classes_decide_nothing_else_is_asked_for() -> None:
    """Where no table fits, and what decides has few classes, the engine is taken; the answer is exact, and says why."""
    network = bt.read_network(MODELS / "alarm.bif.gz")
    classifier = bt.Classifier(network, "HYPOVOLEMIA", "TRUE", threshold=0.2)
    choice = engines.choose(classifier)
    assert choice.name == "merged"
    assert choice.reason.endswith("but decisions depend on 3 of 36 features, with 18 classes of instances")
    result = bt.trim(classifier, 3)
    assert (result.engine, result.agreement.kind, result.status) == ("merged", "exact", bt.Status.OPTIMAL)
    assert bt.maa(classifier, result.features).value.kind == "exact"
    points = bt.frontier(classifier, up_to=2)
    assert [point.status for point in points] == [bt.Status.OPTIMAL] * 3
    assert "merged" in str(bt.describe(classifier))


def test_questions_with_too_many_classes_are_put_to_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks about one subset gets an answer, even where its classes are too many."""
    network = bt.read_network(MODELS / "alarm.bif.gz")
    classifier = bt.Classifier(network, "HYPOVOLEMIA", "TRUE", threshold=0.2)
    assert bt.mpa(classifier, ["HR"]).kind == "exact"

    def refuse(*_: object) -> None:
        raise bt.TooLargeError("too many classes")

    monkeypatch.setattr(MergedEngine, "eca", refuse)
    monkeypatch.setattr(sampled, "SAMPLES", 500)
    found = bt.eca(classifier, ["HR"])
    assert found.kind == "statistical"
    assert bt.eca(classifier, ["HR"]) == found
    assert bt.mpa(classifier, ["HR"]).kind == "exact"
