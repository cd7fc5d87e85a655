"""Where a search starts: greedy removal and swaps, and the rankings that others use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from bayestrim.classifier import Classifier
from bayestrim.inference import joint_table
from bayestrim.network import FloatArray
from bayestrim.purse import Purse

Subsets = npt.NDArray[np.bool_]
Evaluate = Callable[[Subsets], FloatArray]
"""Gives the losses of subsets [subsets, features]."""

ENOUGH = 1e-12
"""A change must improve the loss by more than this, which rounding could."""


def never() -> bool:
    """Return that the time is not over."""
    return False


def greedy(purse: Purse, evaluate: Evaluate, is_over: Callable[[], bool] = never) -> npt.NDArray[np.bool_]:
    """Return a good affordable subset: remove what hurts least for its price, then swap while that helps.

    Parameters
    ----------
    purse
        What may be bought; what is required can be paid.
    evaluate
        Gives the losses of subsets.
    is_over
        Tells whether the time is over: then whatever is affordable will do.
    """
    return swapped(_remove(purse, evaluate, is_over), purse, evaluate, is_over)


def swapped(
    kept: npt.NDArray[np.bool_], purse: Purse, evaluate: Evaluate, is_over: Callable[[], bool] = never
) -> npt.NDArray[np.bool_]:
    """Return what comes of an affordable subset by adding and exchanging features while that helps."""
    loss = float(evaluate(kept[None])[0])
    while True:
        if is_over():
            return kept
        neighbours = _neighbours(kept, purse)
        if not len(neighbours):
            return kept
        losses = evaluate(neighbours)
        best = int(np.argmin(losses))
        if losses[best] >= loss - ENOUGH:
            return kept
        kept, loss = neighbours[best], float(losses[best])


def sweep(
    purse: Purse, evaluate: Evaluate, is_over: Callable[[], bool] = never
) -> Iterator[tuple[npt.NDArray[np.bool_], float]]:
    """Yield ever cheaper subsets with their losses: each leaves out what hurts least for what it saves.

    The first keeps all that is affordable, or nearly; the last only what must be kept, and what is free, unless the
    time is over before.
    """
    kept = _remove(purse, evaluate, is_over)
    cheaper = replace(purse, budget=purse.price(purse.required), most=len(purse.costs))
    while True:
        yield kept, float(evaluate(kept[None])[0])
        if cheaper.fits(kept[None])[0] or is_over():
            return
        kept = _smaller(kept, cheaper, evaluate)


def within_reach(purse: Purse) -> npt.NDArray[np.bool_]:
    """Return the features that can be kept beside those that must."""
    every = [sorted({*purse.required, i}) for i in range(len(purse.costs))]
    return np.array([purse.affords(kept) for kept in every], dtype=bool)


def _remove(purse: Purse, evaluate: Evaluate, is_over: Callable[[], bool] = never) -> npt.NDArray[np.bool_]:
    kept = within_reach(purse)
    kept[list(purse.required)] = True
    while not purse.fits(kept[None])[0]:
        kept = _smaller(kept, purse, _alike if is_over() else evaluate)
    return kept


def _alike(subsets: Subsets) -> FloatArray:
    """Take all subsets for equally good."""
    return np.zeros(len(subsets))


def _smaller(kept: npt.NDArray[np.bool_], purse: Purse, evaluate: Evaluate) -> npt.NDArray[np.bool_]:
    """Return a subset without the feature that hurts least for what it saves."""
    worth = _savings(kept, purse)
    removable = np.flatnonzero(worth > 0)
    smaller = np.repeat(kept[None], len(removable), axis=0)
    smaller[np.arange(len(removable)), removable] = False
    losses = evaluate(smaller)
    best = int(np.argmin((losses - losses.min() + ENOUGH) / worth[removable]))
    return np.asarray(smaller[best])


def _savings(kept: npt.NDArray[np.bool_], purse: Purse) -> FloatArray:
    """Return how much nearer to what is affordable removing each feature comes; [features].

    A feature saves its cost and its share of each set-up that could be saved; saving more than the excess is worth no
    more. Where too many features are kept, each saves one of them.
    """
    saved = np.array(purse.costs, dtype=float)
    owed = purse.needed(purse.required)
    for s, price in enumerate(purse.setups):
        members = kept & np.array([need >> s & 1 == 1 for need in purse.needs], dtype=bool)
        if not owed >> s & 1:
            saved[members] += price / max(1, int(members.sum()))
    excess, surplus = int(purse.spent(kept[None])[0]) - purse.budget, int(kept.sum()) - purse.most
    worth = np.minimum(saved, excess) / excess if excess > 0 else np.zeros(len(saved))
    worth += 1 / surplus if surplus > 0 else 0.0
    worth[~kept] = 0.0
    worth[list(purse.required)] = 0.0
    return np.asarray(worth, dtype=float)


def _neighbours(kept: npt.NDArray[np.bool_], purse: Purse) -> Subsets:
    """Return the affordable subsets with one feature more, or one exchanged for another."""
    outside, inside = np.flatnonzero(~kept), np.flatnonzero(kept)
    added = np.tile(outside, len(inside) + 1)
    taken = np.repeat([-1, *inside], len(outside))
    subsets = np.repeat(kept[None], len(added), axis=0)
    rows = np.arange(len(added))
    subsets[rows, added] = True
    subsets[rows[taken >= 0], taken[taken >= 0]] = False
    return subsets[purse.fits(subsets)]


def information_gain(classifier: Classifier) -> dict[str, float]:
    """Return how much each feature tells about whether the class is positive: their mutual information in nats.

    Examples
    --------
    >>> import bayestrim as bt
    >>> quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+")
    >>> {name: round(gain, 4) for name, gain in information_gain(quiz).items()}
    {'Q1': 0.0711, 'Q2': 0.0207, 'Q3': 0.0092}
    """
    return {name: gain(classifier, name) for name in classifier.features}


def gain(classifier: Classifier, name: str) -> float:
    """Return how much one feature tells about whether the class is positive."""
    states = classifier.positive_states
    joint = joint_table(classifier.network, classifier.target, [name], classifier.evidence_codes)
    return mutual_information(np.stack([joint[states].sum(axis=0), joint[~states].sum(axis=0)]))


def mutual_information(sides: FloatArray) -> float:
    """Return what a table of positive and negative masses of each state [2, states] says, in nats."""
    sides = sides / sides.sum()
    apart = sides.sum(axis=0) * sides.sum(axis=1, keepdims=True)
    seen = sides > 0
    return max(0.0, float((sides[seen] * np.log(sides[seen] / apart[seen])).sum()))


def by_rank(scores: Sequence[float], purse: Purse) -> npt.NDArray[np.bool_]:
    """Return what is required, and features in the order of their scores, each that can still be paid."""
    chosen = list(purse.required)
    for i in sorted(set(range(len(scores))) - set(chosen), key=lambda i: (-scores[i], i)):
        if purse.affords([*chosen, i]):
            chosen.append(i)
    kept = np.zeros(len(scores), dtype=bool)
    kept[chosen] = True
    return kept
