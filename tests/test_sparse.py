"""The sparse engine against brute force: exact where everything is listed, certified where something is left out."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, Literal

import generators
import pgmpy
import pytest

import bayestrim as bt
from bayestrim import engines, inference, reference, ties
from bayestrim.engines import sparse
from bayestrim.engines.sparse import SparseEngine
from bayestrim.engines.table import TableEngine
from bayestrim.search import sparse as sparse_search
from bayestrim.verify import verify

CLOSE = 1e-9
MODELS = Path(pgmpy.__file__).parent / "utils" / "example_models"


def holds(interval: bt.Interval, value: float | Fraction) -> bool:
    """Tell whether an interval holds a value, but for rounding."""
    return interval.lower - CLOSE <= float(value) <= interval.upper + CLOSE


def faults(engine: SparseEngine, classifier: bt.Classifier, features: list[str], threshold: float) -> list[str]:
    """Return which of an engine's statements are wrong."""
    best = engine.maa(features)
    statements = {
        "eca": (engine.eca(features, threshold), reference.eca(classifier, features, threshold)),
        "mpa": (engine.mpa(features), reference.mpa(classifier, features)),
        "maa": (best.value, reference.maa(classifier, features).value),
        "eca of maa": (best.value, reference.eca(classifier, features, best.threshold)),
    }
    return [name for name, (interval, value) in statements.items() if not holds(interval, value)]


@pytest.mark.parametrize("head", [1, 8, sparse.HEAD])
@pytest.mark.parametrize("logarithms", [False, True])
def test_everything_listed_is_exact(head: int, logarithms: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all possible instances are listed, at once or feature by feature, values are those of brute force."""
    monkeypatch.setattr(sparse, "HEAD", head)
    if logarithms:
        monkeypatch.setattr(inference, "SAFE_EXPONENT", 1)
    impossible = 0
    for seed in range(60):
        random = Random(seed)
        classifier = generators.random_classifier(random, 6)
        engine = SparseEngine(classifier)
        features = generators.random_subset(random, classifier)
        assert engine.rest == 0
        assert not faults(engine, classifier, features, generators.random_threshold(random, classifier))
        assert engine.mpa(features).kind == "exact"
        assert float(engine.maa(features).value) == pytest.approx(float(reference.maa(classifier, features).value))
        possible = [mass for mass in reference.Table(classifier).mass.values() if mass > 0]
        assert len(engine.cells) == len(possible)
        impossible += len(possible) < len(list(itertools.product(*(v.states for v in classifier.feature_variables))))
    assert impossible > 5


@pytest.mark.parametrize("most", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("head", [1, 4])
def test_what_is_left_out_is_within_the_bounds(most: int, head: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few instances are listed, the intervals hold what brute force finds, and are as wide as the rest."""
    monkeypatch.setattr(sparse, "HEAD", head)
    partial = 0
    for seed in range(60):
        random = Random(1000 + seed)
        classifier = generators.random_classifier(random, 8)
        engine = SparseEngine(classifier, most)
        features = generators.random_subset(random, classifier)
        threshold = generators.random_threshold(random, classifier)
        assert not faults(engine, classifier, features, threshold), seed
        assert len(engine.cells) <= most
        if engine.rest > CLOSE:
            partial += 1
            assert engine.eca(features, threshold).kind == engine.maa(features).value.kind == "certified"
            assert engine.mpa(features).width <= engine.rest + CLOSE
    assert partial >= 5


def test_forgetting_the_rest_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that leaves out instances and does not say so states values that brute force, and verify, refute."""
    whole = SparseEngine.__init__

    def forgetful(self: SparseEngine, *arguments: Any, **options: Any) -> None:
        whole(self, *arguments, **options)
        self.cells = dataclasses.replace(self.cells, rest=0.0)

    monkeypatch.setattr(SparseEngine, "__init__", forgetful)
    wrong = refuted = 0
    for seed in range(80):
        random = Random(1000 + seed)
        classifier = generators.random_classifier(random, 7)
        features = generators.random_subset(random, classifier)
        wrong += bool(faults(SparseEngine(classifier, 3), classifier, features, 0.5))
        result = bt.trim(classifier, 1, engine="sparse", limits=bt.Limits(samples=3))
        refuted += bool(verify(result).failed)
    assert wrong > 10
    assert refuted > 10


def values(problem: bt.TrimProblem) -> dict[tuple[str, ...], Fraction]:
    """Return the agreement of every allowed subset, by brute force."""
    names, classifier = problem.classifier.features, problem.classifier
    every = itertools.chain.from_iterable(itertools.combinations(names, size) for size in range(len(names) + 1))
    allowed = [subset for subset in every if problem.affordable(subset)]
    if problem.threshold == "keep":
        return {subset: reference.eca(classifier, subset, classifier.threshold) for subset in allowed}
    return {subset: reference.maa(classifier, subset).value for subset in allowed}


def random_problem(random: Random) -> bt.TrimProblem:
    """Return a problem with prices, and now and then with constraints."""
    classifier = generators.random_classifier(random, 7)
    names = classifier.features
    costs = {name: random.choice([0.0, 0.5, 1.0, 1.0, 2.5]) for name in names}
    more: dict[str, Any] = {}
    if names and random.random() < 0.3:
        more["setup_costs"] = {"visit": (0.5, random.sample(names, random.randint(1, len(names))))}
    if len(names) > 1 and random.random() < 0.3:
        more["required"], more["forbidden"] = names[:1], names[1:2]
    if random.random() < 0.2:
        more["max_features"] = random.randint(len(more.get("required", ())), len(names))
    rule: Literal["keep", "optimal"] = random.choice(("keep", "optimal"))
    return bt.TrimProblem(classifier, random.choice([0.0, 1.0, 2.0, 3.0]), costs, rule, **more)


def test_the_search_is_exact_without_a_rest() -> None:
    """With everything listed the best subset, and the next best, are proved, and are those of brute force."""
    for seed in range(150):
        random = Random(seed)
        problem = random_problem(random)
        exact = sorted(map(float, values(problem).values()), reverse=True)
        result = bt.trim(problem, engine="sparse", alternatives=random.choice([0, 0, 2]))
        if not exact:
            assert result.status is bt.Status.INFEASIBLE
            continue
        assert result.status is bt.Status.OPTIMAL
        assert result.agreement.kind == "exact"
        assert float(result.agreement) == pytest.approx(exact[0], abs=CLOSE)
        found = [float(result.agreement), *(float(choice.agreement) for choice in result.alternatives)]
        if not result.irrelevant:
            assert found == pytest.approx(exact[: len(found)], abs=CLOSE)
        verify(result).raise_if_failed()


@pytest.mark.parametrize("most", [2, 4, 6])
def test_the_search_is_certified_with_a_rest(most: int) -> None:
    """With some instances left out, the result is within the rest of the best, says so, and verify agrees."""
    partial = 0
    for seed in range(130):
        random = Random(5000 + seed)
        problem = random_problem(random)
        exact = values(problem)
        more, strategy = random.choice([(0, "auto"), (1, "auto"), (1, "exhaustive"), (0, "greedy")])
        limits = bt.Limits(samples=most, seconds=random.choice([0, None, None, None]))
        result = bt.trim(problem, engine="sparse", alternatives=more, strategy=strategy, limits=limits)
        if not exact:
            continue
        value = reference.eca(problem.classifier, result.features, result.threshold)
        assert holds(result.agreement, value)
        assert float(max(exact.values())) <= result.bound + CLOSE
        if result.stop_reason is bt.StopReason.EXHAUSTED and strategy == "auto":
            assert result.bound <= result.agreement.upper + CLOSE
        if result.agreement.width > CLOSE:
            partial += 1
            assert result.status is bt.Status.FEASIBLE or strategy == "exhaustive"
            assert result.agreement.kind == "certified"
        if result.status is bt.Status.OPTIMAL:
            assert float(value) == pytest.approx(float(max(exact.values())), abs=CLOSE)
        verify(result).raise_if_failed()
    assert partial >= 10


def water() -> bt.Classifier:
    """Return a classifier of a network whose tables are full of zeros."""
    network = bt.read_network(MODELS / "water.bif.gz")
    return bt.Classifier(network, "CKNI_12_00", network.states("CKNI_12_00")[0], network.leaves, 0.31)


def test_zeros_leave_few_instances_and_the_table_engine_agrees() -> None:
    """Of WATER's 27,648 instances 4,320 are possible; the search over these finds what the table engine finds."""
    classifier = water()
    engine = SparseEngine(classifier)
    assert (len(engine.cells), engine.rest) == (4320, 0)
    for budget in (1, 3):
        mine, theirs = (bt.trim(classifier, budget, engine=name) for name in ("sparse", "table"))
        assert (mine.engine, mine.status) == ("sparse", bt.Status.OPTIMAL)
        assert float(mine.agreement) == pytest.approx(float(theirs.agreement), abs=1e-12)
        assert mine.bound == pytest.approx(theirs.bound, abs=1e-12)
    exact = TableEngine(classifier)
    for most in (10, 100, 1000, 4319):
        some = SparseEngine(classifier, most)
        for count in (1, 3, 5):
            features = classifier.features[:count]
            assert holds(some.mpa(features), float(exact.mpa(features)))
            assert holds(some.maa(features).value, float(exact.maa(features).value))
            assert holds(some.eca(features, 0.31), float(exact.eca(features, 0.31)))


def test_posteriors_of_subsets_too_large_for_a_table_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether posteriors of kept features come from a table or instance by instance, the answer is one."""
    classifier = water()
    features = classifier.features[:5]
    listed = SparseEngine(classifier, 1000).maa(features)
    monkeypatch.setattr(sparse, "MOST_TABLED", 1)
    assert SparseEngine(classifier, 1000).maa(features).value.lower == pytest.approx(listed.value.lower, abs=1e-12)


def test_a_search_can_be_stopped_and_continued(tmp_path: Path) -> None:
    """Stopped after few evaluations it says what is proved so far; from its checkpoint it ends where it would have."""
    network, path = bt.read_network(MODELS / "win95pts.bif.gz"), tmp_path / "search.json"
    classifier = bt.Classifier(network, "PrtMem", network.states("PrtMem")[0], network.leaves, 0.95)
    limits = bt.Limits(samples=500, evaluations=5)
    first = bt.trim(classifier, 4, engine="sparse", limits=limits, checkpoint=path)
    assert first.stop_reason is bt.StopReason.EVALUATION_LIMIT
    whole = bt.trim(classifier, 4, engine="sparse", limits=bt.Limits(samples=500))
    resumed = bt.trim(classifier, 4, engine="sparse", limits=bt.Limits(samples=500), checkpoint=path)
    assert whole.stop_reason is resumed.stop_reason is bt.StopReason.EXHAUSTED
    assert first.bound >= whole.bound - CLOSE
    assert resumed.features == whole.features
    assert resumed.bound == pytest.approx(whole.bound)


def test_ties_out_of_reach_are_left_to_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instances that cannot be told from the threshold count as not listed, and kept ones may go either way."""
    monkeypatch.setattr(ties, "EXACT_OPERATIONS", 0)
    doubtful = 0
    for seed in range(250):
        random = Random(seed)
        classifier = generators.random_classifier(random, 6)
        threshold = generators.random_threshold(random, classifier)
        features = generators.random_subset(random, classifier)
        try:
            engine = SparseEngine(classifier)
        except bt.TooLargeError:
            continue
        doubtful += engine.rest > 0
        assert not faults(engine, classifier, features, threshold), seed
        assert engine.rest <= engine.tie_mass + CLOSE
    assert doubtful > 5


def test_workers_find_the_same() -> None:
    """Two threads end with the result of one."""
    network = bt.read_network(MODELS / "win95pts.bif.gz")
    classifier = bt.Classifier(network, "PrtMem", network.states("PrtMem")[0], network.leaves, 0.95)
    limits = bt.Limits(samples=500)
    one, two = (bt.trim(classifier, 4, engine="sparse", limits=limits, n_jobs=jobs) for jobs in (1, 2))
    assert one.features == two.features
    assert one.agreement == two.agreement
    assert one.bound == two.bound


def test_curves_need_everything_listed() -> None:
    """A curve over all possible instances is that of the table engine; with some left out it is refused."""
    classifier = water()
    mine, theirs = (bt.frontier(classifier, up_to=3, engine=name) for name in ("sparse", "table"))
    assert [float(point.agreement) for point in mine] == pytest.approx([float(point.agreement) for point in theirs])
    with pytest.raises(bt.ProblemError, match="are not listed"):
        bt.frontier(classifier, up_to=3, engine="sparse", limits=bt.Limits(samples=100))


def test_networks_on_which_inference_takes_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal says how many multiplications an instance takes."""
    monkeypatch.setattr(sparse, "HEAD", 4)
    monkeypatch.setattr(sparse, "MOST_WORK", 100)
    with pytest.raises(bt.TooLargeError, match="multiplications"):
        SparseEngine(water())


def test_the_choice_says_that_it_was_asked_for() -> None:
    """The engine is taken only if it is asked for."""
    assert "most probable" in engines.choose(water(), "sparse").reason
    assert engines.choose(water()).name == "table"


def test_too_tight_a_bound_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound that forgets what may yet be added rules out the best, and brute force tells."""
    right = sparse_search.SparsePlan._narrowed

    def eager(self: Any, *arguments: Any) -> Any:
        branch = right(self, *arguments)
        names = [self.names_in_order[place] for place in branch.kept]
        return dataclasses.replace(branch, bound=branch.cells.keeping(names).loss)

    monkeypatch.setattr(sparse_search.SparsePlan, "_narrowed", eager)
    monkeypatch.setattr(sparse_search, "_start", lambda _: ())
    missed = 0
    for seed in range(150):
        problem = random_problem(Random(seed))
        exact = values(problem)
        if exact:
            result = bt.trim(problem, engine="sparse")
            missed += float(result.agreement) < float(max(exact.values())) - CLOSE
    assert missed > 0
