"""Agreement of trimming against other ways to choose features: ``python -m benchmarks.paper_gain [--quick]``.

ALARM and WIN95PTS as in the paper: the class is a root of two states (here each of them, there three at random), the
features are all leaves, thresholds from 0.1 to 0.9, a budget of a third of the features; then the same with prices from
1 to 5. Every method's features are judged twice: with the old threshold, and with the best one for them.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator

import numpy as np

import bayestrim as bt
from bayestrim.engines.table import TableEngine
from bayestrim.search.start import information_gain
from benchmarks.baselines import METHODS, Features, Question
from benchmarks.models import model_files
from benchmarks.outputs import is_quick, machine, new_picture, workers, write_picture, write_table

THRESHOLDS = [i / 10 for i in range(1, 10)]
NETWORKS = ("alarm", "win95pts")
WITHOUT_PRICES = ("SFS",)
"""Methods that can only be told how many features to take."""
RIVALS = ("nothing", "gain", "E-SDP", "MAA")
OPEN = (0.0, 0.9, 0.99, 0.999, 1.1)
"""Instances are grouped by the agreement of the best constant decision."""
KNOW_THE_THRESHOLD = ("trim", "E-SDP", "MAA")
"""Methods that choose other features for other thresholds."""
WORTH_MENTIONING = 1e-9
"""Smaller differences are rounding."""
NOTHING_ALONE = 1e-12
"""Features of no more information gain tell nothing alone."""
Row = tuple[str, str, float, str, str, float, float, float]
"""Network, class, threshold, prices, method, agreement under the old threshold and under the best one, and how much of
the last is due to features that tell nothing alone.
"""


def questions(name: str, target: str) -> Iterator[tuple[bool, Question]]:
    """Yield all questions about a class of a network, with prices of 1 and with others."""
    network = bt.read_network(model_files()[name])
    leaves = [leaf for leaf in network.leaves if leaf != target]
    drawn = np.random.default_rng(len(target)).integers(1, 6, len(leaves)).tolist()
    for threshold in THRESHOLDS[::4] if is_quick() else THRESHOLDS:
        classifier = bt.Classifier(network, target, network.states(target)[0], leaves, threshold)
        engine, known = TableEngine(classifier), dict[tuple[frozenset[str], bool], float]()
        for priced, prices in ((False, [1] * len(leaves)), (True, drawn)):
            costs = dict(zip(leaves, prices, strict=True))
            yield priced, Question(classifier, engine, costs, sum(prices) // 3, known)


def classes(name: str) -> list[str]:
    """Return the roots of two states."""
    network = bt.read_network(model_files()[name])
    targets = [root for root in network.roots if len(network.variable(root)) == 2]
    return targets[:2] if is_quick() else targets


def trimmed(question: Question) -> Features:
    """Return what this package keeps."""
    result = bt.trim(question.classifier, question.budget, question.costs)
    assert result.status is bt.Status.OPTIMAL
    return result.features


def asked(name: str, target: str) -> list[Row]:
    """Ask every method every question about a class."""
    rows: list[Row] = []
    remembered: dict[tuple[bool, str], Features] = {}  # what does not know the threshold is asked once
    gains: dict[str, float] = {}  # the same at every threshold
    for priced, question in questions(name, target):
        gains = gains or information_gain(question.classifier)
        methods = {name: choose for name, choose in METHODS.items() if not (priced and name in WITHOUT_PRICES)}
        for method, choose in {"trim": trimmed, **methods}.items():
            kept = None if method in KNOW_THE_THRESHOLD else remembered.get((priced, method))
            if kept is None:
                try:
                    kept = choose(question)
                except ImportError:
                    continue
                remembered[priced, method] = kept
            telling = [feature for feature in kept if gains[feature] > NOTHING_ALONE]
            best = question.best_agreement(kept)
            agreements = question.expected_sdp(kept), best, best - question.best_agreement(telling)
            rows.append((name, target, question.classifier.threshold, "1-5" if priced else "1", method, *agreements))
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


def where(rows: list[Row]) -> None:
    """Print what trimming gains, by how open the decision is, and the classes where it gains most."""
    by_method = {method: {row[:4]: row[6] for row in rows if row[4] == method} for method in ("trim", *RIVALS)}
    optimum, nothing = by_method["trim"], by_method["nothing"]
    print("what trimming gains over others (best thresholds), by how often no features at all would agree:")
    print(f"{'no features':14} {'instances':>9}  " + " ".join(f"{rival:>24}" for rival in RIVALS[1:]))
    for low, high in itertools.pairwise(OPEN):
        some = [place for place, value in nothing.items() if low <= value < high]
        shown = (_gains([optimum[place] - by_method[rival][place] for place in some]) for rival in RIVALS[1:])
        print(f"{f'{low:g} to {min(high, 1.0):g}':14} {len(some):9}  " + " ".join(f"{text:>24}" for text in shown))
    losses: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row[4] == "trim":
            losses.setdefault(row[1], []).append((row[6] - by_method["gain"][row[:4]], row[7]))
    means = {target: [statistics.mean(column) for column in zip(*some, strict=True)] for target, some in losses.items()}
    print("most over gain, and what trimming owes to features that tell nothing alone:")
    for target in sorted(means, key=lambda target: -means[target][0])[:5]:
        print(f"  {target:14} {means[target][0]:.4f} {means[target][1]:.4f}")


def _gains(gains: list[float]) -> str:
    """Return the mean and the largest of some gains."""
    return f"{max(0.0, statistics.mean(gains)):.4f}, at most {max(0.0, *gains):.4f}" if gains else "-"


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


def everything() -> list[Row]:
    """Ask every method everything, two classes at a time."""
    tasks = [(name, target) for name in NETWORKS for target in classes(name)]
    with workers() as pool:
        return [row for rows in pool.map(asked, *zip(*tasks, strict=True)) for row in rows]


def main() -> None:
    """Print a table for each network and kind of prices."""
    print(machine("scikit-learn", "bcselector"))
    rows = everything()
    for prices, name in itertools.product(("1", "1-5"), NETWORKS):
        some = [row for row in rows if (row[0], row[3]) == (name, prices)]
        print(f"\n{name}, {'prices of 1' if prices == '1' else 'prices from 1 to 5'}: ", end="")
        print(f"{len({row[1] for row in some})} classes, {len({row[1:3] for row in some})} instances")
        report(some)
        if prices == "1":
            where(some)
    header = ["network", "class", "threshold", "prices", "method", "eca_old_threshold", "eca_best_threshold", "owed"]
    rows.sort(key=lambda row: row[3])
    write_table("gain", header, ([*row[:5], *(f"{max(0.0, value):.6f}" for value in row[5:])] for row in rows))
    if not is_quick():
        picture([row for row in rows if row[3] == "1"])


if __name__ == "__main__":
    main()
