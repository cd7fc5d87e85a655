"""The paper's quantities against brute force, and the paper's propositions."""

from __future__ import annotations

import gc
import math
from random import Random

import generators
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayestrim as bt
from bayestrim import engines, reference

randoms = st.randoms(use_true_random=False)
CLOSE = 1e-12


@pytest.mark.parametrize("block", range(10))
def test_eca_equals_brute_force_in_ten_thousand_random_cases(block: int) -> None:
    """Whatever the ties and zeros, `eca` gives what exact rational enumeration gives."""
    for seed in range(100 * block, 100 * (block + 1)):
        random = Random(seed)
        classifier = generators.random_classifier(random, most_variables=5)
        table = reference.Table(classifier)
        for _ in range(10):
            kept = generators.random_subset(random, classifier)
            threshold = generators.random_threshold(random, classifier)
            exact = table.eca(kept, reference.rational(threshold))
            found = bt.eca(classifier, kept, threshold)
            assert found.kind == "exact"
            assert float(found) == pytest.approx(float(exact), abs=CLOSE), (seed, kept, threshold)


def test_engines_die_with_their_classifiers() -> None:
    """The joint tables of classifiers that are gone are gone too."""
    gc.collect()
    before = len(engines._ENGINES)
    living = [generators.random_classifier(Random(seed)) for seed in range(20)]
    for classifier in living:
        bt.mpa(classifier, [])
    assert len(engines._ENGINES) == before + 20
    del living, classifier
    gc.collect()
    assert len(engines._ENGINES) == before


def test_impossible_evidence_is_a_clear_error() -> None:
    """A classifier made with evidence that cannot be has no agreement with anything."""
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "n")), bt.Variable("F", ("f", "never"))], {}, {"C": [0.5, 0.5], "F": [1, 0]}
    )
    impossible = bt.Classifier(network, "C", "c", evidence={"F": "never"})
    with pytest.raises(bt.ImpossibleEvidenceError, match=r"the evidence has probability zero: \{'F': 'never'\}"):
        bt.maa(impossible, [])


@given(randoms)
def test_maa_equals_brute_force(random: Random) -> None:
    """MAA and its interval of thresholds are those of trying every threshold."""
    classifier = generators.random_classifier(random)
    kept = generators.random_subset(random, classifier)
    exact = reference.maa(classifier, kept)
    found = bt.maa(classifier, kept)
    assert found.value.kind == "exact"
    assert float(found) == pytest.approx(float(exact.value), abs=CLOSE)
    assert float(bt.eca(classifier, kept, found.threshold)) == pytest.approx(float(found), abs=CLOSE)
    preferred = reference.rational(classifier.threshold)
    low, high = next((pair for pair in exact.intervals if pair[0] < preferred <= pair[1]), exact.intervals[0])
    assert found.thresholds.low == (-math.inf if low < 0 else pytest.approx(float(low)))
    assert found.thresholds.high == (math.inf if high > 1 else pytest.approx(float(high)))


@given(randoms)
def test_brute_force_maa_is_the_best_of_all_thresholds(random: Random) -> None:
    """What judges MAA agrees with ECA tried at every posterior and beyond both ends, by definition."""
    classifier = generators.random_classifier(random, most_variables=5)
    kept = generators.random_subset(random, classifier)
    table = reference.Table(classifier)
    posteriors = {table.posterior(group) for group in table.kept(kept).values()}
    limits = [*posteriors, reference.INFINITY]
    exact = reference.maa(classifier, kept)
    assert all(table.eca(kept, reference.rational(float(limit))) <= exact.value for limit in limits)
    assert all(table.eca(kept, high) == exact.value for _, high in exact.intervals)


def test_brute_force_reaches_a_dozen_features() -> None:
    """MAA of all twelve features, with 4,096 different thresholds to try."""
    features = [bt.Variable(f"F{i}", ("+", "-")) for i in range(12)]
    chances = [(i + 3) / 97 for i in range(24)]
    tables = {f.name: [[p, 1 - p], [q, 1 - q]] for f, p, q in zip(features, chances[::2], chances[:0:-2], strict=True)}
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "n")), *features], {f.name: ["C"] for f in features}, {"C": [0.3, 0.7], **tables}
    )
    assert reference.maa(bt.Classifier(network, "C", "c"), network.names[1:]).value == 1


@given(randoms)
def test_ends_of_a_threshold_interval_are_what_they_say(random: Random) -> None:
    """The upper end itself reaches the MAA, and so does a threshold just above the lower end."""
    classifier = generators.random_classifier(random)
    kept = generators.random_subset(random, classifier)
    best = bt.maa(classifier, kept)
    if best.thresholds.high <= 1:
        assert float(bt.eca(classifier, kept, best.thresholds.high)) == pytest.approx(float(best), abs=CLOSE)
    if best.thresholds.low >= 0:
        above = math.nextafter(best.thresholds.low, 2)
        assert above in best.thresholds
        assert float(bt.eca(classifier, kept, above)) == pytest.approx(float(best), abs=CLOSE)


@given(randoms)
def test_mpa_and_sdp_equal_brute_force(random: Random) -> None:
    """MPA, SDP and expected SDP follow their definitions."""
    classifier = generators.random_classifier(random)
    kept = generators.random_subset(random, classifier)
    assert float(bt.mpa(classifier, kept)) == pytest.approx(float(reference.mpa(classifier, kept)), abs=CLOSE)
    expected = reference.expected_sdp(classifier, kept)
    assert float(bt.expected_sdp(classifier, kept)) == pytest.approx(float(expected), abs=CLOSE)
    worlds = [w for w, _ in reference.worlds(classifier.network) if generators.agrees(w, classifier.evidence)]
    world = random.choice(worlds)
    seen = {feature: world[feature] for feature in kept}
    assert float(bt.sdp(classifier, seen)) == pytest.approx(float(reference.sdp(classifier, seen)), abs=CLOSE)


@given(randoms)
def test_mpa_bounds_maa_and_grows(random: Random) -> None:
    """The paper's first two propositions and their corollary: MAA(F1) ≤ MPA(F1) ≤ MPA(F2) for F1 within F2."""
    classifier = generators.random_classifier(random)
    larger = generators.random_subset(random, classifier)
    smaller = random.sample(larger, random.randint(0, len(larger)))
    assert float(bt.maa(classifier, smaller)) <= float(bt.mpa(classifier, smaller)) + CLOSE
    assert float(bt.mpa(classifier, smaller)) <= float(bt.mpa(classifier, larger)) + CLOSE


@given(randoms)
def test_maa_equals_mpa_for_naive_bayes(random: Random) -> None:
    """The paper's third proposition: independent given the class, an ideal rule is a threshold rule."""
    classifier = generators.random_naive_bayes(random)
    kept = generators.random_subset(random, classifier)
    assert float(bt.maa(classifier, kept)) == pytest.approx(float(bt.mpa(classifier, kept)), abs=CLOSE)


@given(randoms)
def test_eca_is_the_expected_sdp_with_two_thresholds(random: Random) -> None:
    """The paper's fourth proposition, with the expected SDP computed as a mean of SDPs."""
    classifier = generators.random_classifier(random)
    kept = generators.random_subset(random, classifier)
    threshold = generators.random_threshold(random, classifier)
    expected = reference.expected_sdp(classifier, kept, threshold)
    assert float(bt.eca(classifier, kept, threshold)) == pytest.approx(float(expected), abs=CLOSE)


@given(randoms)
def test_sdp_is_the_agreement_of_the_conditioned_classifier_with_its_decision(random: Random) -> None:
    """SDP given evidence is the ECA between the classifier given that evidence and its constant decision."""
    classifier = generators.random_classifier(random)
    worlds = [w for w, _ in reference.worlds(classifier.network) if generators.agrees(w, classifier.evidence)]
    world = random.choice(worlds)
    seen = {feature: world[feature] for feature in generators.random_subset(random, classifier)}
    conditioned = classifier.given(seen)
    constant = 0.0 if conditioned.decide({}) else bt.NEVER_POSITIVE
    expected = reference.eca(conditioned, [], constant)
    assert float(bt.sdp(classifier, seen)) == pytest.approx(float(expected), abs=CLOSE)
