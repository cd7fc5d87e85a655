"""What listing or merging instances gives: ``python -m benchmarks.sparse [NAME…]``, or with ``--all`` on all networks.

The classes, thresholds and leaves are those of `benchmarks.networks`; ``hepar2/20`` has the first 20 findings only,
and ``alarm/all`` all variables but the class. For each number of instances: how many were listed, the probability of
the rest, and what `trim` with budget 4 says.

With ``--all``, each network has its leaves and then all of its variables as features. Two lines each, from processes of
their own that are ended after a minute: the sparse engine with its default of 65,536 instances, and the
merged one, of which the features that decide and the classes of their instances are counted.

``python -m benchmarks.sparse --classes [NAME…]`` counts the classes of the instances of all features that decide: those
that cannot be told apart, and, of few, if messages counted as proportional that differ by up to 1 % and 10 %.
``--alike`` trims networks of equal tests and of equal causes.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from typing import Any

import bayestrim as bt
from bayestrim.engines import choose, merging
from bayestrim.engines.merged import MergedEngine
from bayestrim.engines.relevance import boundary, relevant_features
from bayestrim.engines.sparse import SparseEngine
from bayestrim.inference import probabilities
from benchmarks.models import model_files
from benchmarks.networks import classifier_of

CASES = ("water", "andes", "hailfinder", "hepar2/20", "hepar2/30", "alarm/all", "win95pts/all")
LISTED = (1 << 14, 1 << 16, 1 << 18)
BUDGET, SECONDS, PATIENCE = 4, 30, 60
COUNTED = ("alarm", "win95pts", "child", "insurance", "hepar2/12", "hepar2/16", "pathfinder/12", "pathfinder/16")
NEAR = (1e-12, 0.01, 0.1)
MOST_CLASSES, FEW_CELLS = 1 << 20, 1 << 14
ALIKE_TESTS = ((50, 1, 10), (24, 2, 6), (16, 3, 5))
ALIKE_CAUSES = ((20, 2), (40, 2))


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


def count_classes(names: list[str]) -> None:
    """Print how many classes the instances of some cases have, the widest on the way in brackets."""
    print(f"{'case':14} {'cells':>13}" + "".join(f"{f'within {near:g}':>24}" for near in NEAR))
    for case in names or COUNTED:
        classifier = classifier_of_case(case)
        deciding = boundary(classifier, (classifier.target,), relevant_features(classifier))
        cells = math.prod(len(classifier.network.variable(name)) for name in deciding)
        counts = []
        for near in NEAR if cells <= FEW_CELLS else NEAR[:1]:
            merging.ALIKE, merging.ROUNDS = near, FEW_CELLS
            network = classifier.network
            way = merging.Merging(network, classifier.target, classifier.evidence_codes, probabilities(network))
            try:
                classes = way.run((), deciding, MOST_CLASSES)
            except bt.TooLargeError:
                counts.append("too many")
            else:
                counts.append(f"{len(classes.mass):,} ({classes.widest:,})")
        print(f"{case:14} {cells:13,}" + "".join(f"{count:>24}" for count in counts), flush=True)


def alike_tests(count: int, kinds: int) -> bt.Classifier:
    """Return a class with tests of a few kinds, half of them below a hidden variable."""
    rows = ([[0.8, 0.2], [0.3, 0.7]], [[0.9, 0.1], [0.4, 0.6]], [[0.7, 0.3], [0.1, 0.9]])[:kinds]
    tests = [bt.Variable(f"T{i}", ("+", "-")) for i in range(count)]
    parents = {"H": ["C"], **{test.name: ["CH"[i % 2]] for i, test in enumerate(tests)}}
    tables: dict[str, Any] = {test.name: rows[i // 2 % kinds] for i, test in enumerate(tests)}
    tables |= {"C": [0.3, 0.7], "H": [[0.9, 0.1], [0.2, 0.8]]}
    variables = [bt.Variable(name, ("yes", "no")) for name in "CH"] + tests
    network = bt.BayesianNetwork(variables, parents, tables)
    return bt.Classifier(network, "C", "yes", [test.name for test in tests], 0.4)


def alike_causes(count: int) -> bt.Classifier:
    """Return an effect of many causes of probability 0.03, of which each suffices seven times in ten (noisy or)."""
    states = ("yes", "no")
    tables: dict[str, Any] = {f"F{i}": [0.03, 0.97] for i in range(count)} | {"Y0": [[0.7, 0.3], [0.01, 0.99]]}
    tables |= {f"Y{i}": [[[1.0, 0.0], [1.0, 0.0]], [[0.7, 0.3], [0.0, 1.0]]] for i in range(1, count)}
    parents = {"Y0": ["F0"], **{f"Y{i}": [f"Y{i - 1}", f"F{i}"] for i in range(1, count)}}
    network = bt.BayesianNetwork([bt.Variable(name, states) for name in tables], parents, tables)
    return bt.Classifier(network, f"Y{count - 1}", "yes", [f"F{i}" for i in range(count)], 0.5)


def trim_alike() -> None:
    """Print what comes of trimming networks full of equal features."""
    cases = [(f"{n} tests, {kinds} kinds", alike_tests(n, kinds), b) for n, kinds, b in ALIKE_TESTS]
    cases += [(f"{n} causes", alike_causes(n), b) for n, b in ALIKE_CAUSES]
    for name, classifier, budget in cases:
        classes = MergedEngine(classifier).told_apart
        result = bt.trim(classifier, budget, engine="merged", limits=bt.Limits(seconds=SECONDS))
        stats = result.stats
        print(
            f"{name:18} {budget:3} {classes:7,} {stats.evaluations:7,} {stats.nodes:7,} {stats.seconds:7.1f} "
            f"{result.agreement!s:10} {result.bound:.6f} {result.status.name:9} {result.stop_reason.name}",
            flush=True,
        )


def main() -> None:
    """Print a line for each network and number of instances, until all possible ones are listed."""
    if sys.argv[1:2] == ["--one"]:
        compared(*sys.argv[2:])
        return
    if sys.argv[1:2] == ["--all"]:
        compare_all(sys.argv[2:])
        return
    if sys.argv[1:2] == ["--alike"]:
        trim_alike()
        return
    if sys.argv[1:2] == ["--classes"]:
        count_classes(sys.argv[2:])
        return
    print("case         bits    cells     rest listing    trim agreement                   width    bound status")
    for case in sys.argv[1:] or CASES:
        for most in LISTED:
            if report(case, most) < most:
                break


if __name__ == "__main__":
    main()
