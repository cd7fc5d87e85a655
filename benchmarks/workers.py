"""Slices, checkpoints and workers: what a slice costs, what checkpoints cost, and what more workers bring.

Run with ``python -m benchmarks.workers``; ``--features 50 --budget 16`` choose the size, ``--seeds`` how many problems,
``--repeats`` how often each crew tries, of which the quickest counts, ``--dask`` adds a cluster of two processes.
"""

from __future__ import annotations

import argparse
import os
import pickle
import statistics
import tempfile
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import bayestrim as bt
from bayestrim.search import checkpoint
from bayestrim.search.plan import Slice
from bayestrim.search.workers import Here
from benchmarks.instances import random_naive_bayes


class Measured(Here):
    """Works here, and notes the size of what is sent and returned, and the time it takes to pack."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.returned: list[int] = []
        self.packing: list[float] = []
        self.working: list[float] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function by way of its packed form."""
        begin = time.perf_counter()
        packed = pickle.dumps((fn, args))
        fn, args = pickle.loads(packed)
        packing = time.perf_counter() - begin
        future = super().submit(fn, *args, **kwargs)
        done = future.result()
        if not isinstance(done, Slice):
            return future
        begin = time.perf_counter()
        back = pickle.dumps(done)
        pickle.loads(back)
        self.packing.append(packing + time.perf_counter() - begin)
        self.sent.append(len(packed))
        self.returned.append(len(back))
        self.working.append(done.seconds)
        return future


class Timed(NamedTuple):
    """A search's result, the seconds it took, and those that its own thread worked."""

    result: bt.Trimming
    seconds: float
    own: float


def timed(classifier: bt.Classifier, budget: int, **options: Any) -> Timed:
    """Search, and look at the clocks."""
    begin, own = time.perf_counter(), time.thread_time()
    result = bt.trim(classifier, budget, **options)
    return Timed(result, time.perf_counter() - begin, time.thread_time() - own)


def slices(classifier: bt.Classifier, budget: int) -> None:
    """Print what slices carry and what handing them over costs."""
    measured = Measured()
    bt.trim(classifier, budget, executor=measured, n_jobs=1)
    share = sum(measured.packing) / max(sum(measured.working), 1e-9)
    print(
        f"  {len(measured.sent)} slices of {statistics.mean(measured.working):.3f} s, {max(measured.sent):,} bytes "
        f"sent and {max(measured.returned):,} returned at most; packing takes {share:.2%} of the work"
    )


def checkpoints(classifier: bt.Classifier, budget: int) -> None:
    """Print the share of time that goes into checkpoints."""
    spent: list[float] = []
    write = checkpoint.Checkpoint.write

    def measured(self: checkpoint.Checkpoint, state: checkpoint.State) -> None:
        begin = time.perf_counter()
        write(self, state)
        spent.append(time.perf_counter() - begin)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.json"
        checkpoint.Checkpoint.write = measured  # type: ignore[method-assign]
        try:
            seconds = timed(classifier, budget, checkpoint=path).seconds
        finally:
            checkpoint.Checkpoint.write = write  # type: ignore[method-assign]
    print(f"  checkpoints: {len(spent)} writes, {sum(spent):.3f} s of {seconds:.1f} s: {sum(spent) / seconds:.2%}")


def speed_up(
    classifier: bt.Classifier, budget: int, crews: dict[str, dict[str, Any]], repeats: int
) -> dict[str, float]:
    """Print how long each crew takes at best; return the ratios of one worker's time to theirs."""
    runs = {name: [timed(classifier, budget, **crew)] for name, crew in crews.items()}
    for _ in range(repeats - 1):  # crews take turns, so that a busy minute hits all of them
        for name, crew in crews.items():
            runs[name].append(timed(classifier, budget, **crew))
    best = {name: min(tried, key=lambda run: run.seconds) for name, tried in runs.items()}
    for name, run in best.items():
        stats = run.result.stats
        print(
            f"  {name:<13} {run.seconds:6.2f} s, of which the coordinator works {run.own:5.2f} s; "
            f"{stats.evaluations:>9,} evaluations; {run.result.agreement}"
        )
    first = best[next(iter(best))].seconds
    return {name: first / run.seconds for name, run in best.items()}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--budget", type=int, default=16)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dask", action="store_true")
    options = parser.parse_args()
    print(f"{options.features} features, budget {options.budget}; {os.cpu_count()} processors")
    bt.trim(random_naive_bayes(12, 0), 4)  # whatever is compiled the first time
    ratios: list[dict[str, float]] = []
    with ProcessPoolExecutor(2) as pool:
        crews: dict[str, dict[str, Any]] = {
            "one": {},
            "two threads": {"n_jobs": 2},
            "two processes": {"executor": warm(pool)},
        }
        for seed in range(options.seeds):
            classifier = random_naive_bayes(options.features, seed)
            print(f"seed {seed}")
            slices(classifier, options.budget)
            checkpoints(classifier, options.budget)
            ratios.append(speed_up(classifier, options.budget, crews | dask(options.dask), options.repeats))
    for name in ratios[0]:
        print(f"{name:<14} {statistics.median(ratio[name] for ratio in ratios):.2f} times as fast as one (median)")


def warm(pool: Executor) -> Executor:
    """Return a pool whose processes have imported and compiled what slices need."""
    bt.trim(random_naive_bayes(20, 0), 6, executor=pool, n_jobs=2)
    return pool


_CLUSTER: list[Any] = []


def dask(wanted: bool) -> dict[str, dict[str, Any]]:
    """Return a crew of two Dask workers on this machine, if it is wanted."""
    if not wanted:
        return {}
    if not _CLUSTER:
        distributed: Any = import_module("distributed")
        cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        _CLUSTER.append(warm(distributed.Client(cluster).get_executor()))
    return {"two of Dask": {"executor": _CLUSTER[0], "n_jobs": 2}}


if __name__ == "__main__":
    main()
