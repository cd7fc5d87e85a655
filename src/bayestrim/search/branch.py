"""Branch and bound for features that are independent given the class (the paper's first algorithm).

The tree is searched in slices: a slice takes one open node, a limit and a number of bounds to compute, and gives back
subsets that could not be ruled out and the nodes that are still open. Between slices, everything is here: the open
nodes, the best subsets so far, and with them what is proved.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bayestrim.engines.additive import AdditiveEngine
from bayestrim.engines.fine import Loss
from bayestrim.engines.grid import Grid, make_grid
from bayestrim.engines.independent import Feature
from bayestrim.kernels.lattice import Found, Nodes, Order, explore, new_nodes, new_stack
from bayestrim.purse import Purse
from bayestrim.search.contest import Contest, Features
from bayestrim.search.events import Clock
from bayestrim.search.run import Outcome, Request
from bayestrim.search.start import greedy
from bayestrim.trimming import StopReason

SLICE = 1 << 15
"""Bounds computed in one slice: about a tenth of a second."""
ROOM = 1 << 10
"""Subsets that one slice can report; a slice that finds more stops early."""
AHEAD = 8
"""How far ahead of the feature in hand the features lie that are kept ready as one distribution."""
FINER = (1, 8, 64, 512)
"""Subsets that the search could not rule out are asked of lattices so many times finer."""
QUICK_STEPS = 1 << 22
"""Counting that takes no more steps than this is some milliseconds' work."""
FEWEST_CELLS, MOST_CELLS = 64, 2048
"""How coarse and how fine the search's lattice may be."""


def _groups(features: Sequence[Feature], purse: Purse) -> list[int]:
    """Return for each feature the first that says and costs the same, needs the same set-ups and is as free to go."""
    first: dict[Hashable, int] = {}
    fixed = dict.fromkeys(purse.required, "in") | dict.fromkeys(purse.forbidden, "out")
    return [
        first.setdefault((feature.p.tobytes(), feature.q.tobytes(), cost, needs, fixed.get(i)), i)
        for i, (feature, cost, needs) in enumerate(zip(features, purse.costs, purse.needs, strict=True))
    ]


def cells_for(features: int) -> int:
    """Return how many cells make the search fastest: finer lattices prune more, and take longer for each bound."""
    return min(max(FEWEST_CELLS, 6 * features * features // 10), MOST_CELLS)


OPEN = 3
"""The rank of features that the search is about; those of lower rank are decided beforehand."""
KEPT = (1, 2)
"""Ranks of features that are kept beforehand."""


def _rank(purse: Purse, i: int, free: bool) -> int:
    """Return where a feature comes in the search's order."""
    if i in purse.forbidden:
        return 0
    if i in purse.required:
        return 1
    return 2 if free and purse.costs[i] == 0 and purse.fee(purse.needs[i]) == 0 else OPEN


def prices_in_order(purse: Purse, until: npt.NDArray[np.int64]) -> Order:
    """Return prices as the kernels take them."""
    columns = (np.array(column, dtype=np.int64) for column in (purse.costs, purse.needs, purse.setups))
    costs, needs, fees = columns
    return Order(costs, until, needs, fees, purse.budget, purse.most)


@dataclass
class _Tree:
    """The open nodes of a search tree, most promising first."""

    heap: list[tuple[float, int, npt.NDArray[np.bool_], int, int]] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def push(self, bound: float, included: npt.NDArray[np.bool_], begin: int, position: int) -> None:
        heapq.heappush(self.heap, (bound, next(self.numbers), included, begin, position))

    def pop(self) -> Nodes:
        bound, _, included, begin, position = heapq.heappop(self.heap)
        return Nodes(included[None], np.array([begin]), np.array([position]), np.array([bound]))

    @property
    def bound(self) -> float:
        """A lower bound of the lattice's loss of all subsets below open nodes; 1 if there are none."""
        return self.heap[0][0] if self.heap else 1.0


def branch_and_bound(request: Request, engine: AdditiveEngine, clock: Clock) -> Outcome:
    """Find the best affordable subsets and prove that they are."""
    return _Search(request, engine, request.purse_of(engine.model.names), clock).run()


class _Search:
    """One search.

    Features are numbered in the order in which the tree decides them: those that are forbidden, required or free first,
    then those whose loss alone would hurt most; equal features of equal cost follow each other.
    """

    def __init__(self, request: Request, engine: AdditiveEngine, purse: Purse, clock: Clock) -> None:
        self._request = request
        self._engine = engine
        self._clock = clock
        self._every = request.every
        rough = make_grid(engine.model, engine.model.features, cells_for(len(purse.costs)), margin=False)
        group = _groups(engine.model.features, purse)
        self._group = {feature.name: g for feature, g in zip(engine.model.features, group, strict=True)}
        self._order(rough, purse, group)
        self._grids: dict[int, Grid] = {}
        self.evaluations, self.nodes = 0, 0
        self._contest = Contest(request.wanted, self._narrowing, self._alike)

    def _order(self, rough: Grid, purse: Purse, group: list[int]) -> None:
        count = len(purse.costs)
        alone = rough.losses(~np.eye(count, dtype=bool))[1]
        # What is free is worth keeping, unless it takes the place of something better or smaller sets count as well.
        free = not self._every and purse.most >= count
        rank = [_rank(purse, i, free) for i in range(count)]
        order = sorted(range(count), key=lambda i: (rank[i], -alone[group[i]], group[i], i))
        self._features = [rough.features[i] for i in order]
        self._purse = purse.narrowed(order)
        self._decided = sum(place < OPEN for place in rank)
        self._kept = np.array([rank[i] in KEPT for i in order], dtype=bool)
        places = [group[i] for i in order]
        self._alike_until = np.arange(1, count + 1)
        if not self._every:  # of equal features, the first are as good as any
            for i in range(count - 2, -1, -1):
                if places[i] == places[i + 1]:
                    self._alike_until[i] = self._alike_until[i + 1]

    def _narrowing(self, features: Features) -> Iterator[Loss]:
        """Count if that is quick; otherwise ask finer lattices first, which answer many subsets once they are made."""
        engine, threshold = self._engine, self._request.threshold
        if engine.quick and engine.countable(features, QUICK_STEPS):
            yield engine.exact_loss(features, threshold)
            return
        countable = engine.countable(features)
        for times in () if threshold is not None else FINER[:2] if countable else FINER:
            grid = self._grid(times)
            lower, upper = grid.losses(np.array([[feature.name in features for feature in self._features]]))
            yield Loss(float(lower[0]) - self._margin(times), float(upper[0]) + self._margin(times))
        if countable or threshold is not None:
            yield engine.exact_loss(features, threshold)

    def _grid(self, times: int) -> Grid:
        """Return the search's lattice, or one that is so many times finer."""
        if times not in self._grids:
            cells = times * cells_for(len(self._features))
            self._grids[times] = make_grid(self._engine.model, self._features, cells, leeway=self._engine.leeway)
        return self._grids[times]

    def _margin(self, times: int) -> float:
        """Return to what the losses of that lattice are true."""
        return self._grid(times).margin + (self._engine.doubt if self._engine.quick else 0.0)

    def _alike(self, features: Features) -> Hashable:
        """Return what makes subsets alike: the names, or only the tables where one of each kind is enough."""
        return features if self._every else tuple(sorted(self._group[name] for name in features))

    def _names(self, chosen: npt.NDArray[np.bool_]) -> Features:
        names = {self._features[i].name for i in np.flatnonzero(chosen)}
        return tuple(name for name in self._engine.model.names if name in names)

    def run(self) -> Outcome:
        """Search until everything is ruled out or a limit is reached."""
        grid, margin = self._grid(1), self._margin(1)
        tree = _Tree()
        reason = StopReason.EXHAUSTED
        try:
            self._start(grid)
            tree = self._root()
            reason = self._slices(grid, margin, tree)
        except KeyboardInterrupt:
            reason = StopReason.INTERRUPTED
        lower = min(tree.bound - margin if tree.heap else 1.0, self._contest.lower)
        if self._request.limits.gap > 0:  # nodes were ruled out although they might be so much better
            lower = min(lower, self._contest.limit - self._request.limits.gap)
        if not self._engine.quick:
            lower -= self._engine.doubt
        return Outcome(
            [entry.features for entry in self._contest.ranking[: self._request.wanted]],
            [entry.loss for entry in self._contest.ranking[: self._request.wanted]],
            max(0.0, lower),
            reason,
            self.evaluations + self._contest.evaluations,
            self.nodes,
        )

    def _start(self, grid: Grid) -> None:
        """Enter a good subset, so that the search has something to beat."""

        def losses(subsets: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
            self.evaluations += len(subsets)
            return grid.losses(subsets)[1]

        good = greedy(self._purse, losses)
        self._contest.enter(self._names(good))

    def _root(self) -> _Tree:
        tree = _Tree()
        tree.push(0.0, self._kept, self._decided, self._decided)
        return tree

    def _slices(self, grid: Grid, margin: float, tree: _Tree) -> StopReason:
        limits, count = self._request.limits, len(self._features)
        order = prices_in_order(self._purse, self._alike_until)
        stack = new_stack(grid.lattice)
        found = Found(np.empty((ROOM, count), dtype=bool), np.empty(ROOM))
        left = new_nodes(count + 2, count)
        rise = 2 * margin - limits.gap
        while tree.heap:
            limit = self._contest.limit + margin - limits.gap
            if tree.bound >= limit:
                break
            most = SLICE
            if limits.evaluations is not None:
                most = min(SLICE, limits.evaluations - self.evaluations)
            if most <= 0:
                return StopReason.EVALUATION_LIMIT
            if self._clock.is_over():
                return StopReason.TIME_LIMIT
            if self._clock.interrupted:
                return StopReason.INTERRUPTED
            evaluations, nodes, sets, open_nodes = explore(
                grid.lattice, order, tree.pop(), 0, limit, rise, self._every, most, AHEAD, stack, found, left
            )
            self.evaluations += evaluations
            self.nodes += nodes
            for i in range(open_nodes):
                tree.push(float(left.bound[i]), left.included[i].copy(), int(left.begin[i]), int(left.position[i]))
            for i in np.argsort(found.bound[:sets], kind="stable"):
                bound = max(0.0, float(found.bound[i]) - margin)
                if bound < self._contest.limit:
                    self._contest.enter(self._names(found.included[i]), bound)
            self._contest.settle()
            best = self._contest.ranking[0]
            bound = 1 - min(best.loss.lower, max(0.0, tree.bound - margin))
            self._clock.report(best.features, 1 - best.loss.upper, bound, self.evaluations, self.nodes)
        return StopReason.EXHAUSTED if limits.gap == 0 else StopReason.GAP
