"""Variable elimination, in floats, in logarithms, or in exact integers.

Every array has one axis per variable of its scope and a last axis for the rows of a batch, so that the inner loops run
over rows; that axis has length 1 where the rows share the values. NumPy is all this needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Factor(NamedTuple):
    """A table over some variables: one axis per variable of the scope, and the batch's axis last."""

    scope: tuple[int, ...]
    table: npt.NDArray[Any]


@dataclass(frozen=True)
class Plan:
    """An order of elimination.

    Attributes
    ----------
    order
        The variables to sum out, first to last.
    widest
        The number of cells of the largest product on the way, for one row.
    operations
        The number of cells of all products together, for one row.
    """

    order: tuple[int, ...]
    widest: int
    operations: int


def plan_elimination(scopes: Iterable[Iterable[int]], sizes: Mapping[int, int], keep: Iterable[int]) -> Plan:
    """Order the elimination of all variables but `keep`, each time taking the one whose product is smallest.

    Parameters
    ----------
    scopes
        The variables of each factor.
    sizes
        The number of states of each variable.
    keep
        The variables that stay.
    """
    neighbours: dict[int, set[int]] = {}
    for scope in scopes:
        members = set(scope)
        for variable in members:
            neighbours.setdefault(variable, set()).update(members)

    def product(variable: int) -> int:
        return math.prod(sizes[other] for other in neighbours[variable])

    kept = set(keep)
    cost = {variable: product(variable) for variable in sorted(neighbours) if variable not in kept}
    order, widest, operations = [], 1, 0
    while cost:
        variable = min(cost, key=cost.__getitem__)
        widest = max(widest, cost[variable])
        operations += cost.pop(variable)
        order.append(variable)
        clique = neighbours.pop(variable) - {variable}
        for other in clique:
            neighbours[other] |= clique
            neighbours[other].discard(variable)
        for other in clique - kept:
            cost[other] = product(other)
    final = math.prod(sizes[variable] for variable in kept)
    return Plan(tuple(order), max(widest, final), operations + final)


@dataclass(frozen=True)
class Arithmetic:
    """How probabilities are held, multiplied and summed.

    Attributes
    ----------
    dtype
        The type of the arrays' elements.
    one
        What an allowed state's likelihood is.
    zero
        What a forbidden state's likelihood is.
    times
        Multiplies two arrays.
    total
        Sums an array over its first axis.
    """

    dtype: type
    one: float | int
    zero: float | int
    times: Callable[[npt.NDArray[Any], npt.NDArray[Any]], npt.NDArray[Any]]
    total: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]


def _sum(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.asarray(table.sum(axis=0), dtype=table.dtype)  # of objects in one dimension, the sum is no array


FLOATS = Arithmetic(float, 1.0, 0.0, np.multiply, _sum)
"""64-bit floats."""
LOGARITHMS = Arithmetic(float, 0.0, -np.inf, np.add, np.logaddexp.reduce)
"""Logarithms in 64-bit floats, for products too small for floats themselves."""
INTEGERS = Arithmetic(object, 1, 0, np.multiply, _sum)
"""Python's integers, which are exact."""


def connected(scopes: Iterable[Iterable[int]], variable: int) -> set[int]:
    """Return the variables that a variable shares a factor with, directly or through others, and itself."""
    neighbours: dict[int, set[int]] = {variable: set()}
    for scope in scopes:
        for member in scope:
            neighbours.setdefault(member, set()).update(scope)
    found, waiting = {variable}, [variable]
    while waiting:
        for other in neighbours[waiting.pop()] - found:
            found.add(other)
            waiting.append(other)
    return found


def multiply(factors: Sequence[Factor], scope: tuple[int, ...], arithmetic: Arithmetic) -> npt.NDArray[Any]:
    """Multiply factors into one table with the axes `scope` (which holds all their variables) and the batch."""
    aligned = sorted((_aligned(factor, scope) for factor in factors), key=lambda table: table.size)
    product = aligned[0]
    for table in aligned[1:]:
        product = arithmetic.times(product, table)
    return product


def _aligned(factor: Factor, scope: tuple[int, ...]) -> npt.NDArray[Any]:
    axes = [factor.scope.index(variable) for variable in scope if variable in factor.scope]
    table = factor.table.transpose(*axes, len(axes))
    inner = iter(table.shape)
    shape = [next(inner) if variable in factor.scope else 1 for variable in scope]
    return table.reshape(*shape, table.shape[-1])


def eliminate(factors: Iterable[Factor], order: Sequence[int], arithmetic: Arithmetic) -> list[Factor]:
    """Sum the variables of `order` out of the product of all factors, and return the factors that remain."""
    remaining = list(factors)
    for variable in order:
        touched = [factor for factor in remaining if variable in factor.scope]
        remaining = [factor for factor in remaining if variable not in factor.scope]
        others = tuple(dict.fromkeys(v for factor in touched for v in factor.scope if v != variable))
        table = multiply(touched, (variable, *others), arithmetic)
        remaining.append(Factor(others, arithmetic.total(table)))
    return remaining
