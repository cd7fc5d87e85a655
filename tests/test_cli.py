"""The command line, run as people run it: a process of its own, its output and its exit code."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest

import bayestrim as bt
from bayestrim.cli import COMMANDS, options, run
from bayestrim.search import STRATEGIES

ROOT = Path(__file__).parents[1]
QUIZ = str(ROOT / "examples" / "quiz.bif")
HEART = str(ROOT / "examples" / "data" / "heart.csv")
COSTS = str(ROOT / "examples" / "data" / "heart_costs.csv")
MASTERY = ["--target", "Mastery", "--positive", "+", "--threshold", "0.07"]
HEARTS = [HEART, "--learn", "--target", "num", "--positive", "1,2,3,4"]
INSTALLED = Path(sys.executable).with_name("bayestrim")
COMMAND = [str(INSTALLED)] if INSTALLED.exists() else [sys.executable, "-m", "bayestrim"]


def call(
    *arguments: str,
    given: bytes = b"",
    code: int = 0,
    process: bool = False,
    limit: Callable[[], None] | None = None,
    env: Mapping[str, str] | None = None,
) -> Answer:
    """Run the command, check its exit code and that errors are one line, and return what it printed.

    A process of its own takes a second or so; where nothing depends on it, the command runs in this one.
    """
    answer = _process(arguments, given, limit, env) if process or limit or env else _here(arguments, given)
    assert answer.code == code, answer.err
    assert "Traceback" not in answer.err
    if code == 2 and not answer.out:
        assert answer.err.startswith("bayestrim: ")
        assert answer.err.count("\n") == 1
    return answer


class Answer(NamedTuple):
    """What a command printed, and its exit code."""

    out: str
    err: str
    code: int


def _process(
    arguments: Sequence[str], given: bytes, limit: Callable[[], None] | None, env: Mapping[str, str] | None
) -> Answer:
    done = subprocess.run(
        [*COMMAND, *arguments],
        input=given,
        capture_output=True,
        check=False,
        env={**os.environ, **(env or {})},
        preexec_fn=limit,
        cwd=ROOT,
    )
    return Answer(done.stdout.decode(), done.stderr.decode(), done.returncode)


def _here(arguments: Sequence[str], given: bytes) -> Answer:
    printed = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(stream, "utf-8", newline="", write_through=True) for stream in printed)
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.chdir(ROOT),
        mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(given))),
    ):
        code = run(arguments)
    return Answer(printed[0].getvalue().decode(), printed[1].getvalue().decode(), code)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Save the trimmed heart classifier."""
    path = str(tmp_path_factory.mktemp("result") / "trimmed.json")
    call("trim", *HEARTS, "--costs", COSTS, "--budget", "200", "-o", path, process=True)
    return path


def test_trim_prints_first_what_a_person_wants() -> None:
    """Kept and dropped features with their costs, threshold, share of decisions, proof, and what changes."""
    lines = call("trim", QUIZ, *MASTERY, "--budget", "6", "--cost", "Q1=5", process=True).out.splitlines()
    assert lines[:6] == [
        "Keep 2 of 3 features, for 6 of a budget of 6:",
        "  Q1  5",
        "  Q2  1",
        "Drop Q3 (1)",
        "New threshold: 0.169521 (it was 0.07); any in (0.0769231, 0.333333] decides alike",
        "97.48% of decisions stay the same",
    ]
    assert lines[6].startswith("Proved: no affordable subset agrees more (")
    assert lines[7:] == [
        "What changes: 0.00% become positive, 2.52% become negative",
        "  Q3=+ in 100% of the changes, 22% of all",
        "  Q1=+ in 100% of the changes, 36% of all",
        "  Q2=- in 100% of the changes, 37% of all",
        "  2.52%: Q1=+, Q2=- becomes negative, which Q3=+ made positive",
    ]


def test_every_strategy_can_be_asked_for() -> None:
    """The list that the help shows is the registry's."""
    assert tuple(STRATEGIES) == options.STRATEGIES


def test_shared_costs_are_shown_once(result: str) -> None:
    """The heart example: tests in a group share what is paid once, and the file says what was asked."""
    found = bt.load_result(result)
    assert found.cost == pytest.approx(197.2)
    assert found.problem.setup_costs["blood sample"] == (2.1, ("chol", "fbs"))
    text = call("trim", *HEARTS, "--costs", COSTS, "--budget", "200").out
    assert "  + exercise imaging  101.9  for thalach, thal\n" in text
    checked = call("verify", result).out.splitlines()
    assert all(line.startswith(("right", "unchecked")) for line in checked)


def test_trim_as_json_names_the_model() -> None:
    """The documented object, with the file's fingerprint."""
    found = json.loads(call("trim", QUIZ, *MASTERY, "--budget", "2", "--json").out)
    assert (found["features"], found["dropped"], found["status"]) == (["Q1", "Q2"], ["Q3"], "OPTIMAL")
    assert found["model"]["path"] == QUIZ
    assert found["model"]["sha256"] == hashlib.sha256(Path(QUIZ).read_bytes()).hexdigest()


def test_exit_codes_tell_what_is_proved() -> None:
    """0 proved, 3 stopped by a limit, 0 where the gap that was asked for is reached, 2 where nothing is affordable."""
    many = [*HEARTS, "--budget", "6"]
    assert "Not proved: the number of evaluations was reached" in call("trim", *many, "--evaluations", "20", code=3).out
    assert "Not proved: the time was up" in call("trim", *many, "--time-limit", "0", code=3).out
    assert call("trim", *many, "--gap", "1").out
    text = call("trim", QUIZ, *MASTERY, "--budget", "1", "--require", "Q1,Q2", code=2).out
    assert text == "Nothing can be kept: no subset keeps to the budget and the constraints.\n"


def test_every_option_of_trim_reaches_the_search() -> None:
    """Constraints, threshold and alternatives are those asked for."""
    args = ["trim", QUIZ, *MASTERY, "--budget", "2", "--json"]
    assert json.loads(call(*args, "--forbid", "Q1").out)["dropped"] == ["Q1", "Q2", "Q3"]
    assert json.loads(call(*args, "--max-features", "1").out)["features"] == ["Q1"]
    assert json.loads(call(*args, "--keep-threshold").out)["threshold"] == 0.07
    assert len(json.loads(call(*args, "--alternatives", "2").out)["alternatives"]) == 2
    assert json.loads(call(*args, "--engine", "table", "--setup", "paper=1:Q2,Q3").out)["engine"] == "table"
    assert "Q1" not in json.loads(call(*args, "--given", "Q1=+").out)["features"]


def test_standard_input_is_a_minus_sign() -> None:
    """Models, tables and rows can come from a pipe."""
    assert call("trim", "-", *MASTERY, "-b", "2", given=Path(QUIZ).read_bytes()).out.startswith("Keep 2 of 3")
    assert call("predict", QUIZ, "-", *MASTERY, given=b"Q1,Q2\n+,-\n,\n").out == (
        "row,posterior,decision\n1,0.07692307692307691,positive\n2,0.1,positive\n"
    )
    text = call("convert", "-", "-", "--to", "uai", given=Path(QUIZ).read_bytes()).out
    assert text.startswith("BAYES\n4\n")


def test_learn_writes_every_format_and_predict_uses_them(tmp_path: Path) -> None:
    """A table becomes a model, the model decides the table's rows, and accuracy is said where the class is known."""
    for name in ("heart.bif", "heart.xdsl", "heart.json"):
        args = ["learn", HEART, "--target", "num", "--positive", "1,2,3,4", "-o", str(tmp_path / name)]
        assert call(*args).out.startswith(f"rows       297 of 297 in {HEART}\n")
    model = str(tmp_path / "heart.json")
    done = call("predict", model, HEART, "-o", str(tmp_path / "out.csv"), "--id", "age")
    assert done.out == ""
    assert "accuracy    85.19%" in done.err
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert (lines[0], len(lines)) == ("row,posterior,decision,age", 298)
    same = call("predict", str(tmp_path / "heart.bif"), HEART, "-t", "num", "-p", "1/2/3/4", "-q", "--id", "age")
    assert (same.out.splitlines(), same.err) == (lines, "")
    bif = call("learn", HEART, "--target", "num", "--positive", "1,2,3,4", "-o", "-")
    assert bif.out == (tmp_path / "heart.bif").read_text(encoding="utf-8")


def test_predict_compares_with_the_original(result: str, tmp_path: Path) -> None:
    """The trimmed classifier decides from the kept columns alone; how often it agrees is observed."""
    bt.learn(HEART, "num", positive=list("1234")).classifier().save(tmp_path / "heart.json")
    found = json.loads(call("predict", result, HEART, "--compare", str(tmp_path / "heart.json"), "--json").out)
    trimmed = bt.load_result(result)
    expected = float(trimmed.agreement)
    assert abs(found["agreement"] - expected) < 0.05
    assert found["accuracy"] == pytest.approx(0.83, abs=0.02)
    assert found["rows"] == len(found["decisions"]) == 297
    kept = [trimmed.classifier.features.index(name) for name in trimmed.features]
    assert kept == list(range(9))


def test_rows_that_cannot_be_are_named(tmp_path: Path) -> None:
    """A row of probability zero is impossible, and does not spoil the others."""
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("yes", "no")), bt.Variable("F", ("a", "b"))],
        {"F": ["C"]},
        {"C": [0.5, 0.5], "F": [[1, 0], [1, 0]]},
    )
    bt.write_network(network, tmp_path / "n.bif")
    text = call("predict", str(tmp_path / "n.bif"), "-", "--target", "C", given=b"F\na\nb\n").out
    assert text == "row,posterior,decision\n1,0.5,positive\n2,,impossible\n"


def test_describe_tells_what_there_is(tmp_path: Path) -> None:
    """Variables without a target; with one, engine, size, worth of each feature."""
    assert "Q1        +, -    Mastery" in call("describe", QUIZ).out
    text = call("describe", QUIZ, *MASTERY).out
    assert "engine     additive: the features are independent of each other given the class" in text
    assert "Q1       2       0.1026        26.82%\n" in text
    found = json.loads(call("describe", QUIZ, *MASTERY, "--json").out)
    assert [f["name"] for f in found["classifier"]["features"]] == ["Q1", "Q2", "Q3"]
    assert found["classifier"]["decides_positive"] == pytest.approx(0.2682)
    assert json.loads(call("describe", QUIZ, "--json").out)["roots"] == ["Mastery"]


def test_evaluate_and_sdp_give_the_papers_figures() -> None:
    """The quiz of the paper: ECA 91 % with the threshold 0.1, and SDP."""
    text = call("evaluate", QUIZ, *MASTERY, "--keep", "Q1,Q3", "--new-threshold", "0.1").out
    assert text.startswith("ECA  90.82% of decisions stay the same with the threshold 0.1\n")
    found = json.loads(call("evaluate", QUIZ, *MASTERY, "--keep", "Q1,Q2", "--json").out)
    assert found["maa"]["lower"] == pytest.approx(0.9748)
    text = call("sdp", QUIZ, *MASTERY, "Q1=+", "--budget", "1").out
    assert "stands     with probability 74.50% once all 2 other features are known" in text
    found = json.loads(call("sdp", QUIZ, *MASTERY, "Q1=+", "--budget", "1", "--json").out)
    best = max(found["next"], key=lambda item: item["expected_sdp"]["lower"])
    assert found["best"]["expected_sdp"]["lower"] == pytest.approx(best["expected_sdp"]["lower"])
    quiz = bt.Classifier(bt.read_network(QUIZ), "Mastery", "+", threshold=0.07).given({"Q1": "+"})
    for item in found["next"]:
        assert item["expected_sdp"]["lower"] == pytest.approx(float(bt.expected_sdp(quiz, [item["feature"]])))


def test_verify_finds_what_was_altered(tmp_path: Path) -> None:
    """A result is right; one whose figures were altered by hand is not, and the exit code says so."""
    path = tmp_path / "r.json"
    call("trim", QUIZ, *MASTERY, "-b", "2", "-o", str(path))
    assert call("verify", str(path)).out.startswith("right")
    path.write_text(path.read_text(encoding="utf-8").replace("0.9748", "0.9848"), encoding="utf-8")
    done = call("verify", str(path), "--json", code=2)
    assert not json.loads(done.out)["ok"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trimm"], "there is no command 'trimm'; did you mean 'trim'?"),
        (["trim", QUIZ, "--budgte", "2"], "No such option '--budgte'. Did you mean '--budget'?"),
        (["trim", QUIZ, *MASTERY], "--budget is needed"),
        (["curve", QUIZ, *MASTERY, "--agreement", "2"], "no point of the curve agrees"),
        (["trim", QUIZ, *MASTERY, "--agreement", "2"], "agreement=2.0; it must be a share"),
        (["trim", QUIZ, *MASTERY, "-b", "much"], "'much' is not a valid float"),
        (["trim", QUIZ, *MASTERY, "-b", "-1"], "the budget is -1.0"),
        (["trim", QUIZ, "-b", "2"], "--target is needed"),
        (["trim", QUIZ, "-t", "Mastry", "-b", "2"], "no variable 'Mastry'; did you mean 'Mastery'?"),
        (["trim", QUIZ, "-t", "Mastery", "-p", "x", "-b", "2"], "'Mastery' has no state 'x'"),
        (
            ["trim", QUIZ, *MASTERY, "-b", "2", "--require", "Q4"],
            "'Q4' is not a feature of the classifier; known: 'Q1'",
        ),
        (["trim", QUIZ, *MASTERY, "-b", "2", "--cost", "Q4=1"], "'Q4' is not a feature; known: 'Q1'"),
        (["trim", QUIZ, *MASTERY, "-b", "2", "--cost", "Q1"], "NAME=VALUE is needed"),
        (["trim", QUIZ, *MASTERY, "-b", "2", "--cost", "Q1=dear"], "'dear' is not a number"),
        (["trim", QUIZ, *MASTERY, "-b", "2", "--costs", COSTS], "heart_costs.csv:2: 'age' is not a feature"),
        (["trim", QUIZ, *MASTERY, "-b", "2", "-o", "/nowhere/r.json"], "there is no folder /nowhere"),
        (["trim", QUIZ, *MASTERY, "-b", "2", "-o", "/"], "this is a folder"),
        (["trim", "none.bif", *MASTERY, "-b", "2"], "cannot read none.bif: No such file or directory"),
        (["trim", str(ROOT), *MASTERY, "-b", "2"], "Is a directory"),
        (["trim", HEART, "-t", "num", "-b", "2"], "this is a table; with --learn, a model is learnt from it"),
        (["trim", "-", *MASTERY, "-b", "2"], "<stdin>: the file is empty"),
        (["learn", HEART, "-t", "nim"], "the table has no column 'nim'; did you mean 'num'?"),
        (["evaluate", QUIZ, *MASTERY, "-k", "Q9"], "'Q9' is not a feature of this classifier; known: 'Q1'"),
        (["sdp", QUIZ, *MASTERY, "Q1=*"], "'Q1' has no state '*'"),
        (["predict", QUIZ, HEART, *MASTERY], "there is no column of any feature (Q1, Q2, Q3, …)"),
        (["verify", QUIZ], "this is not JSON"),
        (["convert", QUIZ, "quiz.txt"], "the suffix names no format"),
    ],
    ids=lambda value: None if isinstance(value, str) else " ".join(value[:1] + value[-2:])[-30:],
)
def test_bad_input_is_one_line_and_two(arguments: list[str], message: str) -> None:
    """Every error says what is wrong and what is allowed, on one line of standard error, with the exit code 2."""
    answer = call(*arguments, code=2)
    assert answer.out == ""
    assert message in answer.err


def test_truncated_and_unreadable_files(tmp_path: Path) -> None:
    """A file cut in the middle is refused with its place; so is one that may not be read."""
    half = tmp_path / "half.bif"
    half.write_bytes(Path(QUIZ).read_bytes()[:300])
    assert f"{half}:" in call("trim", str(half), *MASTERY, "-b", "2", code=2).err
    saved = tmp_path / "r.json"
    call("trim", QUIZ, *MASTERY, "-b", "2", "-o", str(saved))
    saved.write_bytes(saved.read_bytes()[:500])
    assert f"{saved}:" in call("verify", str(saved), code=2).err


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """Where no more can be written, the result is printed, the old file stays, nothing is left over."""
    path = tmp_path / "r.json"
    path.write_text("old", encoding="utf-8")

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    done = call("trim", QUIZ, *MASTERY, "-b", "2", "-o", str(path), code=2, limit=small)
    assert done.out.startswith("Keep 2 of 3")
    assert f"cannot write {path}" in done.err
    assert path.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["r.json"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
def test_a_full_standard_output_is_an_error() -> None:
    """Not being able to print the answer is not success."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([*COMMAND, "describe", QUIZ], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "bayestrim: cannot write standard output: No space left on device\n"


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    """With `| head`, no complaint, however much is left to say."""
    table = tmp_path / "rows.csv"
    table.write_text("Q1\n" + "+\n" * 100_000, encoding="utf-8")
    command = subprocess.Popen(
        [*COMMAND, "predict", QUIZ, str(table), *MASTERY, "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert command.stdout is not None
    assert command.stderr is not None
    assert command.stdout.readline() == b"row,posterior,decision\n"
    command.stdout.close()
    assert command.stderr.read() == b""
    command.stderr.close()
    assert command.wait() == 0


def test_an_interruption_ends_with_130(tmp_path: Path) -> None:
    """Ctrl-C while reading ends at once, with one line and the code that shells expect."""
    pipe = tmp_path / "model.bif"
    os.mkfifo(pipe)
    command = subprocess.Popen([*COMMAND, "describe", str(pipe)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with pipe.open("wb"):  # opens once the command reads
        command.send_signal(signal.SIGINT)
        _, err = command.communicate(timeout=60)
    assert (command.returncode, err) == (130, b"bayestrim: interrupted\n")


def test_unicode_names_and_odd_terminals(tmp_path: Path) -> None:
    """Names in any script go in and out; a terminal that cannot show them gets escapes, not a crash."""
    path = tmp_path / "größe.csv"
    path.write_text("\ufeffKlasse;Größe, cm;疾病\nja;1,5;有\nnein;2,5;无\nja;3,5;有\n", encoding="utf-8")
    args = ["learn", str(path), "--target", "Klasse", "--bins", "2"]
    assert "ranges     Größe, cm: <3.5  >=3.5" in call(*args).out
    assert "Gr\\xf6\\xdfe" in call(*args, env={"PYTHONIOENCODING": "ascii"}).out
    model = str(tmp_path / "模型.bif")
    call(*args, "-o", model)
    text = call(
        "trim", model, "-t", "Klasse", "-p", "ja", "-b", "1", "-f", '"Größe, cm",疾病', "--cost", "疾病=0.5"
    ).out
    assert "  疾病  0.5" in text


def test_colours_are_for_terminals_without_no_color() -> None:
    """A pipe gets no escape sequences; a terminal does, unless NO_COLOR is set."""
    assert "\033" not in call("describe", QUIZ).out
    script = shutil.which("script")
    if script is None:
        pytest.skip("script(1) makes the terminal for this test")
    for no_color in (False, True):
        env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
        env |= {"NO_COLOR": "1"} if no_color else {}
        line = " ".join([*COMMAND, "describe", QUIZ])
        done = subprocess.run([script, "-qec", line, os.devnull], env=env, capture_output=True, text=True, check=True)
        assert ("\033[1m" in done.stdout) is not no_color


def test_help_and_version() -> None:
    """Each command has a help text with examples; without a command there is help too."""
    assert call("--version").out == f"bayestrim {bt.__version__}\n"
    text = call().out
    assert text == call("--help").out
    for command in COMMANDS:
        assert f"\n  {command} " in text
        help_text = call(command, "--help").out
        assert "Examples:" in help_text
        assert f"bayestrim {command} " in help_text


def test_shells_can_complete() -> None:
    """The completion that the docs describe knows commands and options."""
    env = {"_BAYESTRIM_COMPLETE": "bash_complete"}
    assert "plain,trim" in call(env={**env, "COMP_WORDS": "bayestrim tr", "COMP_CWORD": "1"}).out
    assert "plain,--budget" in call(env={**env, "COMP_WORDS": "bayestrim trim --bu", "COMP_CWORD": "2"}).out
    assert "_bayestrim_completion" in call(env={"_BAYESTRIM_COMPLETE": "bash_source"}).out


def test_warnings_are_one_line() -> None:
    """What a reader warns of is said without a file and line of this program."""
    text = Path(QUIZ).read_text(encoding="utf-8").replace("0.9", "0.899", 1)
    done = call("describe", "-", given=text.encode())
    assert done.err.startswith("bayestrim: warning: <stdin>: 1 table has rows that do not sum to 1")
    assert done.err.count("\n") == 1


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Write a model whose best trimming takes minutes to prove, and return the arguments that ask for it."""
    random = np.random.default_rng(0)
    names = [f"F{i}" for i in range(80)]
    tables = {name: np.array([[p, 1 - p] for p in random.uniform(0.3, 0.7, 2)]) for name in names}
    tables["C"] = np.array([0.4, 0.6])
    variables = [bt.Variable(name, ("yes", "no")) for name in ("C", *names)]
    path = tmp_path_factory.mktemp("large") / "large.bif"
    bt.write_network(bt.BayesianNetwork(variables, {name: ["C"] for name in names}, tables), path)
    return [str(path), "--target", "C", "--budget", "27"]


def test_ctrl_c_gives_the_best_so_far(large: list[str], tmp_path: Path) -> None:
    """A search tells how far it is; interrupted, it prints and saves the best so far with its gap."""
    path = str(tmp_path / "r.json")
    command = subprocess.Popen(
        [*COMMAND, "trim", *large, "-o", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert command.stderr is not None
    lines = iter(command.stderr.readline, "")
    told = next(line for line in lines if " evaluations" in line)
    assert re.match(r"bayestrim: \d+\.\d s: \d+\.\d+% with \d+ features, at most \d+\.\d+%, gap ", told)
    command.send_signal(signal.SIGINT)
    out, _ = command.communicate(timeout=60)
    assert command.returncode == 130
    assert "Not proved: the search was interrupted; the best could agree " in out
    assert bt.load_result(path).stop_reason is bt.StopReason.INTERRUPTED


def test_a_stopped_search_is_resumed(large: list[str], tmp_path: Path) -> None:
    """The checkpoint alone is enough to go on; it never falls back, and the result is written as by trim."""
    kept = str(tmp_path / "kept")
    files = ["-o", str(tmp_path / "r.json"), "-q"]
    first = call("trim", *large, "--checkpoint", kept, "--evaluations", "3000", "--json", "-q", code=3)
    again = call("resume", kept, "--time-limit", "1", "--workers", "2", "--json", *files, code=3)
    before, after = json.loads(first.out), json.loads(again.out)
    assert again.err == ""
    assert after["agreement"]["lower"] >= before["agreement"]["lower"]
    assert after["bound"] <= before["bound"]
    assert after["stats"]["evaluations"] >= before["stats"]["evaluations"]
    assert bt.load_result(tmp_path / "r.json").features == tuple(after["features"])
    assert "is not" in call("resume", QUIZ, code=2).err


def test_a_stopped_curve_is_resumed(large: list[str], tmp_path: Path) -> None:
    """Its checkpoint says that it is one: it prints as `curve` does, and no page is made of it."""
    kept, points = str(tmp_path / "kept"), tmp_path / "points.csv"
    model = large[: large.index("--budget")]
    call("curve", *model, "--up-to", "1", "--checkpoint", kept, "--evaluations", "50", "-q", code=3)
    whole = call("curve", *model, "--up-to", "1", "-q").out
    assert call("resume", kept, "-q", "-o", str(points)).out == whole
    assert len(points.read_text().splitlines()) == len(whole.splitlines())
    assert json.loads(call("resume", kept, "-q", "--json").out)["proved"] is True
    refused = call("resume", kept, "--report", str(tmp_path / "page.html"), code=2).err
    assert "--report is for the result of trim; " in refused


def test_the_cheapest_choice_is_resumed(large: list[str], tmp_path: Path) -> None:
    """`trim --agreement` keeps a checkpoint as well."""
    kept = str(tmp_path / "kept")
    ask = ["trim", *large[: large.index("--budget")], "--agreement", "0.8"]
    call(*ask, "--checkpoint", kept, "--evaluations", "50", "-q", code=3)
    stopped, whole = (json.loads(call(*way, "--json", "-q").out) for way in (["resume", kept], ask))
    same = ("features", "threshold", "agreement", "bound", "status", "stop_reason", "wanted_agreement", "budget")
    assert [stopped[key] for key in same] == [whole[key] for key in same]


def test_a_terminal_gets_a_live_line(large: list[str]) -> None:
    """It is written over, and gone at the end."""
    script = shutil.which("script")
    if script is None:
        pytest.skip("script(1) makes the terminal for this test")
    line = " ".join([*COMMAND, "trim", *large, "--time-limit", "2"])
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    done = subprocess.run([script, "-qec", line, os.devnull], env=env, capture_output=True, check=False)
    assert done.returncode in (0, 3)  # proved, or out of time: machines differ
    assert b" evaluations\r\x1b[2K" in done.stdout


def test_a_page_is_made_of_a_saved_result(result: str, tmp_path: Path) -> None:
    """`report` writes what `trim --report` does."""
    page = tmp_path / "page.html"
    call("report", result, "-o", str(page), "--title", "Fewer tests")
    assert "<title>Fewer tests" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["quiz.py", "heart.py", "alarm.py"])
def test_examples_run(name: str) -> None:
    """Each prints something and ends well."""
    done = subprocess.run([sys.executable, f"examples/{name}"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") > 5


def test_the_demo_runs_the_heart_example(tmp_path: Path) -> None:
    """The recipe of `make demo`, with its files elsewhere, writes a result, decisions and a page."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("demo: .venv/core")[1].split("\ntest:")[0]
    lines = [line.strip().lstrip("@") for line in recipe.replace("\\\n", " ").splitlines()[1:] if line.strip()]
    for line in lines:
        if line.startswith("$(BIN)/bayestrim"):
            call(*line.replace("build/", f"{tmp_path}/").split()[1:])
    assert sorted(os.listdir(tmp_path)) == ["heart.html", "heart.json", "heart_decisions.csv"]
    assert 'type="range"' in (tmp_path / "heart.html").read_text(encoding="utf-8")  # the slider over budgets


def test_a_small_trim_takes_a_second_or_so() -> None:
    """The whole process, once everything is compiled: at most 1.5 s of processor time."""
    times = []
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        call("trim", QUIZ, *MASTERY, "--budget", "2", process=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(times) < 1.5


def test_classifiers_of_numbers_are_trimmed_too(tmp_path: Path) -> None:
    """A Gaussian naive Bayes has no network; it is read, trimmed, saved, verified and predicts from its file."""
    flu = bt.GaussianNaiveBayes(
        [
            bt.GaussianFeature("temperature", positive=(38.5, 0.6), negative=(36.8, 0.2)),
            bt.GaussianFeature("pulse", positive=(90, 100), negative=(75, 100)),
        ],
        prior=0.1,
    )
    flu.save(tmp_path / "flu.json")
    saved = str(tmp_path / "r.json")
    text = call("trim", str(tmp_path / "flu.json"), "-b", "1", "--cost", "pulse=0.5", "-o", saved).out
    assert text.startswith("Keep 1 of 2 features, for 1 of a budget of 1:\n  temperature  1\n")
    assert bt.load_result(saved).problem.classifier == flu
    out = call("predict", saved, "-", given=b"temperature\n36.5\n39\n", code=0).out
    assert [line.split(",")[2] for line in out.splitlines()[1:]] == ["negative", "positive"]
    assert call("verify", saved).out.startswith("right")


def test_the_curve_says_what_each_budget_buys(tmp_path: Path) -> None:
    """As a table, as JSON and as a CSV file; with what is cheapest for an agreement that is wanted."""
    text = call("curve", QUIZ, *MASTERY, "--agreement", "0.95", "-o", str(tmp_path / "c.csv")).out
    assert text.startswith(
        "cost  agreement  threshold  proof     features\n   0   73.1800%   1.000000  best      nothing\n"
    )
    assert text.endswith("\n95.00% of decisions stay the same from a cost of 2 on, with Q1, Q2\n")
    lines = (tmp_path / "c.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "cost,agreement_lower,agreement_upper,bound,status,threshold,features"
    assert lines[2].startswith("1.0,0.908")
    assert lines[2].endswith(",OPTIMAL,0.07,Q1")
    found = json.loads(call("curve", QUIZ, *MASTERY, "--up-to", "1", "--json").out)
    assert [point["features"] for point in found["points"]] == [[], ["Q1"]]
    assert (found["proved"], found["cheapest"]) == (True, None)
    assert call("curve", *HEARTS, "--time-limit", "0", code=3).out


def test_trim_finds_the_cheapest_that_agrees_often_enough(tmp_path: Path) -> None:
    """With --agreement there need be no budget; where nothing agrees so often, that is said."""
    path = str(tmp_path / "r.json")
    text = call("trim", QUIZ, *MASTERY, "--agreement", "0.9", "--cost", "Q1=3", "-o", path).out
    assert text.startswith("Keep 1 of 3 features, for 3:\n  Q1  3\n")
    assert "Proved: nothing cheaper keeps 90.00% of decisions (" in text
    assert bt.load_result(path).target == 0.9
    assert call("verify", path).out.startswith("right")
    text = call("trim", QUIZ, *MASTERY, "--agreement", "0.99", "--max-features", "2", code=2).out
    assert text == "Nothing can be kept: nothing keeps 99.00% of decisions.\n"
