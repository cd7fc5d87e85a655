"""Every command as a process of its own, by the name that installing gives it: what it prints, and each exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
QUIZ = str(ROOT / "examples" / "quiz.bif")
MASTERY = ["--target", "Mastery", "--positive", "+", "--threshold", "0.07"]
INSTALLED = Path(sys.executable).with_name("bayestrim")


def run(folder: Path, *arguments: str, code: int = 0) -> str:
    """Run the installed command in a folder, check its exit code, and return what it printed to standard output."""
    done = subprocess.run([str(INSTALLED), *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a saved result, a checkpoint and a table of rows."""
    made = tmp_path_factory.mktemp("processes")
    saved = ["--budget", "2", "-q", "-o", "result.json", "--checkpoint", "search.checkpoint"]
    run(made, "trim", QUIZ, *MASTERY, *saved)
    (made / "rows.csv").write_text("Q1,Q2,Q3,Mastery\n+,+,-,+\n-,+,-,-\n+,-,+,+\n-,-,-,-\n", encoding="utf-8")
    return made


COMMANDS = {
    "describe": (["describe", QUIZ, *MASTERY], "Q1"),
    "evaluate": (["evaluate", QUIZ, *MASTERY, "--keep", "Q1,Q2"], "97.48"),
    "sdp": (["sdp", QUIZ, *MASTERY, "Q1=+"], "74.5"),
    "learn": (["learn", "rows.csv", "--target", "Mastery", "-o", "learnt.bif"], "naive Bayes"),
    "predict": (["predict", "result.json", "rows.csv"], "posterior"),
    "convert": (["convert", QUIZ, "quiz.xdsl"], ""),
    "verify": (["verify", "result.json"], "right"),
    "report": (["report", "result.json", "-o", "page.html"], ""),
    "curve": (["curve", QUIZ, *MASTERY], "Q1"),
    "resume": (["resume", "search.checkpoint"], "97.48"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_runs_as_it_is_installed(name: str, folder: Path) -> None:
    """It finds its modules and data, prints what it promises, and ends with 0."""
    arguments, printed = COMMANDS[name]
    assert printed in run(folder, *arguments)


def test_exit_codes_tell_proved_from_stopped_from_mistaken(folder: Path) -> None:
    """3: stopped by a limit; 2: an option, a name, a file or a budget that cannot be."""
    wide = [
        "trim",
        str(ROOT / "examples" / "data" / "heart.csv"),
        "--learn",
        "--target",
        "num",
        "--positive",
        "1,2,3,4",
    ]
    run(folder, *wide, "--budget", "5", "--evaluations", "1", code=3)
    for mistaken in (
        ["trim", QUIZ, *MASTERY, "--budget", "two"],
        ["trim", QUIZ, *MASTERY],
        ["trim", QUIZ, "--target", "Mastry", "--budget", "1"],
        ["describe", "missing.bif"],
        ["verify", QUIZ],
        ["trim", QUIZ, *MASTERY, "--budget", "1", "--require", "Q1,Q2"],
    ):
        run(folder, *mistaken, code=2)
