"""Families of random naive Bayes classifiers in which one thing varies, for the study of how searches grow.

Unless a family says otherwise its classifiers are those of `instances`: two states, a prior between 0.2 and 0.8, and
for each feature a base log-odds and a difference between the classes, the feature's *strength* being the size of that
difference. 40 features, a price of 1 each, a budget of a third.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import bayestrim as bt
from benchmarks.instances import naive_bayes, random_many_valued, random_naive_bayes

FEATURES = 40
PRICES = 5
"""Prices go from 1 to this."""
GROUP = 8
"""How many features resemble each other where some do."""
Floats = npt.NDArray[np.float64]


class Instance(NamedTuple):
    """A problem: what is trimmed, the budget, and the prices (None: 1 each)."""

    classifier: bt.Classifier
    budget: int
    costs: dict[str, float] | None = None


class Case(NamedTuple):
    """Some instances of a family: the value of what varies, the number of features, and how a seed makes one."""

    family: str
    value: float
    features: int
    make: Callable[[int], Instance]


FAMILIES = {
    "features, budget a third": "number of features",
    "features, budget 8": "number of features",
    "budget": "budget",
    "states": "states of each, 24 features, budget 8",
    "prior": "prior of the positive class",
    "price and strength": "correlation of price and strength",
    "strengths alike": "correlation within groups of 8",
    "equal features": "kinds of features",
    "strength falls": "strongest over weakest",
}
"""Every family, and what varies in it."""


def cases() -> Iterator[Case]:
    """Yield every case, family by family."""
    third, eight = list(FAMILIES)[:2]
    for features in (10, 20, 30, 35, 40, 45, 50, 55, 60, 80, 100, 150, 200):
        yield Case(third, features, features, partial(plain, features, features // 3))
    for features in (10, 20, 30, 40, 50, 60, 80, 100, 150, 200):
        yield Case(eight, features, features, partial(plain, features, 8))
    for budget in (2, 5, 8, 10, 13, 16, 20, 25, 30, 35, 38):
        yield Case("budget", budget, FEATURES, partial(plain, FEATURES, budget))
    for states in (2, 3, 4, 5, 6):
        yield Case("states", states, 24, partial(of_states, 24, 8, states))
    for prior in (0.5, 0.2, 0.1, 0.03, 0.01, 0.003, 0.001):
        yield Case("prior", prior, FEATURES, partial(skewed, prior))
    for correlation in (-1.0, -0.5, 0.0, 0.5, 1.0):
        yield Case("price and strength", correlation, FEATURES, partial(priced, correlation))
    for correlation in (0.0, 0.5, 0.9, 0.99, 1.0):
        yield Case("strengths alike", correlation, FEATURES, partial(alike, correlation))
    for kinds in (2, 5, 10, 20, 40):
        yield Case("equal features", kinds, FEATURES, partial(of_kinds, kinds))
    for ratio in (1.0, 3.0, 10.0, 30.0, 100.0):
        yield Case("strength falls", ratio, FEATURES, partial(falling, ratio))


def plain(features: int, budget: int, seed: int) -> Instance:
    """Return so many features."""
    return Instance(random_naive_bayes(features, seed), budget)


def of_states(features: int, budget: int, states: int, seed: int) -> Instance:
    """Return features of so many states."""
    return Instance(random_many_valued(features, seed, states=(states,)), budget)


def skewed(prior: float, seed: int) -> Instance:
    """Return a class of some probability."""
    return _instance(*_drawn(np.random.default_rng(seed)), prior)


def priced(correlation: float, seed: int) -> Instance:
    """Return prices that go with the features' strength, or against it.

    Strengths become normal scores (the quantiles of their ranks). A price's rank is that of the score times the
    correlation plus an independent normal number times what makes the variance 1; a fifth of the features has each
    price. The budget is a third of all prices.
    """
    random = np.random.default_rng(seed)
    base, difference = _drawn(random)
    score = np.sort(random.normal(0, 1, 10_000))[_ranks(np.abs(difference)) * 10_000 // FEATURES]
    mixed = correlation * score + np.sqrt(1 - correlation**2) * random.normal(0, 1, FEATURES)
    prices = 1 + _ranks(mixed) * PRICES // FEATURES
    one = _instance(base, difference)
    costs = {name: float(price) for name, price in zip(one.classifier.features, prices, strict=True)}
    return one._replace(costs=costs, budget=int(prices.sum()) // 3)


def alike(correlation: float, seed: int) -> Instance:
    """Return groups of features whose base and difference correlate: at 1, those of a group are equal."""
    random = np.random.default_rng(seed)
    own, group = (np.stack(_drawn(random)) for _ in range(2))
    shared = group[:, np.arange(FEATURES) // GROUP]
    return _instance(*(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own))


def of_kinds(kinds: int, seed: int) -> Instance:
    """Return features of which there are so many kinds, those of a kind being equal."""
    which = np.arange(FEATURES) % kinds
    base, difference = _drawn(np.random.default_rng(seed))
    return _instance(base[which], difference[which])


def falling(ratio: float, seed: int) -> Instance:
    """Return features whose strength falls geometrically, the first being so many times as strong as the last."""
    base, difference = _drawn(np.random.default_rng(seed))
    return _instance(base, np.sign(difference) * np.geomspace(ratio**0.5, ratio**-0.5, FEATURES))


def _drawn(random: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the base log-odds and the difference of each feature."""
    return random.uniform(-2, 2, FEATURES), random.normal(0, 1, FEATURES)


def _ranks(values: Floats) -> npt.NDArray[np.int64]:
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")


def _instance(base: Floats, difference: Floats, prior: float = 0.5) -> Instance:
    chances = np.stack([1 / (1 + np.exp(-(base + sign * difference / 2))) for sign in (1, -1)], axis=1)
    tables = [[[float(p), 1 - float(p)] for p in pair] for pair in chances]
    return Instance(naive_bayes(prior, tables), FEATURES // 3)
