"""The certified lattice against exact losses: its intervals hold them at every size, however awkward the numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import generators
import pytest
from judge import Judge, engine_of, fine_faults, grid_faults, subsets

import bayestrim as bt
from bayestrim import reference
from bayestrim.engines.independent import independent

SIZES = (*range(8, 17), 24, 32, 48, 64, 100, 256, 1000, 4096)


def naive_bayes(tables: list[list[list[float]]], prior: float = 0.5, threshold: float = 0.5) -> bt.Classifier:
    """Return a classifier from tables of two rows, the positive class's first."""
    features = [bt.Variable(f"F{i}", tuple(f"s{j}" for j in range(len(t[0])))) for i, t in enumerate(tables)]
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "not c")), *features],
        {feature.name: ["C"] for feature in features},
        {"C": [prior, 1 - prior], **{feature.name: t for feature, t in zip(features, tables, strict=True)}},
    )
    return bt.Classifier(network, "C", "c", threshold=threshold)


@pytest.fixture(params=["followed", "by moments"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the margin is found: on small lattices errors are followed; here also as on large ones."""
    if request.param == "by moments":
        monkeypatch.setattr("bayestrim.engines.margin.MOST_WORK", 0)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("block", range(4))
def test_intervals_hold_the_exact_loss_at_every_lattice_size(block: int) -> None:
    """Lower and upper bounds, with their margin, bracket the loss of every subset from 8 cells up."""
    for seed in range(60 * block, 60 * (block + 1)):
        random = Random(seed)
        classifier = generators.random_naive_bayes(random, 4)
        judge, engine = Judge(classifier), engine_of(classifier)
        for cells in random.sample(SIZES, 4) if engine.model.features else ():
            assert not list(grid_faults(judge, engine, cells))
            assert not list(fine_faults(judge, engine, cells, random))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("block", range(4))
def test_intervals_hold_where_rounding_is_hardest(block: int) -> None:
    """So they do with probabilities of 1e-299, priors near 0 and 1, and log-odds that all but tie."""
    for seed in range(60 * block, 60 * (block + 1)):
        random = Random(seed)
        classifier = generators.awkward_naive_bayes(random, 4)
        if independent(classifier) is None:  # digits are lost to underflow: another engine's business
            continue
        judge, engine = Judge(classifier), engine_of(classifier)
        for cells in random.sample(SIZES, 3) if engine.model.features else ():
            assert not list(grid_faults(judge, engine, cells))
            assert not list(fine_faults(judge, engine, cells, random))


@pytest.mark.parametrize("block", range(4))
def test_counting_is_exact_where_rounding_is_hardest(block: int) -> None:
    """What the engine calls exact is what fractions say, thresholds included."""
    for seed in range(100 * block, 100 * (block + 1)):
        classifier = generators.awkward_naive_bayes(Random(seed), 4)
        judge = Judge(classifier)
        model = independent(classifier)
        if model is None:
            continue
        engine = engine_of(classifier)
        for features in Random(seed).sample(subsets(model.names), min(4, 2 ** len(model.names))):
            best = engine.maa(features)
            slack = best.value.width + 1e-12
            assert float(best) == pytest.approx(1 - float(judge.loss(features)), abs=slack)
            assert float(best) == pytest.approx(1 - float(judge.loss_at(features, best.threshold)), abs=slack)


def test_probabilities_that_lost_digits_are_left_to_other_engines() -> None:
    """Below 1e-300 a logarithm may be off by more than the tie band; such a model is not taken as sums of log-odds."""
    tiny = naive_bayes([[[5e-324, 1.0], [0.5, 0.5]]])
    assert independent(tiny) is None
    assert float(bt.maa(tiny, [])) == pytest.approx(float(reference.maa(tiny, []).value))


def test_a_new_threshold_may_tie_where_the_old_one_could_not() -> None:
    """With an old threshold of 0 or 1 nothing lies near the border, but posteriors may still lie near a new one."""
    half = [[0.45, 0.45, 0.1], [0.6, 0.2, 0.2]]
    for seed in range(8):
        random = Random(seed)
        tiny = random.choice([1e-200, 1e-100, 1e-12])
        zero = [[0.0, 0.9, 0.1], [0.6, 0.2, 0.2]], [[1.0, 0.0], [0.5, 0.5]]
        rare = [[1.5 * tiny, 1 - 1.5 * tiny], [tiny, 1 - tiny]], [[0.5, 0.5], [1 - tiny, tiny]]
        for threshold in (0.0, 1.0, bt.NEVER_POSITIVE):
            classifier = naive_bayes([*zero, *rare, half], threshold=threshold)
            judge, engine = Judge(classifier), engine_of(classifier)
            assert not list(fine_faults(judge, engine, random.choice(SIZES), random))


def test_an_error_larger_than_the_whole_table_is_counted_once() -> None:
    """A value so rare that its error dwarfs the deviation is beyond the table, and neither lost nor doubled."""
    rare = [[[1 - 1e-12, 1e-12], [0.999, 0.001]], [[0.9, 0.1], [1 - 1e-15, 1e-15]], [[0.2, 0.8], [0.7, 0.3]]]
    classifier = naive_bayes(rare, prior=0.4)
    judge, engine = Judge(classifier), engine_of(classifier)
    for cells in range(8, 40):
        assert not list(grid_faults(judge, engine, cells))


def votes(n: int, chance: Fraction) -> list[Fraction]:
    """Return the distribution of the number of votes among n that are equally likely."""
    mass = [Fraction(1)]
    for _ in range(n):
        mass = [(1 - chance) * a + chance * b for a, b in zip([*mass, Fraction(0)], [Fraction(0), *mass], strict=True)]
    return mass


def loss_of_votes(n: int, chance: Fraction, kept: int, need: int) -> Fraction:
    """Return the loss of keeping some of n votes, each right with one chance, of which so many decide; even prior."""
    positive, negative = [Fraction(0)] * (kept + 1), [Fraction(0)] * (kept + 1)
    for side in (chance, 1 - chance):
        mine, others = votes(kept, side), votes(n - kept, side)
        for k in range(kept + 1):
            enough = sum(others[max(0, need - k) :], Fraction(0))
            positive[k] += mine[k] * enough / 2
            negative[k] += mine[k] * (1 - enough) / 2
    return sum(map(min, positive, negative), Fraction(0))


@pytest.mark.parametrize(("threshold", "need"), [(0.5, 30), (0.5000000001, 31), (0.4999999999, 30)])
def test_ties_among_sixty_equal_features_are_settled(threshold: float, need: int) -> None:
    """Instances of equal features are alike, so that even 2^60 of them can be looked at.

    With as many votes for as against, the posterior is one half, which is 12% of all cases. The other thresholds are
    so near that log-odds lie in the tie band; one of them makes those instances negative, and the interval says so.
    """
    classifier = naive_bayes([[[0.6, 0.4], [0.4, 0.6]]] * 60, threshold=threshold)
    engine = engine_of(classifier)
    assert engine.ties is not None
    tie = float(votes(60, Fraction(3, 5))[30])
    assert engine.tie_mass == pytest.approx(tie)
    assert engine.unsettled == pytest.approx(tie if need == 31 else 0.0)
    for kept in (4, 25, 59):
        agreement = engine.mpa(classifier.features[:kept])
        assert float(1 - loss_of_votes(60, Fraction(3, 5), kept, need)) in agreement


def test_ties_among_equal_features_of_three_states_are_settled() -> None:
    """States may be listed in any order; equal features are told by their values."""
    one, two = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], [[0.2, 0.5, 0.3], [0.5, 0.2, 0.3]]
    engine = engine_of(naive_bayes([*[one] * 20, *[two] * 25]))
    assert engine.ties is not None
    even = [Fraction(3, 10), Fraction(1, 2) * Fraction(1, 5)]
    exact = sum(math.comb(45, 2 * k) * math.comb(2 * k, k) * even[1] ** k * even[0] ** (45 - 2 * k) for k in range(23))
    assert engine.tie_mass == pytest.approx(float(exact))
    assert engine.unsettled == 0


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("block", range(3))
def test_unsure_decisions_widen_the_interval(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody can look into the tie band, intervals allow for either decision there."""
    monkeypatch.setattr("bayestrim.engines.band.LONGEST_LIST", 0)
    for seed in range(60 * block, 60 * (block + 1)):
        random = Random(seed)
        make = random.choice([generators.random_naive_bayes, generators.awkward_naive_bayes])
        classifier = make(random, 4)
        if independent(classifier) is None:
            continue
        judge, engine = Judge(classifier), engine_of(classifier)
        assert not engine.model.finite or (engine.ties is None and engine.leeway > 0)
        for cells in random.sample(SIZES, 3) if engine.model.features else ():
            assert not list(grid_faults(judge, engine, cells))
            assert not list(fine_faults(judge, engine, cells, random))
