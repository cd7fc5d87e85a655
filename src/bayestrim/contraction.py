"""Products of many tables with most variables summed out, where the result itself may be large.

Variables are eliminated one after the other, but no product is written out: the tables that hold a variable are
multiplied in pairs, and what no other table needs is summed in the same step, as a matrix product where that is one.
Several orders of elimination are tried. What would need more memory than is allowed is done in slices, one state of
some of the remaining variables at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from random import Random

import numpy as np
import numpy.typing as npt

from bayestrim.errors import OutOfTimeError

FloatArray = npt.NDArray[np.float64]
Scope = tuple[int, ...]

MOST_TRIES = 400
"""The most orders of elimination that are compared."""
REMEMBERED = 256
"""Plans that are remembered: classifiers that differ in the threshold or in a table's numbers have the same."""
WORTH = 1 << 18
"""An order more is tried for about so many multiplications, for each table, that the best order so far takes."""
NOISE = (0.05, 0.1, 0.2)
"""By how much, relatively, costs are disturbed when another order is looked for."""
COMPARED = 6
"""Of the tables that hold a variable, so many smallest are considered for the next pair."""
QUICK = 1 << 26
"""Products of fewer multiplications are done in any case: in a tenth of a second or so."""
MATRIX = 16
"""From so many multiplications for each cell of what both tables share, a matrix product is faster than a plain one."""


@dataclass(frozen=True)
class Step:
    """One product of two tables; `other` is -1 where a single table is summed.

    Attributes
    ----------
    one, other
        The numbers of the tables: the given ones in order, then each step's result.
    scope
        The variables that remain.
    """

    one: int
    other: int
    scope: Scope


@dataclass(frozen=True)
class Contraction:
    """How a product of tables is computed.

    Attributes
    ----------
    scopes
        The variables of each given table.
    steps
        Products of pairs, the last one giving the result.
    sliced
        Remaining variables that are fixed, one combination of states after the other.
    operations
        Multiplications in all steps together.
    peak
        The most numbers held at once, result and copies included.
    """

    scopes: tuple[Scope, ...]
    steps: tuple[Step, ...]
    sliced: Scope
    operations: int
    peak: int


def endless() -> float:
    """Return how many seconds are left where there is no limit."""
    return math.inf


def plan_contraction(
    scopes: Sequence[Scope],
    sizes: Mapping[int, int],
    keep: Scope,
    most: float = math.inf,
    left: Callable[[], float] = endless,
) -> Contraction:
    """Find a cheap way to multiply tables and sum out all variables but `keep`.

    Parameters
    ----------
    scopes
        The variables of each table.
    sizes
        The number of states of each variable.
    keep
        The variables that remain, each in some table.
    most
        How many numbers may be held at once. The plan that needs least is returned where none is within it.
    left
        Tells how many seconds are left. Where the time is up, the best plan so far is returned, at least one, which is
        not remembered.
    """
    key = tuple(map(tuple, scopes)), tuple(sorted(sizes.items())), tuple(keep)
    plan, given = _plans.get(key, (None, 0.0))
    if plan is not None:
        fits = plan.peak <= most and (most <= given or not plan.sliced)
        if fits or most <= given < plan.peak:  # in the latter case nothing was found that fits
            return plan
    plan, finished = _planned(scopes, sizes, keep, most, left)
    if finished:
        while len(_plans) >= REMEMBERED:
            _plans.pop(next(iter(_plans), key), None)
        _plans[key] = plan, most
    return plan


_Key = tuple[tuple[Scope, ...], tuple[tuple[int, int], ...], Scope]
_plans: dict[_Key, tuple[Contraction, float]] = {}
"""The plans that are remembered, and how many numbers each was allowed."""


def _planned(
    scopes: Sequence[Scope], sizes: Mapping[int, int], keep: Scope, most: float, left: Callable[[], float]
) -> tuple[Contraction, bool]:
    """Return the best plan of those that there was time for, and whether there was time for all."""
    random = Random(0)
    best: Contraction | None = None
    tries, tried = 2, 0
    while tried < tries and (best is None or left() > 0):
        noise = random.choice(NOISE) if tried >= 2 else 0.0
        steps = _Elimination(scopes, sizes, keep, random, noise, by_fill=tried % 2 == 1).run()
        found = _sliced(scopes, steps, sizes, keep, most)
        if best is None or _rank(found, most) < _rank(best, most):
            best = found
        tried += 1
        tries = min(MOST_TRIES, max(2, best.operations // (WORTH * max(1, len(scopes)))))
    assert best is not None
    return best, tried >= tries


def _rank(plan: Contraction, most: float) -> tuple[float, int, int]:
    return max(0.0, plan.peak - most), plan.operations, plan.peak


class _Elimination:
    """One order of elimination, made greedily: each time the variable whose removal looks cheapest."""

    def __init__(
        self,
        scopes: Sequence[Scope],
        sizes: Mapping[int, int],
        keep: Scope,
        random: Random,
        noise: float,
        by_fill: bool,
    ) -> None:
        self._sizes, self._keep = sizes, frozenset(keep)
        self._random, self._noise, self._by_fill = random, noise, by_fill
        self._tables = {i: frozenset(scope) for i, scope in enumerate(scopes)}
        self._next = len(scopes)
        self._holders: dict[int, set[int]] = {}
        self._near: dict[int, set[int]] = {}
        for i, members in self._tables.items():
            for variable in members:
                self._holders.setdefault(variable, set()).add(i)
                self._near.setdefault(variable, set()).update(members)
        self._steps: list[Step] = []

    def run(self) -> tuple[Step, ...]:
        cost = {variable: self._cost(variable) for variable in sorted(self._near) if variable not in self._keep}
        while cost:
            variable = min(cost, key=cost.__getitem__)
            del cost[variable]
            self._eliminate(variable)
            clique = self._near.pop(variable) - {variable}
            for other in clique:
                self._near[other] |= clique
                self._near[other].discard(variable)
            for other in clique - self._keep:
                cost[other] = self._cost(other)
        while len(self._tables) > 1:
            self._merge(*min(self._smallest(self._tables), key=self._growth))
        (last,) = self._tables
        if not self._steps:  # a single table: put its axes in order
            self._steps.append(Step(last, -1, tuple(sorted(self._tables[last]))))
        return tuple(self._steps)

    def _size(self, members: Iterable[int]) -> int:
        return math.prod(self._sizes[variable] for variable in members)

    def _cost(self, variable: int) -> float:
        """Return the logarithm of the product's size, or the number of pairs that its removal joins."""
        near = self._near[variable]
        if self._by_fill:
            free = [other for other in near if other != variable and other not in self._keep]
            cost = float(sum(b not in self._near[a] for a, b in combinations(free, 2)))
            cost += sum(b not in self._near[a] for a in free for b in near & self._keep)
        else:
            cost = math.log2(self._size(near))
        return cost * (1 + self._noise * self._random.gauss(0, 1)) if self._noise else cost

    def _eliminate(self, variable: int) -> None:
        while len(self._holders[variable]) > 1:
            self._merge(*min(self._smallest(self._holders[variable]), key=self._union))
        for alone in list(self._holders[variable]):  # in one table only, from the start
            self._add(Step(alone, -1, self._left(self._tables[alone], {alone})))

    def _smallest(self, tables: Iterable[int]) -> Iterator[tuple[int, int]]:
        ranked = sorted(tables, key=lambda i: (self._size(self._tables[i]), i))
        return combinations(ranked[:COMPARED], 2)

    def _union(self, pair: tuple[int, int]) -> int:
        return self._size(self._tables[pair[0]] | self._tables[pair[1]])

    def _growth(self, pair: tuple[int, int]) -> float:
        return self._union(pair) / (self._size(self._tables[pair[0]]) + self._size(self._tables[pair[1]]))

    def _left(self, members: frozenset[int], gone: set[int]) -> Scope:
        """Return the variables that remain of some: those to be kept, and those that other tables hold."""
        return tuple(sorted(v for v in members if v in self._keep or self._holders[v] - gone))

    def _merge(self, one: int, other: int) -> None:
        self._add(Step(one, other, self._left(self._tables[one] | self._tables[other], {one, other})))

    def _add(self, step: Step) -> None:
        for gone in (step.one, step.other):
            for variable in self._tables.pop(gone, frozenset()):
                self._holders[variable].discard(gone)
        self._tables[self._next] = frozenset(step.scope)
        for variable in step.scope:
            self._holders[variable].add(self._next)
        self._steps.append(step)
        self._next += 1


def _sliced(
    scopes: Sequence[Scope], steps: tuple[Step, ...], sizes: Mapping[int, int], keep: Scope, most: float
) -> Contraction:
    """Return the plan with as few variables sliced as keep it within the numbers allowed."""
    sliced: Scope = ()
    while True:
        operations, peak, widest = _measure(scopes, steps, sizes, keep, sliced)
        plan = Contraction(tuple(scopes), steps, sliced, operations, peak)
        candidates = [variable for variable in widest if variable in keep and variable not in sliced]
        if peak <= most or not candidates:
            return plan
        better = min(
            (_measure(scopes, steps, sizes, keep, (*sliced, variable))[1], variable) for variable in candidates
        )
        if better[0] >= peak:
            return plan
        sliced = (*sliced, better[1])


def _measure(
    scopes: Sequence[Scope], steps: Sequence[Step], sizes: Mapping[int, int], keep: Scope, sliced: Scope
) -> tuple[int, int, Scope]:
    """Return multiplications, the most numbers held at once, and the variables of the step that needs most.

    Tables without sliced variables are computed once and held; the others once for each slice.
    """
    members: list[Scope] = [*scopes, *(step.scope for step in steps)]
    touched = _touched(scopes, steps, sliced)
    slices = math.prod(sizes[variable] for variable in sliced)

    def size(scope: Iterable[int]) -> int:
        return math.prod(sizes[variable] for variable in scope if variable not in sliced)

    result = math.prod(sizes[variable] for variable in keep) if sliced else 0
    held = result + sum(size(scope) for scope in scopes)
    operations, peak, widest = 0, 0, 0
    at: Scope = ()
    for number, step in enumerate(steps, start=len(scopes)):
        inputs = [i for i in (step.one, step.other) if i >= 0]
        union = {variable for i in inputs for variable in members[i]}
        operations += size(union) * (slices if touched[number] else 1)
        operands = sum(size(members[i]) for i in inputs)
        need = size(step.scope) + operands  # the operands may have to be copied
        if need > widest:
            widest, at = need, (*(v for i in inputs for v in members[i]), *step.scope)
        peak = max(peak, held + need)
        held += size(step.scope)
        held -= sum(size(members[i]) for i in inputs if i >= len(scopes) and touched[i] == touched[number])
    return operations, peak, tuple(dict.fromkeys(at))


def _touched(scopes: Sequence[Scope], steps: Sequence[Step], sliced: Scope) -> list[bool]:
    """Tell of each table whether it depends on a sliced variable."""
    touched = [not set(scope).isdisjoint(sliced) for scope in scopes]
    for step in steps:
        touched.append(touched[step.one] or (step.other >= 0 and touched[step.other]))
    return touched


def contract(
    plan: Contraction,
    tables: Sequence[FloatArray],
    sizes: Mapping[int, int],
    keep: Scope,
    left: Callable[[], float] = endless,
) -> FloatArray:
    """Return the product of tables with all variables but `keep` summed out, its axes in the order of `keep`.

    Parameters
    ----------
    plan
        From `plan_contraction` for the scopes of these tables.
    tables
        One axis for each variable of a scope.
    left
        Tells how many seconds are left. A large product is given up, between two steps, when the time is up.

    Raises
    ------
    OutOfTimeError
        If the time is up.
    """
    if plan.operations < QUICK:
        left = endless
    touched = _touched(plan.scopes, plan.steps, plan.sliced)
    shared: dict[int, FloatArray] = dict(enumerate(tables))
    first, last = len(tables), len(tables) + len(plan.steps) - 1
    numbered = list(enumerate(plan.steps, start=first))
    members = [*plan.scopes, *(step.scope for step in plan.steps)]
    _run([(n, step) for n, step in numbered if not touched[n]], shared, members, first, left)
    if not touched[last]:
        return _ordered(shared[last], members[last], keep)
    result = np.empty([sizes[variable] for variable in keep])
    inner = [tuple(v for v in scope if v not in plan.sliced) for scope in members]
    kept = tuple(v for v in keep if v not in plan.sliced)
    for states in product(*(range(sizes[variable]) for variable in plan.sliced)):
        at = dict(zip(plan.sliced, states, strict=True))
        own = {i: table[tuple(at.get(v, slice(None)) for v in members[i])] for i, table in shared.items()}
        _run([(n, step) for n, step in numbered if touched[n]], own, inner, first, left, keep_shared=True)
        result[tuple(at.get(v, slice(None)) for v in keep)] = _ordered(own[last], inner[last], kept)
    return result


def _run(
    steps: Iterable[tuple[int, Step]],
    tables: dict[int, FloatArray],
    members: Sequence[Scope],
    first: int,
    left: Callable[[], float],
    keep_shared: bool = False,
) -> None:
    """Carry out steps, letting go of what is no longer needed."""
    fixed = set(tables) if keep_shared else set(range(first))
    for number, step in steps:
        if left() <= 0:
            raise OutOfTimeError("there was no time to multiply all tables")
        scope = members[number]
        if step.other < 0:
            tables[number] = _summed(tables[step.one], members[step.one], scope)
        else:
            one, other = (tables[step.one], members[step.one]), (tables[step.other], members[step.other])
            tables[number] = multiply_and_sum(*one, *other, scope)
        for used in (step.one, step.other):
            if used not in fixed:
                tables.pop(used, None)


def _ordered(table: FloatArray, members: Scope, wanted: Scope) -> FloatArray:
    """Return a view of a table with its axes in another order."""
    return table.transpose([members.index(variable) for variable in wanted])


def _summed(table: FloatArray, members: Scope, wanted: Scope) -> FloatArray:
    """Return a table with what is not wanted summed out, one axis at a time for the sake of accuracy."""
    for axis in range(len(members) - 1, -1, -1):
        if members[axis] not in wanted:
            table = table.sum(axis=axis)
    left = tuple(variable for variable in members if variable in wanted)
    return _ordered(table, left, wanted)


def multiply_and_sum(a: FloatArray, a_scope: Scope, b: FloatArray, b_scope: Scope, wanted: Scope) -> FloatArray:
    """Return the product of two tables with what is not wanted summed out, its axes in the order of `wanted`.

    Parameters
    ----------
    a, b
        The tables.
    a_scope, b_scope
        The variables of their axes.
    wanted
        The variables of the result's axes.
    """
    alone = set(wanted) | (set(a_scope) & set(b_scope))
    left, right = (tuple(v for v in scope if v in alone) for scope in (a_scope, b_scope))
    a, b = _summed(a, a_scope, left), _summed(b, b_scope, right)
    both = tuple(v for v in left if v in right and v in wanted)
    inner = tuple(v for v in left if v in right and v not in wanted)
    rows = tuple(v for v in left if v not in right)
    columns = tuple(v for v in right if v not in left)
    size = dict(zip((*left, *right), (*a.shape, *b.shape), strict=True))
    m, k, n = (math.prod(size[v] for v in group) for group in (rows, inner, columns))
    if k * m * n >= MATRIX or not both:
        shape = [size[v] for v in (*both, *rows, *columns)]
        one = _ordered(a, left, (*both, *rows, *inner)).reshape(-1, m, k)
        other = _ordered(b, right, (*both, *inner, *columns)).reshape(-1, k, n)
        table = np.multiply(one, other) if k == 1 else np.matmul(one, other)
        return _ordered(table.reshape(shape), (*both, *rows, *columns), wanted)
    letters = {v: i for i, v in enumerate(size)}
    path = [[letters[v] for v in scope] for scope in (left, right, wanted)]
    table = np.einsum(np.ascontiguousarray(a), path[0], np.ascontiguousarray(b), path[1], path[2], optimize=False)
    return np.asarray(table)
