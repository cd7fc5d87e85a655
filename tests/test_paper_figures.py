"""What the paper's evaluation computes for all subsets at once is what the package says of each."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import bayestrim as bt
from benchmarks import datasets, paper_roots, paper_threshold, subsets
from benchmarks.models import model_files


def test_agreements_of_all_subsets_are_those_of_the_package() -> None:
    """The table of all MAAs holds each subset within the budget, with the value that `maa` gives."""
    model = datasets.learn(datasets.load("bupa"))
    classifier = model.classifier()
    found = subsets.agreements(model, 3)
    assert len(found) == len(subsets.feasible(6, 3)) == 42
    for kept in Random(1).sample(sorted(found), 12):
        assert found[kept] == pytest.approx(float(bt.maa(classifier, [model.features[i] for i in kept])), abs=1e-12)


def test_the_best_of_all_subsets_is_what_trimming_finds() -> None:
    """The search and the whole table name the same optimum."""
    model = datasets.learn(datasets.load("pima"))
    assert float(bt.trim(model.classifier(), 4).agreement) == pytest.approx(
        max(subsets.agreements(model, 4).values()), abs=1e-12
    )


def test_accuracies_of_all_subsets_are_those_of_decisions() -> None:
    """Counting right decisions of restricted classifiers gives the same accuracies."""
    data = datasets.load("heart")
    model = datasets.learn(data, np.arange(200))
    codes = model.codes(data.cells)
    masks = subsets.feasible(len(model.features), 2)[::7]
    found = subsets.accuracy(model.log_odds(codes), model.bias, data.positive, masks)
    for mask, share in zip(masks, found, strict=True):
        kept = model.classifier().restricted(np.array(model.features)[mask].tolist())
        assert (kept.decide(codes[:, mask]) == data.positive).mean() == pytest.approx(share, abs=1e-6)


def test_the_frontier_holds_what_nothing_exceeds() -> None:
    """Every other point is at most as good in both numbers as some point of the frontier."""
    random = np.random.default_rng(3)
    one, other = random.integers(0, 6, 40).astype(float), random.integers(0, 6, 40).astype(float)
    front = subsets.pareto(one, other)
    for a, b in zip(one, other, strict=True):
        assert any(one[i] >= a and other[i] >= b for i in front)
    assert (np.diff(one[front]) > 0).all()
    assert (np.diff(other[front]) < 0).all()


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.9])
def test_trying_every_subset_agrees_with_the_package(threshold: float) -> None:
    """Of all affordable subsets, the best with the old and with a new threshold are those that searches prove."""
    classifier = datasets.learn(datasets.load("pima")).classifier(threshold)
    found = paper_threshold.instance("pima", classifier)
    assert found.new == pytest.approx(float(bt.trim(classifier, 2).agreement), abs=1e-12)
    assert found.kept == pytest.approx(float(bt.trim(classifier, 2, threshold="keep").agreement), abs=1e-12)
    rising = [found.kept_exactly, found.kept, found.least, found.most, found.new]
    assert (np.diff(rising) > -1e-12).all()


def test_each_subset_has_the_agreements_of_its_features() -> None:
    """The empty subset comes last and the first features first; both have what `eca` and `maa` say of them."""
    classifier = datasets.learn(datasets.load("bupa")).classifier(0.4)
    found = paper_threshold.subsets(classifier, 2)
    assert len(found) == 22
    for one, kept in ((found[0], classifier.features[:2]), (found[-1], ())):
        assert one.size == len(kept)
        assert one.kept == pytest.approx(float(bt.eca(classifier, kept, 0.4)), abs=1e-12)
        assert one.best == pytest.approx(float(bt.maa(classifier, kept)), abs=1e-12)


def test_a_threshold_that_ties_is_counted_as_positive() -> None:
    """Equal masses at one half are decided positive."""
    sides = np.array([[0.25, 0.1, 0.0], [0.25, 0.2, 0.3]])
    assert paper_threshold.positive(sides, 0.5).tolist() == [True, False, False]


def test_three_classes_are_recognised_by_their_mean() -> None:
    """Of random curves, the three whose mean is looked for come first, with the right sides of the class."""
    random = np.random.default_rng(8)
    known: dict[paper_roots.Signed, datasets.Floats] = {}
    for name in "abcdef":
        curve = random.random(9)
        known[paper_roots.Signed(name, True)], known[paper_roots.Signed(name, False)] = curve, curve[::-1]
    wanted = (paper_roots.Signed("a", True), paper_roots.Signed("c", False), paper_roots.Signed("f", True))
    ranked = paper_roots.triples(known, np.mean([known[one] for one in wanted], axis=0))
    assert len(ranked) == 20 * 2**3
    assert set(ranked[0][1]) == set(wanted)
    assert ranked[0][0] < 1e-12 < ranked[1][0]


def test_the_features_that_tell_least_leave_the_prior_decision() -> None:
    """Kept features without information decide as none do; those of highest gain agree at least as often."""
    network = bt.read_network(model_files()["win95pts"])
    (one,) = three = (paper_roots.Signed("PrtDriver", True),)
    least, most = (paper_roots.by_gain("win95pts", three, sign) for sign in (-1, 1))
    for place, threshold in enumerate(paper_roots.THRESHOLDS):
        classifier = bt.Classifier(network, one.name, network.states(one.name)[0], network.leaves, threshold)
        assert least[place] == pytest.approx(float(bt.eca(classifier, (), threshold)), abs=1e-12)
    assert (most > least - 1e-12).all()
    assert (most > least + 0.01).sum() > 4
