"""How long searches over independent features take: ``python -m benchmarks.search [--slow] [--seeds N]``.

The paper's seven networks beside the authors' own program; random networks of 30, 40 and 50 features proved optimal;
features of many states; one agreement of 1,000 features. ``--slow`` adds 64 features to a gap of 0.001 and 100 to 0.01.
Cold is a fresh process, once with nothing compiled yet and once with everything; all other rows are warm. Processor
seconds stand beside wall-clock seconds, which grow with whatever else the machine is doing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import bayestrim as bt
from benchmarks.instances import random_many_valued, random_naive_bayes

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
THRESHOLDS = [i / 10 for i in range(1, 10)]
THEIRS = {"bupa": 0.054, "pima": 0.098, "ident": 0.195, "anatomy": 0.948, "heart": 6.988, "voting": 732.0}
"""Seconds of the authors' C program (2018) for a threshold of 0.5 only, wall clock, measured by this project on a
machine of two cores; voting took 2.9 GB; hepatitis, at 9.3 GB, was stopped unfinished after 39 processor minutes."""
PAPER = {
    "bupa": 0.026,
    "pima": 0.039,
    "ident": 0.097,
    "anatomy": 1.085,
    "heart": 2.234,
    "voting": 407.571,
    "hepatitis": 4390.71,
}
"""Seconds of the paper's search, its table of running times: the mean over nine thresholds."""
ONE = """
import time
start = time.perf_counter()
import bayestrim as bt
from benchmarks.search import golden
bt.trim(*golden("hepatitis", 0.5))
print(time.perf_counter() - start, time.process_time())
"""


def golden(name: str, threshold: float) -> tuple[bt.Classifier, float]:
    """Return one of the paper's classifiers with a threshold, and its budget."""
    case = json.loads((GOLDEN / "naive_bayes.json").read_text(encoding="utf-8"))[name]
    network = bt.read_network(GOLDEN / case["file"])
    return bt.Classifier(network, case["target"], case["positive"], threshold=threshold), case["budget"]


def cold() -> None:
    """Print how long a fresh process takes for the largest of the paper's networks, imports included."""
    with tempfile.TemporaryDirectory() as cache:
        for what in ("the very first, which compiles", "a fresh process later"):
            environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
            done = subprocess.run(
                [sys.executable, "-c", ONE], env=environment, capture_output=True, text=True, check=True
            )
            wall, processor = map(float, done.stdout.split())
            print(f"cold, hepatitis: {what:32} {wall:8.2f} s, of a processor {processor:.2f} s")


def paper() -> None:
    """Print the paper's networks at nine thresholds, beside the authors' program and their paper."""
    print(
        f"\n{'network':10} {'ms each':>8} {'cpu ms':>7} {'evaluations':>12} {'nodes':>7} {'proved':>7} "
        f"{'their C, s':>11} {'paper, s':>9}"
    )
    total = of_processor = 0.0
    for name, reported in PAPER.items():
        problems = [golden(name, threshold) for threshold in THRESHOLDS]
        start, processor = time.perf_counter(), time.process_time()
        results = [bt.trim(classifier, budget) for classifier, budget in problems]
        seconds, cpu = time.perf_counter() - start, time.process_time() - processor
        total, of_processor = total + seconds, of_processor + cpu
        proved = sum(r.status is bt.Status.OPTIMAL and r.agreement.kind == "exact" for r in results)
        evaluations, nodes = (
            statistics.mean(getattr(r.stats, what) for r in results) for what in ("evaluations", "nodes")
        )
        theirs = f"{THEIRS[name]:11.3f}" if name in THEIRS else f"{'unfinished':>11}"
        print(
            f"{name:10} {1000 * seconds / 9:8.1f} {1000 * cpu / 9:7.1f} {evaluations:12.0f} {nodes:7.0f} "
            f"{proved:2} of 9 {theirs} {reported:9.3f}"
        )
    print(f"all seven at nine thresholds: {total:.2f} s, of a processor {of_processor:.2f} s")


def row(what: str, searches: Iterable[bt.Trimming]) -> None:
    """Print what some searches took; they are made one by one."""
    results, processor, start = [], [], time.process_time()
    for result in searches:
        results.append(result)
        processor.append(time.process_time() - start)
        start = time.process_time()
    seconds = [r.stats.seconds for r in results]
    evaluations, nodes = ([getattr(r.stats, name) for r in results] for name in ("evaluations", "nodes"))
    optimal = sum(r.status is bt.Status.OPTIMAL for r in results)
    exact = sum(r.agreement.kind == "exact" for r in results)
    print(
        f"{what:34} {statistics.median(seconds):8.3f} {max(seconds):8.3f} {statistics.median(processor):8.3f} "
        f"{statistics.median(evaluations):12,.0f} {statistics.median(nodes):11,.0f} {optimal:4} of {len(results)} "
        f"{exact:5} {max(r.gap for r in results):9.2g}",
        flush=True,
    )


def search(
    features: int,
    budget: float,
    seeds: int,
    limits: bt.Limits | None = None,
    make: Callable[[int, int], bt.Classifier] = random_naive_bayes,
) -> Iterable[bt.Trimming]:
    """Yield the results of some random problems."""
    return (bt.trim(make(features, seed), budget, limits=limits) for seed in range(seeds))


def one_agreement() -> None:
    """Print how long one agreement of a thousand features takes, and how wide its interval is."""
    classifier = random_naive_bayes(1000, 0)
    start = time.perf_counter()
    agreement = bt.eca(classifier, classifier.features[:300])
    seconds = time.perf_counter() - start
    print(f"ECA, 300 of 1,000 features kept: {seconds:.2f} s, {agreement.kind}, width {agreement.width:.1e}")


def incumbent(seeds: int) -> None:
    """Print what is found within a second among a hundred features."""
    for seed in range(seeds):
        classifier = random_naive_bayes(100, seed)
        early = bt.trim(classifier, 8, limits=bt.Limits(seconds=1.0))
        late = bt.trim(classifier, 8, limits=bt.Limits(seconds=60.0, gap=1e-2))
        print(
            f"100 features, budget 8, seed {seed}: after {early.stats.seconds:.2f} s {early.agreement.lower:.4f}, "
            f"gap {early.gap:.4f}; after {late.stats.seconds:.2f} s {late.agreement.lower:.4f}, gap {late.gap:.4f}"
        )


def main() -> None:
    """Print all rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--slow", action="store_true", help="64 and 100 features, too")
    options = parser.parse_args()
    cold()
    bt.trim(*golden("bupa", 0.5))  # loads what is compiled
    paper()
    print(
        f"\n{'random networks, warm':34} {'median s':>8} {'max s':>8} {'cpu s':>8} {'evaluations':>12} {'nodes':>11} "
        f"{'optimal':>9} {'exact':>5} {'worst gap':>9}"
    )
    for features, budget in ((30, 10), (40, 13), (50, 16)):
        row(f"{features} features, budget {budget}", search(features, budget, options.seeds))
    row("30 of 3 to 5 states, budget 10", search(30, 10, options.seeds, make=random_many_valued))
    if options.slow:
        limits = bt.Limits(seconds=120.0, gap=1e-3)
        row("64 features, budget 10, gap 1e-3", search(64, 10, options.seeds, limits))
    print()
    one_agreement()
    if options.slow:
        incumbent(min(options.seeds, 3))


if __name__ == "__main__":
    main()
