"""Checkpoints: a search that is killed goes on where it was, and what does not fit or is damaged is refused."""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import generators
import pytest
from test_prices import constrained
from test_tampered import leaves
from test_workers import BUDGET, LARGE, same, wide

import bayestrim as bt
from bayestrim import files, saving
from bayestrim.errors import CheckpointError, ProblemError
from bayestrim.search import checkpoint, coordinator
from bayestrim.verify import verify


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a checkpoint after every slice, and make slices small."""
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 1e9)
    monkeypatch.setattr(coordinator, "FIRST_SLICE", 100)
    monkeypatch.setattr(coordinator, "MOST", 100)


def resumed(path: Path, **options: Any) -> bt.Trimming:
    """Return what comes of a search from its checkpoint."""
    result = bt.resume(path, **options)
    assert isinstance(result, bt.Trimming)
    return result


def in_another_process(path: Path, ask: Callable[[Path], object], *, slowly: bool) -> int:
    """Start a search in a process of its own, and return its number; with slow writes, most of its time goes there."""
    child = os.fork()
    if child:
        return child
    try:  # in the child, which never returns to the tests
        if slowly:
            files.os.fsync = lambda _: time.sleep(0.02)  # type: ignore[attr-defined]
        ask(path)
    finally:
        os._exit(0)


def kill_twenty_times(path: Path, ask: Callable[[Path], object]) -> None:
    """Begin a search, and go on with it, in processes that are killed at random moments, also during a write."""
    random = Random(0)
    for turn in range(20):
        child = in_another_process(path, ask, slowly=turn % 2 == 1)
        time.sleep(random.uniform(0.02, 0.3))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_search_that_is_killed_twenty_times_ends_the_same(tmp_path: Path) -> None:
    """SIGKILL at any moment, also during a write, costs neither the answer nor more than the slices in hand."""
    path = tmp_path / "search.json"
    alone = bt.trim(LARGE, BUDGET)
    kill_twenty_times(path, lambda path: bt.trim(LARGE, BUDGET, checkpoint=path))
    result = resumed(path) if path.exists() else bt.trim(LARGE, BUDGET, checkpoint=path)
    assert same(result, alone)
    assert verify(result, samples=20_000).ok
    assert result.stats.evaluations < 1.5 * alone.stats.evaluations + 20 * 800  # each turn looks for a start again


def test_a_limit_leaves_a_checkpoint_that_ends_the_same(tmp_path: Path) -> None:
    """Searches of all kinds, cut into many runs by a limit on evaluations, find what one run finds."""
    for seed in range(30):
        problem = constrained(Random(seed), generators.random_naive_bayes(Random(seed), 7))
        path = tmp_path / f"{seed}.json"
        wanted = bt.trim(problem, alternatives=seed % 3)
        result = bt.trim(problem, alternatives=seed % 3, checkpoint=path, limits=bt.Limits(evaluations=1))
        for _ in range(1000):
            if result.stop_reason is not bt.StopReason.EVALUATION_LIMIT:
                break
            result = resumed(path, limits=bt.Limits(evaluations=60))
        assert same(result, wanted)


# Budget curves, and the cheapest that agrees often enough: many searches, one after the other.


def facts(found: bt.Trimming | bt.BudgetCurve) -> list[object]:
    """Return all that an answer says of its problem."""
    points = [found] if isinstance(found, bt.Trimming) else [point.result for point in found]
    return [found.stop_reason, *((r.problem.budget, r.choice, r.bound, r.status, r.target) for r in points)]


QUESTIONS: dict[str, Callable[..., bt.Trimming | bt.BudgetCurve]] = {
    "curve": bt.frontier,
    "cheapest": lambda problem, **options: bt.trim(problem, agreement=0.9, **options),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=list(QUESTIONS))
def test_many_searches_that_are_killed_twenty_times_end_the_same(
    ask: Callable[..., bt.Trimming | bt.BudgetCurve], tmp_path: Path
) -> None:
    """What is finished is not done again, nor what is closed of the search in hand."""
    problem, path = bt.TrimProblem(LARGE, BUDGET - 1), tmp_path / "search.json"
    alone = ask(problem)
    kill_twenty_times(path, lambda path: ask(problem, checkpoint=path))
    found = bt.resume(path) if path.exists() else ask(problem, checkpoint=path)
    assert facts(found) == facts(alone)
    assert found.stats.evaluations < 1.5 * alone.stats.evaluations + 20 * 800


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=list(QUESTIONS))
def test_a_limit_leaves_many_searches_to_go_on_with(
    ask: Callable[..., bt.Trimming | bt.BudgetCurve], tmp_path: Path
) -> None:
    """Cut into many runs by a limit, also over tables, they end as in one run; odd prices and constraints included."""
    runs = 0
    for seed in range(24):
        random = Random(seed)
        small = generators.random_classifier(random, 4) if seed % 2 else generators.random_naive_bayes(random, 7)
        problem = bt.TrimProblem(wide(18, seed), 8) if seed % 6 == 0 else constrained(random, small)
        path, wanted = tmp_path / f"{seed}.json", ask(problem)
        found = ask(problem, checkpoint=path, limits=bt.Limits(evaluations=1))
        while found.stop_reason is bt.StopReason.EVALUATION_LIMIT:
            found, runs = bt.resume(path, limits=bt.Limits(evaluations=400)), runs + 1
            assert runs < 1000
        assert facts(found) == facts(wanted)
        if path.exists():
            again = bt.resume(path)
            assert facts(again) == facts(wanted)
            assert again.stats.nodes == found.stats.nodes
    assert runs > 20


def test_a_finished_curve_is_resumed_without_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its points come from the file, thresholds and agreements included, and are told again."""
    path = tmp_path / "curve.json"
    whole = bt.frontier(LARGE, up_to=8, checkpoint=path)
    monkeypatch.setattr(coordinator.Coordinator, "run", None)
    events: list[bt.Event] = []
    again = bt.resume(path, on_event=events.append)
    assert facts(again) == facts(whole)
    assert again.stats.evaluations == whole.stats.evaluations
    assert {point.features for point in whole} <= {event.features for event in events}


def test_an_interrupted_curve_goes_on(tmp_path: Path) -> None:
    """Finished points are kept, and the open nodes of the search in hand are not lost to what is filled in."""
    path, seen = tmp_path / "curve.json", list[bt.Event]()

    def stop(event: bt.Event) -> None:
        seen.append(event)
        if len(seen) == 4:
            raise KeyboardInterrupt

    first = bt.frontier(LARGE, up_to=7, checkpoint=path, on_event=stop)
    assert first.stop_reason is bt.StopReason.INTERRUPTED
    assert json.loads(path.read_text())["in_hand"]["open"]
    assert facts(bt.resume(path, n_jobs=2)) == facts(bt.frontier(LARGE, up_to=7))


def test_searches_that_stop_at_once_write_seldom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A curve of many quick points writes when it is time, and at its end; also if it ends in an error."""
    monkeypatch.setattr(checkpoint, "SECONDS", 1e6)
    writes: list[int] = []
    write = files.write_file

    def counted(*arguments: Any, **options: Any) -> None:
        writes.append(1)
        write(*arguments, **options)

    monkeypatch.setattr(checkpoint, "write_file", counted)
    assert len(bt.frontier(wide(12), checkpoint=tmp_path / "one.json")) > 10
    assert len(writes) == 1

    def fail(event: bt.Event) -> None:
        if len(event.features) == 5:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        bt.frontier(wide(12), checkpoint=tmp_path / "two.json", on_event=fail)
    assert len(json.loads((tmp_path / "two.json").read_text())["steps"]) > 3
    assert len(writes) == 2


def test_questions_do_not_share_checkpoints(tmp_path: Path) -> None:
    """A curve's is not a search's, nor that of another agreement."""
    words = "is the checkpoint of another problem or of other options"
    kept = {name: tmp_path / name for name in ("trim", "curve", "cheapest")}
    problem = bt.TrimProblem(LARGE, 3)
    bt.trim(problem, checkpoint=kept["trim"])
    for name, ask in QUESTIONS.items():
        ask(problem, checkpoint=kept[name])
    for name, ask in QUESTIONS.items():
        for other in kept.keys() - {name}:
            with pytest.raises(CheckpointError, match=words):
                ask(problem, checkpoint=kept[other])
    with pytest.raises(CheckpointError, match=words):
        bt.trim(problem, agreement=0.8, checkpoint=kept["cheapest"])
    with pytest.raises(CheckpointError, match=words):
        bt.trim(problem, checkpoint=kept["curve"])


def test_a_finished_search_is_resumed_at_once(tmp_path: Path) -> None:
    """Its checkpoint has no open nodes, and gives the answer again."""
    path = tmp_path / "done.json"
    first = bt.trim(LARGE, BUDGET, checkpoint=path)
    again = resumed(path)
    assert same(first, again)
    assert again.stats.nodes == first.stats.nodes
    assert json.loads(path.read_text())["in_hand"]["open"] == []


def test_an_interruption_leaves_a_checkpoint(tmp_path: Path) -> None:
    """What Ctrl-C stops can be resumed, by as many threads as one likes."""
    path = tmp_path / "search.json"

    def stop(event: bt.Event) -> None:
        if event.kind == "progress":
            raise KeyboardInterrupt

    classifier = wide(32, 5)
    first = bt.trim(classifier, 11, checkpoint=path, on_event=stop)
    assert first.stop_reason is bt.StopReason.INTERRUPTED
    assert same(resumed(path, n_jobs=2), bt.trim(classifier, 11))


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """Return the checkpoint of a search that was stopped."""
    path = tmp_path / "stopped.json"
    bt.trim(LARGE, BUDGET, checkpoint=path, limits=bt.Limits(evaluations=3000))
    assert json.loads(path.read_text())["in_hand"]["open"]
    return path


def test_the_checkpoint_of_another_problem_is_refused(stopped: Path) -> None:
    """Another budget, price, option or classifier is another search; the file stays as it is."""
    before = stopped.read_bytes()
    words = "is the checkpoint of another problem or of other options"
    for change in (
        {"budget": BUDGET + 1},
        {"budget": BUDGET, "costs": {"F3": 2}},
        {"budget": BUDGET, "alternatives": 1},
        {"budget": BUDGET, "limits": bt.Limits(gap=0.1)},
    ):
        with pytest.raises(CheckpointError, match=words):
            bt.trim(LARGE, checkpoint=stopped, **change)
    with pytest.raises(CheckpointError, match=words):
        bt.trim(wide(34, 2), BUDGET, checkpoint=stopped)
    assert stopped.read_bytes() == before


def same_document(one: bytes, other: bytes) -> bool:
    """Tell whether two files say the same."""
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


def test_a_damaged_checkpoint_is_a_clear_error(stopped: Path) -> None:
    """Cut anywhere, or with any byte changed, it is refused rather than believed.

    Some floats are the same whatever their last digit is.
    """
    whole = stopped.read_bytes()
    random = Random(0)
    damaged = [whole[: random.randrange(len(whole))] for _ in range(10)]
    for place in (random.randrange(len(whole)) for _ in range(30)):
        changed = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        if not same_document(changed, whole):
            damaged.append(changed)
    for content in damaged:
        stopped.write_bytes(content)
        with pytest.raises(CheckpointError, match=r"stopped\.json.*remove it to begin anew"):
            bt.resume(stopped)


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=list(QUESTIONS))
def test_a_checkpoint_that_was_made_up_is_a_clear_error(
    ask: Callable[..., bt.Trimming | bt.BudgetCurve], tmp_path: Path
) -> None:
    """Whatever is missing or of another kind, though the digest is right: no error but the package's own comes."""
    path, refused = tmp_path / "made_up.json", 0
    ask(wide(12), checkpoint=path, limits=bt.Limits(evaluations=1200))
    text = path.read_text()
    known = {name: part for name, part in json.loads(text).items() if name != "problem"}
    values: list[Any] = [None, "x", []]
    for place in (place for place in leaves(known) if not any(step in range(1, 999) for step in place)):
        for value in values:
            document = json.loads(text)
            part = document
            for step in place[:-1]:
                part = part[step]
            part[place[-1]] = value
            del document["digest"]
            path.write_text(json.dumps({**document, "digest": saving.fingerprint(document)}))
            try:
                bt.resume(path, limits=bt.Limits(evaluations=100))
            except bt.BayestrimError:
                refused += 1
    assert refused > 30


def test_other_files_are_no_checkpoints(tmp_path: Path) -> None:
    """Neither a classifier nor another version's checkpoint nor a file that is not there."""
    LARGE.save(tmp_path / "classifier.json")
    with pytest.raises(CheckpointError, match="not a saved bayestrim checkpoint"):
        bt.resume(tmp_path / "classifier.json")
    for version in (1, 3):
        (tmp_path / "other.json").write_text(f'{{"format": "bayestrim checkpoint", "version": {version}}}')
        with pytest.raises(CheckpointError, match=f"version {version} is not supported; this program reads 2"):
            bt.resume(tmp_path / "other.json")
    with pytest.raises(bt.MissingFileError):
        bt.resume(tmp_path / "nothing.json")


def test_what_is_not_cut_into_slices_keeps_no_checkpoint(tmp_path: Path) -> None:
    """That is said, rather than leaving no file without a word."""
    with pytest.raises(ProblemError, match="strategy 'greedy' keeps no checkpoints"):
        bt.trim(LARGE, BUDGET, strategy="greedy", checkpoint=tmp_path / "none.json")
    with pytest.raises(ProblemError, match="there is no strategy 3; known: 'auto', 'branch-and-bound'"):
        bt.trim(LARGE, BUDGET, strategy=3)  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match="strategy 'exhaustive' keeps no checkpoints"):
        bt.frontier(wide(5), strategy="exhaustive", checkpoint=tmp_path / "none.json")


def test_no_other_file_is_left_behind(tmp_path: Path) -> None:
    """What is written first has one name, so that killed runs do not fill the folder."""
    path = tmp_path / "search.json"
    bt.trim(LARGE, BUDGET, checkpoint=path)
    assert list(tmp_path.iterdir()) == [path]


def test_writing_takes_a_small_share_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a write takes, it waits until the search has worked a hundred times as long."""
    monkeypatch.setattr(checkpoint, "SHARE", 1 / 100)
    now = itertools.count(step=0.5)
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    kept = checkpoint.Checkpoint(tmp_path / "slow.json", bt.TrimProblem(LARGE, BUDGET), {})
    kept.open(None)
    kept.write(checkpoint.State([], [], 0, 0, 0.0))
    waited = sum(1 for _ in itertools.takewhile(lambda _: not kept.due, itertools.count()))
    assert 0.5 * waited == pytest.approx(100 * 0.5, abs=1)
