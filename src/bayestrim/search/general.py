"""Branch and bound over tables, for features that need not be independent given the class.

The MAA need not grow with the features there, so every affordable subset counts; the MPA does, and bounds what any
subset of the features that are not yet dropped can reach. Like all searches this one goes in slices: a slice takes an
open node and gives back subsets that could not be ruled out, and the nodes that are still open.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

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
from bayestrim.search.contest import Contest, Features
from bayestrim.search.events import Clock
from bayestrim.search.run import Outcome, Request
from bayestrim.ties import as_written
from bayestrim.trimming import StopReason

SLICE_CELLS = 1 << 26
"""About so many cells are visited in one slice: a fraction of a second."""
FEWEST, MOST = 4, 1 << 14
"""The fewest and the most evaluations of one slice."""
ROOM = 1 << 10
"""Subsets that one slice can report; a slice that finds more stops early."""
FEW_FEATURES = 10
"""A start is sought among so many features that a greedy removal leaves, or as many more as can be kept."""
FEW_CELLS = 1 << 12
"""Tables of so few cells are searched without a start."""
ROUNDING = 2.5e-13
"""Losses that differ by less are equal: their sums are not more exact."""
PATH = 3
"""Arrays of the table's size that one path of the tree needs besides."""


class Node(NamedTuple):
    """An open node: what is kept of the first features in the order, how many they are, and a bound of all losses."""

    bound: float
    number: int
    kept: npt.NDArray[np.bool_]
    position: int


@dataclass(frozen=True)
class Slice:
    """What a slice gives back.

    Attributes
    ----------
    found
        Subsets that could not be ruled out, as masks, with bounds of their losses.
    left
        What is kept, the position and the bound of each node left open.
    evaluations, nodes
        What it took.
    """

    found: list[tuple[npt.NDArray[np.bool_], Loss]]
    left: list[tuple[npt.NDArray[np.bool_], int, float]]
    evaluations: int
    nodes: int


class TableTree:
    """The tree of all affordable subsets of some features, over a table of their instances.

    Parameters
    ----------
    table
        The instances.
    purse
        What may be bought; the places are those of the table's features, none of them forbidden.
    rule
        How subsets are judged.
    alone
        Whether one best subset is enough.
    margin
        To what the losses are true.
    """

    def __init__(self, table: Decided, purse: Purse, rule: Rule, alone: bool, margin: float) -> None:
        self.features = table.features
        self._rule, self._alone, self._margin = rule, alone, margin
        count, cells = len(table.features), len(table.positive)
        self._table = Table(*table.tables, np.array(table.sizes, dtype=np.int64))
        costs, needs, setups = (np.array(x, dtype=np.int64) for x in (purse.costs, purse.needs, purse.setups))
        self._prices = Prices(costs, needs, setups, purse.budget, purse.most)
        self._required = purse.required
        self.order: npt.NDArray[np.int64] = np.arange(count)
        self._space: Space | None = None
        self._found = Found(np.empty((ROOM, count), dtype=bool), np.empty(ROOM), np.empty(ROOM))
        self._left = Open(np.empty((count + 2, count), dtype=bool), np.empty(count + 2, np.int64), np.empty(count + 2))
        self.slice = int(min(MOST, max(FEWEST, SLICE_CELLS // max(1, cells))))

    def removal_losses(self) -> npt.NDArray[np.float64]:
        """Return for each feature the loss of the best decisions without it."""
        losses = np.empty(len(self.features))
        removals(self._table, losses)
        return losses

    def root(self) -> tuple[npt.NDArray[np.bool_], int, float]:
        """Return the root: what is required is kept, and decided first."""
        kept = np.zeros(len(self.features), dtype=bool)
        kept[list(self._required)] = True
        self.order = np.array(sorted(self.order.tolist(), key=lambda axis: not kept[axis]), dtype=np.int64)
        return kept, len(self._required), 0.0

    def explore(self, node: tuple[npt.NDArray[np.bool_], int, float], limit: float, enough: float, most: int) -> Slice:
        """Search below a node for subsets whose loss is less than the limit by more than what is enough."""
        if self._space is None:
            room = max(1, len(self._table.p))
            self._space = Space(np.empty(room), np.empty(room), np.empty(room))
        kept, position, bound = node
        evaluations, nodes, finds, opens = explore(
            self._table,
            self._prices,
            self._rule,
            self.order,
            kept.copy(),
            position,
            bound,
            (limit + self._margin, enough, self._margin),
            most,
            self._alone,
            self._space,
            self._found,
            self._left,
        )
        found, left, margin = self._found, self._left, self._margin
        return Slice(
            [(found.kept[i].copy(), Loss(found.lower[i] - margin, found.upper[i] + margin)) for i in range(finds)],
            [(left.kept[i].copy(), int(left.position[i]), float(left.bound[i])) for i in range(opens)],
            evaluations,
            nodes,
        )


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
        self._known: dict[Features, Loss] = {}
        self.evaluations, self.nodes = 0, 0
        self._contest = Contest(request.wanted, self._narrowing, lambda features: features)
        everything = request.purse_of(engine.features)
        forbidden = {engine.features[place] for place in everything.forbidden}
        table = engine.decided.keeping(name for name in engine.features if name not in forbidden)
        check_memory(PATH * len(table.positive), "searching the table", engine.memory)
        self._rule = rule_of(request, engine.band)
        self._table = table
        self._heap: list[Node] = []
        self._numbers = itertools.count()

    def _tree(self, table: Decided) -> TableTree:
        purse = self._request.purse_of(table.features)
        return TableTree(table, purse, self._rule, self._request.wanted == 1, self._engine.unsettled)

    def _narrowing(self, features: Features) -> Iterator[Loss]:
        """Give what the tree found out first, then what exact arithmetic says."""
        if features in self._known:
            yield self._known[features]
            if self._known[features].upper - self._known[features].lower <= ROUNDING:
                return
        threshold, engine = self._request.threshold, self._engine
        value = engine.maa(features).value if threshold is None else engine.eca(features, threshold)
        yield Loss(1 - value.upper, 1 - value.lower)

    def run(self) -> Outcome:
        """Search until everything is ruled out or a limit is reached."""
        reason = StopReason.INTERRUPTED
        self._push(np.zeros(len(self._table.features), dtype=bool), 0, 0.0)
        try:
            tree = self._tree(self._table)
            self._start(tree)
            self._heap.clear()
            self._push(*tree.root())
            reason = self._slices(tree)
        except KeyboardInterrupt:
            reason = StopReason.INTERRUPTED
        if not self._contest.ranking:  # stopped before anything was found: what must be kept is affordable
            kept, _, _ = self._tree(self._table).root()
            self._contest.enter(self._names(self._table.features, kept))
        return self._outcome(reason)

    def _outcome(self, reason: StopReason) -> Outcome:
        contest, wanted, gap = self._contest, self._request.wanted, self._request.limits.gap
        lower = min(self._bound - self._engine.unsettled if self._heap else 1.0, contest.lower)
        if gap > 0:  # nodes were ruled out although they might be so much better
            lower = min(lower, contest.limit - gap)
        best = contest.ranking[:wanted]
        evaluations = self.evaluations + contest.evaluations
        return Outcome(
            [e.features for e in best], [e.loss for e in best], max(0.0, lower), reason, evaluations, self.nodes
        )

    def _push(self, kept: npt.NDArray[np.bool_], position: int, bound: float) -> None:
        heapq.heappush(self._heap, Node(bound, next(self._numbers), kept, position))

    @property
    def _bound(self) -> float:
        return self._heap[0].bound if self._heap else 1.0

    def _names(self, features: Features, kept: npt.NDArray[np.bool_]) -> Features:
        return tuple(features[i] for i in np.flatnonzero(kept))

    def _enter(self, tree: TableTree, result: Slice) -> None:
        """Take in what a slice found."""
        self.evaluations += result.evaluations
        self.nodes += result.nodes
        for kept, loss in sorted(result.found, key=lambda entry: entry[1]):
            if loss.lower < self._contest.limit:
                features = self._names(tree.features, kept)
                self._known[features] = loss
                self._contest.enter(features, max(0.0, loss.lower))
        self._contest.settle()

    def _start(self, tree: TableTree) -> None:
        """Order the features by what their loss hurts, and enter the best subset of those that hurt most.

        Features are removed one by one, each time the one whose removal hurts least; the last ones are searched.
        """
        if not tree.features:
            return
        losses = tree.removal_losses()
        self.evaluations += len(losses)
        if len(self._table.positive) <= FEW_CELLS:
            tree.order = np.argsort(-losses, kind="stable")
            return
        purse = self._request.purse_of(tree.features)
        required = {tree.features[place] for place in purse.required}
        cheapest = sorted(cost for place, cost in enumerate(purse.costs) if place not in purse.required)
        payable = sum(total <= purse.budget for total in itertools.accumulate(cheapest))
        enough = max(FEW_FEATURES, min(payable, purse.most) + 3)
        table, removed = self._table, []
        while len(table.features) > enough:
            order = np.argsort(losses, kind="stable")
            least = next((table.features[i] for i in order if table.features[i] not in required), None)
            if least is None:
                break
            removed.append(least)
            table = table.without(least)
            losses = self._tree(table).removal_losses()
            self.evaluations += len(losses)
        first = [table.features[i] for i in np.argsort(-losses, kind="stable")]
        place = {name: i for i, name in enumerate(tree.features)}
        tree.order = np.array([place[name] for name in (*first, *reversed(removed))], dtype=np.int64)
        if removed:
            self._try(table, [table.features.index(name) for name in first])

    def _try(self, table: Decided, order: list[int]) -> None:
        """Search some features for a good subset, for as long as one slice may take."""
        small = self._tree(table)
        small.order = np.array(order, dtype=np.int64)
        most = self._most(small.slice)
        if most > 0:
            self._enter(small, small.explore(small.root(), 1.0 + 1e-9, ROUNDING, most))

    def _most(self, most: int) -> int:
        limit = self._request.limits.evaluations
        return most if limit is None else min(most, limit - self.evaluations)

    def _slices(self, tree: TableTree) -> StopReason:
        gap = self._request.limits.gap
        enough = max(gap, ROUNDING)
        while self._heap and self._bound - self._engine.unsettled < self._contest.limit - enough:
            most = self._most(tree.slice)
            if most <= 0:
                return StopReason.EVALUATION_LIMIT
            if self._clock.is_over():
                return StopReason.TIME_LIMIT
            if self._clock.interrupted:
                return StopReason.INTERRUPTED
            node = self._heap[0]
            result = tree.explore((node.kept, node.position, node.bound), self._contest.limit, enough, most)
            heapq.heappop(self._heap)
            for kept, position, bound in result.left:
                self._push(kept, position, bound)
            self._enter(tree, result)
            self._report()
        if self._heap:
            self._heap = [node for node in self._heap if gap > 0 and node.bound < self._contest.limit - ROUNDING]
            heapq.heapify(self._heap)
        return StopReason.EXHAUSTED if gap == 0 else StopReason.GAP

    def _report(self) -> None:
        if self._contest.ranking:
            best = self._contest.ranking[0]
            bound = 1 - min(best.loss.lower, max(0.0, self._bound - self._engine.unsettled))
            self._clock.report(best.features, 1 - best.loss.upper, bound, self.evaluations, self.nodes)
