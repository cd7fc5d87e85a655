"""All feasible subsets of a naive Bayes classifier's features at once: their agreement, and their accuracy on rows."""

from __future__ import annotations

import itertools

import numpy as np

from benchmarks.datasets import Codes, DataSet, Floats, Mask, NaiveBayes, tables

FOLDS = 10
BLOCK = 1 << 10
"""Subsets whose accuracy is computed at a time, so few that they stay in a processor's cache."""


def feasible(features: int, budget: int) -> Mask:
    """Return all subsets of at most so many features, as a mask [subsets, features]."""
    chosen = [subset for size in range(budget + 1) for subset in itertools.combinations(range(features), size)]
    masks = np.zeros((len(chosen), features), dtype=bool)
    for row, subset in enumerate(chosen):
        masks[row, list(subset)] = True
    return masks


def agreements(model: NaiveBayes, budget: int) -> dict[tuple[int, ...], float]:
    """Return the best agreement (MAA) with the whole classifier at threshold 0.5 of every subset within the budget.

    The features are independent given the class, so the best decisions are a threshold's: the MAA is the sum over all
    instances of what is kept of the larger of two masses, decided positive and decided negative. Dropping a feature
    sums its axis out of both.
    """
    mass = np.stack([model.prior[0:1], model.prior[1:2]]).reshape(2)
    for table in model.tables:
        mass = mass[..., None] * table.reshape(2, *([1] * (mass.ndim - 1)), -1)
    positive = mass[1] >= mass[0]
    total = mass.sum(axis=0)
    decided = np.stack([np.where(positive, total, 0), np.where(positive, 0, total)])
    found: dict[tuple[int, ...], float] = {}
    _fill(found, decided, (), 0, len(model.tables), budget)
    return found


def _fill(
    found: dict[tuple[int, ...], float], decided: Floats, kept: tuple[int, ...], feature: int, count: int, left: int
) -> None:
    if feature == count:
        found[kept] = float(decided.max(axis=0).sum())
        return
    if left:
        _fill(found, decided, (*kept, feature), feature + 1, count, left - 1)
    _fill(found, decided.sum(axis=1 + len(kept)), kept, feature + 1, count, left)


def accuracy(odds: Floats, bias: float, positive: Mask, masks: Mask) -> Floats:
    """Return how often each subset, at threshold 0.5, is right.

    Parameters
    ----------
    odds
        What each value of each row says for the positive class [rows, features].
    bias
        The prior's log-odds.
    positive
        The truth about the rows.
    masks
        The subsets [subsets, features].
    """
    said = odds.astype(np.float32)
    right = np.zeros(len(masks))
    for start in range(0, len(masks), BLOCK):
        block = slice(start, start + BLOCK)
        decided = said @ masks[block].T.astype(np.float32) >= np.float32(-bias)
        right[block] = (decided == positive[:, None]).sum(axis=0, dtype=np.int32)
    return right / len(odds)


def cross_validated(data: DataSet, rows: Codes, model: NaiveBayes, masks: Mask, seed: int) -> Floats:
    """Return the mean accuracy of every subset over ten folds of some rows, with the cuts of a model learnt from all.

    Only the probabilities are learnt again in each fold.
    """
    codes, positive = model.codes(data.cells[rows]), data.positive[rows]
    fold = np.random.default_rng(seed).permutation(len(rows)) % FOLDS
    sizes = [len(states.names) for states in model.states]
    total = np.zeros(len(masks))
    for out in range(FOLDS):
        inside, outside = fold != out, fold == out
        prior = np.bincount(positive[inside], minlength=2) + 1.0
        learnt = NaiveBayes(
            model.features, model.states, prior / prior.sum(), tables(codes[inside], positive[inside], sizes)
        )
        total += accuracy(learnt.log_odds(codes[outside]), learnt.bias, positive[outside], masks)
    return total / FOLDS


def pareto(one: Floats, other: Floats) -> Codes:
    """Return the points that no point exceeds in both numbers, in the order of the first."""
    order = np.lexsort((-other, -one))
    best, front = -np.inf, []
    for i in order.tolist():
        if other[i] > best:
            front.append(i)
            best = other[i]
    return np.array(front[::-1], dtype=np.int64)
