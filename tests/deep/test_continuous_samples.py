"""Certified agreements of many Gaussian features against ten million drawn instances."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bayestrim as bt

SAMPLES = 10_000_000
BATCH = 500_000


@pytest.mark.parametrize("seed", range(6))
def test_certified_agreements_hold_ten_million_instances(seed: int) -> None:
    """Weak and strong features, a third of them with unequal variances: the interval holds the sampled share."""
    generator = np.random.default_rng(seed)
    strength = (0.15, 0.5, 1.2)[seed % 3]
    moments = [
        ((generator.normal(0, strength), generator.choice([1.0, 1.0, generator.uniform(0.3, 3)])), (0.0, 1.0))
        for _ in range(12)
    ]
    parts = [bt.GaussianFeature(f"x{i}", *pair) for i, pair in enumerate(moments)]
    classifier = bt.GaussianNaiveBayes(parts, prior=0.4, threshold=0.6)
    kept = list(classifier.features[: 3 + seed])
    best = bt.maa(classifier, kept)
    trimmed = classifier.restricted(kept, best.threshold)
    same = 0
    for _ in range(SAMPLES // BATCH):
        rows = classifier.sample(BATCH, generator)
        same += int(np.equal(trimmed.decide(rows[:, : len(kept)]), classifier.decide(rows)).sum())
    doubt = 6 * math.sqrt(0.25 / SAMPLES)
    assert best.value.lower - doubt <= same / SAMPLES <= best.value.upper + doubt
    assert best.value.width < 5e-3
