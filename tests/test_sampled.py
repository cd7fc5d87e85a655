"""The sampled engine against exact answers: intervals hold what they should, and subsets are nearly the best."""

from __future__ import annotations

import itertools
import math
import time
from pathlib import Path
from random import Random
from typing import Any

import generators
import numpy as np
import pgmpy
import pytest

import bayestrim as bt
from bayestrim import engines, reference
from bayestrim.binomial import clopper_pearson
from bayestrim.engines import sampled
from bayestrim.engines.sampled import SampledEngine
from bayestrim.engines.table import TableEngine
from bayestrim.errors import TooLargeError
from bayestrim.search import general
from bayestrim.search import sampled as looking
from bayestrim.search.start import by_rank, information_gain
from bayestrim.verify import verify

MODELS = Path(pgmpy.__file__).parent / "utils" / "example_models"
TARGETS = {"alarm": "HYPOVOLEMIA", "win95pts": "PrtMem", "insurance": "Age"}


def public_classifier(name: str) -> bt.Classifier:
    """Return a classifier over the leaves of a public network."""
    network = bt.read_network(MODELS / f"{name}.bif.gz")
    target = TARGETS[name]
    return bt.Classifier(network, target, network.states(target)[0], network.leaves)


@pytest.mark.parametrize(("hits", "trials"), [(0, 1), (1, 1), (0, 20), (20, 20), (3, 17), (500, 1000), (4990, 5000)])
@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_confidence_limits_leave_half_of_the_doubt_on_either_side(hits: int, trials: int, confidence: float) -> None:
    """At the lower limit, so many hits or more have the probability of half the doubt; likewise at the upper."""
    low, high = clopper_pearson(hits, trials, confidence)

    def chance(share: float, first: int, last: int) -> float:
        return math.fsum(math.comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(first, last + 1))

    if trials <= 1000:
        assert low == 0.0 if hits == 0 else chance(low, hits, trials) == pytest.approx((1 - confidence) / 2)
        assert high == 1.0 if hits == trials else chance(high, 0, hits) == pytest.approx((1 - confidence) / 2)
    assert low <= hits / trials <= high


def test_intervals_hold_the_exact_agreement() -> None:
    """On random networks the intervals of 300 questions fail about as seldom as they say."""
    failures = asked = 0
    for seed in range(100):
        random = Random(seed)
        classifier = generators.random_classifier(random, 6)
        engine = SampledEngine(classifier, 400, seed)
        features = generators.random_subset(random, classifier)
        best = engine.maa(features)
        exact = float(reference.eca(classifier, features, best.threshold))
        failures += not best.value.lower - 1e-12 <= exact <= best.value.upper + 1e-12
        failures += not engine.mpa(features).lower - 1e-12 <= reference.mpa(classifier, features)
        failures += not reference.mpa(classifier, features) <= engine.mpa(features).upper + 1e-12
        asked += 3
        assert best.threshold in best.thresholds
        assert best.value.kind == "statistical"
        assert best.value.confidence == sampled.CONFIDENCE
    assert failures <= 0.03 * asked


@pytest.mark.parametrize("name", TARGETS)
def test_the_subset_is_nearly_the_best(name: str) -> None:
    """On networks that a table holds, the subset found on a sample is within half a percent of the optimum."""
    classifier = public_classifier(name)
    result = bt.trim(classifier, 3, engine="sampled", seed=5, limits=bt.Limits(samples=4000))
    exact = TableEngine(classifier)
    best = bt.trim(classifier, 3, engine="table")
    reached = float(exact.eca(result.features, result.threshold))
    assert reached >= float(best.agreement) - 0.005
    assert result.status is bt.Status.FEASIBLE
    assert result.bound == 1.0
    verify(result, samples=20_000).raise_if_failed()


def test_the_seed_decides_what_is_drawn() -> None:
    """The same seed gives the same answer, and what was searched on is not what is judged on."""
    classifier = public_classifier("alarm")
    answers = [bt.trim(classifier, 3, engine="sampled", seed=seed, limits=bt.Limits(samples=500)) for seed in (1, 1, 2)]
    assert answers[0].agreement == answers[1].agreement != answers[2].agreement
    engine = SampledEngine(classifier, 500, 1)
    assert not np.array_equal(engine.practice.codes, engine.trial.codes)


def test_prices_constraints_alternatives_and_limits_hold() -> None:
    """Whatever is asked, all choices are affordable; limits end the search and the best so far is returned."""
    for seed in range(25):
        random = Random(seed)
        classifier = generators.random_classifier(random, 7)
        costs = {name: random.choice([0.0, 0.5, 1.0, 3.0]) for name in classifier.features}
        required = classifier.features[:1]
        problem = bt.TrimProblem(classifier, 4, costs, random.choice(["keep", "optimal"]), required=required)
        limits = bt.Limits(samples=200, evaluations=random.choice([1, 5, None]))
        result = bt.trim(problem, engine="sampled", alternatives=2, limits=limits, seed=seed)
        for choice in (result.choice, *result.alternatives):
            assert problem.affordable(choice.features)
            assert set(required) <= set(choice.features)
        assert result.status is bt.Status.FEASIBLE
        if problem.threshold == "keep":
            assert result.threshold == classifier.threshold


def test_what_fits_no_table_is_sampled_and_what_fits_no_sample_is_refused() -> None:
    """The choice follows the memory allowed; too rare evidence and too hard networks are refused with the reason."""
    classifier = public_classifier("alarm")
    choice = engines.choose(classifier, limits=bt.Limits(memory=1 << 20))
    assert choice.name == "sampled"
    assert "would take" in choice.reason
    assert engines.choose(classifier).name == "table"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampled, "MOST_WORK", 1000)
        with pytest.raises(bt.TooLargeError, match="deciding one instance takes"):
            SampledEngine(classifier)
    network = classifier.network
    rare = bt.Classifier(network, "HYPOVOLEMIA", "TRUE", ["CVP"], evidence={"ANAPHYLAXIS": "TRUE", "LVFAILURE": "TRUE"})
    with pytest.raises(bt.TooLargeError, match="too rare"):
        _ = SampledEngine(rare, 100).practice


def test_many_kept_features_are_judged_by_the_instances_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all instances of a subset are too many to list, the answer hardly changes."""
    classifier = public_classifier("win95pts")
    features = classifier.features[:12]
    listed = SampledEngine(classifier, 2000, 3).maa(features)
    monkeypatch.setattr(sampled, "MOST_LISTED", 10)
    drawn = SampledEngine(classifier, 2000, 3).maa(features)
    assert abs(float(listed) - float(drawn)) < 0.01


def test_curves_and_checkpoints_need_what_proves(tmp_path: Path) -> None:
    """Samples say so instead of pretending."""
    classifier = public_classifier("insurance")
    with pytest.raises(bt.ProblemError, match="samples prove nothing"):
        bt.frontier(classifier, engine="sampled", limits=bt.Limits(samples=100))
    with pytest.raises(bt.ProblemError, match="not on samples"):
        bt.trim(classifier, 2, engine="sampled", limits=bt.Limits(samples=100), checkpoint=tmp_path / "c.json")


@pytest.mark.parametrize("block", range(3))
def test_what_information_gain_takes_is_the_least_that_is_found(block: int) -> None:
    """However early the search ends, the answer agrees at least as often with the first sample."""
    for seed in range(20 * block, 20 * block + 20):
        random = Random(seed)
        classifier = generators.random_classifier(random, 7)
        costs = {name: random.choice([0.0, 0.5, 1.0, 3.0]) for name in classifier.features}
        problem = bt.TrimProblem(classifier, 2, costs, random.choice(["keep", "optimal"]))
        limits = bt.Limits(samples=300, evaluations=random.choice([1, 4, None]))
        result = bt.trim(problem, engine="sampled", limits=limits, seed=seed)
        gains = information_gain(classifier)
        engine = engines.make_engine(classifier, engines.choose(classifier, "sampled"), limits, seed)
        assert isinstance(engine, SampledEngine)
        kept = by_rank([gains[name] for name in engine.features], problem.purse().narrowed(_places(engine, classifier)))
        given = classifier.threshold if problem.threshold == "keep" else None
        usual = engine.practised([name for name, chosen in zip(engine.features, kept, strict=True) if chosen], given)
        assert engine.practised(result.features, given) >= usual - 1e-12


def _places(engine: SampledEngine, classifier: bt.Classifier) -> list[int]:
    return [classifier.features.index(name) for name in engine.features]


def test_features_of_many_states_are_not_taken_for_good_ones() -> None:
    """Together they tell all instances drawn apart, from which nothing follows about others."""
    random = np.random.default_rng(3)
    good, many = [f"Good{i}" for i in range(8)], [f"Many{i}" for i in range(4)]
    variables = [bt.Variable(name, ("yes", "no")) for name in ("C", *good)]
    variables += [bt.Variable(name, tuple(map(str, range(30)))) for name in many]
    shares = 1 + 0.1 * random.random((4, 2, 30))
    tables: dict[str, Any] = {"C": [0.2, 0.8]}
    tables |= {name: [[0.7, 0.3], [0.3, 0.7]] for name in good}
    tables |= {name: rows / rows.sum(axis=1, keepdims=True) for name, rows in zip(many, shares, strict=True)}
    network = bt.BayesianNetwork(variables, {name: ["C"] for name in (*good, *many)}, tables)
    classifier = bt.Classifier(network, "C", "yes", [*good, *many], 0.4)
    result = bt.trim(classifier, 3, engine="sampled", limits=bt.Limits(samples=600), seed=1)
    assert set(result.features) <= set(good)


@pytest.mark.parametrize("seconds", [0, 1, 3, 10])
def test_drawing_deciding_and_searching_end_with_the_time(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """On a clock that only work moves, no step but the one under way, and the last count, comes after the end."""
    now = 0.0
    asked = 20_000

    def slow(owner: object, name: str, takes: float) -> None:
        does = getattr(owner, name)

        def run(*args: object, **options: object) -> object:
            nonlocal now
            now += takes
            return does(*args, **options)

        monkeypatch.setattr(owner, name, run)

    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(sampled, "BATCH_WORK", 100 * SampledEngine(public_classifier("win95pts"))._masses.operations)
    slow(sampled, "sample", 0.01)
    slow(SampledEngine, "_decide", 0.1)
    slow(SampledEngine, "practised", 0.03)
    slow(SampledEngine, "maa", 0.1)
    slow(looking, "gain", 0.05)
    slow(looking._Judge, "__call__", 0.01)
    limits = bt.Limits(seconds=seconds, samples=asked)
    result = bt.trim(public_classifier("win95pts"), 4, engine="sampled", limits=limits, seed=1)
    assert now <= seconds + 0.5
    assert result.stop_reason in (bt.StopReason.TIME_LIMIT, bt.StopReason.HEURISTIC)
    assert seconds < 3 or result.agreement.lower > 0.9


def test_a_sample_is_no_smaller_than_asked_for_where_there_is_time() -> None:
    """Without a limit all instances are drawn, with one fewer, but as many for either purpose."""
    classifier = public_classifier("alarm")
    assert SampledEngine(classifier, 3000).practice.size == 3000
    seconds = iter([8.0, *(7.0 - i / 100 for i in range(1000))])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampled, "BATCH_WORK", 5 * SampledEngine(classifier)._masses.operations)
        engine = SampledEngine(classifier, 3000, left=lambda: next(seconds))
        assert 5 <= engine.practice.size == engine.trial.size < 3000


def tangled_classifier() -> bt.Classifier:
    """Return a classifier of three features behind layers of hidden variables: small table, large ones before it."""
    random, width = Random(1), 9
    layers = [[f"H{depth}_{i}" for i in range(width)] for depth in range(4)]
    parents = {name: ["C"] for name in layers[0]}
    for above, layer in itertools.pairwise(layers):
        parents |= {name: [above[(i + step) % width] for step in (0, 1, 3)] for i, name in enumerate(layer)}
    features = ("F0", "F1", "F2")
    parents |= {name: layers[-1][3 * i : 3 * i + 3] for i, name in enumerate(features)}

    def table(depth: int) -> list[Any]:
        share = random.uniform(0.1, 0.9)
        return [share, 1 - share] if depth == 0 else [table(depth - 1) for _ in "01"]

    tables: dict[str, Any] = {name: table(len(above)) for name, above in parents.items()} | {"C": [0.4, 0.6]}
    network = bt.BayesianNetwork([bt.Variable(name, ("yes", "no")) for name in tables], parents, tables)
    return bt.Classifier(network, "C", "yes", features, 0.4)


def test_a_table_that_cannot_be_made_is_replaced_by_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too large may be a step before the table, or one after it; who asks for the table is refused."""
    classifier, limits = tangled_classifier(), bt.Limits(memory=20_000, samples=200)
    choice = engines.choose(classifier, limits=limits)
    assert (choice.name, choice.bits) == ("sampled", 3.0)
    assert choice.reason.startswith("a step on the way to the table of all instances would take ")
    assert engines.choose(classifier).name == bt.trim(classifier, 1).engine == "table"
    assert bt.trim(classifier, 1, limits=limits).engine == "sampled"
    with pytest.raises(TooLargeError, match="GiB are needed"):
        bt.trim(classifier, 1, engine="table", limits=limits)
    monkeypatch.setattr(general, "PATH", 1 << 20)
    with pytest.raises(TooLargeError, match="searching the table"):
        bt.trim(classifier, 1, engine="table", limits=bt.Limits(memory=1 << 20))
    result = bt.trim(classifier, 1, limits=bt.Limits(memory=1 << 20, samples=200))
    assert (result.engine, result.agreement.kind) == ("sampled", "statistical")


def test_agreements_are_counted_where_the_table_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds for questions about one subset."""

    def too_large(*_: object) -> None:
        raise TooLargeError("too large")

    monkeypatch.setattr(TableEngine, "_joint", too_large)
    classifier = tangled_classifier()
    monkeypatch.setattr(sampled, "SAMPLES", 500)
    assert bt.mpa(classifier, ["F1"]).kind == "statistical"
