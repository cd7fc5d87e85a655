"""Trimming all 24 public networks: ``python -m benchmarks.networks [NAME…]``.

One class each, the leaves as features, budget 4. The threshold is the class's prior to two digits: the classifier asks
which way the evidence speaks. Each network has a process of its own, so that the memory is its own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import bayestrim as bt
from bayestrim.engines import choose
from benchmarks.models import model_files

CHOSEN = {
    "alarm": ("HYPOVOLEMIA", ("TRUE",)),
    "hepar2": ("Cirrhosis", ("decompensate", "compensate")),
}
"""Classes and positive states of some networks; elsewhere the root with most leaves below it, and its first state."""
BUDGET, SECONDS = 4, 60


def classifier_of(name: str) -> bt.Classifier:
    """Return the classifier of a network."""
    network = bt.read_network(model_files()[name])
    target, positive = CHOSEN.get(name) or (_root(network), None)
    if positive is None:
        positive = network.states(target)[: 3 if name == "pathfinder" else 1]
    features = [leaf for leaf in network.leaves if leaf != target]
    prior = bt.Classifier(network, target, positive, []).posterior({})
    return bt.Classifier(network, target, positive, features, float(f"{prior:.2g}"))


def _root(network: bt.BayesianNetwork) -> str:
    """Return the root with most leaves below it, the first of several."""
    below: dict[str, set[str]] = {}
    for name in reversed(network.topological_order):
        children = network.children(name)
        below[name] = {name} if not children else set().union(*(below[child] for child in children))
    return max(network.roots, key=lambda root: len(below[root] - {root}))


def report(name: str) -> None:
    """Print a network's line."""
    classifier = classifier_of(name)
    choice = choose(classifier)
    start, cpu = time.perf_counter(), time.process_time()
    line = f"{name:11} {classifier.target:18} {len(classifier.features):8} {choice.bits:6.1f} {choice.name:8}"
    try:
        result = bt.trim(classifier, BUDGET, limits=bt.Limits(seconds=SECONDS), seed=1)
    except bt.TooLargeError as error:
        print(f"{line} refused: {error}")
        return
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    seconds = f"{time.perf_counter() - start:7.1f} {time.process_time() - cpu:7.1f}"
    print(f"{line} {seconds} {memory:6.2f}  {result.agreement!s:24} {result.status.name:9} {result.stop_reason.name}")


def main() -> None:
    """Print a line for each network."""
    if len(sys.argv) == 2 and sys.argv[1] in model_files():
        report(sys.argv[1])
        return
    print("network     class              features   bits engine   seconds     cpu    GiB  agreement")
    for name in sys.argv[1:] or model_files():
        subprocess.run([sys.executable, "-W", "ignore", "-m", "benchmarks.networks", name], check=True)


if __name__ == "__main__":
    main()
