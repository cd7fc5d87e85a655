"""The search's rules at sizes that brute force does not reach: each switched off, the answer stays the same."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from random import Random

import pytest

import bayestrim as bt
from bayestrim.search.branch import RULES, branch_and_bound
from bayestrim.search.descent import Rules
from bayestrim.search.strategies import STRATEGIES
from benchmarks.instances import random_many_valued, random_naive_bayes


@pytest.mark.parametrize("seed", range(10))
def test_the_answer_does_not_depend_on_any_rule(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even and odd prices, two and more states: agreement, bound and status are those of the search with all rules."""
    random = Random(seed)
    classifier = random_many_valued(18, seed) if seed % 3 == 0 else random_naive_bayes(26, seed)
    costs = {name: random.choice([1.0, 1.0, 0.7, 2.5]) for name in classifier.features} if seed % 2 else {}
    whole = bt.trim(classifier, 7, costs)
    assert whole.status is bt.Status.OPTIMAL
    for name in (field.name for field in fields(Rules)):
        search = partial(branch_and_bound, rules=replace(RULES, **{name: False}))
        monkeypatch.setitem(STRATEGIES, "branch-and-bound", search)
        result = bt.trim(classifier, 7, costs)
        assert result.features == whole.features
        assert float(result.agreement) == pytest.approx(float(whole.agreement), abs=1e-12)
        assert result.bound == pytest.approx(whole.bound, abs=1e-12)
        assert result.status is whole.status
