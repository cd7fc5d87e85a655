"""The paper's table of running times, for its networks and ours: ``python -m benchmarks.paper_runtime [--quick]``.

Nine thresholds each, every feature at a cost of 1, a budget of a third of the features. Beside ours: every affordable
subset (for three of the thresholds), and the search that keeps the threshold (the problem of FS-SDD), with the paper's
own columns. Searches of wide tables stop after some seconds: a + says that their proof was not finished.
"""

from __future__ import annotations

import json
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
LIMIT = 5.0
"""Seconds for one search of a wide table; the proof may then be unfinished."""
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
    count, total = 1, 1
    for size in range(budget):
        count = count * (features - size) // (size + 1)
        total += count
    return total


def work(results: list[bt.Trimming], seconds: float) -> Work:
    """Return the means over some results."""
    evaluations = statistics.mean(result.stats.evaluations for result in results)
    return Work(seconds / len(results), evaluations, max(result.gap for result in results))


def searched(classifiers: list[bt.Classifier], budget: int, **options: object) -> tuple[list[bt.Trimming], Work]:
    """Search each classifier, and say what it took."""
    limits = bt.Limits(seconds=LIMIT / 5 if is_quick() else LIMIT)
    start = time.perf_counter()
    results = [bt.trim(classifier, budget, limits=limits, **options) for classifier in classifiers]  # type: ignore[arg-type]
    return results, work(results, time.perf_counter() - start)


def shown(one: Work | None) -> str:
    """Return what a search took, in two columns; a trailing + means that the proof was not finished."""
    if one is None:
        return f"{'-':>9} {'-':>10}"
    mark = "+" if one.gap > PROVED else " "
    return f"{1000 * one.seconds:8.1f}{mark} {one.evaluations:10.0f}"


def main() -> None:
    """Print a line for each network, and how often a new threshold helps."""
    print(machine())
    print(
        f"{'':11} {'':3} {'':2} {'new threshold':>20} {'kept threshold':>20} {'every subset':>20}   the paper's, in ms"
    )
    print(
        f"{'network':11} {'|F|':>3} {'B':>2} {'ms':>9} {'evals':>10} {'ms':>9} {'evals':>10} {'ms':>9} {'evals':>10}"
        f"   {'FS-SDD':>9} {'evals':>6} {'ECA-Trim':>9} {'evals':>6}   better"
    )
    warm = datasets.learn(datasets.load("german")).classifier()  # the first search compiles, or loads what was compiled
    bt.trim(warm, 6, threshold="optimal", limits=bt.Limits(seconds=5))
    bt.trim(warm, 6, threshold="keep", limits=bt.Limits(seconds=5))
    rows, better, instances = [], {"paper": 0, "ours": 0}, {"paper": 0, "ours": 0}
    for name, make in networks():
        classifiers = [make(threshold) for threshold in (THRESHOLDS[1::3] if is_quick() else THRESHOLDS)]
        features = len(classifiers[0].features)
        budget = features // 3
        best, new = searched(classifiers, budget)
        same, kept = searched(classifiers, budget, threshold="keep")
        tried = None
        if affordable(features, budget) <= (MOST_TRIED // 20 if is_quick() else MOST_TRIED):
            tried = searched(classifiers[1::3] or classifiers, budget, strategy="exhaustive")[1]
        pairs = list(zip(best, same, strict=True))
        helps = sum(a.agreement.lower > b.bound + EQUAL for a, b in pairs)
        known = helps + sum(a.bound <= b.agreement.lower + EQUAL for a, b in pairs)
        kind = "paper" if name in PAPER else "ours"
        better[kind] += helps
        instances[kind] += known
        theirs = PAPER.get(name)
        columns = "" if theirs is None else "".join(_paper(*theirs))
        print(
            f"{name:11} {features:3} {budget:2} {shown(new)} {shown(kept)} {shown(tried)}   {columns:34}   "
            f"{helps} of {known}",
            flush=True,
        )
        of_all = [value for one in (new, kept, tried) for value in (one or ("", "", ""))]
        rows.append([name, features, budget, *of_all, *(theirs or [""] * 4), helps, known])
    for kind, what in (("paper", "the paper's networks"), ("ours", "classifiers learnt here (*)")):
        share = better[kind] / max(1, instances[kind])
        print(f"a new threshold agrees more on {better[kind]} of {instances[kind]} instances ({share:.0%}) of {what}")
    parts = [f"{who}_{what}" for who in ("new", "kept", "every") for what in ("seconds", "evaluations", "gap")]
    theirs_ = ["fs_sdd_seconds", "fs_sdd_evaluations", "eca_trim_seconds", "eca_trim_evaluations"]
    write_table("runtime", ["network", "features", "budget", *parts, *theirs_, "better", "of"], rows)


def _paper(slow: float | None, tried: int, fast: float, evaluated: int) -> Iterator[str]:
    yield f"{'timeout' if slow is None else format(1000 * slow, '.0f'):>9} {tried:6} {1000 * fast:9.0f} {evaluated:6}"


if __name__ == "__main__":
    main()
