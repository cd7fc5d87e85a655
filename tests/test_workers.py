"""Slices, workers and interruptions: the answer is the same whoever works, and honest whenever it is stopped."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from random import Random
from typing import Any

import generators
import numpy as np
import pytest
from test_prices import constrained

import bayestrim as bt
from bayestrim.errors import ProblemError
from bayestrim.search import coordinator, workers
from bayestrim.verify import verify


def wide(features: int, seed: int = 0) -> bt.Classifier:
    """Return a random naive Bayes classifier with features of two states."""
    random = np.random.default_rng(seed)
    prior = random.uniform(0.2, 0.8)
    names = [f"F{i}" for i in range(features)]
    tables: dict[str, Any] = {"C": [prior, 1 - prior]}
    for name in names:
        base, apart = random.uniform(-2, 2), random.normal()
        p, q = (1 / (1 + np.exp(-base - side * apart)) for side in (0.5, -0.5))
        tables[name] = [[p, 1 - p], [q, 1 - q]]
    variables = [bt.Variable("C", ("yes", "no")), *(bt.Variable(name, ("+", "-")) for name in names)]
    return bt.Classifier(bt.BayesianNetwork(variables, {name: ["C"] for name in names}, tables), "C", "yes")


LARGE = wide(34, 1)
"""Some tens of slices of work."""
BUDGET = 11


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut searches into many slices, so that workers have something to share."""
    monkeypatch.setattr(coordinator, "FIRST_SLICE", 64)
    monkeypatch.setattr(coordinator, "MOST", 256)


@pytest.fixture(scope="module")
def alone() -> bt.Trimming:
    """Return what one worker finds."""
    return bt.trim(LARGE, BUDGET)


def same(one: bt.Trimming, other: bt.Trimming) -> bool:
    """Tell whether two results say the same of the problem."""
    return (one.choice, one.bound, one.status, one.stop_reason, one.alternatives) == (
        other.choice,
        other.bound,
        other.status,
        other.stop_reason,
        other.alternatives,
    )


@pytest.mark.parametrize("size", [1, 7, 300, 10**6])
def test_the_size_of_slices_changes_nothing(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ties included, any cut of the work into slices gives the same features, threshold, bound and alternatives."""
    problems = [constrained(Random(seed), generators.random_naive_bayes(Random(seed), 7)) for seed in range(60)]
    wanted = [bt.trim(problem, alternatives=seed % 3) for seed, problem in enumerate(problems)]
    for name in ("FIRST_SLICE", "LEAST", "MOST"):
        monkeypatch.setattr(coordinator, name, size)
    for seed, (problem, before) in enumerate(zip(problems, wanted, strict=True)):
        assert same(bt.trim(problem, alternatives=seed % 3), before)


@pytest.mark.usefixtures("small_slices")
def test_threads_change_nothing_for_problems_full_of_ties() -> None:
    """The same with three threads, who finish in any order."""
    for seed in range(40):
        problem = constrained(Random(seed), generators.random_naive_bayes(Random(seed), 7))
        assert same(bt.trim(problem, n_jobs=3), bt.trim(problem))


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("jobs", [2, 5, -1])
def test_threads_find_what_one_finds(jobs: int, alone: bt.Trimming) -> None:
    """However many threads share the work."""
    result = bt.trim(LARGE, BUDGET, n_jobs=jobs)
    assert same(result, alone)
    assert verify(result, samples=20_000).ok


class Unreliable(Executor):
    """Calls functions in shuffled order, and loses some of the slices."""

    def __init__(self, random: Random, error: Callable[[], BaseException]) -> None:
        self.random, self.error, self.lost = random, error, 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return what came of a function, or an error, some time later."""
        future: Future[Any] = Future()
        fn, args = pickle.loads(pickle.dumps((fn, args)))  # as it would travel

        def act() -> None:
            if self.random.random() < 0.1:
                self.lost += 1
                future.set_exception(self.error())
            else:
                future.set_result(fn(*args, **kwargs))

        threading.Timer(self.random.random() / 200, act).start()
        return future


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("error", [ConnectionError, KeyboardInterrupt, MemoryError])
def test_lost_slices_are_done_again(error: Callable[[], BaseException], alone: bt.Trimming) -> None:
    """A worker that fails now and then, in whatever way, costs time and nothing else."""
    executor = Unreliable(Random(1), error)
    assert same(bt.trim(LARGE, BUDGET, executor=executor, n_jobs=2), alone)
    assert executor.lost > 0


@pytest.mark.usefixtures("small_slices")
def test_a_slice_that_always_fails_raises_its_error() -> None:
    """What is wrong with the work, and not with the worker, is not hidden."""

    class Broken(workers.Here):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            return super().submit(lambda: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        bt.trim(LARGE, BUDGET, executor=Broken())


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Return two processes."""
    with ProcessPoolExecutor(2) as executor:
        yield executor


@pytest.mark.usefixtures("small_slices")
def test_processes_find_what_one_finds(pool: ProcessPoolExecutor, alone: bt.Trimming) -> None:
    """Slices travel to other processes and back."""
    assert same(bt.trim(LARGE, BUDGET, executor=pool), alone)


@pytest.mark.usefixtures("small_slices")
def test_without_its_processes_a_search_goes_on_alone(alone: bt.Trimming) -> None:
    """Where a process is killed its pool is broken for good: the rest is done here, and said so."""
    with ProcessPoolExecutor(2) as executor:
        victim = executor.submit(os.getpid).result()
        killed: list[bt.Event] = []

        def kill(event: bt.Event) -> None:
            if not killed:
                killed.append(event)
                os.kill(victim, signal.SIGKILL)

        with pytest.warns(bt.LostWorkersWarning, match="the workers are gone"):
            result = bt.trim(LARGE, BUDGET, executor=executor, on_event=kill)
    assert same(result, alone)


def test_slices_carry_small_arrays() -> None:
    """What is sent with a slice of 50 features is some kilobytes: no network, no table."""
    sizes = []

    class Measured(workers.Here):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            sizes.append(len(pickle.dumps((fn, args))))
            return super().submit(fn, *args, **kwargs)

    bt.trim(wide(50), 3, executor=Measured(), limits=bt.Limits(evaluations=2000))
    assert sizes
    assert max(sizes) < 16_000


@pytest.mark.parametrize("jobs", [0, -2, 1.5, True, "2"])
def test_numbers_of_workers_that_make_no_sense_are_refused(jobs: Any) -> None:
    """The message says what is allowed."""
    with pytest.raises(ProblemError, match=r"^n_jobs=.*; it must be a whole number, 1 or more, or -1"):
        bt.trim(LARGE, BUDGET, n_jobs=jobs)


def test_what_takes_no_work_is_no_executor() -> None:
    """The message names some that do."""
    with pytest.raises(ProblemError, match=r"^executor=3; it must be a concurrent\.futures\.Executor"):
        bt.trim(LARGE, BUDGET, executor=3)  # type: ignore[arg-type]


# Limits and interruptions.

HUGE = wide(60, 1)


def honest(result: bt.Trimming, reason: bt.StopReason) -> None:
    """Check a result that was cut short."""
    assert (result.status, result.stop_reason) == (bt.Status.FEASIBLE, reason)
    assert 0 < result.gap <= 1 - result.agreement.lower
    assert result.problem.affordable(result.features)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_time_limit_is_kept(jobs: int) -> None:
    """The answer is there within half a second after the time is up, with what is proved of it."""
    bt.trim(wide(48, 2), 16, limits=bt.Limits(evaluations=1))  # whatever is compiled the first time
    begin = time.process_time()  # other programs on this machine are not the search's fault
    start = time.monotonic()
    result = bt.trim(HUGE, 16, n_jobs=jobs, limits=bt.Limits(seconds=1))
    assert min(time.process_time() - begin, time.monotonic() - start) < jobs + 0.5
    honest(result, bt.StopReason.TIME_LIMIT)


def test_the_limit_of_evaluations_is_kept() -> None:
    """Slices are cut short so that they do not go far beyond it."""
    result = bt.trim(HUGE, 16, limits=bt.Limits(evaluations=5000))
    assert result.stats.evaluations < 7000
    honest(result, bt.StopReason.EVALUATION_LIMIT)


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_interruption_returns_the_best_so_far(jobs: int) -> None:
    """A real signal, as Ctrl-C sends it; afterwards Python's own handler is back."""
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    result = bt.trim(HUGE, 16, n_jobs=jobs, limits=bt.Limits(seconds=30))
    honest(result, bt.StopReason.INTERRUPTED)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_two_interruptions_stop_at_once() -> None:
    """The second one is Python's own; it comes even while the first one's answer is being made."""
    with pytest.raises(KeyboardInterrupt):
        _raise_outside()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _raise_outside() -> None:
    """Search with a thread that interrupts twice as soon as an event came."""
    came = threading.Event()

    def interrupt() -> None:
        came.wait()
        os.kill(os.getpid(), signal.SIGINT)
        while signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # until the first one was heard
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    def listen(_: bt.Event) -> None:
        came.set()
        time.sleep(5)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        bt.trim(HUGE, 16, limits=bt.Limits(seconds=30), on_event=listen)
    finally:
        thread.join()


def test_a_listener_may_stop_the_search() -> None:
    """What a listener raises as an interruption asks the search to stop."""

    def stop(event: bt.Event) -> None:
        if event.kind == "progress":
            raise KeyboardInterrupt

    honest(bt.trim(HUGE, 16, on_event=stop, limits=bt.Limits(seconds=30)), bt.StopReason.INTERRUPTED)


def test_events_tell_an_honest_story() -> None:
    """They start and finish once; the agreement never falls, the bound never rises, and the best lies between them."""
    events: list[bt.Event] = []
    result = bt.trim(wide(30, 3), 10, on_event=events.append)
    kinds = [event.kind for event in events]
    assert (kinds[0], kinds[-1]) == ("started", "finished")
    assert kinds.count("started") == kinds.count("finished") == 1
    assert all(one.agreement <= other.agreement + 1e-12 for one, other in itertools.pairwise(events))
    assert all(one.bound >= other.bound - 1e-12 for one, other in itertools.pairwise(events))
    assert all(event.agreement - 1e-9 <= float(result.agreement) <= event.bound + 1e-9 for event in events)
    assert all(event.gap == pytest.approx(event.bound - event.agreement) for event in events)
    assert events[-1].features == result.features
    assert events[-1].evaluations == result.stats.evaluations
