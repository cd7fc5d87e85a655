"""Slices, checkpoints and workers: what a slice costs, what checkpoints cost, and what more workers bring.

Run with ``python -m benchmarks.workers``; ``--features 50 --budget 16`` choose the size, ``--seeds`` how many problems,
``--dask`` adds a cluster of two processes.
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
from typing import Any

import bayestrim as bt
from bayestrim.search import checkpoint
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
        begin = time.perf_counter()
        back = pickle.dumps(done)
        pickle.loads(back)
        self.packing.append(packing + time.perf_counter() - begin)
        self.sent.append(len(packed))
        self.returned.append(len(back))
        self.working.append(done.seconds)
        return future


def timed(classifier: bt.Classifier, budget: int, **options: Any) -> tuple[float, bt.Trimming]:
    """Return the seconds that a search takes, and its result."""
    begin = time.perf_counter()
    result = bt.trim(classifier, budget, **options)
    return time.perf_counter() - begin, result


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
            seconds, _ = timed(classifier, budget, checkpoint=path)
        finally:
            checkpoint.Checkpoint.write = write  # type: ignore[method-assign]
    print(f"  checkpoints: {len(spent)} writes, {sum(spent):.3f} s of {seconds:.1f} s: {sum(spent) / seconds:.2%}")


def speed_up(classifier: bt.Classifier, budget: int, crews: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Print how long each crew takes; return the ratios of one worker's time to theirs."""
    times = {}
    for name, crew in crews.items():
        seconds, result = timed(classifier, budget, **crew)
        times[name] = seconds
        print(f"  {name:<12} {seconds:7.2f} s  {result.stats.evaluations:>12,} evaluations  {result.agreement}")
    first = times[next(iter(times))]
    return {name: first / seconds for name, seconds in times.items()}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--budget", type=int, default=16)
    parser.add_argument("--seeds", type=int, default=3)
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
            ratios.append(speed_up(classifier, options.budget, crews | dask(options.dask)))
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
