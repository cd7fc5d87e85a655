"""What listing the most probable instances gives: ``python -m benchmarks.sparse [NAME…]``.

The classes, thresholds and leaves are those of `benchmarks.networks`; ``hepar2/20`` has the first 20 findings only,
and ``alarm/all`` all variables but the class. For each number of instances: how many were listed, the probability of
the rest, and what `trim` with budget 4 says.
"""

from __future__ import annotations

import sys
import time

import bayestrim as bt
from bayestrim.engines import choose
from bayestrim.engines.sparse import SparseEngine
from benchmarks.networks import classifier_of

CASES = ("water", "andes", "hailfinder", "hepar2/20", "hepar2/30", "alarm/all", "win95pts/all")
LISTED = (1 << 14, 1 << 16, 1 << 18)
BUDGET, SECONDS = 4, 30


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


def main() -> None:
    """Print a line for each network and number of instances, until all possible ones are listed."""
    print("case         bits    cells     rest listing    trim agreement                   width    bound status")
    for case in sys.argv[1:] or CASES:
        for most in LISTED:
            if report(case, most) < most:
                break


if __name__ == "__main__":
    main()
