"""Trimming what is hardest on rounding: found, proved and verified like anything else."""

from __future__ import annotations

from random import Random

import generators
import pytest
from test_trim import COSTS, check

import bayestrim as bt
from bayestrim.verify import verify


def awkward_problem(random: Random) -> bt.TrimProblem:
    """Return a problem of up to four features of one to five states, with odd costs and budgets."""
    make = random.choice([generators.random_naive_bayes, generators.awkward_naive_bayes])
    classifier = make(random, 4)
    costs = {name: random.choice(COSTS) for name in classifier.features if random.random() < 0.8}
    budget = random.choice([0.0, 0.3, 1.0, 2.0, random.uniform(0, 4), 1e9])
    return bt.TrimProblem(classifier, budget, costs, threshold=random.choice(["optimal", "optimal", "keep"]))


def assert_right(seed: int) -> None:
    """Check the features, agreement, threshold interval and bound of a random problem against brute force."""
    result = bt.trim(awkward_problem(Random(seed)))
    check(result)
    verification = verify(result, samples=1000)
    verification.raise_if_failed()
    assert not verification.unchecked


@pytest.mark.parametrize("block", range(5))
def test_features_agreement_thresholds_and_bound_are_those_of_brute_force(block: int) -> None:
    """Nothing affordable does better, every threshold of the interval does as well, and the bound is no less."""
    for seed in range(100 * block, 100 * (block + 1)):
        assert_right(seed)
