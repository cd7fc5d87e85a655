"""Ten thousand random small problems: the search, its bounds and every lattice against brute force."""

from __future__ import annotations

from random import Random

import pytest
from judge import Judge, engine_of, fine_faults, grid_faults
from test_lattice import SIZES
from test_trim_awkward import assert_right, awkward_problem

from bayestrim.engines.independent import independent

BLOCKS, EACH = 40, 250


@pytest.mark.parametrize("block", range(BLOCKS))
def test_features_agreement_thresholds_and_bound_are_those_of_brute_force(block: int) -> None:
    """Nothing affordable does better, every threshold of the interval does as well, and the bound is no less."""
    for seed in range(EACH * block, EACH * (block + 1)):
        assert_right(seed)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_certified_intervals_hold_the_exact_value(block: int) -> None:
    """So they do on every lattice from 8 cells up."""
    for seed in range(EACH * block, EACH * (block + 1)):
        random = Random(seed)
        classifier = awkward_problem(random).classifier
        if independent(classifier) is None:
            continue
        judge, engine = Judge(classifier), engine_of(classifier)
        for cells in random.sample(SIZES, 4) if engine.model.features else ():
            assert not list(grid_faults(judge, engine, cells))
            assert not list(fine_faults(judge, engine, cells, random))
