"""A result file that was altered by hand does not pass: it is refused when it is read, or found out by `verify`."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bayestrim as bt

QUIZ = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+", threshold=0.07)
PROBLEM = bt.TrimProblem(QUIZ, 3, {"Q3": 0.5}, setup_costs={"paper": (1.5, ["Q1", "Q2"])}, required=["Q3"])

ALTERATIONS: dict[str, tuple[tuple[Any, ...], Any]] = {
    "other features": (("features",), ["Q2", "Q3"]),
    "fewer features": (("features",), ["Q3"]),
    "a strange feature": (("features",), ["Q1", "Q9"]),
    "what is not dropped": (("dropped",), ["Q1"]),
    "another threshold": (("threshold",), 0.9),
    "another interval": (("threshold_interval",), [0.0, 0.9]),
    "a better agreement": (("agreement",), {"lower": 0.999, "upper": 0.999, "kind": "exact"}),
    "a worse agreement": (("agreement", "lower"), 0.1),
    "a lower bound": (("bound",), 0.5),
    "a higher bound": (("bound",), 1.0),
    "a smaller gap": (("gap",), 0.5),
    "another cost": (("cost",), 0.25),
    "another budget": (("budget",), 9.0),
    "less to spend": (("problem", "budget"), 1.0),
    "more to spend": (("problem", "budget"), 5.0),
    "other prices": (("problem", "costs", "Q1"), 3.0),
    "another set-up": (("problem", "setup_costs", "paper"), [2.5, ["Q1"]]),
    "what is forbidden": (("problem", "forbidden"), ["Q1"]),
    "another prior": (("problem", "classifier", "network", "variables", 0, "table"), [0.5, 0.5]),
    "another old threshold": (("problem", "classifier", "threshold"), 0.4),
    "an optimum where there is none": (("features",), ["Q2", "Q3"]),
    "nothing affordable": (("status",), "INFEASIBLE"),
    "an interval called exact": (("agreement", "upper"), 1.0),
    "an agreement above 1": (("agreement", "upper"), 3.0),
    "a sample of unknown confidence": (("agreement", "kind"), "statistical"),
    "an optimum without a proof": (("stop_reason",), "GAP"),
    "more ties": (("tie_mass",), 0.5),
    "a feature that is none and does not matter": (("irrelevant",), ["Q9"]),
    "another model": (("model", "target"), "Q1"),
    "another model's threshold": (("model", "threshold"), 0.5),
    "a classifier of later times": (("problem", "classifier", "version"), 2),
    "half an evaluation": (("stats", "evaluations"), 0.5),
    "the same feature twice": (("features",), ["Q1", "Q1", "Q3"]),
}


def fails(path: Path) -> bool:
    """Tell whether a file is refused or found wrong."""
    try:
        result = bt.load_result(path)
    except (bt.FormatError, bt.BayestrimError):
        return True
    return not bt.verify(result).ok


@pytest.mark.parametrize(("place", "value"), ALTERATIONS.values(), ids=list(ALTERATIONS))
def test_what_was_altered_fails(place: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    """Each statement on its own, in the answer or in the problem it answers."""
    path = tmp_path / "result.json"
    bt.trim(PROBLEM).save(path)
    assert not fails(path)
    document = json.loads(path.read_text())
    part = document
    for step in place[:-1]:
        part = part[step]
    assert part[place[-1]] != value
    part[place[-1]] = value
    path.write_text(json.dumps(document))
    assert fails(path)


def leaves(part: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where everything in a document is, parts with parts included."""
    if place:
        yield place
    for step in part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ():
        yield from leaves(part[step], (*place, step))


WRONG: list[Any] = [None, True, -1, 0.5, 1e308, float("nan"), 10**400, "x", [], [["Q1"]], {}]
RESULTS = {
    "optimal": lambda: bt.trim(PROBLEM, alternatives=1),
    "cheapest": lambda: bt.trim(QUIZ, agreement=0.9),
    "infeasible": lambda: bt.trim(QUIZ, 1, required=["Q1", "Q2"]),
    "sampled": lambda: bt.trim(QUIZ, 2, engine="sampled", seed=1, limits=bt.Limits(samples=2000)),
}


@pytest.mark.parametrize("make", RESULTS.values(), ids=list(RESULTS))
def test_nonsense_anywhere_ends_in_a_clear_error_or_a_verdict(make: Callable[[], bt.Trimming], tmp_path: Path) -> None:
    """Whatever stands in place of whatever: no other error comes, neither when it is read nor when it is verified."""
    path = tmp_path / "result.json"
    make().save(path)
    text, refused = path.read_text(), 0
    for place in leaves(json.loads(text)):
        for value in WRONG:
            document = json.loads(text)
            part = document
            for step in place[:-1]:
                part = part[step]
            part[place[-1]] = value
            try:
                result = bt.load_result(io.StringIO(json.dumps(document)))
            except bt.BayestrimError:
                refused += 1
            else:
                assert bt.verify(result, samples=1000).checks
                assert result.summary()
    assert refused > 100


def test_an_optimum_where_nothing_is_allowed_is_found_out() -> None:
    """A choice that breaks the constraints is no rival to itself."""
    result = bt.trim(QUIZ, 1)
    false = replace(result, problem=replace(result.problem, required=("Q1", "Q2")))
    assert {check.name for check in bt.verify(false).failed} == {"constraints"}


def test_what_was_asked_for_is_saved(tmp_path: Path) -> None:
    """A result of `agreement=` stays one, and a dearer choice in its place is found out."""
    path = tmp_path / "cheapest.json"
    result = bt.trim(QUIZ, agreement=0.9)
    result.save(path)
    again = bt.load_result(path)
    assert (again.target, again.choice, again.status) == (0.9, result.choice, result.status)
    assert bt.verify(again).ok
    bt.trim(QUIZ, budget=2).save(path)
    document = json.loads(path.read_text())
    document["wanted_agreement"] = 0.9
    path.write_text(json.dumps(document))
    assert [check.name for check in bt.verify(bt.load_result(path)).failed] == ["cheapest"]
