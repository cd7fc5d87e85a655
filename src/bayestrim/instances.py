"""The instances that a classifier meets: all of them with their probabilities, or a sample where they are too many."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bayestrim import inference
from bayestrim.classifier import Classifier
from bayestrim.errors import ImpossibleEvidenceError
from bayestrim.network import FloatArray
from bayestrim.rows import IntArray

MOST_INSTANCES = 1 << 16
"""Up to so many instances are listed one by one."""
SAMPLES = 20_000
"""So many are drawn where there are more."""
MOST_DRAWS = 1_000
"""For each instance wanted, so many are drawn in search of one that agrees with the evidence."""


@dataclass(frozen=True)
class Instances:
    """Instances of a classifier's features.

    Attributes
    ----------
    codes
        State numbers [instances, features].
    weights
        The probability of each instance; of a sample, its share.
    sampled
        Whether they were drawn, and others exist.
    """

    codes: IntArray
    weights: FloatArray
    sampled: bool

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.weights)


def instances_of(
    classifier: Classifier, most: int = MOST_INSTANCES, samples: int = SAMPLES, seed: int = 0
) -> Instances:
    """Return all instances of positive probability if they are at most so many, else a sample.

    Parameters
    ----------
    classifier
        The classifier; its evidence holds for every instance.
    most
        The most instances to be listed one by one.
    samples, seed
        How many are drawn instead, and the seed of the draw.

    Examples
    --------
    >>> import bayestrim as bt
    >>> quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+", ["Q1"])
    >>> instances_of(quiz).weights.round(12).tolist()
    [0.36, 0.64]
    """
    if math.prod(len(variable) for variable in classifier.feature_variables) <= most:
        return _listed(classifier)
    return _drawn(classifier, samples, seed)


def _listed(classifier: Classifier) -> Instances:
    single = [i for i, variable in enumerate(classifier.feature_variables) if len(variable) > 1]
    names = [classifier.features[i] for i in single]  # an array has at most 64 axes
    joint = inference.joint_table(classifier.network, classifier.target, names, classifier.evidence_codes)
    mass = joint.sum(axis=0)
    possible = np.argwhere(mass > 0)
    codes = np.zeros((len(possible), len(classifier.features)), dtype=np.int64)
    codes[:, single] = possible
    weights = mass[mass > 0]
    return Instances(codes, weights / weights.sum(), sampled=False)


def _drawn(classifier: Classifier, samples: int, seed: int) -> Instances:
    network = classifier.network.ancestral([classifier.target, *classifier.features, *classifier.evidence])
    generator = np.random.default_rng(seed)
    found: list[IntArray] = []
    accepted = drawn = 0
    while accepted < samples and drawn < MOST_DRAWS * samples:
        states = inference.sample(network, samples, generator)
        fitting = np.ones(samples, dtype=bool)
        for name, code in classifier.evidence_codes.items():
            fitting &= states[name] == code
        rows = np.empty((int(fitting.sum()), len(classifier.features)), dtype=np.int64)
        for place, name in enumerate(classifier.features):
            rows[:, place] = states[name][fitting]
        found.append(rows)
        accepted, drawn = accepted + len(found[-1]), drawn + samples
    codes = np.concatenate(found)[:samples]
    if not len(codes):
        raise ImpossibleEvidenceError(
            f"none of {drawn:,} instances drawn agrees with the evidence {dict(classifier.evidence)}"
        )
    return Instances(codes, np.full(len(codes), 1 / len(codes)), sampled=True)
