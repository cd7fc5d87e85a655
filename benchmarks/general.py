"""Trimming general networks: ``python -m benchmarks.general [--large]``.

First the paper's setting: every binary root of ALARM and WIN95PTS as class, nine thresholds, the leaves as features, a
budget of a third of them, beside features taken by information gain. With ``--large``, the rows of large tables and of
samples as well.
"""

from __future__ import annotations

import resource
import time
from pathlib import Path

import numpy as np

import bayestrim as bt
from bayestrim.search import STRATEGIES
from benchmarks.models import model_files

THRESHOLDS = tuple(i / 10 for i in range(1, 10))
PAPER = {
    "alarm": (0.9973, 0.9997, 0.9985, 0.9985, 0.9977, 0.9954, 0.9996, 0.9958, 0.9970),
    "win95pts": (0.9985, 0.9964, 0.9978, 0.9985, 0.9983, 0.9979, 0.9963, 0.9887, 0.9912),
}
"""The paper's curves for three roots drawn at random, by threshold."""
PAPER_GAIN = {
    "alarm": (0.9566, 0.9536, 0.9551, 0.9561, 0.9574, 0.9611, 0.9854, 0.9707, 0.9045),
    "win95pts": (0.9823, 0.9673, 0.9633, 0.9621, 0.9615, 0.9609, 0.9591, 0.9304, 0.9198),
}
"""The same for information gain."""


def binary_roots(network: bt.BayesianNetwork) -> list[str]:
    """Return the roots of two states that are not leaves as well."""
    return [name for name in network.roots if len(network.variable(name)) == 2 and name not in network.leaves]


def curves(name: str, path: Path) -> float:
    """Print a network's curves; return the seconds that trimming took."""
    network = bt.read_network(path)
    leaves, roots = network.leaves, binary_roots(network)
    trimmed, gained = np.empty((2, len(roots), len(THRESHOLDS)))
    spent, evaluations, optimal, irrelevant = 0.0, 0, 0, 0
    for row, root in enumerate(roots):
        for column, threshold in enumerate(THRESHOLDS):
            classifier = bt.Classifier(network, root, network.states(root)[0], leaves, threshold)
            start = time.perf_counter()
            result = bt.trim(classifier, len(leaves) / 3)
            spent += time.perf_counter() - start
            trimmed[row, column] = result.agreement.lower
            optimal += result.status is bt.Status.OPTIMAL
            evaluations += result.stats.evaluations
            irrelevant += len(result.irrelevant)
            gained[row, column] = bt.trim(classifier, len(leaves) / 3, strategy="information-gain").agreement.upper
    problems = trimmed.size
    print(f"{name}: {len(roots)} roots, {len(leaves)} leaves, {problems} problems, {optimal} optimal, ", end="")
    print(f"{spent:.1f} s, {evaluations} evaluations, {irrelevant / problems:.1f} leaves irrelevant on average")
    print(f"  worst lead over information gain {float((trimmed - gained).min()):.1e}, ", end="")
    print(f"largest {float((trimmed - gained).max()):.3f}")
    for what, curve in (
        ("trimmed", trimmed.mean(axis=0)),
        ("information gain", gained.mean(axis=0)),
        ("paper, trimmed", PAPER[name]),
        ("paper, information gain", PAPER_GAIN[name]),
    ):
        print(f"  {what:24}" + " ".join(f"{value:.4f}" for value in curve))
    return spent


def main() -> None:
    """Print everything."""
    assert "branch-and-bound" in STRATEGIES
    files = model_files()
    warm = bt.read_network(files["asia"])
    bt.trim(bt.Classifier(warm, "lung", "yes", warm.leaves), 1)
    total = sum(curves(name, files[name]) for name in PAPER)
    print(f"both networks: {total:.1f} s")
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
