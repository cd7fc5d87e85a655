"""Where a search starts: greedy removal and swaps, and the rankings that others use."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from bayestrim.classifier import Classifier
from bayestrim.inference import joint_table
from bayestrim.network import FloatArray

Subsets = npt.NDArray[np.bool_]
Evaluate = Callable[[Subsets], FloatArray]
"""Gives the losses of subsets [subsets, features]."""

ENOUGH = 1e-12
"""A change must improve the loss by more than this, which rounding could."""


def greedy(costs: Sequence[int], budget: int, evaluate: Evaluate) -> npt.NDArray[np.bool_]:
    """Return a good affordable subset: remove what hurts least for its price, then swap while that helps.

    Parameters
    ----------
    costs, budget
        Integers.
    evaluate
        Gives the losses of subsets.
    """
    price = np.array(costs, dtype=np.int64)
    kept = _remove(price, budget, evaluate)
    loss = float(evaluate(kept[None])[0])
    while True:
        neighbours = _neighbours(kept, price, budget)
        if not len(neighbours):
            return kept
        losses = evaluate(neighbours)
        best = int(np.argmin(losses))
        if losses[best] >= loss - ENOUGH:
            return kept
        kept, loss = neighbours[best], float(losses[best])


def _remove(price: npt.NDArray[np.int64], budget: int, evaluate: Evaluate) -> npt.NDArray[np.bool_]:
    kept = price <= budget
    loss = float(evaluate(kept[None])[0])
    while price[kept].sum() > budget:
        removable = np.flatnonzero(kept & (price > 0))
        smaller = np.repeat(kept[None], len(removable), axis=0)
        smaller[np.arange(len(removable)), removable] = False
        losses = evaluate(smaller)
        excess = price[kept].sum() - budget
        saved = np.minimum(price[removable], excess)  # saving more than the excess is worth no more
        best = int(np.argmin((losses - loss + ENOUGH) / saved))
        kept, loss = smaller[best], float(losses[best])
    return kept


def _neighbours(kept: npt.NDArray[np.bool_], price: npt.NDArray[np.int64], budget: int) -> Subsets:
    """Return the affordable subsets with one feature more, or one exchanged for another."""
    left = budget - int(price[kept].sum())
    outside, inside = np.flatnonzero(~kept), np.flatnonzero(kept)
    moves: list[tuple[int, int]] = [(-1, int(new)) for new in outside if price[new] <= left]
    moves += [(int(old), int(new)) for new in outside for old in inside if price[new] <= left + price[old]]
    subsets = np.repeat(kept[None], len(moves), axis=0)
    for row, (old, new) in enumerate(moves):
        subsets[row, new] = True
        if old >= 0:
            subsets[row, old] = False
    return subsets


def information_gain(classifier: Classifier) -> dict[str, float]:
    """Return how much each feature tells about whether the class is positive: their mutual information in nats.

    Examples
    --------
    >>> import bayestrim as bt
    >>> quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+")
    >>> {name: round(gain, 4) for name, gain in information_gain(quiz).items()}
    {'Q1': 0.0711, 'Q2': 0.0207, 'Q3': 0.0092}
    """
    states = classifier.positive_states
    gains = {}
    for name in classifier.features:
        joint = joint_table(classifier.network, classifier.target, [name], classifier.evidence_codes)
        sides = np.stack([joint[states].sum(axis=0), joint[~states].sum(axis=0)])
        sides /= sides.sum()
        apart = sides.sum(axis=0) * sides.sum(axis=1, keepdims=True)
        seen = sides > 0
        gains[name] = max(0.0, float((sides[seen] * np.log(sides[seen] / apart[seen])).sum()))
    return gains


def by_rank(scores: Sequence[float], costs: Sequence[int], budget: int) -> npt.NDArray[np.bool_]:
    """Return the subset that takes features in the order of their scores, each that can still be paid."""
    kept = np.zeros(len(scores), dtype=bool)
    left = budget
    for i in sorted(range(len(scores)), key=lambda i: -scores[i]):
        if costs[i] <= left:
            kept[i] = True
            left -= costs[i]
    return kept
