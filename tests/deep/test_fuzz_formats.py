"""Two hundred thousand damaged files, and every table of every public network against pgmpy's reader."""

from __future__ import annotations

import io
import os
import random

import pytest
from formats_cases.strategies import damaged, networks
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from test_formats_hostile import SAMPLES, outcome
from test_formats_peers import MODELS, compare_with_pgmpy

from bayestrim.formats import FORMATS, write_network
from bayestrim.network import BayesianNetwork

INPUTS = int(os.environ.get("BAYESTRIM_FUZZ_INPUTS", "40000"))
"""Damaged files per format."""
PER_NETWORK = 20


@pytest.mark.parametrize("form", FORMATS)
def test_many_damaged_files_raise_only_our_errors(form: str) -> None:
    """Damage to random networks and to the sample files ends in a network or in our error, soon."""
    counts = {"read": 0}

    @given(network=networks(), seed=st.integers(0, 2**63))
    @settings(
        max_examples=INPUTS // PER_NETWORK,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def damage(network: BayesianNetwork, seed: int) -> None:
        chance = random.Random(seed)
        file = io.BytesIO()
        write_network(network, file, format=form)
        for content in [file.getvalue(), SAMPLES[form].read_bytes()] * (PER_NETWORK // 2):
            found = outcome(damaged(content, chance), chance.choice([form, None]))
            counts[found] = counts.get(found, 0) + 1

    damage()
    assert sum(counts.values()) >= 0.9 * INPUTS
    # Both outcomes must be common, or the damage says nothing about one of them.
    assert counts["read"] > INPUTS / 100
    assert counts["FormatError"] > INPUTS / 2


@pytest.mark.parametrize("name", sorted(path.name.split(".")[0] for path in MODELS.glob("*.bif.gz")))
def test_all_public_networks_agree_with_pgmpy(name: str) -> None:
    """Every table of every network is the one pgmpy reads, bit for bit."""
    compare_with_pgmpy(name)
