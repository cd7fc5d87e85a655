"""From declared variables and tables to a checked network, every complaint with its place in the file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bayestrim.errors import NetworkError
from bayestrim.formats._scan import Source, Word, hint, shown
from bayestrim.network import (
    MAX_DIMENSIONS,
    BayesianNetwork,
    FloatArray,
    RowError,
    Variable,
    mend_rows,
    table_fault,
    warn_of_mended_rows,
)

MAX_IMPLIED_CELLS = 20_000_000
"""How many table cells one file may describe without listing them (default rows, deterministic nodes)."""

_LISTED = 10


class Table(NamedTuple):
    """The entries of a table, [parents' combinations, states], and where each stands.

    ``locate(row, state)`` is the offset of an entry; of a row, with state 0.
    """

    values: FloatArray
    locate: Callable[[int, int], int]


@dataclass(frozen=True)
class Block:
    """A table as the file gives it: whose it is, and how to fill it once all variables are known."""

    child: Word
    parents: Sequence[Word]
    fill: Callable[[Variable, Sequence[Variable]], Table]


class Draft:
    """A network while its file is being read.

    Parameters
    ----------
    source
        The file, for places in complaints.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._variables: dict[str, Variable] = {}
        self._places: dict[str, int] = {}
        self._blocks: dict[str, Block] = {}
        self._implied = 0

    def declare(self, name: Word, states: Sequence[Word], cuts: tuple[float, ...] | None = None) -> None:
        """Add a variable."""
        if name.text in self._variables:
            raise self._source.fail(f"the variable {name.text!r} is declared twice; names must differ", name.at)
        self._check_states(name, states)
        try:
            self._variables[name.text] = Variable(name.text, tuple(state.text for state in states), cuts)
        except NetworkError as error:
            raise self._source.fail(str(error), name.at) from None
        self._places[name.text] = name.at

    def _check_states(self, name: Word, states: Sequence[Word]) -> None:
        seen: set[str] = set()
        for state in states:
            if state.text in seen:
                raise self._source.fail(
                    f"variable {name.text!r} has the state {state.text!r} twice; states must differ", state.at
                )
            seen.add(state.text)

    def add(self, block: Block) -> None:
        """Add a table; its variables may be declared later."""
        name = block.child
        if name.text in self._blocks:
            raise self._source.fail(f"{name.text!r} has a second table; every variable has exactly one", name.at)
        self._blocks[name.text] = block

    def imply(self, cells: int, at: int) -> None:
        """Count cells the file describes without listing them, and refuse too many."""
        self._implied += cells
        if self._implied > MAX_IMPLIED_CELLS:
            raise self._source.fail(
                f"the tables need more than {MAX_IMPLIED_CELLS:,} cells that are not listed; "
                "no more than that is filled in from default rows or deterministic nodes",
                at,
            )

    def knows(self, name: str) -> bool:
        """Tell whether a variable of that name has been declared."""
        return name in self._variables

    def network(self, name: str = "", costs: Mapping[str, float] | None = None) -> BayesianNetwork:
        """Return the network, or the first complaint about it."""
        if not self._variables:
            raise self._source.fail("there are no variables; a network needs at least one")
        for block in self._blocks.values():
            self._check_names(block)
        for known, at in self._places.items():
            if known not in self._blocks:
                raise self._source.fail(f"{known!r} has no table; every variable needs one", at)
        parents = {known: tuple(parent.text for parent in self._blocks[known].parents) for known in self._variables}
        self._check_cycles(parents)
        tables, mended = self._tables()
        try:
            network = BayesianNetwork(self._variables.values(), parents, tables, name=name, costs=costs)
        except NetworkError as error:
            raise self._source.fail(str(error)) from None
        words = {known: network.row_words(known, mended[known].row) for known in mended}
        warn_of_mended_rows(self._source.origin, mended, words)
        return network

    def _check_names(self, block: Block) -> None:
        for name in (block.child, *block.parents):
            if name.text not in self._variables:
                near = hint(name.text, self._variables)
                raise self._source.fail(f"no variable {shown(name.text)} is declared{near}", name.at)
        seen = set()
        for parent in block.parents:
            if parent.text in seen:
                raise self._source.fail(f"{block.child.text!r} names the parent {parent.text!r} twice", parent.at)
            seen.add(parent.text)
        if len(seen) >= MAX_DIMENSIONS:
            raise self._source.fail(
                f"{block.child.text!r} has {len(seen)} parents; at most {MAX_DIMENSIONS - 1} are supported",
                block.child.at,
            )

    def _check_cycles(self, parents: Mapping[str, Sequence[str]]) -> None:
        cycle = _cycle(parents)
        if cycle:
            at = self._blocks[cycle[0]].child.at
            names = cycle if len(cycle) <= _LISTED else [*cycle[:_LISTED], "…"]
            raise self._source.fail(f"the network has a cycle: {' → '.join(names)}; no variable may follow itself", at)

    def _tables(self) -> tuple[dict[str, FloatArray], dict[str, RowError]]:
        tables: dict[str, FloatArray] = {}
        mended: dict[str, RowError] = {}
        for name, block in self._blocks.items():
            variable = self._variables[name]
            given = [self._variables[parent.text] for parent in block.parents]
            filled = block.fill(variable, given)
            table = self._checked(filled, variable, given)
            tables[name], worst = mend_rows(table)
            if worst:
                mended[name] = worst
        return tables, mended

    def _checked(self, filled: Table, variable: Variable, parents: Sequence[Variable]) -> FloatArray:
        fault = table_fault(filled.values)
        if fault:
            row, state = (*fault.index, 0)[:2]
            given = combination(parents, row)
            whose = f"{variable.name!r} given {given}" if given else repr(variable.name)
            raise self._source.fail(f"in the table of {whose}, {fault.message}", filled.locate(row, state))
        return filled.values.reshape((*map(len, parents), len(variable)))


def _cycle(parents: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a cycle, each name a parent of the next and the first again at the end; or an empty list."""
    waiting = {child: len(given) for child, given in parents.items()}
    children: dict[str, list[str]] = {name: [] for name in parents}
    for child, given in parents.items():
        for parent in given:
            children[parent].append(child)
    free = [name for name, count in waiting.items() if not count]
    for name in free:  # grows while it is walked
        for child in children[name]:
            waiting[child] -= 1
            if not waiting[child]:
                free.append(child)
    stuck = {name for name, count in waiting.items() if count}
    return _walk(parents, stuck) if stuck else []


def _walk(parents: Mapping[str, Sequence[str]], stuck: set[str]) -> list[str]:
    name = next(name for name in parents if name in stuck)
    passed: dict[str, int] = {}
    while name not in passed:
        passed[name] = len(passed)
        name = next(parent for parent in parents[name] if parent in stuck)
    return [name, *list(passed)[passed[name] :][::-1]]


def combination(parents: Sequence[Variable], row: int) -> str:
    """Return the parents' states that belong to a row, in words."""
    words = []
    for parent in reversed(parents):
        row, state = divmod(row, len(parent))
        words.append(f"{parent.name}={parent.states[state]}")
    return ", ".join(reversed(words))


def row_count(parents: Iterable[Variable]) -> int:
    """Return the number of combinations of the parents' states."""
    return math.prod(len(parent) for parent in parents)


def size_words(variable: Variable, parents: Sequence[Variable]) -> str:
    """Return the size of a table in words, ``"12 (2 x 2 x 3)"``."""
    sizes = [len(parent) for parent in parents] + [len(variable)]
    product = f" ({' x '.join(map(str, sizes))})" if parents else ""
    return f"{math.prod(sizes)}{product}"


def flat_table(
    source: Source,
    values: Sequence[float],
    variable: Variable,
    parents: Sequence[Variable],
    locate: Callable[[int], int],
) -> Table:
    """Return the table whose entries are listed with the child's state varying fastest.

    Parameters
    ----------
    locate
        The offset of an entry, from its number; entry 0 also stands for the whole list.
    """
    states = len(variable)
    if len(values) != row_count(parents) * states:
        raise source.fail(
            f"the table of {variable.name!r} has {len(values)} entries; it needs {size_words(variable, parents)}",
            locate(0),
        )
    table = np.array(values, dtype=np.float64).reshape(-1, states)
    return Table(table, lambda row, state: locate(row * states + state))
