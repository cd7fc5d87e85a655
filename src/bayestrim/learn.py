"""Naive Bayes and tree-augmented naive Bayes from a table, with a report of what was done.

Every number in the model is a smoothed share of rows. Columns of numbers with many values are cut into ranges that
hold about equally many rows, and the cuts stay in the model (`Variable.cuts`), so that it can be asked about numbers.
A cell that is missing counts nowhere: each table is made from the rows in which all its variables were observed.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from bayestrim.classifier import Classifier
from bayestrim.errors import LearnError, UnknownNameError, suggestion
from bayestrim.network import BayesianNetwork, FloatArray, Variable
from bayestrim.ranges import as_numbers, is_measurement, named_states, quantile_cuts, range_names
from bayestrim.rows import MISSING, IntArray, as_number, spellings
from bayestrim.tables import Column, Table, as_table

Structure = Literal["naive", "tree"]

BINS = 5
"""Into how many ranges numbers are cut, unless the caller says."""
JOIN = "/"
"""Stands between the names of states that were joined."""
MOST_STATES = 100
"""A column of more different texts than this tells rows apart and says nothing about new ones."""


@dataclass(frozen=True)
class LearnReport:
    """What was done with a table.

    Attributes
    ----------
    origin
        The table's file, or an empty string.
    rows, used
        How many rows the table has, and how many of them name a class.
    target
        The class with the weight of each state.
    joined
        The states of the table's target column that each state of the class stands for, where they were joined.
    structure, smoothing
        As they were asked for.
    edges
        In a tree, each feature's other parent.
    binned
        The features that were cut into ranges.
    missing
        In how many of the used rows a feature is missing, where it is in any.
    left_out
        The columns that were not used, and why.
    """

    origin: str
    rows: int
    used: int
    target: dict[str, float]
    joined: bool
    structure: Structure
    smoothing: float
    edges: dict[str, str]
    binned: dict[str, tuple[str, ...]]
    missing: dict[str, int]
    left_out: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain dictionaries and lists."""
        return asdict(self)

    def __str__(self) -> str:
        kind = "naive Bayes" if self.structure == "naive" else "tree-augmented naive Bayes"
        classes = ", ".join(f"{state} ({count:g})" for state, count in self.target.items())
        lines = [
            f"rows       {self.used:,} of {self.rows:,}{f' in {self.origin}' if self.origin else ''}",
            f"class      {classes}{'; states were joined' if self.joined else ''}",
            f"structure  {kind}; {self.smoothing:g} added to every count",
        ]
        lines += [f"ranges     {name}: {'  '.join(states)}" for name, states in self.binned.items()]
        lines += [f"edge       {parent} → {child}" for child, parent in self.edges.items()]
        if self.missing:
            lines.append(f"missing    {', '.join(f'{name} {count:,}' for name, count in self.missing.items())}")
        lines += [f"left out   {name}: {why}" for name, why in self.left_out.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Learned:
    """A network learnt from a table.

    Attributes
    ----------
    network
        The network.
    target
        Its class.
    positive
        The states that were said to be positive, None if none were.
    report
        What was done.
    """

    network: BayesianNetwork
    target: str
    positive: tuple[str, ...] | None
    report: LearnReport

    def classifier(self, positive: str | Iterable[str] | None = None, threshold: float = 0.5) -> Classifier:
        """Return a classifier of the network, all of whose features may be observed.

        Parameters
        ----------
        positive
            The positive states; by default those given to `learn`.
        threshold
            Where the posterior starts to mean "positive".
        """
        return Classifier(self.network, self.target, positive or self.positive, threshold=threshold)


def learn(
    table: Any,
    target: str,
    *,
    structure: Structure = "naive",
    positive: str | Iterable[str] | None = None,
    bins: int = BINS,
    smoothing: float = 1.0,
    weights: str | Sequence[float] | None = None,
    features: Iterable[str] | None = None,
) -> Learned:
    """Learn naive Bayes, or tree-augmented naive Bayes, from a table.

    Parameters
    ----------
    table
        A CSV or Parquet file; a pandas, polars or pyarrow table; a mapping from names to columns; a list of mappings.
    target
        The column of the class.
    structure
        ``"naive"``: the class is every feature's only parent. ``"tree"``: each feature but one has another feature as
        a second parent, chosen such that together they carry the most information (Chow and Liu's tree, given the
        class).
    positive
        The states of the class that count as positive. All of them become one state, and the others another: so the
        features stay independent given the decision, which makes trimming fast.
    bins
        Numbers with many different values are cut into so many ranges of about equally many rows.
    smoothing
        So much is added to every count, against probabilities of zero. In a tree it is shared out as the feature's
        table given the class alone says.
    weights
        The column that says how much each row counts, or a number for each row.
    features
        The columns to use; by default all that can be.

    Examples
    --------
    >>> learned = learn({"sick": ["yes", "yes", "no", "no"], "test": ["+", "-", "-", "-"]}, "sick")
    >>> learned.network.table("test").tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    >>> print(learned.report)
    rows       4 of 4
    class      yes (2), no (2)
    structure  naive Bayes; 1 added to every count
    """
    if structure not in get_args(Structure):
        raise LearnError(f"structure={structure!r}; it is 'naive' or 'tree'")
    bins = int(_checked_number("bins", bins, 2, whole=True))
    smoothing = _checked_number("smoothing", smoothing, 0)
    data = as_table(table)
    if not len(data):
        raise LearnError(f"{data.origin or 'the table'} has no rows")
    mass = _weights(data, weights)
    wanted = None if positive is None else (positive,) if isinstance(positive, str) else tuple(positive)
    klass, codes, positives = _class(data, target, mass, wanted)
    rows = _Rows(codes, len(klass), mass)
    left_out: dict[str, str] = {}
    usable: list[_Feature] = []
    for name in _names(data, target, weights, features):
        feature = _feature(name, data.columns[name], rows, bins)
        if isinstance(feature, str):
            left_out[name] = feature
        else:
            usable.append(feature)
    if not usable:
        why = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise LearnError(f"no column is left to learn from{f' ({why})' if why else ''}")
    if data.unnamed:
        left_out["(no name)"] = f"{data.unnamed} column{'s' * (data.unnamed > 1)} without a name"
    parents = _tree(usable, rows) if structure == "tree" else {}
    network = _network(klass, usable, parents, rows, smoothing)
    report = LearnReport(
        data.origin,
        len(data),
        int((codes >= 0).sum()),
        dict(zip(klass.states, rows.class_mass().tolist(), strict=True)),
        positives is not None and len(klass) < len(data.columns[target].values),
        structure,
        smoothing,
        {child.variable.name: parent.variable.name for child, parent in parents.items()},
        {f.variable.name: f.variable.states for f in usable if f.variable.cuts is not None},
        {f.variable.name: count for f in usable if (count := int(((f.codes < 0) & (codes >= 0)).sum()))},
        left_out,
    )
    return Learned(network, target, positives, report)


def labels(table: Table, classifier: Classifier) -> IntArray:
    """Return what a table says of the class: 1 where it is positive, 0 where it is negative, -1 where it is unknown.

    States that were joined are known by their parts.
    """
    column = table.columns.get(classifier.target)
    if column is None:
        return np.full(len(table), MISSING)
    whole = dict.fromkeys(classifier.negative, 0) | dict.fromkeys(classifier.positive, 1)
    parts = {part: side for state, side in whole.items() for part in state.split(JOIN)}
    found = [_label(value, {**parts, **whole}) for value in column.values]
    return np.array([*found, MISSING], dtype=np.int64)[column.codes]


def _label(value: Any, sides: dict[str, int]) -> int:
    return next((sides[word] for word in spellings(value) if word in sides), MISSING)


def _checked_number(what: str, given: Any, least: int, *, whole: bool = False) -> float:
    kind: Any = numbers.Integral if whole else numbers.Real  # Any: mypy does not compare them
    if isinstance(given, bool) or not isinstance(given, kind) or not least <= given < math.inf:
        raise LearnError(f"{what}={given!r}; it must be a {'whole ' if whole else ''}number, {least} or more")
    return float(given)


def _names(
    data: Table, target: str, weights: str | Sequence[float] | None, features: Iterable[str] | None
) -> list[str]:
    apart = {target, weights} if isinstance(weights, str) else {target}
    if features is None:
        return [name for name in data.columns if name not in apart]
    names = list(dict.fromkeys([features] if isinstance(features, str) else features))
    for name in names:
        data.column(name)
        if name in apart:
            raise LearnError(f"{name!r} is the {'target' if name == target else 'weight'} and cannot be a feature")
    return names


def _weights(data: Table, given: str | Sequence[float] | None) -> FloatArray | None:
    """Return how much each row counts, None if all count 1."""
    if given is None:
        return None
    if isinstance(given, str):
        column = data.column(given)
        values = [as_number(value) for value in column.values]
        found = np.array([math.nan if value is None else value for value in [*values, None]])[column.codes]
    else:
        try:
            found = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise LearnError("weights must be numbers") from None
        if found.shape != (len(data),):
            raise LearnError(f"weights have the shape {found.shape}; the table has {len(data)} rows")
    wrong = ~(np.isfinite(found) & (found >= 0))
    if wrong.any():
        raise LearnError(f"{data.place(int(np.argmax(wrong)))}: a weight must be a finite number, 0 or more")
    return found


@dataclass(frozen=True)
class _Rows:
    """The class of each row by number (-1 where it is missing), and how much each row counts."""

    codes: IntArray
    classes: int
    mass: FloatArray | None

    def counts(self, *columns: tuple[IntArray, int]) -> FloatArray:
        """Return the mass of the rows by [class, state of each column…], over rows in which all are observed."""
        seen = self.codes >= 0
        for codes, _ in columns:
            seen &= codes >= 0
        cell = self.codes[seen].copy()
        for codes, states in columns:
            cell *= states
            cell += codes[seen]
        shape = (self.classes, *(states for _, states in columns))
        weights = None if self.mass is None else self.mass[seen]
        found: FloatArray = np.bincount(cell, weights, math.prod(shape)).astype(np.float64).reshape(shape)
        return found

    def class_mass(self) -> FloatArray:
        """Return the mass of each class."""
        return self.counts()


@dataclass(frozen=True, eq=False)
class _Feature:
    """A column as a variable."""

    variable: Variable
    codes: IntArray

    @property
    def column(self) -> tuple[IntArray, int]:
        """What `_Rows.counts` takes."""
        return self.codes, len(self.variable)


def _class(
    data: Table, target: str, mass: FloatArray | None, positive: tuple[str, ...] | None
) -> tuple[Variable, IntArray, tuple[str, ...] | None]:
    """Return the class, its code in each row, and its positive states, if they were given."""
    column = data.column(target)
    states, codes = named_states(column)
    if not states:
        raise LearnError(f"the column {target!r} is empty; the class must be named in some rows")
    if len(states) > MOST_STATES:
        raise LearnError(f"the column {target!r} has {len(states)} different values, too many for a class")
    if len(states) < 2:
        raise LearnError(f"the column {target!r} has the one value {states[0]!r}; a class needs two")
    if mass is not None and not mass[codes >= 0].sum() > 0:
        raise LearnError("the weights of all rows with a class are 0")
    if positive is None:
        return Variable(target, tuple(states)), codes, None
    for state in positive:
        if state not in states:
            raise UnknownNameError(f"{target!r} has no state {state!r}{suggestion(str(state), states)}")
    sides = [[s for s in states if (s in positive) is side] for side in (True, False)]
    if not all(sides):
        raise LearnError(f"positive names {len(sides[0])} of the {len(states)} states of {target!r}; some must be left")
    names = [JOIN.join(side) for side in sides]
    joined = np.array([0 if state in positive else 1 for state in states] + [MISSING])
    return Variable(target, tuple(names)), joined[codes], (names[0],)


def _feature(name: str, column: Column, rows: _Rows, bins: int) -> _Feature | str:
    """Return a column as a variable, or why it is not used."""
    values = as_numbers(column.values)
    if values is not None and is_measurement(values, bins):
        seen = column.codes >= 0
        weights = None if rows.mass is None else rows.mass[seen]
        share = np.bincount(column.codes[seen], weights, len(values)).astype(np.float64)
        cuts = quantile_cuts(np.array(values), share, bins)
        variable = Variable(name, range_names(cuts), cuts)
        return _useful(_Feature(variable, np.array([*map(variable.bin, values), MISSING])[column.codes]))
    states, codes = named_states(column)
    if len(states) > MOST_STATES:
        return f"{len(states):,} different texts"
    return _useful(_Feature(Variable(name, tuple(states)), codes)) if states else "no value at all"


def _useful(feature: _Feature) -> _Feature | str:
    return feature if len(feature.variable) > 1 else "the same value in all rows"


def _tree(features: Sequence[_Feature], rows: _Rows) -> dict[_Feature, _Feature]:
    """Return each feature's parent in the spanning tree of the most information, given the class.

    The root is the feature that tells most about the class. (Prim's algorithm.)
    """
    alone = [_information(rows.counts(f.column)[None]) for f in features]
    root = int(np.argmax(alone))
    best = {place: (-1.0, root) for place in range(len(features)) if place != root}
    parents: dict[_Feature, _Feature] = {}
    newest = root
    while best:
        for place, (gain, _) in best.items():
            given = _information(rows.counts(features[newest].column, features[place].column))
            if given > gain:
                best[place] = (given, newest)
        newest = max(best, key=lambda place: best[place][0])
        parents[features[newest]] = features[best.pop(newest)[1]]
    return parents


def _information(counts: FloatArray) -> float:
    """Return the mutual information of the last two axes given the first, in nats."""
    total = counts.sum()
    if not total:
        return 0.0
    joint = counts / total
    given = joint.sum(axis=(1, 2), keepdims=True)
    apart = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    seen = joint > 0
    ratio = (joint * given)[seen] / apart[seen]
    return float((joint[seen] * np.log(ratio)).sum())


def _network(
    klass: Variable, features: Sequence[_Feature], parents: dict[_Feature, _Feature], rows: _Rows, smoothing: float
) -> BayesianNetwork:
    even = np.full(len(klass), 1 / len(klass))
    tables = {klass.name: _shares(rows.class_mass(), even, smoothing)}
    names = {}
    for feature in features:
        name = feature.variable.name
        counts = rows.counts(feature.column)
        overall = _shares(counts.sum(axis=0), np.full(len(feature.variable), 1 / len(feature.variable)), 0.0)
        even = np.full(len(feature.variable), 1 / len(feature.variable))
        tables[name], names[name] = _shares(counts, even, smoothing, overall), [klass.name]
        if feature in parents:
            other = parents[feature]
            given = np.broadcast_to(tables[name][:, None], (len(klass), len(other.variable), len(feature.variable)))
            tables[name] = _shares(rows.counts(other.column, feature.column), given, smoothing, given)
            names[name] = [klass.name, other.variable.name]
    return BayesianNetwork([klass, *(f.variable for f in features)], names, tables)


def _shares(
    counts: FloatArray, expected: FloatArray, smoothing: float, otherwise: FloatArray | None = None
) -> FloatArray:
    """Return smoothed shares along the last axis.

    Parameters
    ----------
    counts
        Counts.
    expected
        How what is added is shared out.
    smoothing
        How much is added for each state.
    otherwise
        The shares of a row that counts nothing, where nothing is added either.
    """
    filled = counts + smoothing * counts.shape[-1] * expected
    total = filled.sum(axis=-1, keepdims=True)
    empty = expected if otherwise is None else otherwise
    return np.where(total > 0, filled / np.where(total > 0, total, 1.0), empty)
