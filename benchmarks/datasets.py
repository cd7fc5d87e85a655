"""The committed public tables (``benchmarks/data``), and naive Bayes classifiers learnt from them.

Everything is arrays of state numbers, since the evaluation of the paper learns thousands of classifiers; `bt.learn` is
for tables of one's own.
"""

from __future__ import annotations

import csv
import gzip
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import bayestrim as bt

FOLDER = Path(__file__).parent / "data"
POSITIVE = {
    "bupa": "2",
    "pima": "positive",
    "wisconsin": "positive",
    "heart": "ill",
    "votes": "republican",
    "hepatitis": "die",
    "german": "bad",
    "mushroom": "p",
    "wdbc": "M",
    "spambase": "spam",
}
"""The class state that counts as positive in each table; the tables are listed by their number of features."""
MISSING = "?"
SMOOTHING = 1.0
"""Added to every count, so that nothing is impossible."""

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class DataSet:
    """A public table.

    Attributes
    ----------
    name
        Its name.
    features
        The names of the columns, without the class.
    cells
        What the rows say, as text [rows, features].
    positive
        Which rows are of the positive class.
    """

    name: str
    features: tuple[str, ...]
    cells: npt.NDArray[np.str_]
    positive: Mask

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.cells)


def load(name: str) -> DataSet:
    """Return a table by its name."""
    if name not in POSITIVE:
        raise SystemExit(f"there is no table {name!r}; known: {', '.join(POSITIVE)}")
    with gzip.open(FOLDER / f"{name}.csv.gz", "rt", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    cells = np.array(rows)
    return DataSet(name, tuple(names[:-1]), cells[:, :-1], cells[:, -1] == POSITIVE[name])


@dataclass(frozen=True)
class States:
    """How one column becomes states: two sides of a cut, or the values themselves.

    Attributes
    ----------
    names
        The names of the states.
    cut
        Where numbers are cut, None where the values are the states.
    """

    names: tuple[str, ...]
    cut: float | None = None

    def code(self, column: npt.NDArray[np.str_]) -> Codes:
        """Return a column as state numbers, -1 for what is missing or was never seen."""
        if self.cut is None:
            number = {state: i for i, state in enumerate(self.names)}
            return np.array([number.get(value, -1) for value in column.tolist()], dtype=np.int64)
        numbers = _numbers(column)
        return np.where(np.isnan(numbers), -1, numbers > self.cut).astype(np.int64)


def _numbers(column: npt.NDArray[np.str_]) -> Floats:
    return np.array([math.nan if value == MISSING else float(value) for value in column.tolist()])


def find_states(column: npt.NDArray[np.str_], positive: Mask) -> States:
    """Return a column's states: numbers are cut in two where that tells most about the class.

    Two sides, because all features of the paper's classifiers have two states.
    """
    seen = sorted(set(column.tolist()) - {MISSING})
    try:
        numbers = _numbers(column)
    except ValueError:
        return States(tuple(seen))
    if len(seen) <= 2:
        return States(tuple(seen))
    cut = best_cut(numbers[~np.isnan(numbers)], positive[~np.isnan(numbers)])
    return States((f"<={cut:g}", f">{cut:g}"), cut)


def best_cut(numbers: Floats, positive: Mask) -> float:
    """Return the number to cut behind that leaves least entropy of the class."""
    values, where = np.unique(numbers, return_inverse=True)
    counts = np.zeros((2, len(values)))
    np.add.at(counts, (positive.astype(int), where), 1)
    below = counts.cumsum(axis=1)[:, :-1]
    above = counts.sum(axis=1, keepdims=True) - below
    at = int(np.argmin(_entropy(below) + _entropy(above)))
    return float((values[at] + values[at + 1]) / 2)


def _entropy(counts: Floats) -> Floats:
    """Return the entropy of the class in each column of [class, columns], times its number of rows."""
    share = counts / counts.sum(axis=0)
    bits: Floats = -(counts * np.log(np.where(counts > 0, share, 1))).sum(axis=0)
    return bits


@dataclass(frozen=True)
class NaiveBayes:
    """A naive Bayes classifier learnt from rows of a table.

    Attributes
    ----------
    features
        The names of the features.
    states
        How each column becomes states.
    prior
        The probability of the negative and the positive class.
    tables
        For each feature Pr(state | class), as [class, states].
    """

    features: tuple[str, ...]
    states: tuple[States, ...]
    prior: Floats
    tables: tuple[Floats, ...]

    def codes(self, cells: npt.NDArray[np.str_]) -> Codes:
        """Return rows as state numbers [rows, features]."""
        return np.stack([states.code(cells[:, i]) for i, states in enumerate(self.states)], axis=1)

    @property
    def bias(self) -> float:
        """The log-odds of the positive class."""
        return float(np.log(self.prior[1]) - np.log(self.prior[0]))

    def log_odds(self, codes: Codes) -> Floats:
        """Return what each value says for the positive class [rows, features]; what is missing says nothing."""
        said = [np.append(np.log(table[1]) - np.log(table[0]), 0.0) for table in self.tables]
        return np.stack([odds[codes[:, i]] for i, odds in enumerate(said)], axis=1)

    def classifier(self, threshold: float = 0.5) -> bt.Classifier:
        """Return the classifier as the package knows it."""
        pairs = list(zip(self.features, self.states, strict=True))
        variables = [bt.Variable("class", ("no", "yes")), *(bt.Variable(name, states.names) for name, states in pairs)]
        tables = {"class": self.prior, **dict(zip(self.features, self.tables, strict=True))}
        network = bt.BayesianNetwork(variables, {name: ["class"] for name in self.features}, tables)
        return bt.Classifier(network, "class", "yes", self.features, threshold)


def learn(data: DataSet, rows: Codes | None = None) -> NaiveBayes:
    """Learn a classifier from some rows of a table, by default all: cuts, prior and tables."""
    rows = np.arange(len(data)) if rows is None else rows
    cells, positive = data.cells[rows], data.positive[rows]
    states = tuple(find_states(cells[:, i], positive) for i in range(len(data.features)))
    codes = np.stack([s.code(cells[:, i]) for i, s in enumerate(states)], axis=1)
    sizes = [len(s.names) for s in states]
    return NaiveBayes(
        data.features, states, _shares(np.bincount(positive, minlength=2)), tables(codes, positive, sizes)
    )


def tables(codes: Codes, positive: Mask, sizes: list[int]) -> tuple[Floats, ...]:
    """Return Pr(state | class) of every feature [class, states], from state numbers of rows."""
    found = []
    for i, size in enumerate(sizes):
        counts = np.zeros((2, size + 1))
        np.add.at(counts, (positive.astype(int), codes[:, i]), 1)  # what is missing is counted in the last column
        found.append(_shares(counts[:, :-1]))
    return tuple(found)


def _shares(counts: npt.NDArray[np.generic]) -> Floats:
    smoothed = np.asarray(counts, dtype=np.float64) + SMOOTHING
    shares: Floats = smoothed / smoothed.sum(axis=-1, keepdims=True)
    return shares
