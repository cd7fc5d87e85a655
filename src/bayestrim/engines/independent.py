"""Classifiers whose features are independent given the class: what each value says, as log-odds.

An instance is positive iff the log-odds of its values sum to at least a *border*: the threshold's log-odds less the
prior's, less the tie band, since what lies in the band is positive unless exact arithmetic says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bayestrim import ties
from bayestrim.classifier import Classifier
from bayestrim.errors import ImpossibleEvidenceError
from bayestrim.inference import joint_table
from bayestrim.network import FloatArray
from bayestrim.rows import IntArray

FOREVER = 1e300
"""Log-odds that finite ones never reach, and infinite ones do."""
ENDLESS = 1e5
"""Log-odds that stand for infinite ones where these must not reach the border."""
ROUNDING = float(np.finfo(np.float64).eps)
"""Twice the most by which one operation on 64-bit numbers is off, relatively."""
FULL_PRECISION = 1e-300
"""Numbers smaller than this may have lost digits to underflow, and their logarithms with them."""


@dataclass(frozen=True)
class Feature:
    """A feature that matters.

    Attributes
    ----------
    name
        Its name.
    states
        The numbers of its possible states.
    p, q
        The probability of each under the positive and the negative class.
    odds
        log p - log q, infinite where one of them is 0.
    """

    name: str
    states: IntArray
    p: FloatArray
    q: FloatArray
    odds: FloatArray

    @property
    def swing(self) -> float:
        """How far its finite log-odds lie apart."""
        finite = self.odds[np.isfinite(self.odds)]
        return float(finite.max() - finite.min()) if len(finite) else 0.0


@dataclass(frozen=True)
class Independent:
    """A classifier whose features are independent given whether the class is positive.

    Attributes
    ----------
    features
        Those that can change a decision.
    prior
        The probability of the positive class.
    bias
        Its log-odds.
    border
        The least sum of log-odds that is positive.
    band
        The width of the tie band, to either side of `border + band`.
    """

    features: tuple[Feature, ...]
    prior: float
    bias: float
    border: float
    band: float

    @cached_property
    def noise(self) -> float:
        """More than the sum of an instance's log-odds, or of a part of them, may be off in 64-bit arithmetic.

        A probability is off by at most some hundred roundings of itself, its logarithm by one more; each sum of n
        numbers by n roundings of what they come to, however they are bracketed.
        """
        return ROUNDING * ((len(self.features) + 8) * self.reach + 1000 * (len(self.features) + 1))

    @cached_property
    def jitter(self) -> float:
        """Half of what two ways of summing the same floats may differ by, the border among them."""
        odds = [float(np.abs(f.odds[np.isfinite(f.odds)]).max(initial=0.0)) for f in self.features]
        return ROUNDING / 2 * (len(self.features) + 4) * (math.fsum(odds) + (abs(self.border) if self.finite else 0.0))

    @cached_property
    def reach(self) -> float:
        """What no sum of log-odds, or of their terms, exceeds in size, nor the border where it is finite."""
        logs = [abs(self.bias) if abs(self.bias) < FOREVER else 0.0, abs(self.border) if self.finite else 0.0]
        logs += [float(-np.log(side[side > 0]).min(initial=0.0)) for f in self.features for side in (f.p, f.q)]
        logs += [ENDLESS for f in self.features if np.abs(f.odds[np.isfinite(f.odds)]).max(initial=0.0) >= ENDLESS]
        return math.fsum(logs)

    @property
    def finite(self) -> bool:
        """Whether finite log-odds can reach the border, and miss it."""
        return abs(self.border) < FOREVER

    @property
    def values(self) -> int:
        """How many values the features have together."""
        return sum(len(feature.odds) for feature in self.features)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features that can change a decision."""
        return tuple(feature.name for feature in self.features)


def separated(classifier: Classifier) -> bool:
    """Tell whether d-separation makes the features independent of each other given the class and the evidence.

    In the network of the class, the features, the evidence and their ancestors, with parents of a common child joined
    and the class and the evidence taken out, no path may lead from one feature to another.
    """
    network, cut = classifier.network, {classifier.target, *classifier.evidence}
    group: dict[str, str] = {}

    def find(name: str) -> str:
        while group.setdefault(name, name) != name:
            group[name] = name = group[group[name]]
        return name

    for name in network.ancestors([*cut, *classifier.features]):
        family = [member for member in (name, *network.parents(name)) if member not in cut]
        for member in family[1:]:
            group[find(member)] = find(family[0])
    roots = [find(feature) for feature in classifier.features]
    return len(set(roots)) == len(roots)


def independent(classifier: Classifier) -> Independent | None:
    """Return a classifier's features as log-odds, or None where they are not independent given the decision's class.

    Where several states of the class are positive (or negative), the features must also be independent given that one
    of them holds: at most one feature may tell such states apart. Probabilities so small that they have lost digits
    are left to others as well.
    """
    if not separated(classifier):
        return None
    states = classifier.positive_states
    prior = _prior(classifier)
    tables = {name: _given_class(classifier, name, prior) for name in classifier.features}
    for side in (states & (prior > 0), ~states & (prior > 0)):
        telling = [name for name, table in tables.items() if (table[side] != table[side][:1]).any()]
        if len(telling) > 1:
            return None
    sides = np.array([prior[states].sum(), prior[~states].sum()])
    threshold = ties.as_written(classifier.threshold)
    if not sides.all():  # the posterior is always the same
        positive = threshold <= 0 or (threshold <= 1 and sides[0] > 0)
        sign = 1 if sides[0] > 0 else -1
        return Independent((), float(sides[0]), sign * FOREVER, -FOREVER if positive else FOREVER, 0.0)
    bias = math.log(sides[0]) - math.log(sides[1])
    if 0 < threshold < 1:
        border = math.log(threshold) - math.log(1 - threshold) - bias
    else:
        border = FOREVER if threshold >= 1 else -FOREVER
    weights = [np.where(side, prior, 0) for side in (states, ~states)]
    features = []
    for name, table in tables.items():
        p, q = (weight / weight.sum() @ table for weight in weights)
        feature = _feature(name, p, q)
        if not 0 < threshold <= 1:  # not even a posterior of 0 or 1 changes the decision
            feature = replace(feature, odds=np.clip(feature.odds, -ENDLESS, ENDLESS))
        features.append(feature)
    if min(*sides, threshold or 1, *(_smallest(feature) for feature in features)) < FULL_PRECISION:
        return None
    matter = tuple(f for f in features if len(f.odds) > 1 and f.odds.max() - f.odds.min() > 0)
    model = Independent(matter, float(sides[0]), bias, border, 0.0)
    band = max(classifier.exact_posteriors.band, 4 * model.noise)
    return replace(model, border=border - band, band=band)


def _smallest(feature: Feature) -> float:
    """Return the smallest probability of a feature's values that is not 0."""
    both = np.concatenate([feature.p, feature.q])
    return float(both[both > 0].min())


def _prior(classifier: Classifier) -> FloatArray:
    joint = joint_table(classifier.network, classifier.target, [], classifier.evidence_codes)
    if not joint.sum() > 0:
        raise ImpossibleEvidenceError(f"the evidence has probability zero: {dict(classifier.evidence)}")
    prior: FloatArray = joint / joint.sum()
    return prior


def _given_class(classifier: Classifier, name: str, prior: FloatArray) -> FloatArray:
    """Return Pr(feature | class, evidence) as [class states, states]; zero for impossible classes."""
    network = classifier.network
    if network.parents(name) == (classifier.target,) and not classifier.evidence:
        joint = network.table(name)
    else:
        joint = joint_table(network, classifier.target, [name], classifier.evidence_codes)
    possible = (prior > 0)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        table: FloatArray = np.where(possible, joint / joint.sum(axis=1, keepdims=True), 0.0)
    return table


def _feature(name: str, p: FloatArray, q: FloatArray) -> Feature:
    possible = np.flatnonzero((p > 0) | (q > 0))
    p, q = p[possible], q[possible]
    with np.errstate(divide="ignore"):
        odds = np.log(p) - np.log(q)
    if np.array_equal(p, q):
        odds = np.zeros_like(p)
    return Feature(name, possible, p, q, odds)


def all_values(features: Sequence[Feature]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the log-odds of all instances of some features, and their probabilities under each class.

    Instances are in the order of an array with one axis per feature. Those that neither class shows have odds of NaN.
    """
    odds, p, q = np.zeros(1), np.ones(1), np.ones(1)
    with np.errstate(invalid="ignore"):
        for feature in features:
            odds = np.add.outer(odds, feature.odds).ravel()
            p = np.multiply.outer(p, feature.p).ravel()
            q = np.multiply.outer(q, feature.q).ravel()
    return odds, p, q


def instance_count(features: Sequence[Feature]) -> int:
    """Return how many instances some features have."""
    return math.prod(len(feature.odds) for feature in features)


def places_of(features: Sequence[Feature], cells: IntArray) -> tuple[npt.NDArray[np.int64], ...]:
    """Return for each feature the place of its value in instances given by number."""
    if not features:
        return ()
    return np.unravel_index(cells, [len(feature.odds) for feature in features])
