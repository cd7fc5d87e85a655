"""How often a new threshold beats the kept one, in several readings: ``python -m benchmarks.paper_threshold``.

``--quick`` leaves out the largest networks.

The paper says that in 16 % of its instances (seven networks, nine thresholds, a budget of a third) the best trimming
agrees more than what FS-SDD keeps, which is the affordable subset of highest expected SDP under the old threshold. Here
every affordable subset is tried, without the package's searches: for each its agreement under the old threshold, and
under the best one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import bayestrim as bt
from benchmarks.outputs import is_quick, machine, write_table
from benchmarks.paper_runtime import EQUAL, PAPER, THRESHOLDS, networks

TIED = 1e-9
"""Log-odds this near count as equal, and a tie is positive."""
UNFINISHED = "hepatitis"
"""The network whose FS-SDD did not end in the paper."""
MOST_CELLS = 1 << 20
"""Larger feature spaces are not tried whole."""
Floats = npt.NDArray[np.float64]


class Subset(NamedTuple):
    """What one affordable subset reaches: its size, and its agreement with the old and with the best threshold."""

    size: int
    kept: float
    best: float


class Instance(NamedTuple):
    """What a network at a threshold comes to.

    Attributes
    ----------
    network, threshold
        Which it is.
    new, kept
        The best agreement of any subset, with a new threshold and with the old one.
    kept_exactly
        The same as `kept` among the subsets that use the budget up.
    least, most
        What FS-SDD's features reach with their best threshold: several subsets may share the highest expected SDP, and
        these are the least and the most of them.
    tied
        The probability of the instances whose posterior is the threshold.
    """

    network: str
    threshold: float
    new: float
    kept: float
    kept_exactly: float
    least: float
    most: float
    tied: float


def masses(classifier: bt.Classifier) -> Floats:
    """Return the probability of every instance of the features with either side of the class (naive Bayes only)."""
    prior = classifier.network.table(classifier.target)
    states = classifier.positive_states
    sides = np.array([prior[states].sum(), prior[~states].sum()])
    for name in classifier.features:
        table = classifier.network.table(name)
        # The class has two states, so that each side is one of them.
        both = np.stack([table[states][0], table[~states][0]])
        sides = sides[..., None] * both.reshape(2, *([1] * (sides.ndim - 1)), -1)
    return sides


def subsets(classifier: bt.Classifier, budget: int) -> list[Subset]:
    """Return what every affordable subset of a naive Bayes classifier's features reaches."""
    sides = masses(classifier)
    decided, total = positive(sides, classifier.threshold), sides.sum(axis=0)
    tables = np.stack([*sides, np.where(decided, total, 0), np.where(decided, 0, total)])
    found: list[Subset] = []
    _visit(found, tables, classifier.threshold, len(classifier.features), 0, budget)
    return found


def positive(sides: Floats, threshold: float) -> npt.NDArray[np.bool_]:
    """Tell which instances are decided positive, from the masses of both sides of the class."""
    return np.asarray(_beyond(sides, threshold) >= -TIED)


def _beyond(sides: Floats, threshold: float) -> Floats:
    """Return how far the log-odds are beyond the threshold's."""
    with np.errstate(divide="ignore"):
        said = np.log(sides[0]) - np.log(sides[1])
    return np.asarray(said - (np.log(threshold) - np.log1p(-threshold)))


def _visit(found: list[Subset], tables: Floats, threshold: float, undecided: int, size: int, left: int) -> None:
    """Note every subset of what is undecided; the kept features are the tables' first axes."""
    if undecided == 0:
        flat = tables.reshape(4, -1)
        kept = np.where(positive(flat[:2], threshold), flat[2], flat[3]).sum()
        found.append(Subset(size, float(kept), float(flat[2:].max(axis=0).sum())))
        return
    if left:
        _visit(found, tables, threshold, undecided - 1, size + 1, left - 1)
    _visit(found, tables.sum(axis=1 + size), threshold, undecided - 1, size, left)


def instance(network: str, classifier: bt.Classifier) -> Instance:
    """Return what an instance comes to."""
    budget = len(classifier.features) // 3
    found = subsets(classifier, budget)
    kept, new = max(one.kept for one in found), max(one.best for one in found)
    chosen = [one.best for one in found if one.kept >= kept - EQUAL]
    exactly = max(one.kept for one in found if one.size == budget)
    sides = masses(classifier)
    tied = float(sides.sum(axis=0)[np.abs(_beyond(sides, classifier.threshold)) <= TIED].sum())
    return Instance(network, classifier.threshold, new, kept, exactly, min(chosen), max(chosen), tied)


VARIANTS: dict[str, Callable[[Instance], bool]] = {
    "a new threshold agrees more than FS-SDD's optimum": lambda one: one.new > one.kept + EQUAL,
    "  ... where FS-SDD must use the budget up": lambda one: one.new > one.kept_exactly + EQUAL,
    "  ... by more than 0.0001": lambda one: one.new > one.kept + 1e-4,
    "  ... by more than 0.001": lambda one: one.new > one.kept + 1e-3,
    "  ... by more than 0.01": lambda one: one.new > one.kept + 1e-2,
    "  ... as printed with two decimals": lambda one: round(one.new, 2) > round(one.kept, 2),
    "FS-SDD's features gain by a new threshold (the best of its optima)": lambda one: one.most > one.kept + EQUAL,
    "FS-SDD's features gain by a new threshold (the worst of its optima)": lambda one: one.least > one.kept + EQUAL,
    "FS-SDD's features are worse with any threshold (the best of its optima)": lambda one: one.new > one.most + EQUAL,
    "FS-SDD's features are worse with any threshold (the worst of its optima)": lambda one: one.new > one.least + EQUAL,
    "some posterior is the threshold itself": lambda one: one.tied > 0,
}
"""What could be counted."""


def known() -> list[Instance]:
    """Return every instance that is small enough to try whole."""
    found = []
    for name, make in networks():
        first = make(0.5)
        cells = np.prod([float(len(variable)) for variable in first.feature_variables])
        if cells <= (MOST_CELLS >> 6 if is_quick() else MOST_CELLS):
            found += [instance(name, make(threshold)) for threshold in THRESHOLDS]
    return found


def share(count: int, of: int) -> str:
    """Return a count, what it is of, and its percentage."""
    return f"{count:3} of {of:2} {count / max(1, of):4.0%}"


def main() -> None:
    """Print each reading for all the paper's networks, for those that FS-SDD finished, and for those learnt here."""
    print(machine())
    found = known()
    paper = [one for one in found if one.network in PAPER]
    finished = [one for one in paper if one.network != UNFINISHED]
    here = [one for one in found if one.network not in PAPER]
    print(f"{'':73} {'seven networks':>14} {'no hepatitis':>14} {'learnt here (*)':>15}")
    for reading, holds in VARIANTS.items():
        columns = (share(sum(map(holds, some)), len(some)) for some in (paper, finished, here))
        print(f"{reading:73} " + " ".join(f"{column:>14}" for column in columns))
    write_table("threshold", Instance._fields, ([*one[:2], *(f"{value:.9f}" for value in one[2:])] for one in found))


if __name__ == "__main__":
    main()
