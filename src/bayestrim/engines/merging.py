"""Classes of instances that can no longer be told apart: how they are found, one variable of the network after another.

The variables are eliminated in an order with a small frontier. What was seen so far is represented by a *message*:
Pr(seen, frontier) as a function of the variables that later tables need, the class among them. Where two messages are
proportional, and the features that later tables need have the same states, posteriors will be equal whatever comes.

Instances of the kept features form *groups*. A group has the classes of what is seen besides, with their messages and
shares of the group's probability. Within a group, classes of proportional messages are one. Two groups are one where
all their classes are alike, shares included: then the trimmed classifier cannot tell them apart, nor do the original
one's decisions depend on which it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from bayestrim.contraction import endless
from bayestrim.errors import ImpossibleEvidenceError, OutOfTimeError, TooLargeError
from bayestrim.inference import known_states
from bayestrim.network import BayesianNetwork
from bayestrim.rows import IntArray

Array = npt.NDArray[Any]
BoolArray = npt.NDArray[np.bool_]

ALIKE = 1e-12
"""Messages whose entries differ by less than this, relatively, are proportional but for rounding."""
TRIES = 4
"""Orders of elimination that are compared."""
NOISE = 0.5
"""By how many bits costs are disturbed when another order is looked for."""
NUMBERS = 128
"""The most numbers in all messages together, for each class that may be told apart."""
IMPOSSIBLE = -800.0
"""What counts as the logarithm of zero."""
ROUNDS = 16
"""How often those among near ones that differ from the first are compared anew; after that, they stay apart."""
MOST_LABEL = 1 << 40
"""The largest number that says which states later tables need."""
GOLDEN = 0.6180339887498949
"""Multiples of it are spread evenly, but for whole numbers: they tell labels apart in the signs of groups."""


@dataclass(frozen=True)
class Stage:
    """One step: tables are multiplied into the messages, then a variable that no other table needs is let go.

    Attributes
    ----------
    tables
        The variables whose tables are multiplied.
    gone
        The variable that is let go; None in the last step, after which the class is left.
    """

    tables: tuple[str, ...]
    gone: str | None


def plan_stages(
    families: Mapping[str, tuple[str, ...]], sizes: Mapping[str, int], target: str, seen: Collection[str]
) -> tuple[Stage, ...]:
    """Order the variables so that messages take little room, were no instances merged.

    Parameters
    ----------
    families
        The variables of each table, by the variable that it belongs to.
    sizes
        How many states each variable has.
    target
        The class, which stays to the end.
    seen
        The features.
    """
    random = Random(0)
    orders = [_order(families, sizes, target, seen, (random, NOISE if i else 0.0)) for i in range(TRIES)]
    return min(orders, key=lambda order: order[0])[1]


def _order(
    families: Mapping[str, tuple[str, ...]],
    sizes: Mapping[str, int],
    target: str,
    seen: Collection[str],
    disturbed: tuple[Random, float],
) -> tuple[float, tuple[Stage, ...]]:
    """Return an order, made greedily, and the logarithm of what it costs.

    Each time the variable goes that adds the fewest bits: those of what its tables bring in, its own taken off. What
    was seen of features is no longer in the frontier then, but still tells instances apart.
    """
    weight = {name: math.log2(sizes[name]) for family in families.values() for name in family}
    holding: dict[str, set[str]] = {name: set() for name in weight}
    for table, family in families.items():
        for name in family:
            holding[name].add(table)
    here: set[str] = set()  # the frontier, and the features that were seen
    random, noise = disturbed

    def added(name: str) -> float:
        fresh = {other for table in holding[name] for other in families[table]} - here
        bits = math.fsum(weight[other] for other in fresh) - (0.0 if name in seen else weight[name])
        return bits + noise * random.random() if noise else bits

    cost = {name: added(name) for name in sorted(weight) if name != target}
    stages, largest = [], 0.0
    while cost:
        variable = min(cost, key=cost.__getitem__)
        del cost[variable]
        tables = [table for table in families if table in holding[variable]]
        reached = {name for table in tables for name in families[table]}
        fresh = reached - here
        here |= reached
        width = math.fsum(weight[name] for name in here)
        largest = max(largest, width) + math.log2(1 + 2 ** -abs(largest - width))
        stages.append(Stage(tuple(tables), variable))
        if variable not in seen:
            here.discard(variable)
        touched = reached.union(*(families[table] for name in fresh for table in holding[name]))
        for name in reached:
            holding[name].difference_update(tables)
        for name in sorted(touched & cost.keys()):  # the same in every process
            cost[name] = added(name)
    stages.append(Stage(tuple(table for table in families if table in holding[target]), None))
    return largest, tuple(stages)


@dataclass
class Message:
    """What is known of the frontier: one axis for the classes of instances, and one for each variable of the scope."""

    scope: tuple[str, ...]
    table: Array

    def times(self, family: Sequence[str], table: Array, labels: Mapping[str, IntArray]) -> None:
        """Multiply by a table, of which the variables in `labels` have a known state in each class."""
        known = [axis for axis, name in enumerate(family) if name in labels]
        picked = np.moveaxis(table, known, range(len(known)))
        picked = picked[tuple(labels[family[axis]] for axis in known)] if known else picked[None]
        free = tuple(name for name in family if name not in labels)
        fresh = tuple(name for name in free if name not in self.scope)
        self.table = self.table.reshape(*self.table.shape, *[1] * len(fresh))
        self.scope += fresh
        picked = picked.transpose(0, *(1 + free.index(name) for name in self.scope if name in free))
        sides = iter(picked.shape[1:])
        shape = [next(sides) if name in free else 1 for name in self.scope]
        self.table = self.table * picked.reshape(len(picked), *shape)

    def without(self, name: str) -> None:
        """Sum over a variable, if the scope has it."""
        if name in self.scope:
            axis = self.scope.index(name)
            self.table = self.table.sum(axis=axis + 1)
            self.scope = tuple(other for other in self.scope if other != name)

    @property
    def rows(self) -> Array:
        """The table with one row for each class."""
        return self.table.reshape(len(self.table), -1)


@dataclass(frozen=True)
class Classes:
    """All instances of the features, in classes that need not be told apart.

    Attributes
    ----------
    mass
        The probability of each class.
    rows
        Pr(state of the target, instance), up to a factor for each class: [classes, states].
    group
        To which group of instances of the kept features each class belongs.
    widest
        The most classes on the way.
    """

    mass: npt.NDArray[np.float64]
    rows: Array
    group: IntArray
    widest: int


class Merging:
    """Finds the classes of a network's instances.

    Parameters
    ----------
    network
        The network.
    target
        The class.
    evidence
        The states, by number, of variables that are observed in all instances.
    tables
        The network's tables, of floats.
    exact
        They are of integers instead, whose rows have one sum in each table.
    """

    def __init__(
        self,
        network: BayesianNetwork,
        target: str,
        evidence: Mapping[str, int],
        tables: Mapping[str, Array],
        exact: bool = False,
    ) -> None:
        self.target, self.exact = target, exact
        self.sizes = {variable.name: len(variable) for variable in network.variables}
        self._network, self._evidence, self._whole = network, evidence, tables
        self._known = known_states(network, target, evidence)
        self._plans: dict[frozenset[str], tuple[Stage, ...]] = {}

    def run(
        self, kept: Sequence[str], others: Sequence[str], most: int, left: Callable[[], float] = endless
    ) -> Classes:
        """Return the classes of instances of some features; refuse to tell more than so many apart.

        Parameters
        ----------
        kept
            The features that are kept; none where tables are of integers.
        others
            Further features that the original classifier decides by.
        most
            How many classes there may be at a time.
        left
            Tells how many seconds are left.
        """
        names = self._network.ancestors([self.target, *kept, *others, *self._evidence])
        families = {name: self._family(name) for name in self._network.topological_order if name in names}
        seen = frozenset((*kept, *others))
        plan = self._plans.get(seen)
        if plan is None:
            plan = self._plans[seen] = plan_stages(families, self.sizes, self.target, seen)
        return _Walk(self, families, kept, others, most).run(plan, left)

    def _family(self, name: str) -> tuple[str, ...]:
        return tuple(member for member in (*self._network.parents(name), name) if member not in self._known)

    def table(self, name: str) -> Array:
        """Return a variable's table for what is known, one axis for each variable of its family."""
        members = (*self._network.parents(name), name)
        return self._whole[name][tuple(self._known.get(member, slice(None)) for member in members)]

    def row_sum(self, name: str) -> Any:
        """Return what each row of a variable's whole table sums to."""
        return self._whole[name].reshape(-1, self.sizes[name])[0].sum() if self.exact else 1


class _Walk:
    """One pass over the network."""

    def __init__(
        self,
        given: Merging,
        families: Mapping[str, tuple[str, ...]],
        kept: Sequence[str],
        others: Sequence[str],
        most: int,
    ) -> None:
        self._given, self._families, self._most = given, families, most
        self._kept, self._seen = frozenset(kept), {*kept, *others}
        one = np.ones(1, dtype=object if given.exact else float)
        self._message = Message((), one)
        self._base = one  # what messages summed to when they were last merged
        self._scale = 1  # what the rows of tables sum to that were multiplied since then
        self._mass = np.ones(1)
        self._group = np.zeros(1, dtype=np.int64)
        self._labels: dict[str, IntArray] = {}
        self._random = np.random.default_rng(0)
        self._widest = 1

    def run(self, plan: Sequence[Stage], left: Callable[[], float]) -> Classes:
        """Go through all stages."""
        for stage in plan:
            if left() <= 0:
                raise OutOfTimeError("there was no time to merge instances")
            for name in stage.tables:
                self._multiply(name)
            if stage.gone is not None:
                self._message.without(stage.gone)
                self._labels.pop(stage.gone, None)
            self._merge()
        assert self._message.scope == (self._given.target,)
        return Classes(self._mass / self._mass.sum(), self._message.table, self._group, self._widest)

    def _multiply(self, name: str) -> None:
        family = self._families[name]
        for feature in family:
            if feature in self._seen and feature not in self._labels:
                self._branch(feature)
        self._message.times(family, self._given.table(name), self._labels)
        self._scale *= self._given.row_sum(name)
        self._check(1)

    def _branch(self, feature: str) -> None:
        """Extend every class by each state of a feature, and every group if the feature is kept."""
        self._merge()
        size, count = self._given.sizes[feature], len(self._mass)
        self._check(size)
        groups = int(self._group.max()) + 1
        self._take(np.tile(np.arange(count), size))
        self._labels[feature] = np.repeat(np.arange(size), count)
        if feature in self._kept:
            self._group = self._group + groups * self._labels[feature]

    def _check(self, times: int) -> None:
        room = NUMBERS * self._most
        if times * self._message.table.size > room:
            raise TooLargeError(f"the messages of instances to be merged take more than {room:,} numbers")

    def _take(self, rows: IntArray) -> None:
        self._message.table = self._message.table[rows]
        self._mass, self._base, self._group = self._mass[rows], self._base[rows], self._group[rows]
        self._labels = {name: states[rows] for name, states in self._labels.items()}

    def _merge(self) -> None:
        """Make one class of those that cannot be told apart any more."""
        total = self._message.rows.sum(axis=1)
        mass = self._mass * (total / (self._base * self._scale)).astype(float)
        if not mass.max() > 0:
            raise ImpossibleEvidenceError("the evidence has probability zero")
        self._mass, self._scale = mass / mass.max(), 1
        self._take(np.flatnonzero(self._mass > 0))
        rows = self._message.rows
        lowest = rows // np.gcd.reduce(rows, axis=1)[:, None] if self._given.exact else rows / rows.sum(axis=1)[:, None]
        self._message.table = lowest.reshape(self._message.table.shape)
        if self._given.exact:
            self._join(*self._proportional_integers())
        else:
            self._join(*self._proportional())
            if self._kept:
                self._join(*self._alike_groups())
        self._base = self._message.rows.sum(axis=1)
        self._group = np.cumsum(np.bincount(self._group) > 0)[self._group] - 1
        self._widest = max(self._widest, len(self._mass))
        if len(self._mass) > self._most:
            raise TooLargeError(f"more than {self._most:,} classes of instances have to be told apart")

    def _join(self, classes: IntArray, into: IntArray) -> None:
        """Add the mass of some classes to that of others; those that have none left are gone."""
        mass = self._mass
        self._mass = np.zeros_like(mass)
        np.add.at(self._mass, into, mass[classes])
        left = np.zeros(len(mass), dtype=bool)
        left[into] = True
        self._take(np.flatnonzero(left))

    def _label(self) -> IntArray:
        """Return a number for each class that says which states later tables need."""
        label = np.zeros(len(self._mass), dtype=np.int64)
        for name, states in self._labels.items():
            size = self._given.sizes[name]
            if len(label) and int(label.max()) > MOST_LABEL // size:
                label = np.unique(label, return_inverse=True)[1].reshape(-1)
            label = label * size + states
        return label

    def _proportional_integers(self) -> tuple[IntArray, IntArray]:
        """Return all classes, and for each the first one of the same message."""
        first: dict[tuple[Any, ...], int] = {}
        keys = zip(self._label().tolist(), map(tuple, self._message.rows.tolist()), strict=True)
        into = [first.setdefault(key, i) for i, key in enumerate(keys)]
        return np.arange(len(into)), np.array(into, dtype=np.int64)

    def _marks(self) -> npt.NDArray[np.float64]:
        """Return a number for each class's message, by which those are found that are worth comparing."""
        rows = self._message.rows
        with np.errstate(divide="ignore"):
            logarithms = np.maximum(np.log(rows), IMPOSSIBLE)
        return np.asarray(logarithms @ self._random.dirichlet(np.ones(rows.shape[1])))

    def _proportional(self) -> tuple[IntArray, IntArray]:
        """Return classes, and for each one of the same group and message but for rounding."""
        rows, label, mark = self._message.rows, self._label(), self._marks()
        order = np.lexsort((mark, label, self._group))
        keys = np.stack([self._group, label])[:, order]

        def alike(one: IntArray, other: IntArray) -> BoolArray:
            return np.asarray(_close(rows[order[one]], rows[order[other]]).all(axis=1))

        return order, order[_representatives(keys, mark[order], 4 * ALIKE, alike)]

    def _alike_groups(self) -> tuple[IntArray, IntArray]:
        """Return classes, and for each the one that corresponds to it in a group like its own."""
        rows, label, mark = self._message.rows, self._label(), self._marks()
        order = np.lexsort((mark, label, self._group))
        label, mark, mass = label[order], mark[order], self._mass[order]
        at = np.flatnonzero(np.diff(self._group[order], prepend=-1))
        size = np.diff(np.append(at, len(order)))
        group = np.repeat(np.arange(len(at)), size)
        share = mass / np.add.reduceat(mass, at)[group]
        sign = np.add.reduceat(share * (mark - IMPOSSIBLE) ** 2 * (1 + np.modf(label * GOLDEN)[0]), at)
        ranked = np.lexsort((sign, size))

        def alike(one: IntArray, other: IntArray) -> BoolArray:
            sizes = size[ranked[one]]
            steps = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            a, b = (np.repeat(at[ranked[groups]], sizes) + steps for groups in (one, other))
            same = (label[a] == label[b]) & _close(share[a], share[b])
            same &= _close(rows[order[a]], rows[order[b]]).all(axis=1)
            return np.asarray(np.logical_and.reduceat(same, np.cumsum(sizes) - sizes))

        like = np.empty_like(at)
        like[ranked] = ranked[_representatives(size[None, ranked], sign[ranked], 64 * IMPOSSIBLE**2 * ALIKE, alike)]
        return order, order[np.arange(len(order)) - at[group] + at[like][group]]


def _representatives(
    keys: IntArray, mark: npt.NDArray[np.float64], near: float, alike: Callable[[IntArray, IntArray], BoolArray]
) -> IntArray:
    """Return for each of many things, sorted by keys and marks, one that is alike; marks only say what to compare.

    Each is compared with the first one near; those that differ from it are compared among themselves in turn.
    """
    found, waiting = np.arange(len(mark)), np.arange(len(mark))
    for _ in range(ROUNDS):
        begins = (np.diff(keys[:, waiting], prepend=-1) != 0).any(axis=0)
        begins |= np.diff(mark[waiting], prepend=-math.inf) > near
        first = waiting[np.maximum.accumulate(np.where(begins, np.arange(len(waiting)), 0))]
        waiting, first = waiting[first != waiting], first[first != waiting]
        if not len(waiting):
            break
        same = alike(waiting, first)
        found[waiting[same]] = first[same]
        waiting = waiting[~same]
    return found


def _close(one: Array, other: Array) -> BoolArray:
    """Tell which numbers are equal but for rounding."""
    return np.asarray(np.abs(one - other) <= ALIKE * other)
