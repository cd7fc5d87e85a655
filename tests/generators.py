"""Random networks and classifiers that reach the awkward: ties, zeros, one-state variables, odd names, hidden nodes.

Every generator takes a `random.Random`; hypothesis supplies one whose choices it can shrink, loops over seeds a plain
one.
"""

from __future__ import annotations

import itertools
from random import Random

import numpy as np

import bayestrim as bt
from bayestrim import reference

ODD_NAMES = ("<5", "12+", "0-3_days", "Asy/Patch", "7.5", "größer", "a b", '"', "}", "∅", "true", "|", "x,y", "(", "//")


def random_row(random: Random, states: int) -> list[float]:
    """Return a probability row: even, one-decimal, zero-one, arbitrary, or rounded so that it misses 1."""
    style = random.choice(["tenths", "tenths", "zero-one", "arbitrary", "thirds", "even"])
    if style == "tenths":
        cuts = sorted(random.randint(0, 10) for _ in range(states - 1))
        return [(b - a) / 10 for a, b in itertools.pairwise([0, *cuts, 10])]
    if style == "zero-one":
        return [float(i == chosen) for chosen in [random.randrange(states)] for i in range(states)]
    if style == "even":
        return [1 / states] * states
    weights = np.array([random.randint(1, 999) for _ in range(states)], dtype=float)
    row = weights / weights.sum()
    return [round(float(p), 7) for p in row] if style == "thirds" else row.tolist()


def random_network(random: Random, most_variables: int = 6) -> bt.BayesianNetwork:
    """Return a random network of 2 to `most_variables` variables with at most three parents each.

    At least one variable has several states, and can be a class.
    """
    count = random.randint(2, most_variables)
    names = [f"V{i}" if random.random() < 0.7 else f"{random.choice(ODD_NAMES)}{i}" for i in range(count)]
    variables, parents, tables = [], {}, {}
    for i, name in enumerate(names):
        states = random.choice([2, 2, 2, 2, 3, 3, 4, 1] if i else [2, 3])
        labels = random.sample(ODD_NAMES, states) if random.random() < 0.3 else [f"s{j}" for j in range(states)]
        variables.append(bt.Variable(name, tuple(labels)))
        chosen = random.sample(range(i), random.randint(0, min(i, 3)))
        parents[name] = [names[j] for j in chosen]
        shape = [len(variables[j]) for j in chosen]
        rows = [random_row(random, states) for _ in range(int(np.prod(shape)))]
        tables[name] = np.array(rows).reshape(*shape, states)
    order = random.sample(variables, count)  # listed in any order, parents first or not
    return bt.BayesianNetwork(order, parents, tables)


def random_threshold(random: Random, classifier: bt.Classifier) -> float:
    """Return a threshold: round, extreme, arbitrary, or one that an instance's posterior meets."""
    style = random.choice(["round", "round", "extreme", "arbitrary", "met", "met"])
    if style == "round":
        return random.randint(1, 9) / 10
    if style == "extreme":
        return random.choice([0.0, 1.0, bt.NEVER_POSITIVE, 1e-12, 1 - 1e-12])
    if style == "arbitrary":
        return random.random()
    worlds = [world for world, _ in reference.worlds(classifier.network) if agrees(world, classifier.evidence)]
    seen = random.choice(worlds)
    kept = random.sample(classifier.features, random.randint(0, len(classifier.features)))
    return float(reference.posterior(classifier, {feature: seen[feature] for feature in kept}))


def agrees(world: dict[str, str], evidence: object) -> bool:
    """Tell whether a joint instance agrees with evidence."""
    return all(world[name] == state for name, state in dict(evidence).items())  # type: ignore[call-overload]


def random_classifier(random: Random, most_variables: int = 6) -> bt.Classifier:
    """Return a random classifier: any class, several positive states, some variables hidden, some already observed."""
    network = random_network(random, most_variables)
    target = random.choice([variable for variable in network.variables if len(variable) > 1])
    positive = random.sample(target.states, random.randint(1, len(target) - 1))
    others = [name for name in network.names if name != target.name]
    features = random.sample(others, random.randint(0, len(others)))
    classifier = bt.Classifier(network, target.name, positive, features)
    if random.random() < 0.3:
        world, _ = random.choice(list(reference.worlds(network)))
        seen = random.sample(others, random.randint(0, min(2, len(others))))
        classifier = classifier.given({name: world[name] for name in seen})
    return with_threshold(classifier, random_threshold(random, classifier))


def with_threshold(classifier: bt.Classifier, threshold: float) -> bt.Classifier:
    """Return the same classifier with another threshold."""
    return bt.Classifier(
        classifier.network,
        classifier.target,
        classifier.positive,
        classifier.features,
        threshold,
        evidence=classifier.evidence,
    )


def random_naive_bayes(random: Random, most_features: int = 5) -> bt.Classifier:
    """Return a random naive Bayes classifier with features of one to three states."""
    target = bt.Variable("C", ("c", "not c"))
    features = [
        bt.Variable(f"F{i}", tuple(f"s{j}" for j in range(random.choice([2, 2, 2, 3, 1]))))
        for i in range(random.randint(1, most_features))
    ]
    tables = {f.name: [random_row(random, len(f)), random_row(random, len(f))] for f in features}
    prior = random_row(random, 2)
    network = bt.BayesianNetwork([target, *features], {f.name: ["C"] for f in features}, {"C": prior, **tables})
    classifier = bt.Classifier(network, "C", "c")
    return with_threshold(classifier, random_threshold(random, classifier))


def random_subset(random: Random, classifier: bt.Classifier) -> list[str]:
    """Return some of a classifier's features."""
    return random.sample(classifier.features, random.randint(0, len(classifier.features)))


TINY = (1e-3, 1e-6, 1e-12, 1e-15, 1e-30, 1e-100, 1e-200, 1e-299)
"""Probabilities that vanish beside others."""
EXTREME_THRESHOLDS = (0.0, 1.0, bt.NEVER_POSITIVE, 1e-12, 1 - 1e-12, 1e-200, 1 - 2**-53)


def awkward_row(random: Random, states: int) -> list[float]:
    """Return a probability row as above, or one with tiny entries, or one that is even but for the tenth digit."""
    style = random.choice(["plain", "tiny", "close"])
    if style == "plain":
        return random_row(random, states)
    if style == "tiny":
        small = random.choice(TINY)
        weights = np.array([small * random.choice([1, 2, 1.5]) for _ in range(states)])
        weights[random.randrange(states)] = 1.0
    else:
        weights = np.array([1 + random.choice([0, 1e-10, 1e-9, 2e-9, -1e-10]) for _ in range(states)])
    row: list[float] = (weights / weights.sum()).tolist()
    return row


def awkward_naive_bayes(random: Random, most_features: int = 5) -> bt.Classifier:
    """Return a naive Bayes classifier that is hard on rounding.

    Probabilities from 1e-299 to all but 1, priors and thresholds near 0 and 1, log-odds that tie with the threshold or
    miss it by less than the tie band, features of one to five states, equal features, and features that tell nothing.
    """
    features = [
        bt.Variable(f"F{i}", tuple(f"s{j}" for j in range(random.choice([1, 2, 2, 2, 3, 4, 5]))))
        for i in range(random.randint(1, most_features))
    ]
    tables: dict[str, list[list[float]]] = {}
    for feature in features:
        rows = [awkward_row(random, len(feature)), awkward_row(random, len(feature))]
        alike = [table for table in tables.values() if len(table[0]) == len(feature)]
        if alike and random.random() < 0.25:
            rows = random.choice(alike)
        elif random.random() < 0.1:
            rows[1] = rows[0]
        tables[feature.name] = rows
    prior = random.choice([0.5, 0.1, 1e-6, 1 - 1e-6, 1e-200, 1e-15, random.random(), 1 - 1e-15, 0.0, 1.0])
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "not c")), *features],
        {feature.name: ["C"] for feature in features},
        {"C": [prior, 1 - prior], **tables},
    )
    classifier = bt.Classifier(network, "C", "c")
    if random.random() < 0.3:
        return with_threshold(classifier, random.choice(EXTREME_THRESHOLDS))
    threshold = random_threshold(random, classifier)
    if random.random() < 0.3:
        threshold = min(1.0, threshold * (1 + random.choice([1e-10, -1e-10, 1e-9, -1e-9, 1e-12, 3e-9])))
    return with_threshold(classifier, threshold)
