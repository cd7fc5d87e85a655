"""What dropping one more feature would change: counted where instances are few, estimated from a sample elsewhere."""

from __future__ import annotations

import numpy as np

from bayestrim.classifier import BoolArray
from bayestrim.instances import instances_of
from bayestrim.network import FloatArray
from bayestrim.trimming import Trimming

EQUAL = 1e-9
"""Posteriors nearer to each other than this are not cut apart."""


def losses(result: Trimming, most: int) -> dict[str, float]:
    """Return how much less often decisions stay the same if one more of the kept features is dropped.

    Parameters
    ----------
    result
        The answer.
    most
        Of more kept features than this, nothing is computed.
    """
    classifier, kept = result.problem.classifier, result.features
    if len(kept) > most:
        return {}
    seen = instances_of(classifier)
    was = classifier.decide(seen.codes)

    def agreement(names: tuple[str, ...]) -> float:
        trimmed = classifier.restricted(names)
        codes = seen.codes[:, [classifier.features.index(name) for name in names]]
        if result.problem.threshold == "keep":
            return float(seen.weights[was == trimmed.decide(codes)].sum())
        return best_cut(np.asarray(trimmed.posterior(codes)), was, seen.weights)

    whole = agreement(kept)
    return {name: max(0.0, whole - agreement(tuple(n for n in kept if n != name))) for name in kept}


def best_cut(posteriors: FloatArray, was: BoolArray, weights: FloatArray) -> float:
    """Return how often a threshold on posteriors can agree with decisions, at best.

    Examples
    --------
    >>> best_cut(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, True, False, True]), np.array([0.4, 0.1, 0.2, 0.3]))
    0.9
    """
    order = np.argsort(posteriors)
    gains = np.cumsum(np.where(was, -weights, weights)[order])  # of deciding all up to here negative
    last = np.append(np.diff(posteriors[order]) > EQUAL, True)  # of those that cannot be told apart
    return float(weights[was].sum() + max(0.0, gains[last].max(initial=0.0)))
