"""What kind of instances change their decision when features are dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bayestrim.classifier import BoolArray, Classifier
from bayestrim.instances import Instances, instances_of
from bayestrim.network import FloatArray
from bayestrim.rows import IntArray, distinct
from bayestrim.trimming import Trimming


@dataclass(frozen=True)
class Change:
    """An instance whose decision changes.

    Attributes
    ----------
    row
        Its states, by feature: the kept ones and the dropped ones.
    probability
        How probable it is.
    before, after
        The posteriors with all features, and with the kept ones alone.
    was, becomes
        The decisions: whether they are positive.
    """

    row: Mapping[str, str]
    probability: float
    before: float
    after: float
    was: bool
    becomes: bool


@dataclass(frozen=True)
class Explanation:
    """A state of a feature that is seen more often where decisions change than elsewhere.

    Attributes
    ----------
    feature, state
        The feature and its state.
    share
        How often it is seen among the instances that change.
    usual
        How often it is seen among all instances.
    information
        How much the feature tells about whether the decision changes, in nats.
    """

    feature: str
    state: str
    share: float
    usual: float
    information: float


@dataclass(frozen=True)
class Changes:
    """Which decisions change.

    Attributes
    ----------
    gained, lost
        The probability that a negative decision becomes positive, and that a positive one becomes negative.
    disagreeing
        The most probable instances that change.
    explaining
        The single features that tell most about whether a decision changes, best first, each with the state that is
        more frequent among changes by the largest part of them.
    sampled
        Whether instances were too many to list, so that all this comes from a sample.
    """

    gained: float
    lost: float
    disagreeing: tuple[Change, ...]
    explaining: tuple[Explanation, ...]
    sampled: bool

    @property
    def changed(self) -> float:
        """The probability that a decision changes."""
        return self.gained + self.lost


def changes(result: Trimming, most: int = 10) -> Changes:
    """Return what kind of instances change their decision.

    Parameters
    ----------
    result
        What a search found.
    most
        How many instances, and how many features, are returned at most.

    Examples
    --------
    >>> import bayestrim as bt
    >>> quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+", threshold=0.07)
    >>> found = changes(bt.trim(quiz, budget=2))
    >>> round(found.gained, 4), round(found.lost, 4)
    (0.0, 0.0252)
    >>> [(dict(change.row), round(change.probability, 4)) for change in found.disagreeing]
    [({'Q1': '+', 'Q2': '-', 'Q3': '+'}, 0.0252)]
    """
    before, after = result.problem.classifier, result.classifier
    instances = _merged(instances_of(before))
    kept = [before.features.index(name) for name in after.features]
    was, becomes = before.decide(instances.codes), after.decide(instances.codes[:, kept])
    changed = was != becomes
    top = np.flatnonzero(changed)[np.argsort(-instances.weights[changed], kind="stable")[:most]]
    codes = instances.codes[top]
    posteriors = zip(before.posterior(codes).tolist(), after.posterior(codes[:, kept]).tolist(), strict=True)
    disagreeing = tuple(
        Change(_row(before, instances.codes[i]), float(instances.weights[i]), *pair, bool(was[i]), bool(becomes[i]))
        for i, pair in zip(top, posteriors, strict=True)
    )
    return Changes(
        float(instances.weights[~was & becomes].sum()),
        float(instances.weights[was & ~becomes].sum()),
        disagreeing,
        _explaining(before, instances, changed, most),
        instances.sampled,
    )


def _merged(instances: Instances) -> Instances:
    """Return instances with those that were drawn several times as one."""
    codes, number = distinct(instances.codes)
    return Instances(codes, _masses(number, instances.weights, len(codes)), instances.sampled)


def _masses(codes: IntArray, weights: FloatArray, size: int) -> FloatArray:
    return np.bincount(codes, weights, size).astype(np.float64)


def _row(classifier: Classifier, codes: IntArray) -> dict[str, str]:
    return {v.name: v.states[code] for v, code in zip(classifier.feature_variables, codes, strict=True)}


def _explaining(classifier: Classifier, instances: Instances, changed: BoolArray, most: int) -> tuple[Explanation, ...]:
    if not changed.any():
        return ()
    found = []
    for place, variable in enumerate(classifier.feature_variables):
        codes = instances.codes[:, place]
        every = _masses(codes, instances.weights, len(variable))
        among = _masses(codes[changed], instances.weights[changed], len(variable))
        share, usual = among / among.sum(), every / every.sum()
        state = int(np.argmax(share - usual))
        found.append(
            Explanation(
                variable.name, variable.states[state], float(share[state]), float(usual[state]), _tells(among, every)
            )
        )
    found.sort(key=lambda item: -item.information)
    return tuple(item for item in found[:most] if item.information > 0 and item.share > item.usual)


def _tells(among: FloatArray, every: FloatArray) -> float:
    """Return the mutual information of a feature and of whether the decision changes, in nats."""
    joint = np.stack([among, np.maximum(every - among, 0.0)]) / every.sum()
    apart = joint.sum(axis=0) * joint.sum(axis=1, keepdims=True)
    seen = (joint > 0) & (apart > 0)
    value = float((joint[seen] * np.log(joint[seen] / apart[seen])).sum())
    return value if value > 1e-12 else 0.0
