"""What a model is: its variables, and of a classifier what each feature is worth and how it would be computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bayestrim.agreement import eca, maa
from bayestrim.classifier import Classifier
from bayestrim.engines import choose
from bayestrim.errors import NetworkError, TooLargeError
from bayestrim.network import BayesianNetwork
from bayestrim.result import NEVER_POSITIVE
from bayestrim.search.start import information_gain

MOST_CELLS = 1 << 26
"""Instances times features, up to which the loss of each feature is computed where it needs the joint table."""


@dataclass(frozen=True)
class FeatureWorth:
    """What a feature is worth.

    Attributes
    ----------
    name
        The feature.
    states
        The names of its states.
    gain
        How much it tells about whether the class is positive: their mutual information in bits.
    loss
        How many decisions change if it alone is dropped and the threshold chosen anew; None if that takes too long.
    """

    name: str
    states: tuple[str, ...]
    gain: float
    loss: float | None


@dataclass(frozen=True)
class Description:
    """What a model is.

    Attributes
    ----------
    network
        The network.
    classifier
        The classifier, if one was described.
    engine, reason
        What would compute its agreements, and why.
    bits
        The size of the space of its relevant features: the binary logarithm of the number of their instances.
    positive
        The probability that it decides positive; None if that is too large to compute.
    irrelevant
        Features that cannot change any decision.
    features
        What each feature is worth, in the classifier's order.
    """

    network: BayesianNetwork
    classifier: Classifier | None = None
    engine: str = ""
    reason: str = ""
    bits: float = 0.0
    positive: float | None = None
    irrelevant: tuple[str, ...] = ()
    features: tuple[FeatureWorth, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the description as plain dictionaries and lists."""
        network = self.network
        nodes = [
            {"name": v.name, "states": list(v.states), "parents": list(network.parents(v.name))}
            | ({} if v.cuts is None else {"cuts": list(v.cuts)})
            for v in network.variables
        ]
        found: dict[str, Any] = {
            "name": network.name,
            "roots": list(network.roots),
            "leaves": list(network.leaves),
            "variables": nodes,
        }
        if self.classifier is not None:
            found["classifier"] = {
                "target": self.classifier.target,
                "positive": list(self.classifier.positive),
                "threshold": self.classifier.threshold,
                "decides_positive": self.positive,
                "engine": self.engine,
                "reason": self.reason,
                "bits": self.bits,
                "irrelevant": list(self.irrelevant),
                "features": [{"name": f.name, "gain": f.gain, "loss": f.loss} for f in self.features],
            }
        return found

    def __str__(self) -> str:
        network = self.network
        edges = sum(len(network.parents(name)) for name in network.names)
        lines = [
            f"network    {network.name or 'without a name'}: {len(network.names)} variables, {edges} edges",
            f"roots      {', '.join(network.roots)}",
            f"leaves     {', '.join(network.leaves)}",
        ]
        return "\n".join([*lines, *(self._variables() if self.classifier is None else self._worths(self.classifier))])

    def _variables(self) -> list[str]:
        rows = [("variable", "states", "parents")]
        rows += [
            (v.name, ", ".join(v.states), ", ".join(self.network.parents(v.name)) or "-")
            for v in self.network.variables
        ]
        return ["", *aligned(rows)]

    def _worths(self, classifier: Classifier) -> list[str]:
        share = "" if self.positive is None else f"; {self.positive:.1%} of decisions are positive"
        lines = [
            f"class      {classifier.target} = {' or '.join(classifier.positive)}, "
            f"from {classifier.threshold:g} on{share}",
            f"features   {len(classifier.features)}, {self.bits:.1f} bits",
            f"engine     {self.engine}: {self.reason}",
        ]
        if self.irrelevant:
            lines.append(f"no matter  {', '.join(self.irrelevant)}")
        rows = [("feature", "states", "tells (bits)", "changes if dropped alone")]
        rows += [
            (f.name, str(len(f.states)), f"{f.gain:.4f}", "too large" if f.loss is None else f"{f.loss:.2%}")
            for f in sorted(self.features, key=lambda f: (-(f.loss or 0.0), -f.gain))
        ]
        return [*lines, "", *aligned(rows)]


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the rows of a table as lines with columns below each other.

    Examples
    --------
    >>> aligned([("a", "long"), ("wide", "b")])
    ['a     long', 'wide  b']
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def describe(model: Classifier | BayesianNetwork) -> Description:
    """Describe a network, or a classifier and what each of its features is worth.

    Parameters
    ----------
    model
        The network or classifier.

    Examples
    --------
    >>> import bayestrim as bt
    >>> quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+", threshold=0.07)
    >>> for worth in describe(quiz).features:
    ...     print(f"{worth.name} {worth.gain:.4f} {worth.loss:.2%}")
    Q1 0.1026 26.82%
    Q2 0.0299 9.18%
    Q3 0.0133 2.52%
    """
    if isinstance(model, BayesianNetwork):
        return Description(model)
    if not isinstance(model, Classifier):
        raise NetworkError(f"a network or classifier can be described, not {type(model).__name__}")
    choice = choose(model)
    gains = information_gain(model)
    losses = choice.name == "additive" or 2**choice.bits * len(model.features) <= MOST_CELLS
    features = tuple(
        FeatureWorth(v.name, v.states, gains[v.name] / math.log(2), _loss(model, v.name) if losses else None)
        for v in model.feature_variables
    )
    positive = _positive(model) if losses else None
    return Description(
        model.network, model, choice.name, choice.reason, choice.bits, positive, choice.irrelevant, features
    )


def _loss(classifier: Classifier, name: str) -> float | None:
    try:
        return 1 - float(maa(classifier, [other for other in classifier.features if other != name]))
    except TooLargeError:
        return None


def _positive(classifier: Classifier) -> float | None:
    try:
        return 1 - float(eca(classifier, [], NEVER_POSITIVE))
    except TooLargeError:
        return None
