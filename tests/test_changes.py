"""What changes is what `decide` says changes, whichever way it is counted."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from generators import random_classifier
from hypothesis import given, settings
from hypothesis import strategies as st

import bayestrim as bt
from bayestrim.changes import changes


@given(st.integers(0, 10**9).map(lambda seed: random_classifier(Random(seed), 5)), st.integers(0, 3))
@settings(max_examples=60)
def test_changes_are_the_instances_that_are_decided_otherwise(classifier: bt.Classifier, budget: int) -> None:
    """Listed one by one with `decide`: the same probabilities, rows, posteriors; together, what does not agree."""
    result = bt.trim(classifier, budget=budget)
    found = changes(result, most=1000)
    assert not found.sampled
    assert found.changed == pytest.approx(1 - float(result.agreement), abs=1e-9)
    total = {True: 0.0, False: 0.0}
    for change in found.disagreeing:
        kept = {name: change.row[name] for name in result.features}
        assert (change.was, change.becomes) == (classifier.decide(change.row), result.classifier.decide(kept))
        assert change.was != change.becomes
        assert change.before == pytest.approx(classifier.posterior(change.row))
        assert change.after == pytest.approx(result.classifier.posterior(kept))
        total[change.becomes] += change.probability
    assert total == pytest.approx({True: found.gained, False: found.lost})
    assert [c.probability for c in found.disagreeing] == sorted(
        (c.probability for c in found.disagreeing), reverse=True
    )


@given(st.integers(0, 10**9).map(lambda seed: random_classifier(Random(seed), 5)))
@settings(max_examples=60)
def test_what_explains_is_seen_more_often_where_decisions_change(classifier: bt.Classifier) -> None:
    """Shares are conditional probabilities, and what tells most comes first."""
    found = changes(bt.trim(classifier, budget=1), most=1000)
    for item in found.explaining:
        among = sum(change.probability for change in found.disagreeing if change.row[item.feature] == item.state)
        assert item.share == pytest.approx(among / found.changed)
        assert item.share > item.usual
    gains = [item.information for item in found.explaining]
    assert gains == sorted(gains, reverse=True)


def test_too_many_instances_are_sampled() -> None:
    """Where instances are too many to list, the shares come from a sample, which says so and is near the truth."""
    variables = [bt.Variable("C", ("yes", "no")), *(bt.Variable(f"F{i}", ("+", "-")) for i in range(20))]
    tables = {f"F{i}": np.array([[0.5 + i / 50, 0.5 - i / 50], [0.3, 0.7]]) for i in range(20)}
    tables["C"] = np.array([0.4, 0.6])
    network = bt.BayesianNetwork(variables, {f"F{i}": ["C"] for i in range(20)}, tables)
    result = bt.trim(bt.Classifier(network, "C", "yes"), budget=6)
    found = changes(result)
    assert found.sampled
    assert found.changed == pytest.approx(1 - float(result.agreement), abs=5 * math.sqrt(0.25 / 20_000))
    assert found == changes(result)
    assert len(found.explaining) <= 10
    assert not set(result.features) >= {item.feature for item in found.explaining}
