"""The paper's table of running times, for its networks and ours: ``python -m benchmarks.paper_runtime [--quick]``.

Nine thresholds each, every feature at a cost of 1, a budget of a third of the features. Beside ours: every affordable
subset (for three of the thresholds), and the search that keeps the threshold (the problem of FS-SDD), with the paper's
own columns (n over m: the subsets that use the budget up). Searches of wide tables stop after some seconds: a + says
that their proof was not finished.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import bayestrim as bt
from benchmarks import datasets
from benchmarks.outputs import is_quick, machine, write_table

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
THRESHOLDS = [i / 10 for i in range(1, 10)]
PAPER = {
    "bupa": (0.044, 21, 0.026, 14),
    "pima": (0.056, 36, 0.039, 45),
    "ident": (0.128, 129, 0.097, 89),
    "anatomy": (2.252, 793, 1.085, 283),
    "heart": (7.346, 1092, 2.234, 209),
    "voting": (819.163, 6884, 407.571, 3345),
    "hepatitis": (None, 43795, 4390.71, 2208),
}
"""What the paper reports: seconds and evaluations of FS-SDD, seconds and evaluations of its own search."""
MOST_TRIED = 50_000
"""Affordable subsets that are tried one by one."""
LIMIT, EXHAUSTIVE = 5.0, 20.0
"""Seconds for one search of a wide table, and for trying every subset; the proof may then be unfinished."""
EQUAL = 1e-9
"""Agreements closer than this count as equal."""
PROVED = 1e-6
"""Gaps up to this count as proofs."""


class Work(NamedTuple):
    """What searches took: mean seconds and evaluations, and the worst gap that was left."""

    seconds: float
    evaluations: float
    gap: float


def networks() -> Iterator[tuple[str, Callable[[float], bt.Classifier]]]:
    """Yield the paper's own networks, and classifiers learnt from public tables, each for any threshold."""
    known = json.loads((GOLDEN / "naive_bayes.json").read_text(encoding="utf-8"))
    for name, one in known.items():
        network = bt.read_network(GOLDEN / f"{name}.bif")
        yield name, partial(_classifier, network, one["target"], one["positive"])
    for name in datasets.POSITIVE:
        yield f"{name}*", datasets.learn(datasets.load(name)).classifier


def _classifier(network: bt.BayesianNetwork, target: str, positive: str, threshold: float) -> bt.Classifier:
    return bt.Classifier(network, target, positive, threshold=threshold)


def affordable(features: int, budget: int) -> int:
    """Return how many subsets have at most so many features."""
    return sum(math.comb(features, size) for size in range(budget + 1))


def work(results: list[bt.Trimming], seconds: float) -> Work:
    """Return the means over some results."""
    evaluations = statistics.mean(result.stats.evaluations for result in results)
    return Work(seconds / len(results), evaluations, max(result.gap for result in results))


def searched(classifiers: list[bt.Classifier], budget: int, **options: object) -> tuple[list[bt.Trimming], Work]:
    """Search each classifier, and say what it took."""
    seconds = EXHAUSTIVE if options.get("strategy") == "exhaustive" else LIMIT
    limits = bt.Limits(seconds=seconds / 5 if is_quick() else seconds)
    start = time.perf_counter()
    results = [bt.trim(classifier, budget, limits=limits, **options) for classifier in classifiers]  # type: ignore[arg-type]
    return results, work(results, time.perf_counter() - start)


def shown(one: Work | None) -> str:
    """Return what a search took, in two columns; a trailing + means that the proof was not finished."""
    if one is None:
        return f"{'-':>9} {'-':>10}"
    mark = "+" if one.gap > PROVED else " "
    return f"{1000 * one.seconds:8.1f}{mark} {one.evaluations:10.0f}"


class Line(NamedTuple):
    """What is known about a network.

    Attributes
    ----------
    name, features, budget
        The network and the problem.
    new, kept, tried
        What it took to search with a new threshold, with the old one, and to try every subset (None: too many).
    better, known
        How many thresholds are better moved, and for how many that is proved either way.
    """

    name: str
    features: int
    budget: int
    new: Work
    kept: Work
    tried: Work | None
    better: int
    known: int

    def __str__(self) -> str:
        theirs = PAPER.get(self.name)
        largest = math.comb(self.features, self.budget)
        return (
            f"{self.name:11} {self.features:3} {self.budget:2} "
            f"{shown(self.new)} {shown(self.kept)} {shown(self.tried)}   "
            f"{'' if theirs is None else _paper(*theirs):34} {largest if largest <= MOST_TRIED else '':>8}   "
            f"{self.better} of {self.known}"
        )

    def row(self) -> list[object]:
        """Return a line of the CSV file."""
        work = [f"{value:.6g}" for one in (self.new, self.kept) for value in one]
        tried = ["", "", ""] if self.tried is None else [f"{value:.6g}" for value in self.tried]
        theirs = PAPER.get(self.name) or [""] * 4
        largest = math.comb(self.features, self.budget)
        return [self.name, self.features, self.budget, largest, *work, *tried, *theirs, self.better, self.known]


def compared(name: str, make: Callable[[float], bt.Classifier]) -> Line:
    """Search a network in all ways."""
    classifiers = [make(threshold) for threshold in (THRESHOLDS[1::3] if is_quick() else THRESHOLDS)]
    features = len(classifiers[0].features)
    budget = features // 3
    best, new = searched(classifiers, budget)
    same, kept = searched(classifiers, budget, threshold="keep")
    tried = None
    if affordable(features, budget) <= (MOST_TRIED // 20 if is_quick() else MOST_TRIED):
        tried = searched(classifiers[1::3], budget, strategy="exhaustive")[1]
    pairs = list(zip(best, same, strict=True))
    better = sum(a.agreement.lower > b.bound + EQUAL for a, b in pairs)
    known = better + sum(a.bound <= b.agreement.lower + EQUAL for a, b in pairs)
    return Line(name, features, budget, new, kept, tried, better, known)


def main() -> None:
    """Print a line for each network, and how often a new threshold helps."""
    print(machine())
    print(
        f"{'':11} {'':3} {'':2} {'new threshold':>20} {'kept threshold':>20} {'every subset':>20}   the paper's, in ms"
    )
    print(
        f"{'network':11} {'|F|':>3} {'B':>2} {'ms':>9} {'evals':>10} {'ms':>9} {'evals':>10} {'ms':>9} {'evals':>10}"
        f"   {'FS-SDD':>9} {'evals':>6} {'ECA-Trim':>9} {'evals':>6} {'n over m':>8}   better"
    )
    warm = datasets.learn(datasets.load("german")).classifier()  # the first search compiles, or loads what was compiled
    bt.trim(warm, 6, threshold="optimal", limits=bt.Limits(seconds=5))
    bt.trim(warm, 6, threshold="keep", limits=bt.Limits(seconds=5))
    lines = []
    for name, make in networks():
        lines.append(compared(name, make))
        print(lines[-1], flush=True)
    for ours, what in ((False, "the paper's networks"), (True, "classifiers learnt here (*)")):
        some = [line for line in lines if (line.name not in PAPER) == ours]
        better, known = sum(line.better for line in some), sum(line.known for line in some)
        print(f"a new threshold agrees more on {better} of {known} instances ({better / max(1, known):.0%}) of {what}")
    parts = [f"{who}_{what}" for who in ("new", "kept", "every") for what in ("seconds", "evaluations", "gap")]
    theirs = ["fs_sdd_seconds", "fs_sdd_evaluations", "eca_trim_seconds", "eca_trim_evaluations"]
    header = ["network", "features", "budget", "n_over_m", *parts, *theirs, "better", "of"]
    write_table("runtime", header, (line.row() for line in lines))


def _paper(slow: float | None, tried: int, fast: float, evaluated: int) -> str:
    return f"{'timeout' if slow is None else format(1000 * slow, '.0f'):>9} {tried:6} {1000 * fast:9.0f} {evaluated:6}"


if __name__ == "__main__":
    main()
