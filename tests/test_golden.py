"""The paper's seven networks: known optima, and agreement with trying everything."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import bayestrim as bt
from bayestrim.verify import verify

GOLDEN = Path(__file__).parent / "golden"
EXPECTED: dict[str, dict[str, Any]] = json.loads((GOLDEN / "naive_bayes.json").read_text(encoding="utf-8"))
SMALL, MIDDLE = ("bupa", "pima", "ident"), ("anatomy", "heart")
THRESHOLDS = [tenth / 10 for tenth in range(1, 10)]


def golden(name: str, threshold: float | None = None) -> bt.Classifier:
    """Return one of the classifiers, with another threshold if one is given."""
    case = EXPECTED[name]
    network = bt.read_network(GOLDEN / case["file"])
    limit = case["threshold"] if threshold is None else threshold
    return bt.Classifier(network, case["target"], case["positive"], threshold=limit)


def assert_same_optimum(problem: bt.TrimProblem) -> None:
    """Compare branch and bound with trying every affordable subset, and have the result verified."""
    found = bt.trim(problem)
    every = bt.trim(problem, strategy="exhaustive")
    assert found.status is every.status is bt.Status.OPTIMAL
    assert found.agreement.kind == every.agreement.kind == "exact"
    assert float(found.agreement) == pytest.approx(float(every.agreement), abs=1e-9)
    assert found.bound == pytest.approx(every.bound, abs=1e-9)
    verify(found, samples=1000).raise_if_failed()


@pytest.mark.parametrize("name", EXPECTED)
def test_the_known_optimum_is_found_and_proved(name: str) -> None:
    """Agreement to 1e-9 and the same features, exact and proved, and nothing in it is refuted."""
    result = bt.trim(golden(name), EXPECTED[name]["budget"])
    assert float(result.agreement) == pytest.approx(EXPECTED[name]["agreement"], abs=1e-9)
    assert result.features == tuple(EXPECTED[name]["kept"])
    assert result.status is bt.Status.OPTIMAL
    assert result.agreement.kind == "exact"
    verify(result, samples=20_000).raise_if_failed()


def assert_all_agree(name: str, threshold: float) -> None:
    """Check one network at one threshold, with unit costs and odd ones."""
    classifier = golden(name, threshold)
    assert_same_optimum(bt.TrimProblem(classifier, EXPECTED[name]["budget"]))
    random = Random(f"{name} {threshold}")
    costs = {feature: random.choice([0.1, 0.3, 1.0, 1.5, 7.25, 100.0]) for feature in classifier.features}
    assert_same_optimum(bt.TrimProblem(classifier, random.uniform(0, sum(costs.values()) / 6), costs))


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_other_thresholds_agree_with_trying_everything(threshold: float) -> None:
    """So do nine thresholds, unit costs and odd ones; the larger networks' others are among the deep tests."""
    for name in (*SMALL, *(MIDDLE if threshold in (0.2, 0.8) else ())):
        assert_all_agree(name, threshold)
