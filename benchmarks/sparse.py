"""What listing or merging instances gives: ``python -m benchmarks.sparse [NAME…]``, or with ``--all`` on all networks.

The classes, thresholds and leaves are those of `benchmarks.networks`; ``hepar2/20`` has the first 20 findings only,
and ``alarm/all`` all variables but the class. For each number of instances: how many were listed, the probability of
the rest, and what `trim` with budget 4 says.

With ``--all``, each network has its leaves and then all of its variables as features. Two lines each, from processes of
their own that are ended after a minute and a half: the sparse engine with its default of 65,536 instances, and the
merged one, of which the features that decide and the classes of their instances are counted.
"""

from __future__ import annotations

import subprocess
import sys
import time

import bayestrim as bt
from bayestrim.engines import choose
from bayestrim.engines.merged import MergedEngine
from bayestrim.engines.sparse import SparseEngine
from benchmarks.models import model_files
from benchmarks.networks import classifier_of

CASES = ("water", "andes", "hailfinder", "hepar2/20", "hepar2/30", "alarm/all", "win95pts/all")
LISTED = (1 << 14, 1 << 16, 1 << 18)
BUDGET, SECONDS, PATIENCE = 4, 30, 90


def classifier_of_case(case: str) -> bt.Classifier:
    """Return the classifier of a network, with the first so many of its features, or all variables as features."""
    name, _, count = case.partition("/")
    classifier = classifier_of(name)
    if count == "all":
        return bt.Classifier(classifier.network, classifier.target, classifier.positive, None, classifier.threshold)
    return classifier.restricted(classifier.features[: int(count)]) if count else classifier


def report(case: str, most: int) -> int:
    """Print a line; return how many instances were listed."""
    classifier = classifier_of_case(case)
    choice = choose(classifier, "sparse")
    start = time.perf_counter()
    engine = SparseEngine(classifier, most, irrelevant=choice.irrelevant)
    listing = time.perf_counter() - start
    limits = bt.Limits(samples=most, seconds=SECONDS)
    result = bt.trim(classifier, BUDGET, engine="sparse", limits=limits)
    print(
        f"{case:11} {choice.bits:5.1f} {len(engine.cells):8,} {engine.rest:8.2g} {listing:7.1f} "
        f"{result.stats.seconds:7.1f} {result.agreement!s:24} {result.agreement.width:8.2g} {result.bound:.6f} "
        f"{result.status.name:9} {result.stop_reason.name}",
        flush=True,
    )
    return len(engine.cells)


def compared(case: str, engine: str) -> None:
    """Print what one engine says about a case."""
    classifier = classifier_of_case(case)
    choice = choose(classifier, engine)
    line = f"{case:14} {len(classifier.features):4} {choice.bits:6.1f} {engine:7}"
    try:
        result = bt.trim(classifier, BUDGET, engine=engine, limits=bt.Limits(seconds=SECONDS))
        if engine == "sparse":
            cells = SparseEngine(classifier, irrelevant=choice.irrelevant)
            counted = f"{len(cells.cells):9,} {cells.rest:8.2g}"
        else:
            merged = MergedEngine(classifier, irrelevant=choice.irrelevant)
            counted = f"{merged.told_apart:9,} {len(merged.deciding):8}"
    except bt.TooLargeError as error:
        print(f"{line} refused: {error}", flush=True)
        return
    stats = result.stats
    print(
        f"{line} {counted} {stats.evaluations:7,} {stats.seconds:7.1f} {result.agreement!s:24} {result.bound:.6f} "
        f"{result.status.name:9} {result.stop_reason.name}",
        flush=True,
    )


def compare_all(names: list[str]) -> None:
    """Print the lines of all networks."""
    print("network       features  bits engine  instances rest/deciding evals seconds agreement  bound  status")
    for name in names or model_files():
        for case in (name, f"{name}/all"):
            for engine in ("sparse", "merged"):
                command = [sys.executable, "-W", "ignore", "-m", "benchmarks.sparse", "--one", case, engine]
                try:
                    subprocess.run(command, check=True, timeout=PATIENCE)
                except subprocess.TimeoutExpired:
                    print(f"{case:14} {engine:7} ended after {PATIENCE} s", flush=True)


def main() -> None:
    """Print a line for each network and number of instances, until all possible ones are listed."""
    if sys.argv[1:2] == ["--one"]:
        compared(*sys.argv[2:])
        return
    if sys.argv[1:2] == ["--all"]:
        compare_all(sys.argv[2:])
        return
    print("case         bits    cells     rest listing    trim agreement                   width    bound status")
    for case in sys.argv[1:] or CASES:
        for most in LISTED:
            if report(case, most) < most:
                break


if __name__ == "__main__":
    main()
