"""What `describe` says of a model is what the definitions say."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import numpy as np
import pytest
from generators import random_classifier
from hypothesis import given, settings
from hypothesis import strategies as st

import bayestrim as bt

EXAMPLES = Path(__file__).parents[1] / "examples"


@given(st.integers(0, 10**9))
@settings(max_examples=40)
def test_worths_are_those_of_the_definitions(seed: int) -> None:
    """Loss: one minus the MAA without the feature, by brute force. Gain: mutual information, from single posteriors."""
    classifier = random_classifier(Random(seed), 4)
    found = bt.describe(classifier)
    assert found.positive == pytest.approx(float(bt.eca(classifier, [], 0.0)))
    prior = classifier.posterior({})
    for worth in found.features:
        others = [name for name in classifier.features if name != worth.name]
        assert worth.loss == pytest.approx(1 - float(bt.reference.maa(classifier, others).value), abs=1e-9)
        assert 0 <= worth.gain <= entropy(prior) + 1e-9


def entropy(p: float) -> float:
    """Return the entropy of a coin in bits."""
    return -sum(q * math.log2(q) for q in (p, 1 - p) if q > 0)


def test_gains_are_in_bits() -> None:
    """A feature that is the class tells its whole entropy, one that has nothing to do with it tells none."""
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("yes", "no")), bt.Variable("Same", ("a", "b")), bt.Variable("Other", ("x", "y"))],
        {"Same": ["C"]},
        {"C": [0.25, 0.75], "Same": [[1, 0], [0, 1]], "Other": [0.5, 0.5]},
    )
    same, other = bt.describe(bt.Classifier(network, "C", "yes")).features
    assert same.gain == pytest.approx(entropy(0.25))
    assert (other.gain, other.loss) == (0, 0)


def test_features_that_cannot_matter_are_named() -> None:
    """Cut off from the class, a feature is irrelevant."""
    network = bt.BayesianNetwork(
        [bt.Variable(name, ("+", "-")) for name in ("C", "F", "Apart")],
        {"F": ["C"]},
        {"C": [0.5, 0.5], "F": [[0.9, 0.1], [0.2, 0.8]], "Apart": [0.5, 0.5]},
    )
    found = bt.describe(bt.Classifier(network, "C", "+"))
    assert found.irrelevant == ("Apart",)
    assert "no matter  Apart" in str(found)


def test_networks_are_described_by_their_variables() -> None:
    """Names, states, parents, cuts, roots and leaves; as text and as JSON."""
    heart = bt.learn(EXAMPLES / "data" / "heart.csv", "num").network
    found = bt.describe(heart)
    age = found.to_dict()["variables"][1]
    assert (age["name"], age["parents"], age["cuts"]) == ("age", ["num"], [46.0, 54.0, 59.0, 64.0])
    assert str(found).splitlines()[:2] == ["network    without a name: 14 variables, 13 edges", "roots      num"]


def test_what_is_too_large_is_said_so() -> None:
    """A table of too many instances is not computed for the sake of a description."""
    variables = [bt.Variable(f"F{i}", ("+", "-")) for i in range(30)] + [bt.Variable("C", ("+", "-"))]
    parents = {f"F{i}": [f"F{i - 1}"] for i in range(1, 30)} | {"C": ["F0", "F29"]}
    tables = {f"F{i}": np.array([[0.9, 0.1], [0.2, 0.8]] if i else [0.5, 0.5]) for i in range(30)}
    tables["C"] = np.array([[[0.9, 0.1], [0.5, 0.5]], [[0.4, 0.6], [0.1, 0.9]]])
    network = bt.BayesianNetwork(variables, parents, tables)
    found = bt.describe(bt.Classifier(network, "C", "+", [f"F{i}" for i in range(1, 29)]))
    assert found.engine != "additive"
    assert {worth.loss for worth in found.features} == {None}
    assert "too large" in str(found)


def test_only_models_are_described() -> None:
    """Anything else is refused."""
    with pytest.raises(bt.NetworkError, match="not str"):
        bt.describe("alarm.bif")  # type: ignore[arg-type]
