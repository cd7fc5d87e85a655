"""What the paper's evaluation computes for all subsets at once is what the package says of each."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import bayestrim as bt
from benchmarks import datasets, subsets


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
