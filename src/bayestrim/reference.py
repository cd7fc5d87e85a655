"""The paper's quantities by brute force, straight from the definitions, in exact rational arithmetic.

Slow, plain and obviously right: every joint instance is written out, and every probability is a `Fraction`. It judges
the rest of the package and shares no arithmetic with it. A dozen features are within its reach.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import NamedTuple

from bayestrim.classifier import Classifier
from bayestrim.errors import ImpossibleEvidenceError, TooLargeError
from bayestrim.network import BayesianNetwork

Instance = tuple[str, ...]
"""The states of some variables, in the order of their names."""

MINUS_INFINITY = Fraction(-1)
"""Stands for a lower end that every threshold exceeds."""
INFINITY = Fraction(2)
"""Stands for an upper end that no threshold exceeds."""
MOST_WORLDS = 2_000_000
"""The most joint instances that are written out: a few minutes' work."""


class BestThreshold(NamedTuple):
    """The maximum achievable agreement and all thresholds that reach it: those with low < T ≤ high for some pair."""

    value: Fraction
    intervals: tuple[tuple[Fraction, Fraction], ...]


def rational(number: float) -> Fraction:
    """Return what the shortest decimal that prints a number stands for."""
    return Fraction(repr(float(number)))


def worlds(network: BayesianNetwork) -> Iterator[tuple[dict[str, str], Fraction]]:
    """Yield every joint instance of positive probability, with its probability."""
    count = math.prod(len(variable) for variable in network.variables)
    if count > MOST_WORLDS:
        raise TooLargeError(
            f"{count:,} joint instances of {len(network.variables)} variables are too many to write out one by one; "
            f"brute force takes at most {MOST_WORLDS:,}"
        )
    yield from _extend(network, list(network.topological_order), {}, Fraction(1))


def _extend(
    network: BayesianNetwork, names: list[str], world: dict[str, str], probability: Fraction
) -> Iterator[tuple[dict[str, str], Fraction]]:
    if not names:
        yield dict(world), probability
        return
    name, rest = names[0], names[1:]
    row = network.table(name)[tuple(network.states(p).index(world[p]) for p in network.parents(name))]
    weights = [rational(entry) for entry in row]
    for state, weight in zip(network.states(name), weights, strict=True):
        if weight:
            yield from _extend(network, rest, {**world, name: state}, probability * weight / sum(weights))


def posterior(classifier: Classifier, evidence: Mapping[str, str]) -> Fraction:
    """Return Pr(positive | evidence)."""
    seen = {**classifier.evidence, **evidence}
    positive = total = Fraction(0)
    for world, probability in worlds(_needed(classifier, seen)):
        if all(world[name] == state for name, state in seen.items()):
            total += probability
            if world[classifier.target] in classifier.positive:
                positive += probability
    return positive / total


def _needed(classifier: Classifier, names: Iterable[str]) -> BayesianNetwork:
    """Return the class, some variables, the evidence and their ancestors: the rest sums to 1."""
    return classifier.network.ancestral([classifier.target, *names, *classifier.evidence])


class Table:
    """Every instance of a classifier's features, with its probability, its class and its decision.

    Parameters
    ----------
    classifier
        The classifier; all probabilities are conditioned on its evidence.
    """

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier
        self.threshold = rational(classifier.threshold)
        self.mass: dict[Instance, Fraction] = defaultdict(Fraction)
        self.positive: dict[Instance, Fraction] = defaultdict(Fraction)
        for world, probability in worlds(_needed(classifier, classifier.features)):
            if all(world[name] == state for name, state in classifier.evidence.items()):
                instance = tuple(world[feature] for feature in classifier.features)
                self.mass[instance] += probability
                if world[classifier.target] in classifier.positive:
                    self.positive[instance] += probability
        self.total = sum(self.mass.values())
        if not self.total:
            raise ImpossibleEvidenceError(f"the evidence has probability zero: {dict(classifier.evidence)}")
        self.decided = {f: self.positive[f] / mass >= self.threshold for f, mass in self.mass.items()}

    def decide(self, instance: Instance) -> bool:
        """Return C_T(f): whether Pr(c | f) ≥ T."""
        return self.decided[instance]

    def kept(self, features: Iterable[str]) -> dict[Instance, list[Instance]]:
        """Return for each instance f' of the kept features the full instances that extend it."""
        wanted = self.classifier.checked_subset(features)
        places = [self.classifier.features.index(feature) for feature in wanted]
        groups: dict[Instance, list[Instance]] = defaultdict(list)
        for instance in self.mass:
            groups[tuple(instance[place] for place in places)].append(instance)
        return groups

    def posterior(self, group: list[Instance]) -> Fraction:
        """Return Pr(c | f') for the full instances that extend f'."""
        return sum((self.positive[f] for f in group), Fraction(0)) / sum(self.mass[f] for f in group)

    def agreeing(self, group: list[Instance], decision: bool) -> Fraction:
        """Return Σ_r [C_T(f'r) = decision] · Pr(f'r)."""
        return sum((self.mass[f] for f in group if self.decide(f) == decision), Fraction(0)) / self.total

    def eca(self, features: Iterable[str], threshold: Fraction) -> Fraction:
        """Return Σ_f [C_T(f) = C_T'(f')] · Pr(f) for kept features and a threshold T'."""
        groups = self.kept(features).values()
        return sum((self.agreeing(group, self.posterior(group) >= threshold) for group in groups), Fraction(0))


def eca(classifier: Classifier, features: Iterable[str], threshold: float) -> Fraction:
    """Return ECA(α, (C, F', T')): Σ_f [C_T(f) = C_T'(f')] · Pr(f)."""
    return Table(classifier).eca(features, rational(threshold))


def maa(classifier: Classifier, features: Iterable[str]) -> BestThreshold:
    """Return MAA(F'): the best ECA over all thresholds, one for each distinct behaviour, lowest first."""
    table = Table(classifier)
    positive: dict[Fraction, Fraction] = defaultdict(Fraction)  # agreeing mass by posterior, if decided positive
    negative: dict[Fraction, Fraction] = defaultdict(Fraction)
    for group in table.kept(features).values():
        posterior = table.posterior(group)
        positive[posterior] += table.agreeing(group, True)
        negative[posterior] += table.agreeing(group, False)
    ends = [MINUS_INFINITY, *sorted(positive), INFINITY]
    candidates = [pair for pair in pairwise(ends) if _holds_a_float(*pair)]  # T with low < T ≤ high decide alike
    # A threshold above a posterior turns its instances from positive to negative.
    gains = (negative[posterior] - positive[posterior] for posterior in sorted(positive))
    by_end = dict(zip(ends[1:], accumulate(gains, initial=sum(positive.values(), Fraction(0))), strict=True))
    values = [by_end[high] for _, high in candidates]
    best = max(values)
    merged: list[tuple[Fraction, Fraction]] = []
    for (low, high), value in zip(candidates, values, strict=True):
        if value == best:
            start = merged.pop()[0] if merged and merged[-1][1] == low else low
            merged.append((start, high))
    return BestThreshold(best, tuple(merged))


def _holds_a_float(low: Fraction, high: Fraction) -> bool:
    """Tell whether a 64-bit number, which thresholds are, lies above low and not above high."""
    near = float(high)
    return any(low < rational(t) <= high for t in (near, math.nextafter(near, -1.0), math.nextafter(near, -2.0)))


def mpa(classifier: Classifier, features: Iterable[str]) -> Fraction:
    """Return MPA(F'): Σ_f' max over decisions of Σ_r [C_T(f'r) = decision] · Pr(f'r)."""
    table = Table(classifier)
    groups = table.kept(features).values()
    return sum((max(table.agreeing(group, True), table.agreeing(group, False)) for group in groups), Fraction(0))


def sdp(classifier: Classifier, evidence: Mapping[str, str]) -> Fraction:
    """Return SDP(X | e): Σ_x [C_T(x e) = C_T(e)] · Pr(x | e), for X the features that e does not hold."""
    table = Table(classifier)
    seen = {classifier.features.index(name): evidence[name] for name in classifier.checked_subset(evidence)}
    group = [f for f in table.mass if all(f[place] == state for place, state in seen.items())]
    if not group:
        raise ImpossibleEvidenceError(f"the evidence has probability zero: {dict(evidence)}")
    today = table.posterior(group) >= table.threshold
    return table.agreeing(group, today) / (table.agreeing(group, True) + table.agreeing(group, False))


def expected_sdp(classifier: Classifier, features: Iterable[str], threshold: float | None = None) -> Fraction:
    """Return Σ_yz [C_T(y z) = C_T'(y)] · Pr(y z), as Σ_y SDP · Pr(y); T' is T unless a second threshold is given."""
    table = Table(classifier)
    limit = table.threshold if threshold is None else rational(threshold)
    total = Fraction(0)
    for group in table.kept(features).values():
        today = table.posterior(group) >= limit
        probability = table.agreeing(group, True) + table.agreeing(group, False)
        total += probability * (table.agreeing(group, today) / probability)
    return total
