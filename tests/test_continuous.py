"""Naive Bayes with Gaussian features: the classifier itself, and certified answers against integration and chance."""

from __future__ import annotations

import itertools
import math
import pickle
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import integrate, stats

import bayestrim as bt
from bayestrim.engines import rungs
from bayestrim.engines.continuous import ContinuousEngine
from bayestrim.engines.smooth import smooth
from bayestrim.kernels.normal import masses_between
from bayestrim.verify import verify

Floats = npt.NDArray[np.float64]


def random_gaussian(random: Random, name: str) -> bt.GaussianFeature:
    """Return a Gaussian feature: shifted, stretched, both, hardly either, or far away."""
    style = random.choice(["shifted", "stretched", "both", "both", "both", "nearly", "apart", "same"])
    mean, other = random.gauss(0, 1), random.gauss(0, 1)
    variance, second = random.choice([0.01, 0.5, 1, 3]), random.choice([0.2, 1.1, 9])
    if style == "shifted":
        second = variance
    if style == "stretched":
        other = mean
    if style == "nearly":
        second, other = variance * (1 + random.choice([1e-6, 1e-12])), mean + random.choice([0, 1e-3, 1])
    if style == "apart":
        other = mean + 8
    if style == "same":
        second, other = variance, mean
    return bt.GaussianFeature(name, (mean, variance), (other, second))


def random_discrete(random: Random, name: str) -> bt.DiscreteFeature:
    """Return a feature with one to three states, some of which a class may never show."""
    rows: list[tuple[tuple[float, ...], tuple[float, ...]]]
    rows = [((0.2, 0.8), (0.7, 0.3)), ((0.5, 0.5, 0), (0.1, 0.3, 0.6)), ((1.0,), (1.0,))]
    p, q = random.choice(rows)
    return bt.DiscreteFeature(name, tuple(f"s{i}" for i in range(len(p))), p, q)


def random_classifier(random: Random, most: int = 4) -> bt.GaussianNaiveBayes:
    """Return a random classifier with at least one Gaussian feature."""
    count = random.randint(0, most - 1)
    parts: list[bt.GaussianFeature | bt.DiscreteFeature] = [random_gaussian(random, "g")]
    for i in range(count):
        numeric = random.random() < 0.7
        parts.append(random_gaussian(random, f"f{i}") if numeric else random_discrete(random, f"f{i}"))
    threshold = random.choice([0.5, 0.5, 0.1, 0.9, random.random(), 0.001, 0.0, 1.0, bt.NEVER_POSITIVE])
    return bt.GaussianNaiveBayes(parts, random.choice([0.5, 0.3, 0.01]), threshold)


def quiz() -> bt.GaussianNaiveBayes:
    """Return a small mixed classifier."""
    parts: list[bt.GaussianFeature | bt.DiscreteFeature] = [
        bt.GaussianFeature("temperature", (38.5, 0.6), (36.8, 0.2)),
        bt.DiscreteFeature("cough", ("no", "yes"), (0.2, 0.8), (0.9, 0.1)),
        bt.GaussianFeature("pulse", (90, 100), (70, 100)),
    ]
    return bt.GaussianNaiveBayes(parts, prior=0.1, target="flu", classes=("no", "yes"))


def test_posteriors_are_those_of_the_densities() -> None:
    """Bayes' rule over SciPy's densities gives the same, with values missing or not."""
    classifier = quiz()
    rows = [{"temperature": 38.0, "cough": "yes", "pulse": 85}, {"cough": "no"}, {"pulse": None}, {"temperature": 36}]
    densities = []
    for mean, deviation, pulse, cough, prior in (
        (38.5, 0.6**0.5, 90, (0.2, 0.8), 0.1),
        (36.8, 0.2**0.5, 70, (0.9, 0.1), 0.9),
    ):
        warm, beat = stats.norm(mean, deviation).pdf, stats.norm(pulse, 10).pdf
        densities.append(prior * np.array([warm(38) * beat(85) * cough[1], cough[0], 1.0, warm(36)]))
    positive, negative = densities
    assert classifier.posterior(rows) == pytest.approx(positive / (positive + negative), rel=1e-12)
    assert np.array_equal(classifier.decide(rows), [True, False, False, False])
    assert classifier.posterior({}) == pytest.approx(0.1, rel=1e-15)
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frames = [pandas.DataFrame(rows), polars.DataFrame(rows)]
    arrays = np.array([[38, 1, 85], [np.nan, 0, np.nan], [np.nan, -1, np.nan], [36, np.nan, np.nan]])
    for same in (*frames, arrays, np.ma.masked_invalid(arrays)):
        assert np.array_equal(classifier.posterior(same), classifier.posterior(rows))


def test_it_saves_restores_conditions_and_restricts(tmp_path: Path) -> None:
    """A file and a pickle restore every bit; evidence moves the prior; dropped features are passed over."""
    classifier = quiz()
    classifier.save(tmp_path / "flu.json")
    for again in (bt.GaussianNaiveBayes.load(tmp_path / "flu.json"), pickle.loads(pickle.dumps(classifier))):
        assert again == classifier
        assert hash(again) == hash(classifier)
    row = {"temperature": 38.0, "cough": "yes", "pulse": 85}
    assert classifier.given({"cough": "yes"}).posterior({"temperature": 38.0}) == pytest.approx(
        classifier.posterior({"cough": "yes", "temperature": 38.0}), rel=1e-12
    )
    assert classifier.restricted(["pulse"]).posterior(row) == classifier.posterior({"pulse": 85})
    assert "flu=yes" in repr(classifier)
    assert classifier.negative == ("no",)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bt.GaussianFeature("a", (0, 0), (0, 1)), "a mean and a variance"),
        (lambda: bt.GaussianFeature("a", (math.nan, 1), (0, 1)), "a mean and a variance"),
        (lambda: bt.DiscreteFeature("a", ("x", "y"), (0.5, 0.6), (0.5, 0.5)), "2 probabilities that sum to 1"),
        (lambda: bt.GaussianNaiveBayes([], 1.0), "between 0 and 1"),
        (lambda: bt.GaussianNaiveBayes([quiz().parts[0], quiz().parts[0]], 0.5), "used twice"),
        (lambda: bt.GaussianNaiveBayes(["a"], 0.5), "a GaussianFeature or a DiscreteFeature"),  # type: ignore[list-item]
        (lambda: quiz().restricted(["puls"]), "did you mean 'pulse'"),
        (lambda: quiz().posterior({"pulse": "fast"}), "'fast' is not a number"),
        (lambda: quiz().posterior({"pulse": math.inf}), "infinite"),
        (lambda: quiz().posterior(np.array([[38, 2, 85]])), "2 states"),
        (lambda: quiz().posterior(np.array([[38, 2]])), "is needed"),
        (lambda: quiz().network, "has no network"),
        (lambda: bt.trim(quiz(), 1, engine="table"), "fit in no table"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(make: Any, message: str) -> None:
    """Errors say what is wrong and what is allowed."""
    with pytest.raises(bt.BayestrimError, match=message):
        make()


def test_masses_between_are_those_of_the_normal_distribution() -> None:
    """Differences of distribution functions keep their digits on both sides, at infinity too."""
    places = np.array([-math.inf, -40, -9, -1, 0, 0.5, 2, 9, 40, math.inf])
    masses = np.zeros(len(places) - 1)
    masses_between(places, masses)
    expected = [
        stats.norm.sf(low) - stats.norm.sf(high) if low > 0 else stats.norm.cdf(high) - stats.norm.cdf(low)
        for low, high in itertools.pairwise(places)
    ]
    assert masses == pytest.approx(expected, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("seed", range(40))
def test_masses_of_log_odds_are_those_that_are_drawn(seed: int) -> None:
    """What lies below a log-odds, by two normal distribution functions, is what a sample shows."""
    random = Random(seed)
    feature = random_gaussian(random, "a")
    if not feature.matters:
        return
    what, generator = smooth(feature), np.random.default_rng(seed)
    sides = {True: feature.positive, False: feature.negative}
    narrow = what.narrow_is_positive
    for wide, (mean, variance) in ((False, sides[narrow]), (True, sides[not narrow])):
        odds = feature.log_odds(generator.normal(mean, math.sqrt(variance), 20_000)) * (1 if narrow else -1)
        for limit in np.quantile(odds, [0.05, 0.5, 0.95]):
            below = 1 - what.wide_above(limit) if wide else what.narrow_below(limit)
            assert below == pytest.approx((odds < limit).mean(), abs=0.02)


def density(moments: tuple[float, float], x: float) -> float:
    """Return a normal density."""
    mean, variance = moments
    return math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def below(moments: tuple[float, float], x: float) -> float:
    """Return a normal distribution function."""
    return math.erfc((moments[0] - x) / math.sqrt(2 * moments[1])) / 2


def lift(feature: bt.GaussianFeature, positive: bool, need: float) -> float:
    """Return the probability, by the roots of a quadratic, that a feature's log-odds are at least so much."""
    (m, v), (n, u) = feature.positive, feature.negative
    law = feature.positive if positive else feature.negative
    a, b, c = 1 / u - 1 / v, 2 * (m / v - n / u), n * n / u - m * m / v + math.log(u / v) - 2 * need
    if a == 0:
        return 1 - below(law, -c / b) if b > 0 else below(law, -c / b)
    disc = b * b - 4 * a * c
    if disc <= 0:
        return 1.0 if a > 0 else 0.0
    low, high = sorted((-b + sign * math.sqrt(disc)) / (2 * a) for sign in (1, -1))
    inside = below(law, high) - below(law, low)
    return 1 - inside if a > 0 else inside


def odds_of(feature: bt.GaussianFeature, x: float) -> float:
    """Return the log-odds of a value."""
    return math.log(density(feature.positive, x)) - math.log(density(feature.negative, x))


def reach(feature: bt.GaussianFeature, deviations: float) -> tuple[float, float]:
    """Return between which values both distributions have nearly all of their mass."""
    ends = [m + s * deviations * math.sqrt(v) for m, v in (feature.positive, feature.negative) for s in (-1, 1)]
    return min(ends), max(ends)


def by_integration(
    classifier: bt.GaussianNaiveBayes, kept: bt.GaussianFeature, dropped: list[bt.GaussianFeature]
) -> float:
    """Return the MPA of one Gaussian feature of two or three, by adaptive integration over the densities."""
    border = classifier.threshold_odds - math.log(classifier.prior / (1 - classifier.prior))

    def positive(need: float, side: bool) -> float:
        if len(dropped) == 1:
            return lift(dropped[0], side, need)
        law = dropped[1].positive if side else dropped[1].negative

        def inner(y: float) -> float:
            return density(law, y) * lift(dropped[0], side, need - odds_of(dropped[1], y))

        return float(integrate.quad(inner, *reach(dropped[1], 5), limit=60, epsabs=1e-6, epsrel=1e-6)[0])

    def outer(x: float) -> float:
        need = border - odds_of(kept, x)
        p, q = classifier.prior * density(kept.positive, x), (1 - classifier.prior) * density(kept.negative, x)
        decided = p * positive(need, True) + q * positive(need, False)
        return max(decided, p + q - decided)

    pieces = np.linspace(*reach(kept, 5.5), 5)
    parts = [integrate.quad(outer, a, b, limit=40, epsabs=2e-6, epsrel=1e-6)[0] for a, b in itertools.pairwise(pieces)]
    return float(sum(parts))


PAIRS: dict[str, list[tuple[tuple[float, float], tuple[float, float]]]] = {
    "equal variances": [((1, 1), (0, 1)), ((0.7, 2), (0, 2))],
    "equal means": [((0, 4), (0, 1)), ((0, 1), (0, 2))],
    "both differ": [((1, 2), (0, 1)), ((-1, 0.3), (0.5, 1.5))],
    "nearly equal variances": [((1, 1 + 1e-9), (0, 1)), ((0.5, 1), (0, 1 - 1e-7))],
    "three features": [((1, 1), (0, 1)), ((0.5, 2), (0, 1)), ((0, 1), (0.8, 0.6))],
}


@pytest.mark.parametrize("name", PAIRS)
def test_certified_agreements_hold_what_integration_finds(name: str) -> None:
    """The interval holds the integral, to what the integral is good for, and is narrow."""
    parts = [bt.GaussianFeature(f"x{i}", *moments) for i, moments in enumerate(PAIRS[name])]
    classifier = bt.GaussianNaiveBayes(parts, prior=0.4, threshold=0.55)
    truth = by_integration(classifier, parts[0], parts[1:])
    interval = bt.mpa(classifier, ["x0"])
    assert interval.kind == "certified"
    assert interval.lower - 1e-5 <= truth <= interval.upper + 1e-5
    assert interval.width <= 5e-4
    best = bt.maa(classifier, ["x0"])
    assert bt.eca(classifier, ["x0"], best.threshold).lower <= truth + 1e-5
    assert best.value.lower == pytest.approx(truth, abs=6e-4)


def drawn(classifier: bt.GaussianNaiveBayes, kept: list[str], threshold: float, rows: Floats) -> npt.NDArray[np.bool_]:
    """Tell in which of some instances a trimming agrees with the classifier."""
    places = [classifier.features.index(name) for name in kept]
    same = classifier.restricted(kept, threshold).decide(rows[:, places]) == classifier.decide(rows)
    return np.asarray(same)


@pytest.mark.parametrize("seed", range(60))
def test_certified_agreements_hold_what_chance_shows(seed: int) -> None:
    """Whatever the features and thresholds, a large sample agrees as often as the interval allows."""
    random = Random(seed)
    classifier = random_classifier(random, 6)
    kept = [name for name in classifier.features if random.random() < 0.5]
    threshold = random.choice([classifier.threshold, 0.5, random.random(), 1.0, 0.0])
    rows = classifier.sample(100_000, np.random.default_rng(seed))
    interval = bt.eca(classifier, kept, threshold)
    share = drawn(classifier, kept, threshold, rows).mean()
    assert interval.lower - 0.008 <= share <= interval.upper + 0.008
    assert interval.kind == "certified"
    best = bt.maa(classifier, kept)
    assert best.value.upper >= share - 0.008
    assert best.value.lower >= interval.lower - 0.02


@pytest.mark.parametrize("seed", range(30))
def test_what_is_found_is_verified_and_is_the_best_of_all(seed: int) -> None:
    """Prices, required and forbidden features, old thresholds and alternatives: all are searched as they should be."""
    random = Random(seed)
    classifier = random_classifier(random, 5)
    names = list(classifier.features)
    problem = bt.TrimProblem(
        classifier,
        random.choice([0.0, 1.0, 2.0, 3.5]),
        {name: random.choice([0.0, 0.5, 1.0, 2.0]) for name in names},
        threshold=random.choice(("optimal", "optimal", "keep")),
        setup_costs={"lab": (1.0, names[:2])} if random.random() < 0.3 and len(names) > 1 else {},
        forbidden=names[-1:] if random.random() < 0.2 else (),
        max_features=random.choice([None, None, 1, 2]),
    )
    result = bt.trim(problem, alternatives=random.choice([0, 0, 2]))
    verify(result, samples=20_000).raise_if_failed()
    tried = bt.trim(problem, strategy="exhaustive")
    assert result.agreement.upper >= tried.agreement.lower - 1e-12
    assert tried.agreement.upper >= result.agreement.lower - 1e-12


def test_an_understated_margin_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the instances that a lattice decides otherwise, coarse intervals miss what fine ones hold."""
    parts = [bt.GaussianFeature(f"x{i}", (0.3, 1), (0, 1)) for i in range(4)]
    classifier = bt.GaussianNaiveBayes(parts, prior=0.45)
    truth = ContinuousEngine(classifier).mpa(["x0"])
    monkeypatch.setattr(rungs.Ladder, "SIZES", (1 << 10,))
    honest = ContinuousEngine(classifier).mpa(["x0"])
    assert honest.lower <= truth.lower
    assert truth.upper <= honest.upper
    monkeypatch.setattr(rungs.Rung, "margin", 0.0)
    sabotaged = ContinuousEngine(classifier).mpa(["x0"])
    assert not (sabotaged.lower <= truth.lower and truth.upper <= sabotaged.upper)


def test_thirty_features_are_trimmed_within_a_gap() -> None:
    """Breast-cancer Wisconsin: five of thirty measurements, proved to a thousandth."""
    datasets, naive = pytest.importorskip("sklearn.datasets"), pytest.importorskip("sklearn.naive_bayes")
    table, classes = datasets.load_breast_cancer(return_X_y=True)
    model = naive.GaussianNB().fit(table, classes)
    classifier = bt.from_sklearn(model)
    assert classifier.posterior(table) == pytest.approx(model.predict_proba(table)[:, 1], rel=1e-9, abs=1e-300)
    result = bt.trim(classifier, budget=5, limits=bt.Limits(gap=1e-3, seconds=60))
    assert result.stop_reason is bt.StopReason.GAP
    assert result.bound - result.agreement.lower <= 1e-3 + 5e-4
    assert result.agreement.lower > 0.998
    verify(result, samples=20_000).raise_if_failed()


def test_only_two_classes_of_a_gaussian_model_become_a_classifier() -> None:
    """from_sklearn copies what was learnt, whichever class is positive, and refuses more than two classes."""
    naive = pytest.importorskip("sklearn.naive_bayes")
    generator = np.random.default_rng(0)
    table, kinds = generator.normal(size=(60, 2)), np.arange(60) % 3
    model = naive.GaussianNB().fit(table, kinds > 0)
    for positive, column in ((True, 1), (False, 0)):
        classifier = bt.from_sklearn(model, positive=positive, feature_names=["a", "b"])
        assert classifier.posterior(table) == pytest.approx(model.predict_proba(table)[:, column])
    with pytest.raises(bt.ClassifierError, match="3 classes"):
        bt.from_sklearn(naive.GaussianNB().fit(table, kinds))
    with pytest.raises(bt.ClassifierError, match="not fitted"):
        bt.from_sklearn(naive.GaussianNB())
    with pytest.raises(bt.ClassifierError, match="not one of the classes"):
        bt.from_sklearn(model, positive="maybe")
