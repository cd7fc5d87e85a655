"""Time limits where a table has to be made first: it is given up in time, and samples take its place."""

from __future__ import annotations

from pathlib import Path

import pytest

import bayestrim as bt
from bayestrim import contraction, inference
from bayestrim.engines import table
from bayestrim.engines.table import TableEngine
from bayestrim.errors import OutOfTimeError

ALARM = bt.read_network(Path(__file__).parents[1] / "examples" / "data" / "alarm.bif")
CLASSIFIER = bt.Classifier(ALARM, "HYPOVOLEMIA", "TRUE", list(ALARM.leaves), 0.2)
LIMITS = bt.Limits(seconds=60)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make any table look as if it took years."""
    monkeypatch.setattr(inference, "MULTIPLICATIONS_A_SECOND", 1e-3)


@pytest.mark.usefixtures("slow")
def test_samples_are_taken_where_the_table_takes_too_long() -> None:
    """Half of the time is kept for them; without a limit the table is made."""
    result = bt.trim(CLASSIFIER, 4, limits=LIMITS, seed=1)
    assert (result.engine, result.status) == ("sampled", bt.Status.FEASIBLE)
    assert result.agreement.kind == "statistical"
    exact = bt.trim(CLASSIFIER, 4)
    assert (exact.engine, exact.status) == ("table", bt.Status.OPTIMAL)
    assert result.agreement.lower <= exact.agreement.upper


@pytest.mark.usefixtures("slow")
def test_where_only_the_table_will_do_nothing_is_known(tmp_path: Path) -> None:
    """What is required is kept, and its agreement may be anything; the time limit says why."""
    asked = ({"engine": "table"}, {"checkpoint": tmp_path / "checkpoint.json"})
    for options in asked:
        result = bt.trim(CLASSIFIER, 4, required=["CVP"], limits=LIMITS, **options)
        assert (result.status, result.stop_reason) == (bt.Status.FEASIBLE, bt.StopReason.TIME_LIMIT)
        assert (result.features, result.cost, result.bound) == (("CVP",), 1, 1)
        assert (result.agreement.lower, result.agreement.upper) == (0, 1)
        assert bt.verify(result).ok
    again = bt.trim(CLASSIFIER, 4, required=["CVP"], checkpoint=tmp_path / "checkpoint.json")
    assert again.status is bt.Status.OPTIMAL  # nothing was written that would be in the way


@pytest.mark.usefixtures("slow")
def test_a_curve_without_time_has_its_ends_and_the_cheapest_is_everything() -> None:
    """Keeping everything agrees always, which needs no table."""
    curve = bt.frontier(CLASSIFIER, limits=LIMITS)
    assert curve.stop_reason is bt.StopReason.TIME_LIMIT
    assert [point.features for point in curve] == [(), CLASSIFIER.features]
    assert [point.agreement.lower for point in curve] == [0, 1]
    cheapest = bt.trim(CLASSIFIER, agreement=0.9, limits=LIMITS)
    assert (cheapest.features, cheapest.status) == (CLASSIFIER.features, bt.Status.FEASIBLE)
    assert cheapest.stop_reason is bt.StopReason.TIME_LIMIT
    limited = bt.trim(CLASSIFIER, 3, agreement=0.9, limits=LIMITS)
    assert (limited.features, limited.agreement.lower, limited.bound) == ((), 0, 1)


def test_large_tables_are_given_up_between_two_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones are made whatever the clock says; large ones stop while multiplying, or while deciding."""
    left = iter([1.0, *[0.0] * 1000])
    TableEngine(CLASSIFIER, left=lambda: 0.0)
    monkeypatch.setattr(contraction, "QUICK", 0)
    with pytest.raises(OutOfTimeError, match="multiply"):
        TableEngine(CLASSIFIER, left=lambda: next(left))
    monkeypatch.setattr(contraction, "QUICK", 1 << 40)
    monkeypatch.setattr(table, "MANY", 0)
    with pytest.raises(OutOfTimeError, match="decide"):
        TableEngine(CLASSIFIER, left=lambda: 0.0)
