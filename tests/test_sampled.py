"""The sampled engine against exact answers: intervals hold what they should, and subsets are nearly the best."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

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
