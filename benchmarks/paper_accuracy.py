"""Accuracy against agreement, as in the paper: ``python -m benchmarks.paper_accuracy [--quick]``.

Four fifths of a table teach a naive Bayes classifier, with a threshold of 0.5 and a budget of half the features. Of all
feasible subsets, the one of highest expected agreement and the one of highest ten-fold accuracy on the same rows are
tried on the last fifth. First for one split of pima and heart, with pictures; then over a hundred splits.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import bayestrim as bt
from benchmarks import datasets
from benchmarks.datasets import Codes, DataSet, Floats, Mask, NaiveBayes
from benchmarks.outputs import is_quick, machine, new_picture, workers, write_picture, write_table
from benchmarks.subsets import agreements, cross_validated, feasible, pareto

SPLITS = 100
PICTURED = ("pima", "heart")
REPEATED = ("pima", "heart", "hepatitis", "votes", "wisconsin")
RULES = ("agreement", "accuracy", "gain", "whole")
"""How the features are chosen: best ECA, best ten-fold accuracy, highest information gain; or all of them."""
PAPER = {"pima": ((0.9863, 0.7123), (0.9452, 0.7260)), "heart": ((0.9245, 0.8491), (0.9057, 0.7925))}
"""What the paper reports on its split: test agreement and accuracy of the best ECA and of the best accuracy."""
PAPER_WHOLE = {"pima": (0.720, 0.21), "heart": (0.866, 0.02)}
"""The whole classifier's ten-fold accuracy there, and the share of subsets that beat it."""


@dataclass(frozen=True)
class Split:
    """A table cut into rows to learn from and rows to test on.

    Attributes
    ----------
    data
        The table.
    train, test
        Numbers of rows.
    model
        What was learnt.
    budget
        How many features may be kept.
    """

    data: DataSet
    train: Codes
    test: Codes
    model: NaiveBayes
    budget: int


def split(name: str, seed: int) -> Split:
    """Return a random split, four to one."""
    data = datasets.load(name)
    rows = np.random.default_rng(seed).permutation(len(data))
    cut = round(0.8 * len(data))
    model = datasets.learn(data, rows[:cut])
    return Split(data, rows[:cut], rows[cut:], model, len(data.features) // 2)


@dataclass(frozen=True)
class Tested:
    """What a rule's choice did on the test rows.

    Attributes
    ----------
    agreement
        How often it decided as the whole classifier.
    accuracy
        How often it was right.
    """

    agreement: float
    accuracy: float


def tested(one: Split, mask: Mask, threshold: float) -> Tested:
    """Try features and a threshold on the test rows."""
    odds = one.model.log_odds(one.model.codes(one.data.cells[one.test]))
    with np.errstate(divide="ignore"):
        limit = float(np.log(threshold) - np.log1p(-min(threshold, 1.0)))
    decided = odds @ mask + one.model.bias >= limit
    whole = odds.sum(axis=1) + one.model.bias >= 0
    return Tested(float((decided == whole).mean()), float((decided == one.data.positive[one.test]).mean()))


def by_gain(one: Split) -> Mask:
    """Return the features of highest information gain in the model."""
    gains = []
    for table in one.model.tables:
        joint = one.model.prior[:, None] * table
        apart = joint.sum(axis=0) * joint.sum(axis=1, keepdims=True)
        gains.append(float((joint * np.log(joint / apart)).sum()))
    mask = np.zeros(len(gains), dtype=bool)
    mask[np.argsort(gains)[::-1][: one.budget]] = True
    return mask


class Outcome(NamedTuple):
    """What came of a split.

    Attributes
    ----------
    done
        What each rule's choice did on the test rows.
    promised
        The expected agreement of the best.
    whole
        The ten-fold accuracy of the whole classifier on the rows to learn from.
    share
        The share of subsets whose ten-fold accuracy is higher.
    """

    done: dict[str, Tested]
    promised: float
    whole: float
    share: float


def outcome(one: Split, masks: Mask, seed: int) -> Outcome:
    """Choose by every rule, and try the choices."""
    result = bt.trim(one.model.classifier(), one.budget)
    best = np.array([name in result.features for name in one.model.features])
    everything = np.ones((1, masks.shape[1]), dtype=bool)
    found = cross_validated(one.data, one.train, one.model, np.concatenate([everything, masks]), seed)
    by_accuracy = masks[int(np.argmax(found[1:]))]
    done = {
        "agreement": tested(one, best, result.threshold),
        "accuracy": tested(one, by_accuracy, 0.5),
        "gain": tested(one, by_gain(one), 0.5),
        "whole": tested(one, everything[0], 0.5),
    }
    return Outcome(done, float(result.agreement), float(found[0]), float((found[1:] > found[0]).mean()))


def scatter(axes: Any, name: str, seed: int) -> None:
    """Draw the agreement and the accuracy of every feasible subset, and print what the paper's table says."""
    one = split(name, seed)
    masks = feasible(len(one.model.features), one.budget)
    known = agreements(one.model, one.budget)
    eca = np.array([known[tuple(np.flatnonzero(mask).tolist())] for mask in masks])
    found = cross_validated(one.data, one.train, one.model, masks, seed)
    front = pareto(found, eca)
    write_table(
        f"accuracy_{name}",
        ["kept", "eca", "accuracy"],
        (
            [" ".join(np.array(one.model.features)[m]), f"{a:.6f}", f"{b:.6f}"]
            for m, a, b in zip(masks, eca, found, strict=True)
        ),
    )
    best, right = int(np.argmax(eca)), int(np.argmax(found))
    axes.scatter(found, eca, s=4, c="0.7", rasterized=True, label="feasible")
    axes.plot(found[front], eca[front], "o-", ms=3, lw=1, c="tab:orange", label="Pareto frontier")
    axes.plot(found[best], eca[best], "s", c="tab:blue", label="best ECA")
    axes.plot(found[right], eca[right], "D", c="tab:green", label="best accuracy")
    axes.set(title=name, xlabel="ten-fold accuracy", ylabel="ECA")
    axes.legend(fontsize="small")
    done, promised, whole, share = outcome(one, masks, seed)
    print(f"{name}: {len(masks)} feasible subsets, {len(front)} on the frontier; promised agreement {promised:.4f}")
    print(f"  ten-fold accuracy of the whole classifier {whole:.3f}, which {share:.0%} of them beat", end="")
    print("   (the paper: {:.3f}, {:.0%})".format(*PAPER_WHOLE[name]))
    for rule, theirs in zip(RULES[:2], PAPER[name], strict=True):
        mine = done[rule]
        print(
            f"  best {rule:9}  test agreement {mine.agreement:.4f} accuracy {mine.accuracy:.4f}"
            f"   (the paper: {theirs[0]:.4f} {theirs[1]:.4f})"
        )


def tried(name: str, masks: Mask, seed: int) -> Outcome:
    """Split a table, and try what every rule chooses."""
    return outcome(split(name, seed), masks, seed)


def repeated(name: str, splits: int) -> list[list[object]]:
    """Print means over many splits; return a row for each."""
    masks = feasible(len(datasets.load(name).features), len(datasets.load(name).features) // 2)
    with workers() as pool:
        ones = list(pool.map(partial(tried, name, masks), range(splits)))
    print(f"{name:10} {len(masks):7} " + " ".join(_mean(ones, rule) for rule in RULES), end=" ")
    wins = [one.done["agreement"].accuracy - one.done["accuracy"].accuracy for one in ones]
    promised = statistics.mean(one.promised for one in ones)
    results = "/".join(str(sum(sign * w > 0 for w in wins) if sign else wins.count(0)) for sign in (1, 0, -1))
    print(f"{promised:8.4f} {results:>13}", end="")
    print(f" {statistics.mean(one.share for one in ones):6.0%}", flush=True)
    return [
        [name, seed, *(f"{value:.4f}" for value in (*_both(one.done), one.promised, one.whole, one.share))]
        for seed, one in enumerate(ones)
    ]


def _both(done: dict[str, Tested]) -> list[float]:
    return [value for rule in RULES for value in (done[rule].agreement, done[rule].accuracy)]


def _mean(ones: list[Outcome], rule: str) -> str:
    agree, right = ([getattr(one.done[rule], what) for one in ones] for what in ("agreement", "accuracy"))
    return f"{statistics.mean(agree):.3f}±{_error(agree):.3f} {statistics.mean(right):.3f}±{_error(right):.3f}"


def _error(values: list[float]) -> float:
    """Return the standard deviation over the splits."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


def bars(rows: list[list[object]]) -> None:
    """Draw the means over the splits with their standard deviations."""
    figure, axes = new_picture(2, 9, 3.2)
    for panel, (offset, what) in enumerate((((0, "agreement")), ((1, "accuracy")))):
        for place, rule in enumerate(RULES[: 3 + panel]):
            at = 2 + 2 * RULES.index(rule) + offset
            groups: list[Floats] = [np.array([float(str(r[at])) for r in rows if r[0] == name]) for name in REPEATED]
            where = np.arange(len(groups)) + 0.18 * (place - 1)
            axes[0, panel].errorbar(
                where, [g.mean() for g in groups], [g.std(ddof=1) for g in groups], fmt="o", ms=4, capsize=2, label=rule
            )
        axes[0, panel].set(title=f"test {what}, mean and deviation over splits", xticks=range(len(REPEATED)))
        axes[0, panel].set_xticklabels(REPEATED)
        axes[0, panel].legend(fontsize="small")
    write_picture("accuracy_splits", figure)


def main() -> None:
    """Print the tables and write the pictures."""
    print(machine())
    figure, axes = new_picture(2, 9, 3.6)
    for panel, name in enumerate(PICTURED):
        scatter(axes[0, panel], name, seed=1)
    write_picture("accuracy", figure)
    splits = 3 if is_quick() else SPLITS
    print(f"\n{splits} splits: agreement and accuracy on the test rows, mean ± standard deviation, by what was best")
    print(
        f"{'table':10} {'subsets':>7} {'agreement':>23} {'accuracy':>23} {'information gain':>23} "
        f"{'all features':>23} promised win/tie/loss  beat whole"
    )
    rows = [row for name in (REPEATED[:2] if is_quick() else REPEATED) for row in repeated(name, splits)]
    names = [f"{rule}_{what}" for rule in RULES for what in ("agreement", "accuracy")]
    write_table(
        "accuracy_splits", ["table", "split", *names, "promised", "whole_in_ten_folds", "share_beating_whole"], rows
    )
    if not is_quick():
        bars(rows)


if __name__ == "__main__":
    main()
