"""What a network says: class masses for rows of evidence, joint tables of class and features, and samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayestrim.contraction import Contraction, Scope, contract, endless, plan_contraction
from bayestrim.elimination import (
    FLOATS,
    INTEGERS,
    LOGARITHMS,
    Factor,
    Plan,
    connected,
    eliminate,
    multiply,
    plan_elimination,
)
from bayestrim.errors import OutOfTimeError
from bayestrim.memory import ALWAYS_ALLOWED, allowed_memory, check_memory
from bayestrim.network import BayesianNetwork, FloatArray

IntArray = npt.NDArray[np.int64]
Tables = Mapping[str, npt.NDArray[Any]]

BLOCK_CELLS = 1 << 17
"""Cells of the widest product of a batch: about what a core's second-level cache holds."""
FEW_ROWS = 32
"""Fewer rows than this at a time would mostly wait for Python, so that wider products are put up with..."""
MOST_CELLS = 1 << 21
"""...up to so many cells."""
SOFT_CELLS = 1 << 20
"""The widest product a batch of rows with different gaps may need before the rows are grouped by their gaps."""
SAFE_EXPONENT = -900
"""Where the smallest entries of all tables multiply to more than 2 to this power, no product can underflow."""
MOST_LAYOUTS = 256
"""Layouts remembered at a time; rows with gaps at random would otherwise fill the memory with them."""
PRODUCT = 3
"""Arrays that a product needs at once: itself and its two operands."""
PLAIN = 64
"""Results so many times smaller than what is always allowed are computed without asking how much memory is free."""


def probabilities(network: BayesianNetwork) -> dict[str, FloatArray]:
    """Return every table of a network with its rows divided by their sums."""
    return {name: normalised(network.table(name)) for name in network.names}


def normalised(table: FloatArray) -> FloatArray:
    """Return a table with its rows divided by their sums."""
    rows: FloatArray = table / table.sum(axis=-1, keepdims=True)
    return rows


def logarithms(table: FloatArray) -> FloatArray:
    """Return a table's logarithms, minus infinity for zeros."""
    with np.errstate(divide="ignore"):
        return np.log(table)


def can_underflow(network: BayesianNetwork) -> bool:
    """Tell whether a product of one entry from each table could leave the range of 64-bit floats."""
    exponent = 0.0
    for name in network.names:
        table = network.table(name)
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
    integers
        The network's tables as integers whose rows have one sum in each table; the masses are then exact integers.
        Without them, 64-bit floats are used, or their logarithms where products could underflow.
    """

    def __init__(
        self,
        network: BayesianNetwork,
        target: str,
        features: Sequence[str],
        evidence: Mapping[str, int],
        integers: Tables | None = None,
    ) -> None:
        self._network = network
        self._number = {name: i for i, name in enumerate(network.names)}
        self._sizes = {i: len(variable) for i, variable in enumerate(network.variables)}
        self._target = target
        self._features = tuple(features)
        self._evidence = known_states(network, target, evidence)
        self._layouts: dict[tuple[bool, ...], Layout] = {}
        self._arithmetic, self._tables = INTEGERS, integers or {}
        if integers is None:
            tables = probabilities(network)
            logarithmic = can_underflow(network)
            self._arithmetic = LOGARITHMS if logarithmic else FLOATS
            self._tables = {n: logarithms(table) for n, table in tables.items()} if logarithmic else tables

    def __call__(self, codes: IntArray) -> npt.NDArray[Any]:
        """Return Pr(class, row) for each row, up to a factor for each row, as an array [class states, rows].

        Parameters
        ----------
        codes
            State numbers [rows, features]; -1 where a feature was not observed.
        """
        states = self._sizes[self._number[self._target]]
        result: npt.NDArray[Any] = np.empty((states, len(codes)), dtype=self._arithmetic.dtype)
        for chosen, layout in self.groups(codes):
            cells = max(BLOCK_CELLS, min(FEW_ROWS * layout.plan.widest, MOST_CELLS))
            block = max(1, min(4096, cells // layout.plan.widest))
            check_memory(PRODUCT * layout.plan.widest * block, "posteriors of rows", None)
            for start in range(0, len(chosen), block):
                rows = chosen[start : start + block]
                result[:, rows] = self._block(layout, codes[rows])
        return _from_logarithms(result) if self._arithmetic is LOGARITHMS else result

    @property
    def operations(self) -> int:
        """How many multiplications the masses of one row take in which every feature is observed."""
        seen = np.zeros(len(self._features), dtype=bool)
        return self._layout(seen, seen).plan.operations

    def groups(self, codes: IntArray) -> list[tuple[IntArray, Layout]]:
        """Group the rows so that each group is one batched elimination.

        Exact rows are always grouped by their gaps, so that what a row costs, and with it whether it is in reach,
        does not depend on its neighbours.
        """
        everything = np.arange(len(codes))
        missing = codes < 0
        never, sometimes = np.asarray(missing.all(axis=0)), np.asarray(missing.any(axis=0))
        if self._arithmetic is not INTEGERS or (never == sometimes).all():
            layout = self._layout(never, sometimes)
            if not layout.soft or layout.plan.widest <= SOFT_CELLS:
                return [(everything, layout)]
        patterns, group = np.unique(missing, axis=0, return_inverse=True)
        group = group.reshape(-1)
        return [(everything[group == i], self._layout(pattern, pattern)) for i, pattern in enumerate(patterns)]

    def _layout(self, never: npt.NDArray[np.bool_], sometimes_missing: npt.NDArray[np.bool_]) -> Layout:
        key = (*never.tolist(), *sometimes_missing.tolist())
        layout = self._layouts.get(key)
        if layout is None:
            if len(self._layouts) >= MOST_LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[key] = self._new_layout(never, sometimes_missing)
        return layout

    def _new_layout(self, never: npt.NDArray[np.bool_], sometimes_missing: npt.NDArray[np.bool_]) -> Layout:
        columns = zip(self._features, never, strict=True)
        observed = [f for f, unseen in columns if not unseen and f not in self._evidence]
        relevant = self._network.ancestors([self._target, *observed, *self._evidence])
        inner = {parent for name in relevant for parent in self._network.parents(name)}
        gaps = dict(zip(self._features, sometimes_missing, strict=True))
        soft = tuple(f for f in observed if gaps[f] and f in inner)
        padded = frozenset(f for f in observed if gaps[f] and f not in inner)
        hard = frozenset(observed) - set(soft)
        hidden = relevant - hard - set(self._evidence)
        families = {name: (*self._network.parents(name), name) for name in self._network.names if name in relevant}
        scopes = [tuple(self._number[v] for v in family if v in hidden) for family in families.values()]
        if self._arithmetic is INTEGERS:  # the row is known to be possible: what cannot reach the target cancels out
            reached = connected(scopes, self._number[self._target])
            families = {n: f for (n, f), scope in zip(families.items(), scopes, strict=True) if reached & set(scope)}
            scopes = [scope for scope in scopes if reached & set(scope)]
        plan = plan_elimination(scopes, self._sizes, [self._number[self._target]])
        return Layout(plan, families, soft, hard, padded)

    def _block(self, layout: Layout, codes: IntArray) -> npt.NDArray[Any]:
        """Run one elimination for rows whose gaps fit the layout; codes is [rows, features]."""
        column = {feature: codes[:, i] for i, feature in enumerate(self._features)}
        factors = [self._family_factor(layout, name, family, column) for name, family in layout.families.items()]
        factors += [self._likelihood(feature, column[feature]) for feature in layout.soft]
        left = eliminate(factors, layout.plan.order, self._arithmetic)
        masses = multiply(left, (self._number[self._target],), self._arithmetic)
        return np.broadcast_to(masses, (len(masses), len(codes)))

    def _family_factor(
        self, layout: Layout, name: str, family: tuple[str, ...], column: Mapping[str, IntArray]
    ) -> Factor:
        """Return a variable's table with the axes of observed variables replaced by the batch's axis."""
        table = self._tables[name]
        if name in layout.padded:  # a last state "not observed", which code -1 picks
            total = self._arithmetic.total(np.moveaxis(table, -1, 0))
            table = np.concatenate([table, total[..., None]], axis=-1)
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
        likelihood = np.where(allowed, self._arithmetic.one, self._arithmetic.zero)
        return Factor((number,), likelihood.astype(self._arithmetic.dtype))


@dataclass(frozen=True)
class Layout:
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


def known_states(network: BayesianNetwork, target: str, evidence: Mapping[str, int]) -> dict[str, int]:
    """Return the evidence, and the only state of each variable that has just one: such a variable is always known."""
    single = {variable.name: 0 for variable in network.variables if len(variable) == 1 and variable.name != target}
    return {**single, **evidence}


def _from_logarithms(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers proportional to those whose logarithms are given, the largest along the first axis being 1."""
    largest = table.max(axis=0)
    scaled: npt.NDArray[Any] = np.exp(table - np.where(np.isfinite(largest), largest, 0.0))
    return scaled


def joint_table(
    network: BayesianNetwork,
    target: str,
    features: Sequence[str],
    evidence: Mapping[str, int],
    *,
    positive: npt.NDArray[np.bool_] | None = None,
    memory: int | None = None,
    left: Callable[[], float] = endless,
) -> FloatArray:
    """Return Pr(class, features, evidence) as a dense table [class states, states of each feature…].

    Parameters
    ----------
    network, target, features
        The network, its class and the features, in the order of the table's axes.
    evidence
        States, by number, of variables that are observed. If the network's products could underflow under it, the
        table is scaled so that its largest entry is 1.
    positive
        Which states of the class are positive: the table's first axis is then positive, negative.
    memory
        The bytes allowed, by default half of what is free.
    left
        Tells how many seconds are left. Planning ends when the time is up, after one plan at least.

    Raises
    ------
    TooLargeError
        Before anything is allocated, if the table or a product on the way to it needs more than `memory`.
    OutOfTimeError
        If a large product takes longer than the time that is left, or likely would.
    """
    product = _product(network, target, features, evidence, positive is not None)
    known = known_states(network, target, evidence)
    tables = []
    for name in product.names:
        family = (*network.parents(name), name)
        tables.append(normalised(network.table(name))[tuple(known.get(member, slice(None)) for member in family)])
    if positive is not None:
        tables.append(np.stack([positive, ~positive], axis=1).astype(float))
    if product.logarithmic:
        table = _in_logarithms(product, tables, memory)
    else:
        plan = _plan(product, memory, left)
        check_memory(plan.peak, product.what, memory)
        cells = math.prod(product.sizes[variable] for variable in product.keep)
        seconds = plan.operations / MULTIPLICATIONS_A_SECOND + CELL_SECONDS * cells
        if seconds > MOMENT and seconds > left():
            raise OutOfTimeError(f"{product.what} takes some {seconds:.0f} s")
        table = contract(plan, tables, product.sizes, product.keep, left)
    single = [axis for axis, name in enumerate(features, start=1) if name in known]
    return np.expand_dims(table, tuple(single))


def joint_need(
    network: BayesianNetwork,
    target: str,
    features: Sequence[str],
    evidence: Mapping[str, int],
    memory: int | None = None,
    left: Callable[[], float] = endless,
) -> int:
    """Return how many numbers `joint_table` with positive states merged would hold at once; nothing is multiplied yet.

    Raises
    ------
    TooLargeError
        If the table alone needs more than `memory`.
    """
    product = _product(network, target, features, evidence, merged=True)
    if product.logarithmic:
        return PRODUCT * plan_elimination(product.scopes, product.sizes, product.keep).widest
    return _plan(product, memory, left).peak


@dataclass(frozen=True)
class _Product:
    """What is multiplied and what is kept of it; variables by number.

    Attributes
    ----------
    names
        The variables whose tables are multiplied.
    scopes
        The variables of each table; where states of the class are merged, the last one says which.
    sizes
        How many states each variable has.
    keep
        The variables of the result.
    what
        The result in words.
    logarithmic
        Products may underflow.
    """

    names: tuple[str, ...]
    scopes: tuple[Scope, ...]
    sizes: Mapping[int, int]
    keep: Scope
    what: str
    logarithmic: bool


def _product(
    network: BayesianNetwork, target: str, features: Sequence[str], evidence: Mapping[str, int], merged: bool
) -> _Product:
    number = {name: i for i, name in enumerate(network.names)}
    sizes = {i: len(variable) for i, variable in enumerate(network.variables)} | {SIDE: 2}
    known = known_states(network, target, evidence)
    relevant = network.ancestors([target, *features, *evidence])
    names = tuple(name for name in network.topological_order if name in relevant)
    families = ((*network.parents(name), name) for name in names)
    scopes = [tuple(number[member] for member in family if member not in known) for family in families]
    if merged:
        scopes.append((number[target], SIDE))
    keep = (SIDE if merged else number[target], *(number[name] for name in features if name not in known))
    bits = sum(math.log2(sizes[variable]) for variable in keep[1:])
    what = f"the joint table of {len(features)} features ({bits:.1f} bits)"
    return _Product(names, tuple(scopes), sizes, keep, what, bool(evidence) and can_underflow(network))


MULTIPLICATIONS_A_SECOND, CELL_SECONDS = 1e9, 1e-8
"""How fast large tables are multiplied out and looked through, at best."""
MOMENT = 0.1
"""Seconds that are not worth refusing."""
SIDE = -1
"""The number of the variable that says whether the class is positive, where its states are merged."""


def _plan(product: _Product, memory: int | None, left: Callable[[], float]) -> Contraction:
    """Plan how to multiply tables and sum out what is not kept."""
    result = math.prod(product.sizes[variable] for variable in product.keep)
    check_memory(PRODUCT * result, product.what, memory)
    allowed = math.inf if 8 * PLAIN * result < ALWAYS_ALLOWED else allowed_memory(memory) / 8
    return plan_contraction(product.scopes, product.sizes, product.keep, allowed, left)


def _in_logarithms(product: _Product, tables: Sequence[FloatArray], memory: int | None) -> FloatArray:
    """Multiply where products may underflow, and scale the result so that its largest entry is 1."""
    scopes, sizes, keep = product.scopes, product.sizes, product.keep
    factors = [Factor(scope, logarithms(table)[..., None]) for scope, table in zip(scopes, tables, strict=True)]
    plan = plan_elimination(scopes, sizes, keep)
    check_memory(PRODUCT * plan.widest, product.what, memory)
    joint = multiply(eliminate(factors, plan.order, LOGARITHMS), keep, LOGARITHMS)[..., 0]
    joint = np.broadcast_to(joint, [sizes[variable] for variable in keep])
    return _from_logarithms(joint.ravel()).reshape(joint.shape)


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
