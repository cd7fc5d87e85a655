"""What importing and predicting load, checked in fresh interpreters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import bayestrim as bt

HEAVY = {"numba", "sklearn", "opt_einsum", "scipy", "pandas", "polars", "pgmpy", "pyagrum", "click", "rich"}


def modules_after(code: str, cwd: Path) -> set[str]:
    """Return the top-level modules loaded once a fresh interpreter has run some code."""
    script = f"{code}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=cwd, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_loading_a_saved_classifier_and_predicting_needs_numpy_alone(tmp_path: Path) -> None:
    """Nothing heavy is imported on the way from the package to a decision, ties included."""
    network = bt.read_network(Path(__file__).parents[1] / "examples" / "quiz.bif")
    bt.Classifier(network, "Mastery", "+", threshold=0.25).restricted(["Q1"]).save(tmp_path / "quiz.json")
    code = """
import bayestrim as bt
quiz = bt.Classifier.load("quiz.json")
assert quiz.decide([{"Q1": "+"}, {"Q1": "-"}]).tolist() == [True, False]
assert quiz.posterior({"Q1": "+", "Q2": "-"}) == 0.25
"""
    loaded = modules_after(code, tmp_path)
    assert {"numpy", "bayestrim"} <= loaded
    assert not loaded & HEAVY


def test_every_public_name_is_there_and_documented() -> None:
    """`__all__` is sorted as it reads, complete, and every public object has a docstring."""
    for name in bt.__all__:
        assert getattr(bt, name) is not None
        assert getattr(bt, name).__doc__
