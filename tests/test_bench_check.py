"""The guard against slower searches notices what it must."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import bayestrim as bt
from benchmarks import check
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


def test_the_guard_fails_on_a_regression(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command accepts what it wrote itself, and names a search that takes one evaluation more, or is not known."""
    searches: list[tuple[str, Callable[[], bt.Trimming]]] = [("small", lambda: bt.trim(random_naive_bayes(12, 1), 4))]
    monkeypatch.setattr(check, "cases", lambda: iter(searches))
    monkeypatch.setattr(check, "BASELINE", tmp_path / "baseline.json")
    monkeypatch.setattr(check, "SLOWER", 1000.0)  # this is about counts
    monkeypatch.setattr("sys.argv", ["check", "--update"])
    check.main()
    monkeypatch.setattr("sys.argv", ["check"])
    check.main()
    written = json.loads(check.BASELINE.read_text(encoding="utf-8"))
    written["small"]["evaluations"] -= 1
    check.BASELINE.write_text(json.dumps(written), encoding="utf-8")
    with pytest.raises(SystemExit, match="small: evaluations and nodes were"):
        check.main()
    check.BASELINE.unlink()
    with pytest.raises(SystemExit, match="small: not in the baseline"):
        check.main()


def test_the_guard_fails_on_a_search_that_became_slow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same work in many times the time is a regression too."""
    searches: list[tuple[str, Callable[[], bt.Trimming]]] = [("small", lambda: bt.trim(random_naive_bayes(12, 1), 4))]
    monkeypatch.setattr(check, "cases", lambda: iter(searches))
    monkeypatch.setattr(check, "BASELINE", tmp_path / "baseline.json")
    now = check.measured(searches[0][1])
    known = {"small": {"evaluations": now.evaluations, "nodes": now.nodes, "units": now.units / 1000}}
    check.BASELINE.write_text(json.dumps(known), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["check"])
    with pytest.raises(SystemExit, match="times as long as before"):
        check.main()
