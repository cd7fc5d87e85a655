"""Saved results: what is written is documented by the schema, and is read back equal."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest
from generators import random_classifier
from hypothesis import given, settings
from hypothesis import strategies as st

import bayestrim as bt
from bayestrim.cli.manual import pages
from bayestrim.saving import of_problem
from bayestrim.trimming import StopReason

DOCS = Path(__file__).parents[1] / "docs"
SCHEMA = json.loads((DOCS / "result.schema.json").read_text(encoding="utf-8"))
QUIZ = bt.Classifier(bt.read_network(DOCS.parent / "examples" / "quiz.bif"), "Mastery", "+", threshold=0.07)


def check(found: Any) -> None:
    """Hold an object against the schema."""
    jsonschema.Draft202012Validator(SCHEMA).validate(found)


@given(st.integers(0, 10**9), st.one_of(st.integers(0, 4), st.just(math.inf)), st.integers(0, 2))
@settings(max_examples=60)
def test_results_fit_the_schema_and_are_read_back(seed: int, budget: float, alternatives: int) -> None:
    """Every bit survives, infinite thresholds and budgets included."""
    classifier = random_classifier(Random(seed), 5)
    result = bt.trim(classifier, budget, alternatives=alternatives)
    check(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    path = io.StringIO()
    document = {"format": "bayestrim result", **result.to_dict(), "problem": of_problem(result.problem)}
    check(json.loads(json.dumps(document, allow_nan=False)))
    path.write(json.dumps(document))
    path.seek(0)
    assert bt.load_result(path) == result


def test_a_file_holds_what_is_asked_and_found(tmp_path: Path) -> None:
    """Prices, constraints and the model's file are in it, and the trimmed classifier decides as before."""
    problem = bt.TrimProblem(QUIZ, 5, {"Q1": 2}, "keep", {"paper": (1, ["Q1", "Q2"])}, ["Q2"], ["Q3"], 2)
    result = bt.trim(problem, limits=bt.Limits(gap=0.1))
    result.save(tmp_path / "r.json", {"path": "quiz.bif", "sha256": "0" * 64})
    saved = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    check(saved)
    assert saved["model"]["path"] == "quiz.bif"
    again = bt.load_result(tmp_path / "r.json")
    assert again == result
    assert again.classifier.decide({"Q2": "+"}) == result.classifier.decide({"Q2": "+"})


def test_the_schema_knows_every_reason_and_status() -> None:
    """No result can say what the schema does not allow."""
    assert SCHEMA["properties"]["status"]["enum"] == [status.name for status in bt.Status]
    assert set(SCHEMA["properties"]["stop_reason"]["enum"]) == {reason.name for reason in StopReason}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("features", ["Q9"], "'Q9' is not a feature"),
        ("status", "SURE", "lacks 'SURE'"),
        ("threshold", "high", "the threshold is 'high'"),
        ("threshold_interval", [1], "not enough values"),
        ("agreement", {"lower": 1, "upper": 1, "kind": "sure"}, "of the kind 'sure'"),
        ("problem", None, "damaged"),
        ("version", 2, "version 2 is not supported"),
        ("stats", {"evaluations": 1, "more": 2}, "unexpected keyword"),
    ],
)
def test_damaged_files_are_refused(key: str, value: Any, message: str, tmp_path: Path) -> None:
    """A result that cannot be one is a FormatError that names the file."""
    bt.trim(QUIZ, 2).save(tmp_path / "r.json")
    saved = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    (tmp_path / "r.json").write_text(json.dumps({**saved, key: value}), encoding="utf-8")
    with pytest.raises(bt.FormatError, match=message) as caught:
        bt.load_result(tmp_path / "r.json")
    assert str(tmp_path / "r.json") in str(caught.value)


def test_manual_pages_are_those_of_the_help_texts() -> None:
    """What `docs/make_manual.py` would write stands there."""
    written = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "manual").glob("*.md")}
    assert written == pages(), "run: python docs/make_manual.py"
