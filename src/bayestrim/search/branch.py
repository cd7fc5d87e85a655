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
from bayestrim.search.contest import Contest, Features
from bayestrim.search.run import Clock, Outcome, Request
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


def _groups(features: Sequence[Feature], costs: Sequence[int]) -> list[int]:
    """Return for each feature the first that says and costs the same."""
    first: dict[Hashable, int] = {}
    return [
        first.setdefault((feature.p.tobytes(), feature.q.tobytes(), cost), i)
        for i, (feature, cost) in enumerate(zip(features, costs, strict=True))
    ]


def cells_for(features: int) -> int:
    """Return how many cells make the search fastest: finer lattices prune more, and take longer for each bound."""
    return min(max(FEWEST_CELLS, 6 * features * features // 10), MOST_CELLS)


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
    prices = dict(zip(request.problem.classifier.features, request.prices, strict=True))
    search = _Search(request, engine, [prices[name] for name in engine.model.names], clock)
    return search.run()


class _Search:
    """One search.

    Features are numbered in the order in which the tree decides them: those that cost nothing first, then those whose
    loss alone would hurt most; equal features of equal cost follow each other.
    """

    def __init__(self, request: Request, engine: AdditiveEngine, costs: list[int], clock: Clock) -> None:
        self._request = request
        self._engine = engine
        self._clock = clock
        self._every = request.every
        rough = make_grid(engine.model, engine.model.features, cells_for(len(costs)), margin=False)
        group = _groups(engine.model.features, costs)
        self._group = {feature.name: g for feature, g in zip(engine.model.features, group, strict=True)}
        self._order(rough, costs, group)
        self._grids: dict[int, Grid] = {}
        self.evaluations, self.nodes = 0, 0
        self._contest = Contest(request.wanted, self._narrowing, self._alike)

    def _order(self, rough: Grid, costs: list[int], group: list[int]) -> None:
        count = len(costs)
        alone = rough.losses(~np.eye(count, dtype=bool))[1]
        order = sorted(range(count), key=lambda i: (costs[i] > 0, -alone[group[i]], group[i], i))
        self._features = [rough.features[i] for i in order]
        self._costs = np.array([costs[i] for i in order], dtype=np.int64)
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
            self._grids[times] = make_grid(self._engine.model, self._features, cells)
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
        lower = min(tree.bound - margin, self._contest.lower)
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

        good = greedy(self._costs.tolist(), self._request.budget, losses)
        self._contest.enter(self._names(good))

    def _root(self) -> _Tree:
        tree = _Tree()
        included = np.zeros(len(self._costs), dtype=bool)
        free = 0 if self._every else int((self._costs == 0).sum())
        included[:free] = True  # knowing more never hurts
        tree.push(0.0, included, free, free)
        return tree

    def _slices(self, grid: Grid, margin: float, tree: _Tree) -> StopReason:
        limits, count = self._request.limits, len(self._costs)
        order = Order(self._costs, self._alike_until, self._request.budget)
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
            self._clock.report(self._contest, tree.bound - margin, self.evaluations)
        return StopReason.EXHAUSTED if limits.gap == 0 else StopReason.GAP
