"""Which classes did the paper draw? ``python -m benchmarks.paper_roots``, after ``python -m benchmarks.paper_gain``.

The paper's curves are means over three roots of each network, drawn at random and not named. Every three roots, with
either state as the positive one, are compared with its curve of trimming, to the four decimals in which that is
printed. For the nearest three, the features of highest and those of lowest information gain are judged with the old
threshold, as in the paper's other curve.
"""

from __future__ import annotations

import csv
import itertools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import bayestrim as bt
from bayestrim.search.start import information_gain
from benchmarks.general import PAPER, PAPER_GAIN
from benchmarks.models import model_files
from benchmarks.outputs import FOLDER, new_picture, write_picture

THRESHOLDS = [i / 10 for i in range(1, 10)]
ROUNDING = 0.51e-4
"""Curves that differ by no more than this are the same to the four decimals of the paper."""
PICTURED = "win95pts"
"""The network whose three classes are found."""
Floats = npt.NDArray[np.float64]


class Signed(NamedTuple):
    """A class, and whether its first state is the positive one."""

    name: str
    first: bool

    def __str__(self) -> str:
        return self.name if self.first else f"not {self.name}"


def curves(name: str) -> dict[Signed, Floats]:
    """Return the agreement of trimming over the thresholds for each class, as `paper_gain` wrote it down."""
    path = FOLDER / "gain.csv"
    if not path.exists():
        raise SystemExit(f"{path} does not exist: run python -m benchmarks.paper_gain first")
    with path.open(encoding="utf-8") as file:
        wanted = {"network": name, "prices": "1", "method": "trim"}
        rows = [row for row in csv.DictReader(file) if wanted.items() <= row.items()]
    found: dict[Signed, Floats] = {}
    for target in dict.fromkeys(row["class"] for row in rows):
        known = {float(row["threshold"]): float(row["eca_best_threshold"]) for row in rows if row["class"] == target}
        curve = np.array([known[threshold] for threshold in THRESHOLDS])
        # Pr(c) < T says that the other state has more than 1 - T: the same decisions, but for ties.
        found[Signed(target, True)], found[Signed(target, False)] = curve, curve[::-1]
    return found


def triples(known: dict[Signed, Floats], curve: Floats) -> list[tuple[float, tuple[Signed, ...]]]:
    """Return every three classes with the largest deviation of their mean from a curve, the nearest first."""
    found = []
    for three in itertools.combinations(known, 3):
        if len({one.name for one in three}) == 3:
            mean = (known[three[0]] + known[three[1]] + known[three[2]]) / 3
            found.append((float(np.abs(mean - curve).max()), three))
    return sorted(found, key=lambda one: one[0])


def by_gain(name: str, three: tuple[Signed, ...], sign: int) -> Floats:
    """Return the mean agreement of the features of highest (1) or lowest (-1) gain, with the old threshold."""
    network = bt.read_network(model_files()[name])
    total = np.zeros(len(THRESHOLDS))
    for one in three:
        states = network.states(one.name)
        leaves = [leaf for leaf in network.leaves if leaf != one.name]
        classifier = bt.Classifier(network, one.name, states[0] if one.first else states[1], leaves)
        gains = information_gain(classifier)
        kept = sorted(leaves, key=lambda leaf: -sign * round(gains[leaf], 12))[: len(leaves) // 3]
        for place, threshold in enumerate(THRESHOLDS):
            whole = bt.Classifier(network, one.name, classifier.positive, leaves, threshold)
            total[place] += float(bt.eca(whole, kept, threshold))
    return total / len(three)


def report(name: str) -> None:
    """Print what is nearest to a network's curves."""
    known, theirs = curves(name), np.array(PAPER[name])
    ranked = triples(known, theirs)
    apart, three = ranked[0]
    same = [set(found) for distance, found in ranked if distance <= ROUNDING]
    print(f"{name}: {len(ranked)} triples; the nearest is {', '.join(map(str, three))}, at most {apart:.4f} apart")
    if same:
        common = sorted(str(one) for one in known if all(one in some for some in same))
        others = sorted({one.name for some in same for one in some if str(one) not in common})
        print(f"  {len(same)} triples are the same as printed: all hold {' and '.join(common)},")
        print(f"  and the third is one of {', '.join(others)}")
    lines = [
        ("trimming", sum(known[one] for one in three) / 3),
        ("the paper", theirs),
        ("highest gain", by_gain(name, three, 1)),
        ("lowest gain", by_gain(name, three, -1)),
        ("the paper", np.array(PAPER_GAIN[name])),
    ]
    for what, curve in lines:
        print(f"  {what:13}" + " ".join(f"{value:.4f}" for value in np.asarray(curve)))
    if name == PICTURED:
        picture([np.asarray(curve) for _, curve in lines])


def picture(lines: list[Floats]) -> None:
    """Draw our curves as lines and the paper's as marks."""
    figure, axes = new_picture(1, 5.5, 3.4)
    trimming, theirs, highest, lowest, their_gain = lines
    panel = axes[0, 0]
    panel.plot(THRESHOLDS, trimming, "-", c="tab:blue", label="trimming")
    panel.plot(THRESHOLDS, highest, "-", c="tab:green", label="highest information gain")
    panel.plot(THRESHOLDS, lowest, "-", c="tab:orange", label="lowest information gain")
    panel.plot(THRESHOLDS, theirs, "o", c="0.2", ms=5, mfc="none", label="the paper: trimming")
    panel.plot(THRESHOLDS, their_gain, "+", c="0.2", ms=7, label="the paper: information gain")
    panel.set(xlabel="threshold", ylabel="ECA, mean over three classes", ylim=(0.9, 1.005))
    panel.legend(fontsize="small", frameon=False)
    write_picture("roots", figure)


def main() -> None:
    """Print what is nearest to the paper's curves."""
    for name in PAPER:
        report(name)


if __name__ == "__main__":
    main()
