"""Agreement of trimming against other ways to choose features: ``python -m benchmarks.paper_gain [--quick]``.

ALARM and WIN95PTS as in the paper: the class is a root of two states (here each of them, there three at random), the
features are all leaves, thresholds from 0.1 to 0.9, a budget of a third of the features; then the same with prices from
1 to 5. Every method's features are judged twice: with the old threshold, and with the best one for them.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import numpy as np

import bayestrim as bt
from bayestrim.engines.table import TableEngine
from benchmarks.baselines import METHODS, Features, Question
from benchmarks.models import model_files
from benchmarks.outputs import is_quick, machine, new_picture, write_picture, write_table

THRESHOLDS = [i / 10 for i in range(1, 10)]
NETWORKS = ("alarm", "win95pts")
WITHOUT_PRICES = ("SFS",)
"""Methods that can only be told how many features to take."""
WORTH_MENTIONING = 1e-9
"""Smaller differences are rounding."""
Row = tuple[str, str, float, str, str, float, float]
"""Network, class, threshold, prices, method, agreement under the old threshold, and under the best one."""


def questions(name: str, priced: bool) -> Iterator[Question]:
    """Yield all questions about a network."""
    network = bt.read_network(model_files()[name])
    targets = [root for root in network.roots if len(network.variable(root)) == 2]
    for target in targets[:2] if is_quick() else targets:
        leaves = [leaf for leaf in network.leaves if leaf != target]
        drawn = np.random.default_rng(len(target)).integers(1, 6, len(leaves)).tolist()
        costs = dict(zip(leaves, drawn, strict=True)) if priced else dict.fromkeys(leaves, 1)
        for threshold in THRESHOLDS[::4] if is_quick() else THRESHOLDS:
            classifier = bt.Classifier(network, target, network.states(target)[0], leaves, threshold)
            yield Question(classifier, TableEngine(classifier), costs, sum(costs.values()) // 3)


def trimmed(question: Question) -> Features:
    """Return what this package keeps."""
    result = bt.trim(question.classifier, question.budget, question.costs)
    assert result.status is bt.Status.OPTIMAL
    return result.features


def asked(name: str, priced: bool) -> list[Row]:
    """Ask every method every question."""
    rows: list[Row] = []
    known: dict[tuple[str, str], Features] = {}  # what does not know the threshold is asked once for each class
    for question in questions(name, priced):
        classifier = question.classifier
        methods = {name: choose for name, choose in METHODS.items() if not (priced and name in WITHOUT_PRICES)}
        for method, choose in {"trim": trimmed, **methods}.items():
            blind = method not in ("trim", "E-SDP", "MAA")
            kept = known.get((classifier.target, method)) if blind else None
            if kept is None:
                try:
                    kept = choose(question)
                except ImportError:
                    continue
                known[classifier.target, method] = kept
            old = float(question.engine.eca(kept, classifier.threshold))
            best = float(question.engine.maa(kept))
            rows.append((name, classifier.target, classifier.threshold, "1-5" if priced else "1", method, old, best))
    return rows


def report(rows: list[Row]) -> None:
    """Print, for each method, means, the worst case, and how often it is as good as the optimum."""
    optimum = {row[:4]: row[6] for row in rows if row[4] == "trim"}
    print(f"{'method':10} {'old thr.':>9} {'new thr.':>9} {'worst loss':>10} {'as good':>8}   largest loss at")
    for method in dict.fromkeys(row[4] for row in rows):
        mine = [row for row in rows if row[4] == method]
        losses = {row[:4]: optimum[row[:4]] - row[6] for row in mine}
        worst = max(losses, key=lambda key: losses[key])
        equal = sum(loss <= WORTH_MENTIONING for loss in losses.values())
        where = f"{worst[1]} at {worst[2]}" if losses[worst] > WORTH_MENTIONING else ""
        print(
            f"{method:10} {statistics.mean(r[5] for r in mine):9.4f} {statistics.mean(r[6] for r in mine):9.4f} "
            f"{losses[worst]:10.4f} {equal:4}/{len(mine):<4}  {where}"
        )


def picture(rows: list[Row]) -> None:
    """Draw the mean agreement over classes against the threshold, as the paper does."""
    figure, axes = new_picture(len(NETWORKS), 9, 3.4)
    for panel, name in enumerate(NETWORKS):
        for method, column, label in (
            ("trim", 6, "trim"),
            ("gain", 6, "information gain, new threshold"),
            ("gain", 5, "information gain, old threshold"),
            ("E-SDP", 5, "greedy by expected SDP"),
        ):
            means = [
                statistics.mean(float(r[column]) for r in rows if (r[0], r[2], r[4]) == (name, t, method))
                for t in THRESHOLDS
            ]
            axes[0, panel].plot(THRESHOLDS, means, "o-", ms=3, lw=1, label=label)
        axes[0, panel].set(title=name, xlabel="threshold", ylabel="ECA, mean over classes")
        axes[0, panel].legend(fontsize="small")
    write_picture("gain", figure)


def main() -> None:
    """Print a table for each network and kind of prices."""
    print(machine("scikit-learn", "bcselector"))
    everything: list[Row] = []
    for priced in (False, True):
        for name in NETWORKS:
            rows = asked(name, priced)
            print(f"\n{name}, {'prices from 1 to 5' if priced else 'prices of 1'}: ", end="")
            print(f"{len({row[1] for row in rows})} classes, {len({row[1:3] for row in rows})} instances")
            report(rows)
            everything += rows
    header = ["network", "class", "threshold", "prices", "method", "eca_old_threshold", "eca_best_threshold"]
    write_table("gain", header, ([*row[:5], f"{row[5]:.6f}", f"{row[6]:.6f}"] for row in everything))
    if not is_quick():
        picture([row for row in everything if row[3] == "1"])


if __name__ == "__main__":
    main()
