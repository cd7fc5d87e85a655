"""Random classifiers of any size, the same for the same seed, for benchmarks and for tests of large problems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import bayestrim as bt


def random_naive_bayes(features: int, seed: int, threshold: float = 0.5) -> bt.Classifier:
    """Return a naive Bayes classifier of two-valued features.

    The prior is uniform from 0.2 to 0.8. Each feature has a base log-odds, uniform from -2 to 2, and a standard normal
    difference, half of which is added under the positive class and half of which is taken away under the negative one.

    Parameters
    ----------
    features
        How many.
    seed
        The same seed gives the same classifier.
    threshold
        The classifier's threshold.
    """
    random = np.random.default_rng(seed)
    prior = float(random.uniform(0.2, 0.8))
    base, difference = random.uniform(-2, 2, features), random.normal(0, 1, features)
    chances = [1 / (1 + np.exp(-(base + sign * difference / 2))) for sign in (1, -1)]
    tables = [[[float(p), 1 - float(p)] for p in pair] for pair in zip(*chances, strict=True)]
    return naive_bayes(prior, tables, threshold)


def random_many_valued(features: int, seed: int, states: Sequence[int] = (3, 4, 5)) -> bt.Classifier:
    """Return a naive Bayes classifier of features with some numbers of states, of which each gets one at random.

    As above, but each state of a feature has a base and a difference of its own.

    Parameters
    ----------
    features
        How many.
    seed
        The same seed gives the same classifier.
    states
        The numbers of states to choose from.
    """
    random = np.random.default_rng(seed)
    prior = float(random.uniform(0.2, 0.8))
    tables = []
    for count in random.choice(states, features):
        base, difference = random.uniform(-2, 2, count), random.normal(0, 1, count)
        weights = [np.exp(base + sign * difference / 2) for sign in (1, -1)]
        tables.append([(side / side.sum()).tolist() for side in weights])
    return naive_bayes(prior, tables)


def naive_bayes(prior: float, tables: Sequence[Sequence[Sequence[float]]], threshold: float = 0.5) -> bt.Classifier:
    """Return a naive Bayes classifier.

    Parameters
    ----------
    prior
        The probability of the positive class.
    tables
        For each feature the probabilities of its states, first under the positive and then under the negative class.
    threshold
        The classifier's threshold.
    """
    names = [f"F{i}" for i in range(len(tables))]
    variables = [
        bt.Variable(name, tuple(f"s{j}" for j in range(len(table[0]))))
        for name, table in zip(names, tables, strict=True)
    ]
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "not c")), *variables],
        {name: ["C"] for name in names},
        {"C": [prior, 1 - prior], **dict(zip(names, tables, strict=True))},
    )
    return bt.Classifier(network, "C", "c", names, threshold)
