"""How often the sampled engine's intervals hold the exact agreement, over many seeds."""

from __future__ import annotations

from pathlib import Path

import pgmpy

import bayestrim as bt
from bayestrim.engines.sampled import CONFIDENCE, SampledEngine
from bayestrim.engines.table import TableEngine

MODELS = Path(pgmpy.__file__).parent / "utils" / "example_models"


def test_intervals_hold_the_exact_agreement_at_the_stated_rate() -> None:
    """Over 200 seeds, the interval of the winner's agreement misses about as seldom as it says."""
    network = bt.read_network(MODELS / "alarm.bif.gz")
    classifier = bt.Classifier(network, "HYPOVOLEMIA", "TRUE", network.leaves)
    exact = TableEngine(classifier)
    missed = 0
    for seed in range(200):
        result = bt.trim(classifier, 3, engine="sampled", seed=seed, limits=bt.Limits(samples=1000))
        missed += float(exact.eca(result.features, result.threshold)) not in result.agreement
        assert SampledEngine(classifier, 1000, seed).practice.size == 1000
    # With the stated rate, more than 8 misses of 200 have a probability below 10^-3.
    assert missed <= 8, f"{missed} of 200 missed at a confidence of {CONFIDENCE}"


def test_the_subset_found_on_water_is_nearly_the_best() -> None:
    """There, deciding an instance takes ten million multiplications, and few are drawn."""
    network = bt.read_network(MODELS / "water.bif.gz")
    classifier = bt.Classifier(network, "CKNI_12_00", network.states("CKNI_12_00")[0], network.leaves)
    result = bt.trim(classifier, 3, engine="sampled", seed=5, limits=bt.Limits(samples=400))
    best = bt.trim(classifier, 3, engine="table")
    reached = float(TableEngine(classifier).eca(result.features, result.threshold))
    assert reached >= float(best.agreement) - 0.005
