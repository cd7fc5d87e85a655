"""A network as a weighted propositional formula: clauses for each table, weights that multiply to probabilities.

A state of a variable is a literal: one Boolean tells two states apart, more states take one Boolean each, exactly one
of which is true. Each table has one more Boolean for each value that it holds, however often: the value's Boolean is
true in the rows and states that hold it. Impossible combinations become clauses of their own. The sum over all models
of the product of the weights of true value Booleans is then the sum over all worlds of their probabilities.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bayestrim.errors import TooLargeError
from bayestrim.network import BayesianNetwork, FloatArray

Clause = tuple[int, ...]
"""Literals, one of which must be true: a Boolean's number, negated if it must be false."""

MOST_CLAUSES = 1_000_000
"""Formulas with more clauses than this are refused before they are made."""


@dataclass
class Encoding:
    """A network, or the part of it that matters, as a weighted formula.

    Attributes
    ----------
    booleans
        How many Booleans there are; they are numbered from 1.
    states
        For each variable, the literal that says that it is in each state; empty where there is one state only.
    values
        For each variable, the Booleans that stand for its table's values.
    weights
        The values themselves, by Boolean; every other literal, negated value Booleans included, weighs 1.
    clauses
        For each variable, the clauses of its states and its table.
    """

    booleans: int = 0
    states: dict[str, tuple[int, ...]] = field(default_factory=dict)
    values: dict[str, tuple[int, ...]] = field(default_factory=dict)
    weights: dict[int, float] = field(default_factory=dict)
    clauses: dict[str, list[Clause]] = field(default_factory=dict)

    def new(self) -> int:
        """Return a new Boolean."""
        self.booleans += 1
        return self.booleans

    def of_states(self, name: str) -> tuple[int, ...]:
        """Return the Booleans that tell a variable's states."""
        return tuple(dict.fromkeys(abs(literal) for literal in self.states[name]))

    @property
    def size(self) -> int:
        """How many clauses there are."""
        return sum(map(len, self.clauses.values()))


def encode(network: BayesianNetwork, names: Sequence[str]) -> Encoding:
    """Encode the tables of some variables, with all their ancestors among them, parents before children.

    Raises
    ------
    TooLargeError
        If it takes more than `MOST_CLAUSES` clauses.
    """
    needed = sum(_clauses_needed(network.table(name)) for name in names)
    if needed > MOST_CLAUSES:
        raise TooLargeError(
            f"the circuit's formula would take {needed:,} clauses, and {MOST_CLAUSES:,} are allowed: the tables hold "
            "too many different values; use engine='table' or 'sampled'"
        )
    encoding = Encoding()
    for name in names:
        encoding.clauses[name] = []
        encoding.states[name] = _states(encoding, name, len(network.variable(name)))
    for name in names:
        _add_table(encoding, network, name)
    return encoding


def _clauses_needed(table: FloatArray) -> int:
    different = len(np.unique(table))
    return table.size + different * (different - 1) // 2


def _states(encoding: Encoding, name: str, count: int) -> tuple[int, ...]:
    if count == 1:
        return ()
    if count == 2:
        boolean = encoding.new()
        return boolean, -boolean
    each = tuple(encoding.new() for _ in range(count))
    encoding.clauses[name] += [each, *_not_both(each)]
    return each


def _not_both(booleans: Iterable[int]) -> Iterator[Clause]:
    return ((-one, -other) for one, other in itertools.combinations(booleans, 2))


def _add_table(encoding: Encoding, network: BayesianNetwork, name: str) -> None:
    """Add a table: each entry implies the Boolean of its value, and no two values are true at once.

    Since some entry always applies, a value's Boolean is true exactly where the table holds it.
    """
    table, family = network.table(name), (*network.parents(name), name)
    sums = {row: math.fsum(table[row]) for row in np.ndindex(table.shape[:-1])}
    boolean: dict[float, int] = {}
    for entry in np.ndindex(table.shape):
        value = float(table[entry]) / sums[entry[:-1]]
        elsewhere = _negated(encoding.states, family, entry)
        if value > 0:
            if value not in boolean:
                boolean[value] = encoding.new()
                encoding.weights[boolean[value]] = value
            elsewhere += (boolean[value],)
        encoding.clauses[name].append(elsewhere)
    encoding.values[name] = tuple(boolean.values())
    encoding.clauses[name] += _not_both(boolean.values())


def _negated(states: Mapping[str, Sequence[int]], family: Sequence[str], entry: Sequence[int]) -> Clause:
    """Return the clause that an entry of a table is not the one that applies."""
    return tuple(-states[member][state] for member, state in zip(family, entry, strict=True) if states[member])
