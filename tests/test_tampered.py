"""A result file that was altered by hand does not pass: it is refused when it is read, or found out by `verify`."""

from __future__ import annotations

import json
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
