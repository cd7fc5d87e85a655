"""Variable elimination: class masses for rows of evidence, and joint tables of the class and its features.

The same elimination runs on 64-bit floats and, for exact decisions, on arrays of Python integers. NumPy is all it
needs. Every array has one axis per variable of its scope and a last axis for the rows of a batch, so that the inner
loops run over rows; that axis has length 1 where the rows share the values.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bayestrim.errors import TooLargeError
from bayestrim.network import BayesianNetwork, FloatArray

IntArray = npt.NDArray[np.int64]
Tables = Mapping[str, npt.NDArray[Any]]

BLOCK_CELLS = 1 << 17
"""Cells of the widest product of a batch: about what a core's second-level cache holds."""
SOFT_CELLS = 1 << 20
"""The widest product a batch of rows with different gaps may need before the rows are grouped by their gaps."""
SAFE_EXPONENT = -900
"""Products whose smallest entries multiply to more than 2 to this power cannot underflow, and are not rescaled."""


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


def multiply(factors: Sequence[Factor], scope: tuple[int, ...], *, rescale: bool = False) -> npt.NDArray[Any]:
    """Multiply factors into one table with the axes `scope` (which holds all their variables) and the batch.

    With `rescale`, each product is divided by a power of two for each row, so that no row underflows; the result is
    then proportional to the true one.
    """
    aligned = sorted((_aligned(factor, scope) for factor in factors), key=lambda table: table.size)
    product = aligned[0]
    for table in aligned[1:]:
        product = product * table
        if rescale:
            product = _rescaled(product)
    return product


def _rescaled(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    largest = table.max(axis=tuple(range(table.ndim - 1)))
    rescaled: npt.NDArray[Any] = np.ldexp(table, -np.frexp(largest)[1])
    return rescaled


def _aligned(factor: Factor, scope: tuple[int, ...]) -> npt.NDArray[Any]:
    axes = [factor.scope.index(variable) for variable in scope if variable in factor.scope]
    table = factor.table.transpose(*axes, len(axes))
    inner = iter(table.shape)
    shape = [next(inner) if variable in factor.scope else 1 for variable in scope]
    return table.reshape(*shape, table.shape[-1])


def eliminate(factors: Iterable[Factor], order: Sequence[int], *, rescale: bool = False) -> list[Factor]:
    """Sum the variables of `order` out of the product of all factors, and return the factors that remain."""
    remaining = list(factors)
    for variable in order:
        touched = [factor for factor in remaining if variable in factor.scope]
        remaining = [factor for factor in remaining if variable not in factor.scope]
        others = tuple(dict.fromkeys(v for factor in touched for v in factor.scope if v != variable))
        table = multiply(touched, (variable, *others), rescale=rescale)
        remaining.append(Factor(others, table.sum(axis=0)))
    return remaining


def probabilities(network: BayesianNetwork) -> dict[str, FloatArray]:
    """Return every table of a network with its rows divided by their sums."""
    return {name: normalised(network.table(name)) for name in network.names}


def normalised(table: FloatArray) -> FloatArray:
    """Return a table with its rows divided by their sums."""
    rows: FloatArray = table / table.sum(axis=-1, keepdims=True)
    return rows


def can_underflow(tables: Tables) -> bool:
    """Tell whether a product of one entry from each table could leave the range of 64-bit floats."""
    exponent = 0.0
    for table in tables.values():
        positive = table[table > 0]
        exponent += math.log2(float(positive.min())) if positive.size else 0.0
    return exponent < SAFE_EXPONENT


class ClassMasses:
    """Pr(class, evidence) for rows of evidence about a network's features.

    Parameters
    ----------
    network
        The network.
    target
        The class variable.
    features
        The variables that rows may observe, in the order of their columns.
    evidence
        States, by number, of variables that are observed in every row.
    tables
        The network's tables, as normalised floats or as integers whose rows have one sum in each table.
    exact
        Whether the tables hold Python integers; the masses are then exact, up to one common factor.
    """

    def __init__(
        self,
        network: BayesianNetwork,
        target: str,
        features: Sequence[str],
        evidence: Mapping[str, int],
        tables: Tables,
        *,
        exact: bool = False,
    ) -> None:
        self._network = network
        self._number = {name: i for i, name in enumerate(network.names)}
        self._sizes = {i: len(variable) for i, variable in enumerate(network.variables)}
        self._target = target
        self._features = tuple(features)
        self._evidence = dict(evidence)
        self._tables = tables
        self._exact = exact
        self._rescales = not self._exact and can_underflow(tables)
        self._layouts: dict[tuple[bool, ...], _Layout] = {}

    def __call__(self, codes: IntArray) -> npt.NDArray[Any]:
        """Return Pr(class, row) for each row, as an array [class states, rows].

        Parameters
        ----------
        codes
            State numbers [rows, features]; -1 where a feature was not observed.

        Notes
        -----
        Where a product could underflow, each row's masses are multiplied by a power of two of its own.
        """
        result = np.empty((self._sizes[self._number[self._target]], len(codes)), dtype=object if self._exact else float)
        for chosen, layout in self._groups(codes):
            block = max(16, min(4096, BLOCK_CELLS // layout.plan.widest))
            for start in range(0, len(chosen), block):
                rows = chosen[start : start + block]
                result[:, rows] = self._block(layout, codes[rows])
        return result

    def hardest(self, codes: IntArray) -> int:
        """Return the number of multiplications that the costliest of the rows takes."""
        return max((layout.plan.operations for _, layout in self._groups(codes)), default=0)

    def _groups(self, codes: IntArray) -> list[tuple[IntArray, _Layout]]:
        """Group the rows so that each group is one batched elimination.

        Exact rows are always grouped by their gaps, so that what a row costs, and with it whether it is in reach,
        does not depend on its neighbours.
        """
        everything = np.arange(len(codes))
        missing = codes < 0
        layout = self._layout(np.asarray(missing.all(axis=0)), np.asarray(missing.any(axis=0)))
        if not layout.soft or (layout.plan.widest <= SOFT_CELLS and not self._exact):
            return [(everything, layout)]
        patterns, group = np.unique(missing, axis=0, return_inverse=True)
        group = group.reshape(-1)
        return [(everything[group == i], self._layout(pattern, pattern)) for i, pattern in enumerate(patterns)]

    def _layout(self, never: npt.NDArray[np.bool_], sometimes_missing: npt.NDArray[np.bool_]) -> _Layout:
        key = (*never.tolist(), *sometimes_missing.tolist())
        if key not in self._layouts:
            self._layouts[key] = self._new_layout(never, sometimes_missing)
        return self._layouts[key]

    def _new_layout(self, never: npt.NDArray[np.bool_], sometimes_missing: npt.NDArray[np.bool_]) -> _Layout:
        observed = [f for f, unseen in zip(self._features, never, strict=True) if not unseen]
        relevant = self._network.ancestors([self._target, *observed, *self._evidence])
        inner = {parent for name in relevant for parent in self._network.parents(name)}
        gaps = dict(zip(self._features, sometimes_missing, strict=True))
        soft = tuple(f for f in observed if gaps[f] and f in inner)
        padded = frozenset(f for f in observed if gaps[f] and f not in inner)
        hard = frozenset(observed) - set(soft)
        hidden = relevant - hard - set(self._evidence)
        families = {name: (*self._network.parents(name), name) for name in self._network.names if name in relevant}
        scopes = [tuple(self._number[v] for v in family if v in hidden) for family in families.values()]
        plan = plan_elimination(scopes, self._sizes, [self._number[self._target]])
        return _Layout(plan, families, soft, hard, padded)

    def _block(self, layout: _Layout, codes: IntArray) -> npt.NDArray[Any]:
        """Run one elimination for rows whose gaps fit the layout; codes is [rows, features]."""
        column = {feature: codes[:, i] for i, feature in enumerate(self._features)}
        factors = [self._family_factor(layout, name, family, column) for name, family in layout.families.items()]
        factors += [self._likelihood(feature, column[feature]) for feature in layout.soft]
        left = eliminate(factors, layout.plan.order, rescale=self._rescales)
        masses = multiply(left, (self._number[self._target],), rescale=self._rescales)
        return np.broadcast_to(masses, (len(masses), len(codes)))

    def _family_factor(
        self, layout: _Layout, name: str, family: tuple[str, ...], column: Mapping[str, IntArray]
    ) -> Factor:
        """Return a variable's table with the axes of observed variables replaced by the batch's axis."""
        table = self._tables[name]
        if name in layout.padded:  # a last state "not observed", which code -1 picks
            table = np.concatenate([table, table.sum(axis=-1, keepdims=True)], axis=-1)
        scope = tuple(self._number[v] for v in family if v not in layout.hard and v not in self._evidence)
        known = tuple(self._evidence.get(member, slice(None)) for member in family)
        table = table[(*known, None)]
        unknown = [member for member in family if member not in self._evidence]
        axes = [axis for axis, member in enumerate(unknown) if member in layout.hard]
        if not axes:
            return Factor(scope, table)
        front = np.moveaxis(table, axes, range(len(axes)))
        picked = front[tuple(column[unknown[axis]] for axis in axes)]  # [rows, hidden…, 1]
        return Factor(scope, np.ascontiguousarray(np.moveaxis(picked[..., 0], 0, -1)))

    def _likelihood(self, feature: str, codes: IntArray) -> Factor:
        """Return which states of a feature each row allows: the observed one, or all."""
        number = self._number[feature]
        states = np.arange(self._sizes[number])[:, None]
        allowed = (codes == states) | (codes < 0)
        return Factor((number,), allowed.astype(object if self._exact else float))


@dataclass(frozen=True)
class _Layout:
    """How rows with the same kind of gaps are computed.

    Attributes
    ----------
    plan
        The order of elimination.
    families
        The variables that matter, each with its parents and itself.
    soft
        Features seen in some rows only, kept as variables and given a likelihood.
    hard
        Features that index their tables: seen in every row, or padded.
    padded
        Childless features seen in some rows only: their tables get a last state for "not observed".
    """

    plan: Plan
    families: dict[str, tuple[str, ...]]
    soft: tuple[str, ...]
    hard: frozenset[str]
    padded: frozenset[str]


def joint_table(
    network: BayesianNetwork,
    target: str,
    features: Sequence[str],
    evidence: Mapping[str, int],
    *,
    memory: int | None = None,
) -> FloatArray:
    """Return Pr(class, features, evidence) as a dense table [class states, states of each feature…].

    Parameters
    ----------
    network, target, features
        The network, its class and the features, in the order of the table's axes.
    evidence
        States, by number, of variables that are observed.
    memory
        The bytes allowed, by default half of what is free.

    Raises
    ------
    TooLargeError
        Before anything is allocated, if the table or a product on the way to it needs more than `memory`.
    """
    number = {name: i for i, name in enumerate(network.names)}
    sizes = {i: len(variable) for i, variable in enumerate(network.variables)}
    keep = tuple(number[name] for name in (target, *features))
    relevant = network.ancestors([target, *features, *evidence])
    factors = []
    for name in network.topological_order:
        if name in relevant:
            family = (*network.parents(name), name)
            index = tuple(evidence.get(member, slice(None)) for member in family)
            scope = tuple(number[member] for member in family if member not in evidence)
            factors.append(Factor(scope, normalised(network.table(name))[index][..., None]))
    plan = plan_elimination([factor.scope for factor in factors], sizes, keep)
    _check_memory(plan.widest, [len(network.variable(name)) for name in features], memory)
    left = eliminate(factors, plan.order)
    shape = [sizes[variable] for variable in keep]
    return np.broadcast_to(multiply(left, keep)[..., 0], shape)


def _check_memory(cells: int, states: Sequence[int], memory: int | None) -> None:
    allowed = free_memory() // 2 if memory is None else memory
    need = 3 * 8 * cells  # a product, its two operands
    if need > allowed:
        bits = sum(math.log2(count) for count in states)
        raise TooLargeError(
            f"the joint table of {len(states)} features ({bits:.1f} bits) needs {need / 2**30:,.3g} GiB on the way; "
            f"{allowed / 2**30:,.3g} GiB are allowed"
        )


def free_memory() -> int:
    """Return the bytes of memory that are free, as far as the system tells; 2 GiB where it does not."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            fields = dict(line.split(":", 1) for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 2 << 30


def sample(network: BayesianNetwork, size: int, seed: int | np.random.Generator | None = None) -> dict[str, IntArray]:
    """Draw instances of all variables from a network, as arrays of state numbers.

    Parameters
    ----------
    network
        The network.
    size
        How many instances.
    seed
        A seed or a generator; the same seed gives the same instances.
    """
    generator = np.random.default_rng(seed)
    drawn: dict[str, IntArray] = {}
    for name in network.topological_order:
        table = normalised(network.table(name))
        rows = table[tuple(drawn[parent] for parent in network.parents(name))]
        cumulated = np.cumsum(np.broadcast_to(rows, (size, table.shape[-1])), axis=-1)
        point = generator.random(size) * cumulated[:, -1]
        drawn[name] = (point[:, None] >= cumulated[:, :-1]).sum(axis=-1)
    return drawn
