"""Exact decisions: what counts as a tie, what rounding would do, and what happens out of reach."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random
from typing import Any

import generators
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayestrim as bt
from bayestrim import reference, ties
from bayestrim.engines.cut import best_cut
from bayestrim.inference import ClassMasses
from bayestrim.rows import IntArray


def one_decimal_naive_bayes(seed: int, features: int = 6) -> bt.Classifier:
    """Return naive Bayes with tables of one decimal, as people make them by hand; none is 0 or 1."""
    random = Random(seed)
    chances = [random.randint(1, 9) / 10 for _ in range(2 * features + 1)]
    names = [f"F{i}" for i in range(features)]
    rows = {name: [[p, 1 - p], [q, 1 - q]] for name, p, q in zip(names, chances[1::2], chances[2::2], strict=True)}
    tables = {name: np.round(table, 1) for name, table in rows.items()}
    variables = [bt.Variable(name, ("+", "-")) for name in ("C", *names)]
    prior = np.round([chances[0], 1 - chances[0]], 1)
    return bt.Classifier(bt.BayesianNetwork(variables, {n: ["C"] for n in names}, {"C": prior, **tables}), "C", "+")


def test_hand_made_tables_tie_often_and_plain_floats_get_some_of_them_wrong() -> None:
    """Exact ties at 0.5 occur in 200 one-decimal models; all are positive here, and not all in plain floats."""
    tied = wrong = 0
    for seed in range(200):
        classifier = one_decimal_naive_bayes(seed)
        codes = np.indices((2,) * 6).reshape(6, -1).T
        exact = classifier.exact_posteriors.posteriors(codes)
        assert None not in exact
        at_threshold = np.array([posterior == Fraction(1, 2) for posterior in exact])
        tied += int(at_threshold.sum())
        wrong += int((classifier.posterior(codes)[at_threshold] < 0.5).sum())
        assert classifier.decide(codes)[at_threshold].all()
    assert tied > 0
    assert wrong > 0


@given(st.integers(min_value=1, max_value=99), st.integers(min_value=1, max_value=99))
def test_the_comparison_is_at_least(p: int, t: int) -> None:
    """A posterior of p % is positive exactly for thresholds up to p %, whatever their binary fractions."""
    network = bt.BayesianNetwork([bt.Variable("C", ("c", "n"))], {}, {"C": [p / 100, (100 - p) / 100]})
    classifier = bt.Classifier(network, "C", "c", threshold=t / 100)
    assert classifier.decide({}) == (p >= t)


def test_rows_that_miss_one_are_read_as_divided_by_their_sum() -> None:
    """Three times 0.333 are three thirds, so two of three states have posterior 2/3 exactly."""
    third = bt.BayesianNetwork([bt.Variable("C", ("x", "y", "z"))], {}, {"C": [0.3333333, 0.3333333, 0.3333333]})
    exact = bt.Classifier(third, "C", ["x", "y"]).exact_posteriors.posteriors(np.empty((1, 0), dtype=int))
    assert exact == [Fraction(2, 3)]


@given(st.fractions(min_value=0, max_value=1))
def test_the_largest_float_at_most_a_fraction_is_just_that(number: Fraction) -> None:
    """It does not exceed the number as a decimal, and the next float does."""
    below = ties.float_at_most(number)
    assert ties.as_written(below) <= number < ties.as_written(math.nextafter(below, 2))


def test_out_of_reach_the_band_counts_as_positive_and_the_agreement_says_so() -> None:
    """Without exact arithmetic, tied instances are positive and their mass widens the interval."""
    coin = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "n")), bt.Variable("F", ("f", "g"))],
        {"F": ["C"]},
        {"C": [0.5, 0.5], "F": [[0.5, 0.5], [0.5, 0.5]]},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ties, "EXACT_OPERATIONS", 0)
        classifier = bt.Classifier(coin, "C", "c")
        assert classifier.decide([{"F": "f"}, {}]).tolist() == [True, True]
        agreement = bt.eca(classifier, ["F"], 0.25)
        assert (agreement.lower, agreement.upper, agreement.kind) == (0.0, 1.0, "certified")
    assert str(agreement) == "[0, 1]"
    assert agreement.width == 1
    assert 0.3 in agreement


def test_rows_with_too_long_a_common_denominator_are_out_of_reach() -> None:
    """A table whose rows have thousands of different sums is not carried as integers."""
    generator = np.random.default_rng(0)
    rows = generator.dirichlet(np.ones(3), size=2000)
    network = bt.BayesianNetwork(
        [bt.Variable("P", tuple(f"p{i}" for i in range(2000))), bt.Variable("C", ("a", "b", "c"))],
        {"C": ["P"]},
        {"P": np.full(2000, 1 / 2000), "C": rows},
    )
    classifier = bt.Classifier(network, "C", "a")
    for _ in range(2):  # and is not remembered as something else
        assert classifier.exact_posteriors.posteriors(np.zeros((1, 1), dtype=int)) == [None]


@given(st.randoms(use_true_random=False))
def test_maa_stays_a_bound_where_equal_posteriors_cannot_be_told_apart(random: Random) -> None:
    """Without exact arithmetic the interval of MAA still holds the true value."""
    classifier = generators.random_classifier(random)
    kept = generators.random_subset(random, classifier)
    exact = float(reference.maa(classifier, kept).value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ties, "EXACT_OPERATIONS", 0)
        found = bt.maa(classifier, kept).value
    assert found.lower - 1e-12 <= exact <= found.upper + 1e-12


def test_what_is_in_reach_is_decided_exactly_whatever_stands_beside_it() -> None:
    """A tied row whose exact arithmetic is out of reach does not make another one positive."""
    hidden = [bt.Variable(f"H{i}", ("0", "1")) for i in range(12)]
    middle = bt.Variable("M", ("0", "1"))
    rows = np.full((2,) * 13 + (2,), 0.5)
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "n")), bt.Variable("F", ("f", "g")), *hidden, middle],
        {"F": ["C"], "M": ["C", *(h.name for h in hidden)]},
        {"C": [0.07, 0.93], "F": np.full((2, 2), 0.5), "M": rows, **{h.name: np.full(2, 0.5) for h in hidden}},
    )
    classifier = bt.Classifier(network, "C", "c", ["F", "M"], threshold=math.nextafter(0.07, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ties, "EXACT_OPERATIONS", 100)
        assert classifier.decide({"F": "f"}) is False
        assert classifier.decide({"F": "f", "M": "0"}) is True  # out of reach: the band counts as positive
        assert classifier.decide([{"F": "f"}, {"F": "f", "M": "0"}]).tolist() == [False, True]


@pytest.mark.parametrize(("first", "second"), [(1e-17, 1e-18), (2e-17, 1e-17), (1e-15, 1e-17)])
def test_posteriors_between_which_no_float_lies_are_not_cut_apart(first: float, second: float) -> None:
    """A threshold is a 64-bit number: what only a finer one could separate counts as equal."""
    network = bt.BayesianNetwork(
        [bt.Variable("X", ("a", "b")), bt.Variable("C", ("+", "-")), bt.Variable("D", ("u", "v"))],
        {"C": ["X"], "D": ["X", "C"]},
        {"X": [0.5, 0.5], "C": [[1.0, first], [1.0, second]], "D": [[[0.5, 0.5]] * 2, [[1.0, 0.0], [0.0, 1.0]]]},
    )
    classifier = bt.Classifier(network, "C", "+", threshold=1.0)
    exact, found = reference.maa(classifier, ["X"]), bt.maa(classifier, ["X"])
    assert float(found) == pytest.approx(float(exact.value), abs=1e-13)
    assert float(bt.eca(classifier, ["X"], found.threshold)) == pytest.approx(float(found), abs=1e-13)


@given(st.randoms(use_true_random=False))
def test_crowded_posteriors_are_cut_where_a_float_allows(random: Random) -> None:
    """Posteriors of one minus a hair, a hair apart: the best cut that a float makes is found, and its threshold."""
    count = random.randint(2, 6)
    hairs = [random.choice([0.0, 1e-17, 2e-17, 1e-16, 1.2e-16, 3e-16, 1e-12, 1e-9, 0.3]) for _ in range(count)]
    c_given = np.array([[1.0 - hair, hair] for hair in hairs])
    d_given = np.array([[generators.random_row(random, 2) for _ in range(2)] for _ in range(count)])
    network = bt.BayesianNetwork(
        [
            bt.Variable("X", tuple(f"x{i}" for i in range(count))),
            bt.Variable("C", ("+", "-")),
            bt.Variable("D", ("u", "v")),
        ],
        {"C": ["X"], "D": ["X", "C"]},
        {"X": np.full(count, 1 / count), "C": c_given, "D": d_given},
    )
    classifier = bt.Classifier(network, "C", "+")
    classifier = generators.with_threshold(classifier, generators.random_threshold(random, classifier))
    exact, found = reference.maa(classifier, ["X"]), bt.maa(classifier, ["X"])
    assert float(found) == pytest.approx(float(exact.value), abs=1e-12)
    assert float(bt.eca(classifier, ["X"], found.threshold)) == pytest.approx(float(found), abs=2e-12)


def test_the_classifiers_own_threshold_is_kept_where_it_is_as_good() -> None:
    """Even if it lies between posteriors so close that nothing else asks to tell them apart."""
    gap = 1e-12
    network = bt.BayesianNetwork(
        [bt.Variable("F", ("a", "b", "c")), bt.Variable("C", ("+", "-"))],
        {"C": ["F"]},
        {"F": [0.4, 0.3, 0.3], "C": [[0.5, 0.5], [0.5 - gap, 0.5 + gap], [0.9, 0.1]]},
    )
    best = bt.maa(bt.Classifier(network, "C", "+", threshold=0.5), ["F"])
    assert float(best) == 1.0
    assert best.threshold == 0.5


def test_what_cannot_reach_the_class_does_not_put_exactness_out_of_reach() -> None:
    """A wide grid of features beside an isolated class costs exact arithmetic nothing."""
    side = 9
    name = {(i, j): f"H{i}_{j}" for i in range(side) for j in range(side)}
    parents = {name[i, j]: [name[k] for k in ((i - 1, j), (i, j - 1)) if k in name] for i, j in name}
    tables = {node: np.full((2,) * len(above) + (2,), 0.5) for node, above in parents.items()}
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "n")), *(bt.Variable(node, ("0", "1")) for node in parents)],
        parents,
        {"C": np.array([0.5, 0.5]), **tables},
    )
    classifier = bt.Classifier(network, "C", "c", threshold=0.5000000001)
    last = name[side - 1, side - 1]
    assert classifier.decide({last: "0"}) is False
    assert bt.eca(classifier.restricted([last]), []).kind == "exact"


def near_ties(gap: float) -> bt.Classifier:
    """Return a classifier of which two instances have posteriors a tiny gap apart, and opposite best decisions.

    F1 tells the instances apart, and the dropped F2 decides: with F1=+ mostly positive, with F1=- never. A threshold
    can follow only if F1=+ has the larger posterior, so only if the gap is positive.
    """
    f2_given = [[[1.0, 0.0], [0.7, 0.3]], [[0.5, 0.5], [0.5, 0.5]]]
    c_given = [[0.5, 0.5], [0.5 - gap, 0.5 + gap]]
    variables = [bt.Variable(name, ("+", "-")) for name in ("F1", "C", "F2")]
    network = bt.BayesianNetwork(
        variables, {"C": ["F1"], "F2": ["F1", "C"]}, {"F1": [0.5, 0.5], "C": c_given, "F2": f2_given}
    )
    return bt.Classifier(network, "C", "+", threshold=0.55)


@pytest.mark.parametrize("gap", [0.0, 1e-12, -1e-12, 1e-10, -1e-10, 1e-6])
def test_nearly_equal_posteriors_are_split_exactly_where_it_pays(gap: float) -> None:
    """Instances a hair apart may be cut apart; instances that are equal may not."""
    classifier = near_ties(gap)
    exact = reference.maa(classifier, ["F1"])
    found = bt.maa(classifier, ["F1"])
    assert found.value.kind == "exact"
    assert float(found) == pytest.approx(float(exact.value), abs=1e-13)
    assert float(found) == pytest.approx(0.925 if gap > 0 else 0.575, abs=1e-5)
    assert float(bt.eca(classifier, ["F1"], found.threshold)) == pytest.approx(float(found), abs=1e-13)


def test_what_does_not_matter_is_settled_once() -> None:
    """Features that tell nothing, or say the same in two states, do not multiply the exact work."""
    features = [bt.Variable(f"F{i}", ("y", "n")) for i in range(14)]
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "n")), *features, bt.Variable("G", ("a", "b", "like a"))],
        {**{f.name: ["C"] for f in features}, "G": ["C"]},
        {"C": [0.5, 0.5], **{f.name: [[0.3, 0.7]] * 2 for f in features}, "G": [[0.2, 0.4, 0.4], [0.1, 0.7, 0.2]]},
    )
    classifier = bt.Classifier(network, "C", "c", threshold=0.5)
    computed: list[int] = []
    compute = ClassMasses.__call__

    def counted(masses: ClassMasses, codes: IntArray) -> Any:
        computed.append(len(codes))
        return compute(masses, codes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClassMasses, "__call__", counted)
        assert float(bt.eca(classifier.restricted([f.name for f in features]), [])) == pytest.approx(1.0, abs=1e-15)
        assert bt.eca(classifier.restricted(["F1", "G"]), ["G"]).kind == "exact"
    assert sum(computed) <= 8


def random_cut(random: Random) -> tuple[np.ndarray, list[Fraction], list[Fraction], list[Fraction]]:
    """Return instances to cut: their masses in floats, and their exact posteriors and masses by decision."""
    count = random.randint(1, 9)
    tiny = Fraction(1, 10 ** random.randint(3, 15))
    bases = [
        random.choice([Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 10), tiny, 1 - tiny]) for _ in range(3)
    ]
    posteriors, positive, negative = [], [], []
    for _ in range(count):
        base = random.choice(bases)
        hair = random.randint(-4, 4) * Fraction(1, 10 ** random.choice([9, 10, 12, 14])) * min(base, 1 - base)
        posteriors.append(base + random.choice([0, 1]) * hair)
        mass = random.choice([Fraction(random.randint(1, 9)), Fraction(1, 10 ** random.randint(2, 200))])
        share = Fraction(random.randint(0, 10), 10)
        positive.append(mass * share)
        negative.append(mass * (1 - share))
    total = sum(positive) + sum(negative)
    positive, negative = [p / total for p in positive], [n / total for n in negative]
    chances = np.array([[posterior, 1 - posterior] for posterior in posteriors]).T
    table = np.array([positive, negative])[:, None, :] * chances
    return table.astype(float), posteriors, positive, negative


@given(st.randoms(use_true_random=False))
def test_the_best_cut_is_the_best_that_a_float_makes(random: Random) -> None:
    """Chains of nearly equal posteriors, zeros and tiny masses: the value, the interval and the kept threshold."""
    mass, posteriors, positive, negative = random_cut(random)
    preferred = random.choice([float(posteriors[0]), 0.5, 0.0, 1.0, bt.NEVER_POSITIVE])
    reach = random.choice([1.0, 1.0, 0.5])  # some exact posteriors may be out of reach
    known = [posterior if random.random() < reach else None for posterior in posteriors]
    cut = best_cut(mass, lambda chosen: [known[i] for i in chosen], preferred)

    def agreement(threshold: float) -> float:
        limit = ties.as_written(threshold)
        rows = zip(posteriors, positive, negative, strict=True)
        return float(sum(p if posterior >= limit else n for posterior, p, n in rows))

    near = [x for q in map(float, posteriors) for x in (q, math.nextafter(q, -1), math.nextafter(q, 2))]
    best = max(agreement(threshold) for threshold in [0.0, bt.NEVER_POSITIVE, *near] if threshold >= 0)
    assert cut.value - 3e-12 <= best <= cut.potential + 3e-12
    if None not in known:
        assert cut.value == pytest.approx(best, abs=3e-12)
        assert agreement(cut.thresholds.pick(preferred)) == pytest.approx(best, abs=3e-12)
        assert preferred in cut.thresholds or agreement(preferred) < best - 1e-13
