"""Branch and bound over tables, for features that need not be independent given the class.

The MAA need not grow with the features there, so every affordable subset counts; the MPA does, and bounds what any
subset of the features that are not yet dropped can reach. Here is what the tree looks like, and how a slice of it is
explored; module `coordinator` runs the search.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bayestrim.engines.fine import Loss
from bayestrim.engines.table import Decided, TableEngine
from bayestrim.kernels.table import (
    ALWAYS,
    COMPARE,
    NEVER,
    OPTIMAL,
    Found,
    Limit,
    Open,
    Prices,
    Rule,
    Space,
    Table,
    explore,
    removals,
)
from bayestrim.memory import check_memory
from bayestrim.purse import Purse
from bayestrim.search.contest import NO_LIMIT, Contest, Features
from bayestrim.search.coordinator import Coordinator
from bayestrim.search.events import Clock
from bayestrim.search.plan import Node, Slice
from bayestrim.search.run import Outcome, Request
from bayestrim.ties import as_written

FEWEST_CELLS = 1 << 26
"""A slice stops after so many cells: a fraction of a second."""
PASSES = 8
"""Of large tables, a slice goes through as many cells as this many tables have."""
ROOM = 1 << 10
"""Subsets that one slice can report; a slice that finds more stops early."""
FEW_FEATURES = 10
"""A start is sought among so many features that a greedy removal leaves, or more if more can be kept."""
SPARE = 3
"""How many features more than can be kept."""
FEW_CELLS = 1 << 12
"""Tables of so few cells are searched without a start."""
START = 1 << 14
"""The most evaluations for a start."""
ROUNDING = 2.5e-13
"""Losses that differ by less are equal: their sums are not more exact."""
PATH = 3
"""Arrays of the table's size that one path of the tree needs besides."""


@dataclass(frozen=True)
class TablePlan:
    """The tree of all affordable subsets of some features, over a table of their instances (see `Plan`).

    Attributes
    ----------
    table
        The instances.
    order
        The places of the features in the order in which the tree decides them, those that are required first.
    purse
        What may be bought; the places are those of the table's features, none of them forbidden.
    rule
        How subsets are judged.
    alone
        Whether one best subset is enough.
    margin
        To what the losses are true.
    gap
        What the search may leave.
    known
        The losses of subsets that were found in this process.
    """

    table: Decided
    order: tuple[int, ...]
    purse: Purse
    rule: Rule
    alone: bool
    margin: float
    gap: float
    known: dict[Features, Loss] = field(default_factory=dict)

    def root(self) -> Node:
        """Return the whole tree: what is required is kept."""
        kept = np.zeros(len(self.order), dtype=bool)
        kept[list(self.purse.required)] = True
        return self._node(kept, len(self.purse.required), -self.margin)

    def explore(self, node: Node, limit: float, most: int) -> Slice:
        """Look below a node for subsets whose loss may be less than a limit; stop after so many evaluations."""
        space, found, left = _rooms(len(self.table.positive), len(self.order))
        purse, kept = self.purse, self._mask(node.included)
        costs, needs, setups = (np.array(x, dtype=np.int64) for x in (purse.costs, purse.needs, purse.setups))
        evaluations, nodes, finds, opens = explore(
            Table(*self.table.tables, np.array(self.table.sizes, dtype=np.int64)),
            Prices(costs, needs, setups, purse.budget, purse.most),
            self.rule,
            np.array(self.order, dtype=np.int64),
            kept,
            node.position,
            node.bound + self.margin,
            Limit(limit + self.margin, ROUNDING, 2 * self.margin - self.gap, self.alone),
            most,
            max(FEWEST_CELLS, PASSES * len(self.table.positive)),
            space,
            found,
            left,
        )
        subsets = []
        for i in range(finds):
            loss = Loss(float(found.lower[i]) - self.margin, float(found.upper[i]) + self.margin)
            subset = self._number(found.kept[i])
            self.known[self.names(subset)] = loss
            subsets.append((subset, loss.lower))
        still = [
            self._node(left.kept[i], int(left.position[i]), float(left.bound[i]) - self.margin) for i in range(opens)
        ]
        return Slice(subsets, still, evaluations, nodes)

    def _node(self, kept: npt.NDArray[np.bool_], position: int, bound: float) -> Node:
        number = self._number(kept)
        return Node(bound, number, number, position, position)

    def _number(self, kept: npt.NDArray[np.bool_]) -> int:
        number = 0
        for place in self.order:
            number = number << 1 | int(kept[place])
        return number

    def _mask(self, number: int) -> npt.NDArray[np.bool_]:
        kept = np.zeros(len(self.order), dtype=bool)
        for i, place in enumerate(reversed(self.order)):
            kept[place] = number >> i & 1 == 1
        return kept

    def names(self, subset: int) -> Features:
        """Return the features of a subset."""
        return tuple(self.table.features[i] for i in np.flatnonzero(self._mask(subset)))

    def number(self, features: Features) -> int:
        """Return the subset of some features; those that the tree does not know do not count."""
        return self._number(np.array([name in features for name in self.table.features], dtype=bool))

    def identity(self) -> object:
        """Return what another run must share to go on from this one's open nodes."""
        return ["table", list(self.table.features), list(self.order), self.alone]


_room = threading.local()


def _rooms(cells: int, count: int) -> tuple[Space, Found, Open]:
    """Return this thread's work space for tables of some size."""
    if getattr(_room, "shape", None) != (cells, count):
        found = Found(np.empty((ROOM, count), dtype=bool), np.empty(ROOM), np.empty(ROOM))
        left = Open(np.empty((count + 2, count), dtype=bool), np.empty(count + 2, np.int64), np.empty(count + 2))
        _room.shape, _room.space = (cells, count), None
        _room.space = (Space(np.empty(cells), np.empty(cells), np.empty(cells)), found, left)
    space: tuple[Space, Found, Open] = _room.space
    return space


def _let_go() -> None:
    """Give back the work space of this thread."""
    _room.shape, _room.space = None, None


def rule_of(request: Request, band: float) -> Rule:
    """Return how subsets are judged: under the best threshold, or under the classifier's own."""
    if request.threshold is None:
        return Rule(OPTIMAL, 0.0, 0.0, band)
    limit = as_written(request.threshold)
    kind = ALWAYS if limit <= 0 else NEVER if limit > 1 else COMPARE
    return Rule(kind, float(1 - limit), float(limit), band)


def table_search(request: Request, engine: TableEngine, clock: Clock) -> Outcome:
    """Find the best affordable subsets and prove that they are."""
    return _Search(request, engine, clock).run()


class _Search:
    """One search."""

    def __init__(self, request: Request, engine: TableEngine, clock: Clock) -> None:
        self._request, self._engine, self._clock = request, engine, clock
        everything = request.purse_of(engine.features)
        forbidden = {engine.features[place] for place in everything.forbidden}
        self._table = engine.decided.keeping(name for name in engine.features if name not in forbidden)
        check_memory(PATH * len(self._table.positive), "searching the table", engine.memory)
        self._rule = rule_of(request, engine.band)
        self.evaluations = 0
        self._start: Features | None = None
        self._plan = self._plan_of(self._table, self._in_order())
        self._contest = Contest(
            request.wanted, self._narrowing, lambda features: features, self._plan.number, request.enough
        )

    def _plan_of(self, table: Decided, order: Sequence[str]) -> TablePlan:
        """Return the tree over a table, features in some order, but those that are required first."""
        purse = self._request.purse_of(table.features)
        place = {name: i for i, name in enumerate(table.features)}
        places = sorted((place[name] for name in order), key=lambda i: i not in purse.required)
        alone, gap = self._request.wanted == 1, self._request.limits.gap
        return TablePlan(table, tuple(places), purse, self._rule, alone, self._engine.unsettled, gap)

    def _narrowing(self, features: Features) -> Iterator[Loss]:
        """Give what the tree found out first, then what exact arithmetic says."""
        known = self._plan.known.get(features)
        if known is not None:
            yield known
            if known.upper - known.lower <= ROUNDING:
                return
        threshold, engine = self._request.threshold, self._engine
        value = engine.maa(features).value if threshold is None else engine.eca(features, threshold)
        yield Loss(1 - value.upper, 1 - value.lower)

    def _removal_losses(self, table: Decided) -> npt.NDArray[np.float64]:
        losses = np.empty(len(table.features))
        removals(Table(*table.tables, np.array(table.sizes, dtype=np.int64)), losses)
        self.evaluations += len(losses)
        return losses

    def _in_order(self) -> list[str]:
        """Return the features by what their loss hurts, and find a good subset of those that hurt most.

        Features are removed one by one, each time the one whose removal hurts least; the last ones are searched.
        """
        table, losses, removed = self._table, self._removal_losses(self._table), list[str]()
        few = len(table.positive) <= FEW_CELLS or self._clock.is_over()
        enough = self._enough(self._request.purse_of(table.features))
        required = self._request.problem.required
        while not few and len(table.features) > enough and not self._clock.is_over():
            order = (table.features[i] for i in np.argsort(losses, kind="stable"))
            least = next((name for name in order if name not in required), None)
            if least is None:
                break
            removed.append(least)
            table = table.without(least)
            losses = self._removal_losses(table)
        first = [table.features[i] for i in np.argsort(-losses, kind="stable")]
        if removed:
            self._start = self._best_of(table, first)
        return [*first, *reversed(removed)]

    def _enough(self, purse: Purse) -> int:
        """Return among how many features a start is sought."""
        cheapest = sorted(cost for place, cost in enumerate(purse.costs) if place not in purse.required)
        payable = sum(total <= purse.budget for total in itertools.accumulate(cheapest)) + len(purse.required)
        return max(FEW_FEATURES, min(payable, purse.most) + SPARE)

    def _best_of(self, table: Decided, order: list[str]) -> Features | None:
        """Search some features for a good subset."""
        plan = self._plan_of(table, order)
        result = plan.explore(plan.root(), NO_LIMIT, START)
        self.evaluations += result.evaluations
        return plan.names(min(result.found, key=lambda found: found[1])[0]) if result.found else None

    def run(self) -> Outcome:
        """Search until everything is ruled out or a limit is reached."""
        kept = self._plan.names(self._plan.root().included)
        for features in (self._start or kept, *self._request.seeds):
            self._contest.enter(tuple(name for name in self._table.features if name in features))
        self._contest.settle()
        coordinator = Coordinator(self._plan, self._contest, self._request, self._clock, self.evaluations)
        try:
            reason = coordinator.run()
        finally:
            _let_go()
        best = self._contest.ranking[: self._request.wanted]
        return Outcome(
            [entry.features for entry in best],
            [entry.loss for entry in best],
            coordinator.lower,
            reason,
            coordinator.evaluations + self._contest.evaluations,
            coordinator.nodes,
        )
