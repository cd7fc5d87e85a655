"""Discrete Bayesian networks as values: checked once where they enter, never changed after.

A table keeps the decimals it was given. A row stands for its decimals *divided by their sum*, so a row such as
``0.333, 0.333, 0.333`` means three exact thirds; inference divides, and what a file said stays readable.
"""

from __future__ import annotations

import bisect
import inspect
import itertools
import math
import numbers
import sys
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bayestrim.errors import NetworkError, RowSumWarning, UnknownNameError, suggestion

FloatArray = npt.NDArray[np.float64]

ROUNDING = 1e-6
"""Row sums within this of 1 are decimals rounded by whoever wrote them: kept, digit for digit."""
LARGEST_ROW_ERROR = 0.01
"""Row sums within this of 1 are divided out with a warning; beyond it the table is refused."""
MAX_DIMENSIONS = 63
"""NumPy's arrays have at most 64 axes, and batched inference needs one of them."""


@dataclass(frozen=True)
class Variable:
    """A named variable and the names of its states, in order.

    Parameters
    ----------
    name
        Its name.
    states
        The names of its states.
    cuts
        Where the states are ranges of a number: the ends between them, rising. A number belongs to the state after the
        last cut that it reaches: below ``cuts[0]`` to the first, from ``cuts[0]`` on to the second.

    Examples
    --------
    >>> Variable("Q1", ("right", "wrong")).index("wrong")
    1
    >>> age = Variable("Age", ("young", "old"), cuts=(40.0,))
    >>> [age.states[age.bin(years)] for years in (39.9, 40)]
    ['young', 'old']
    """

    name: str
    states: tuple[str, ...]
    cuts: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_word(self.name, "a variable's name")
        if isinstance(self.states, str):
            raise NetworkError(f"the states of {self.name!r} must be a list of names, not the string {self.states!r}")
        object.__setattr__(self, "states", tuple(self.states))
        if not self.states:
            raise NetworkError(f"variable {self.name!r} has no states; at least one is needed")
        for state in self.states:
            check_word(state, f"a state of {self.name!r}")
        if len(set(self.states)) < len(self.states):
            twice = next(state for state in self.states if self.states.count(state) > 1)
            raise NetworkError(f"variable {self.name!r} has the state {twice!r} twice; states must differ")
        if self.cuts is not None:
            object.__setattr__(self, "cuts", self._checked_cuts(self.cuts))

    def _checked_cuts(self, given: Iterable[float]) -> tuple[float, ...]:
        try:
            cuts = tuple(float(cut) for cut in given)
        except (TypeError, ValueError, OverflowError):
            raise NetworkError(f"the cuts of {self.name!r} must be numbers, not {given!r}") from None
        if len(cuts) != len(self.states) - 1:
            raise NetworkError(
                f"variable {self.name!r} has {len(self.states)} states and {len(cuts)} cuts; one cut lies between each "
                "two neighbouring states"
            )
        if not all(map(math.isfinite, cuts)) or any(low >= high for low, high in itertools.pairwise(cuts)):
            raise NetworkError(f"the cuts of {self.name!r} are {list(cuts)}; they must be finite and rise")
        return cuts

    def bin(self, number: float) -> int:
        """Return the position of the state that a number belongs to."""
        assert self.cuts is not None, "only variables with cuts have ranges for states"
        return bisect.bisect_right(self.cuts, number)

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.states)

    def index(self, state: str) -> int:
        """Return the position of a state."""
        try:
            return self.states.index(state)
        except ValueError:
            raise UnknownNameError(
                f"{self.name!r} has no state {state!r}{suggestion(str(state), self.states)}"
            ) from None


def check_word(word: object, what: str) -> None:
    """Refuse what is no name: not a string, empty, or with control characters."""
    if not isinstance(word, str):
        raise NetworkError(f"{what} must be a string, not {word!r}")
    if not word:
        raise NetworkError(f"{what} must not be empty")
    for character in word:
        if unicodedata.category(character) in ("Cc", "Cs"):
            raise NetworkError(f"{what} must not hold control characters, as {word!r} does")


@dataclass(frozen=True)
class TableFault:
    """What is wrong with a table, and where: an entry's full index, or a row's index without the last axis."""

    message: str
    index: tuple[int, ...]


def table_fault(table: FloatArray) -> TableFault | None:
    """Return the first thing wrong with a conditional table [parents…, states], or None.

    Entries must be finite, not negative and at most 1; each row must sum to 1 within `LARGEST_ROW_ERROR`.
    """
    for wrong, message in (
        (~np.isfinite(table), "is not a finite number"),
        (table < 0, "is negative; probabilities lie between 0 and 1"),
        (table > 1, "is above 1; probabilities lie between 0 and 1"),
    ):
        if wrong.any():
            index = _first(wrong)
            return TableFault(f"the entry {float(table[index])!r} {message}", index)
    off = np.abs(table.sum(axis=-1) - 1) > LARGEST_ROW_ERROR + 1e-12  # 0.99 as a float is off by a hair more
    if off.any():
        row = _first(off)
        return TableFault(
            f"the row sums to {math.fsum(table[row]):.6g}; a row must sum to 1 (within {LARGEST_ROW_ERROR:.0%})", row
        )
    return None


def _first(mask: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


class RowError(NamedTuple):
    """How far the worst row of a table is from summing to 1, and which row it is."""

    size: float
    row: tuple[int, ...]


def mend_rows(table: FloatArray) -> tuple[FloatArray, RowError | None]:
    """Divide rows whose sum is off by more than rounding by that sum.

    Returns the table (the same one where nothing was wrong) and the worst row that was mended.
    """
    sums = table.sum(axis=-1, keepdims=True)
    errors = np.abs(sums[..., 0] - 1)
    off = errors > ROUNDING
    if not off.any():
        return table, None
    worst = _first(errors == errors.max())
    return np.where(off[..., None], table / sums, table), RowError(float(errors[worst]), worst)


def warn_of_mended_rows(where: str, mended: Mapping[str, RowError], describe: Mapping[str, str]) -> None:
    """Give one warning for all mended rows of a model, naming the worst.

    Parameters
    ----------
    where
        The file or object, named at the start of the warning; may be empty.
    mended
        The worst mended row of each variable that had any.
    describe
        For each such variable, that row in words (`BayesianNetwork.row_words`).
    """
    if not mended:
        return
    worst = max(mended, key=lambda name: mended[name].size)
    tables = f"{len(mended)} tables have" if len(mended) > 1 else "1 table has"
    warnings.warn(
        f"{where + ': ' if where else ''}{tables} rows that do not sum to 1; they were divided by their sum. "
        f"The worst is {describe[worst]}, off by {mended[worst].size:.3g}",
        RowSumWarning,
        stacklevel=_frames_of_this_package() + 1,
    )


def _frames_of_this_package() -> int:
    """Return how many calls lie between here and the caller's own code, which a warning should point to."""
    frame, count = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "bayestrim":
        frame, count = frame.f_back, count + 1
    return count - 1


class BayesianNetwork:
    """A discrete Bayesian network.

    Parameters
    ----------
    variables
        The variables, in the order in which they are listed and saved.
    parents
        For each variable that has any, the names of its parents, in the order of the table's axes.
    tables
        For each variable, Pr(variable | parents) as an array [parents…, states].
    name
        The network's own name, if it has one.
    costs
        What observing a variable costs, where the source says so (GeNIe files may).

    Examples
    --------
    >>> quiz = BayesianNetwork(
    ...     [Variable("Mastery", ("yes", "no")), Variable("Q1", ("right", "wrong"))],
    ...     parents={"Q1": ["Mastery"]},
    ...     tables={"Mastery": [0.1, 0.9], "Q1": [[0.9, 0.1], [0.3, 0.7]]},
    ... )
    >>> quiz.parents("Q1"), quiz.table("Q1")[1, 0].item()
    (('Mastery',), 0.3)
    """

    def __init__(
        self,
        variables: Iterable[Variable],
        parents: Mapping[str, Sequence[str]],
        tables: Mapping[str, npt.ArrayLike],
        *,
        name: str = "",
        costs: Mapping[str, float] | None = None,
    ) -> None:
        self._variables = tuple(variables)
        self._name = name
        if name != "":
            check_word(name, "a network's name")
        self._by_name = {variable.name: variable for variable in self._variables}
        if len(self._by_name) < len(self._variables):
            names = [variable.name for variable in self._variables]
            twice = next(name for name in names if names.count(name) > 1)
            raise NetworkError(f"the variable {twice!r} is given twice; names must differ")
        if not self._variables:
            raise NetworkError("a network needs at least one variable")
        for mapping, what in ((parents, "parents"), (tables, "a table"), (costs or {}, "a cost")):
            for known in mapping:
                self._require(known, f"{what} given for it, but ")
        self._parents = {v.name: self._checked_parents(v.name, parents.get(v.name, ())) for v in self._variables}
        self._order = self._topological_order()
        self._tables: dict[str, FloatArray] = {}
        mended: dict[str, RowError] = {}
        for variable in self._variables:
            if variable.name not in tables:
                raise NetworkError(f"{variable.name!r} has no table; every variable needs one")
            self._tables[variable.name] = self._checked_table(variable, tables[variable.name], mended)
        self._costs = {known: _checked_cost(known, cost) for known, cost in (costs or {}).items()}
        words = {known: self.row_words(known, mended[known].row) for known in mended}
        warn_of_mended_rows(f"network {name!r}" if name else "", mended, words)

    def _checked_parents(self, child: str, parents: Sequence[str]) -> tuple[str, ...]:
        if isinstance(parents, str):
            raise NetworkError(f"the parents of {child!r} must be a list of names, not the string {parents!r}")
        for parent in parents:
            if parent not in self._by_name:
                raise NetworkError(f"{child!r} has an unknown parent {parent!r}{suggestion(parent, self._by_name)}")
        if len(set(parents)) < len(parents):
            raise NetworkError(f"{child!r} names a parent twice: {', '.join(parents)}")
        if len(parents) >= MAX_DIMENSIONS:
            raise NetworkError(f"{child!r} has {len(parents)} parents; at most {MAX_DIMENSIONS - 1} are supported")
        return tuple(parents)

    def _topological_order(self) -> tuple[str, ...]:
        waiting = {child: len(parents) for child, parents in self._parents.items()}
        children = self._children
        order = [name for name, count in waiting.items() if not count]
        for name in order:  # grows while it is walked
            for child in children[name]:
                waiting[child] -= 1
                if not waiting[child]:
                    order.append(child)
        if len(order) < len(waiting):
            raise NetworkError(f"the network has a cycle: {' → '.join(self._cycle(set(order)))}")
        return tuple(order)

    def _cycle(self, acyclic: set[str]) -> list[str]:
        path = [next(name for name in self._parents if name not in acyclic)]
        while path.count(path[-1]) == 1:
            path.append(next(parent for parent in self._parents[path[-1]] if parent not in acyclic))
        return path[path.index(path[-1]) :][::-1]

    def _checked_table(self, variable: Variable, given: npt.ArrayLike, mended: dict[str, RowError]) -> FloatArray:
        name = variable.name
        try:
            table = np.array(given, dtype=np.float64, order="C")
        except (TypeError, ValueError, OverflowError):
            raise NetworkError(f"the table of {name!r} is not an array of numbers") from None
        shape = (*(len(self._by_name[parent]) for parent in self._parents[name]), len(variable))
        if table.shape != shape:
            axes = ", ".join((*self._parents[name], name))
            raise NetworkError(f"the table of {name!r} has the shape {table.shape}; [{axes}] needs {shape}")
        fault = table_fault(table)
        if fault:
            raise NetworkError(f"in the table of {self.row_words(name, fault.index)}, {fault.message}")
        table, worst = mend_rows(table)
        if worst:
            mended[name] = worst
        table.setflags(write=False)
        return table

    def _require(self, name: str, context: str = "") -> Variable:
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            raise UnknownNameError(
                f"{context}the network has no variable {name!r}{suggestion(str(name), self._by_name)}"
            ) from None

    @property
    def name(self) -> str:
        """The network's own name, or an empty string."""
        return self._name

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in the order in which they were given."""
        return self._variables

    @property
    def costs(self) -> Mapping[str, float]:
        """What observing each variable costs, where the source said so."""
        return MappingProxyType(self._costs)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables, in the order in which they were given."""
        return tuple(self._by_name)

    @property
    def topological_order(self) -> tuple[str, ...]:
        """The names of the variables, parents before children."""
        return self._order

    @cached_property
    def _children(self) -> dict[str, list[str]]:
        children: dict[str, list[str]] = {name: [] for name in self._parents}
        for child, parents in self._parents.items():
            for parent in parents:
                children[parent].append(child)
        return children

    @property
    def roots(self) -> tuple[str, ...]:
        """The variables without parents."""
        return tuple(name for name in self._parents if not self._parents[name])

    @property
    def leaves(self) -> tuple[str, ...]:
        """The variables without children."""
        return tuple(name for name in self._parents if not self._children[name])

    def __contains__(self, name: object) -> bool:
        """Tell whether there is a variable of that name."""
        return name in self._by_name

    def variable(self, name: str) -> Variable:
        """Return the variable of that name."""
        return self._require(name)

    def states(self, name: str) -> tuple[str, ...]:
        """Return the names of a variable's states."""
        return self._require(name).states

    def parents(self, name: str) -> tuple[str, ...]:
        """Return the names of a variable's parents, in the order of its table's axes."""
        self._require(name)
        return self._parents[name]

    def children(self, name: str) -> tuple[str, ...]:
        """Return the names of a variable's children."""
        self._require(name)
        return tuple(self._children[name])

    def table(self, name: str) -> FloatArray:
        """Return Pr(name | parents) as a read-only array [parents…, states], in the decimals it was given."""
        self._require(name)
        return self._tables[name]

    def ancestors(self, names: Iterable[str]) -> frozenset[str]:
        """Return the given variables and all their ancestors."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(self.parents(name))
        return frozenset(found)

    def ancestral(self, names: Iterable[str]) -> BayesianNetwork:
        """Return the sub-network of the given variables and their ancestors, which has the same distribution."""
        kept = self.ancestors(names)
        if len(kept) == len(self._variables):
            return self
        return BayesianNetwork(
            [variable for variable in self._variables if variable.name in kept],
            {name: self._parents[name] for name in kept},
            {name: self._tables[name] for name in kept},
            name=self._name,
            costs={name: cost for name, cost in self._costs.items() if name in kept},
        )

    def row_words(self, name: str, index: Sequence[int]) -> str:
        """Return a row of a table in words, ``"Q1 given Mastery=yes"``, from its index (or an entry's index)."""
        parents = self._parents[name]
        given = ", ".join(f"{p}={self._by_name[p].states[i]}" for p, i in zip(parents, index, strict=False))
        return f"{name!r} given {given}" if given else repr(name)

    def __eq__(self, other: object) -> bool:
        """Tell whether two networks have the same variables, parents, costs and bit-equal tables."""
        if not isinstance(other, BayesianNetwork):
            return NotImplemented
        return self is other or (
            self._variables == other._variables
            and self._parents == other._parents
            and self._costs == other._costs
            and all(np.array_equal(table, other._tables[name]) for name, table in self._tables.items())
        )

    def __hash__(self) -> int:
        return hash((self._variables, tuple(self._parents.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._variables, self._parents, self._tables, self._name, self._costs)

    def __repr__(self) -> str:
        name = f"{self._name!r}, " if self._name else ""
        edges = sum(len(parents) for parents in self._parents.values())
        return f"BayesianNetwork({name}{len(self._variables)} variables, {edges} edges)"


def _rebuild(
    variables: tuple[Variable, ...],
    parents: dict[str, tuple[str, ...]],
    tables: dict[str, FloatArray],
    name: str,
    costs: dict[str, float],
) -> BayesianNetwork:
    return BayesianNetwork(variables, parents, tables, name=name, costs=costs)


def _checked_cost(name: str, cost: float) -> float:
    if isinstance(cost, bool) or not isinstance(cost, numbers.Real) or not 0 <= cost <= sys.float_info.max:
        raise NetworkError(f"the cost of {name!r} is {cost!r}; a cost is a finite number of at least 0")
    return float(cost)
