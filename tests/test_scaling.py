"""The study of growth varies what it says, reads gaps where it says, and fits what was searched to the end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bayestrim as bt
from benchmarks import families, scaling
from benchmarks.growth import Found, growth
from benchmarks.scaling import gap_after


def tables(classifier: bt.Classifier) -> list[tuple[float, ...]]:
    """Return each feature's table as numbers."""
    return [tuple(classifier.network.table(name).ravel().tolist()) for name in classifier.features]


def strengths(classifier: bt.Classifier) -> list[float]:
    """Return how far each feature's log-odds differ between the classes."""
    found = []
    for name in classifier.features:
        log = np.log(classifier.network.table(name))
        found.append(abs(float((log[0, 0] - log[0, 1]) - (log[1, 0] - log[1, 1]))))
    return found


def test_every_family_is_in_the_list_and_every_case_can_be_made() -> None:
    """Each case makes a problem of the size it states, the same for the same seed."""
    made = {case.family for case in families.cases()}
    assert made == set(families.FAMILIES)
    for case in families.cases():
        one, again = case.make(1), case.make(1)
        assert len(one.classifier.features) == case.features
        assert 0 < one.budget <= (case.features if one.costs is None else sum(one.costs.values()))
        assert tables(one.classifier) == tables(again.classifier)


def test_prices_go_with_strength_as_far_as_they_should() -> None:
    """At 1 and -1 stronger features never cost less, or never more; at 0 there is no order."""
    for correlation in (1.0, -1.0):
        one = families.priced(correlation, 3)
        assert one.costs is not None
        order = np.argsort(strengths(one.classifier))
        prices = np.array([one.costs[name] for name in one.classifier.features])[order]
        assert (correlation * np.diff(prices) >= 0).all()
        assert sorted(set(prices.tolist())) == [1, 2, 3, 4, 5]
    between = families.priced(0.0, 3)
    assert between.costs is not None
    assert abs(np.corrcoef(strengths(between.classifier), list(between.costs.values()))[0, 1]) < 0.5


def test_features_are_equal_where_they_should_be() -> None:
    """Full correlation leaves one feature for each group, and kinds are counted."""
    assert len(set(tables(families.alike(1.0, 2).classifier))) == families.FEATURES // families.GROUP
    assert len(set(tables(families.alike(0.9, 2).classifier))) == families.FEATURES
    assert len(set(tables(families.of_kinds(5, 2).classifier))) == 5


def test_strength_falls_by_the_ratio() -> None:
    """The first feature is so many times as strong as the last."""
    found = strengths(families.falling(30.0, 4).classifier)
    assert found[0] / found[-1] == pytest.approx(30)
    assert found == sorted(found, reverse=True)


def event(seconds: float, gap: float) -> bt.Event:
    """Return an event of which only time and gap matter."""
    return bt.Event("progress", (), 1 - gap, 1.0, gap, evaluations=1, nodes=1, seconds=seconds)


def test_the_gap_is_read_at_the_last_event_before() -> None:
    """What is told later does not count, and before anything is told nothing is known."""
    told = [event(2, 0.5), event(9, 0.25), event(11, 0.125)]
    assert gap_after(10, told) == 0.25
    assert gap_after(60, told) == 0.125
    assert gap_after(1, told) == 1.0


def found(features: int, evaluations: int, seconds: float, gap: float = 0.0) -> Found:
    """Return a line of the results."""
    return Found("f", features, features, 0, 1, evaluations, seconds, gap, gap)


def test_growth_is_what_the_numbers_grow_by() -> None:
    """A factor of two is found, searches that did not end are left out, and an hour's size goes by the rate."""
    lines = [found(30 + i, 1000 * 2**i, 2.0**i) for i in range(4)]
    grown = growth([*lines, found(34, 17, 60.0, 0.1), found(35, 10**9, 5.0)], "f")
    assert grown is not None
    assert grown.sizes == (30, 31, 32, 33)
    assert grown.factor == pytest.approx(2)
    assert grown.rate == pytest.approx(1000)
    assert grown.seconds(31) == pytest.approx(2)
    assert grown.reach(64) == pytest.approx(36)
    assert growth(lines[:2], "f") is None


def test_a_study_can_be_taken_up_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What was written down is not searched again, and what is missing is."""
    monkeypatch.setattr(scaling, "FOLDER", tmp_path)
    monkeypatch.setattr("benchmarks.outputs.FOLDER", tmp_path)
    monkeypatch.setattr(scaling, "SEEDS", 1)
    monkeypatch.setattr("sys.argv", ["scaling"])
    some = [case for case in families.cases() if case.features == 10]
    monkeypatch.setattr(scaling, "chosen", lambda: iter(some[:1]))
    (first,) = scaling.results(resume=False, jobs=1)
    assert first.proved
    assert scaling.written() == [first]
    monkeypatch.setattr(scaling, "chosen", lambda: iter(some))
    again = scaling.results(resume=True, jobs=1)
    assert again[0] == first
    assert [one.family for one in again] == [case.family for case in some]
