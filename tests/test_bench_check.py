"""The guard against slower searches notices what it must."""

from __future__ import annotations

import pytest

import bayestrim as bt
from benchmarks.check import Measured, fault, measured
from benchmarks.instances import random_naive_bayes


def test_more_work_and_more_time_are_faults() -> None:
    """Any change of counts is one, and a time several times as long; a little longer is none."""
    before = Measured(100, 10, 2.0)
    assert fault(before, before) == ""
    assert fault(Measured(100, 10, 4.0), before) == ""
    assert "were 100 and 10" in fault(Measured(101, 10, 1.0), before)
    assert "were 100 and 10" in fault(Measured(100, 9, 1.0), before)
    assert "times as long" in fault(Measured(100, 10, 9.0), before)
    assert "not in the baseline" in fault(before, None)


def test_the_same_search_takes_the_same_work() -> None:
    """Counts do not depend on the time that passes."""
    found = measured(lambda: bt.trim(random_naive_bayes(14, 1), 5))
    assert found.evaluations > 0
    assert found.units > 0


def test_searches_that_differ_are_refused() -> None:
    """A search whose counts change from run to run cannot be guarded."""
    seeds = iter(range(9))
    with pytest.raises(SystemExit, match="different work"):
        measured(lambda: bt.trim(random_naive_bayes(12 + next(seeds), 1), 4))
