"""Trimming against information gain where no table holds the features: ``python -m benchmarks.paper_sampled``.

HEPAR2 and PATHFINDER: the class is a root of two states (or the only root), the features are all leaves, and the
budget is 8 of them. Trimming samples; every choice is then judged on instances drawn afresh, with the threshold that it
brings, or, for information gain, with the old one and with the best one on other instances. ``--quick`` looks at one
class and one threshold of each.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import bayestrim as bt
from bayestrim.inference import IntArray, sample
from bayestrim.search.start import information_gain
from benchmarks.models import model_files
from benchmarks.outputs import is_quick, machine, write_table

JUDGED = 5_000
"""Instances on which choices are judged."""
THRESHOLDS = (0.1, 0.5, 0.9)
BUDGET = 8


def classifiers() -> Iterator[tuple[str, bt.Classifier]]:
    """Yield every classifier with its network's name."""
    for name in ("hepar2", "pathfinder"):
        network = bt.read_network(model_files()[name])
        targets = [root for root in network.roots if len(network.variable(root)) == 2] or list(network.roots[:1])
        for target in targets[:1] if is_quick() else targets:
            leaves = [leaf for leaf in network.leaves if leaf != target]
            for threshold in THRESHOLDS[1:2] if is_quick() else THRESHOLDS:
                yield name, bt.Classifier(network, target, network.states(target)[0], leaves, threshold)


class Rows(NamedTuple):
    """Instances as state numbers [instances, features], and how the classifier decides them."""

    codes: IntArray
    decided: npt.NDArray[np.bool_]


def drawn(classifier: bt.Classifier, seed: int) -> Rows:
    """Draw instances and decide them."""
    instances = sample(classifier.network, JUDGED, seed=seed)
    codes = np.stack([instances[name] for name in classifier.features], axis=1)
    return Rows(codes, classifier.decide(codes))


def judged(classifier: bt.Classifier, kept: tuple[str, ...], threshold: float, rows: Rows) -> float:
    """Return how often decisions stay the same on some instances."""
    columns = [classifier.features.index(name) for name in kept]
    new = classifier.restricted(kept, threshold).decide(rows.codes[:, columns])
    return float((new == rows.decided).mean())


def by_gain(classifier: bt.Classifier) -> tuple[str, ...]:
    """Return the features of highest information gain."""
    gains = information_gain(classifier)
    return classifier.checked_subset(sorted(gains, key=lambda name: -gains[name])[:BUDGET])


def best_threshold(classifier: bt.Classifier, kept: tuple[str, ...], rows: Rows) -> float:
    """Return the threshold of most agreement on some instances."""
    columns = [classifier.features.index(name) for name in kept]
    posteriors = classifier.restricted(kept).posterior(rows.codes[:, columns])
    truth = rows.decided
    order = np.argsort(posteriors, kind="stable")
    ranked = posteriors[order]
    agreed = truth.sum() + np.concatenate([[0], np.cumsum(1 - 2 * truth[order].astype(int))])
    possible = np.concatenate([[True], np.diff(ranked) > 0, [True]])  # equal posteriors are not cut apart
    at = int(np.argmax(np.where(possible, agreed, -1)))
    return float(ranked[at]) if at < len(ranked) else bt.NEVER_POSITIVE


def main() -> None:
    """Print a line for each classifier."""
    print(machine())
    print(
        f"{'network':10} {'class':16} {'bits':>5} {'T':>4} {'trim':>7} {'new T':>6} {'gain':>7} {'same T':>7} {'s':>6}"
    )
    rows: list[list[object]] = []
    for name, classifier in classifiers():
        bits = sum(math.log2(len(variable)) for variable in classifier.feature_variables)
        start = time.perf_counter()
        result = bt.trim(classifier, BUDGET, engine="sampled", limits=bt.Limits(seconds=30), seed=1)
        seconds = time.perf_counter() - start
        fresh, other = drawn(classifier, 11), drawn(classifier, 12)
        gain = by_gain(classifier)
        found = [
            judged(classifier, result.features, result.threshold, fresh),
            judged(classifier, gain, best_threshold(classifier, gain, other), fresh),
            judged(classifier, gain, classifier.threshold, fresh),
        ]
        print(
            f"{name:10} {classifier.target:16} {bits:5.1f} {classifier.threshold:4} {found[0]:7.4f} "
            f"{result.threshold:6.3f} {found[1]:7.4f} {found[2]:7.4f} {seconds:6.1f}",
            flush=True,
        )
        rows.append([name, classifier.target, classifier.threshold, *found, f"{seconds:.1f}"])
    header = ["network", "class", "threshold", "trim", "gain_best_threshold", "gain_old_threshold", "seconds"]
    write_table("sampled", header, rows)


if __name__ == "__main__":
    main()
