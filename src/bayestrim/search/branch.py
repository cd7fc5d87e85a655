"""Branch and bound for features that are independent given the class (the paper's first algorithm).

Here is what the tree over such features looks like, and how a slice of it is explored; module `coordinator` runs the
search.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bayestrim.engines.additive import QUICK_STEPS, AdditiveEngine
from bayestrim.engines.fine import Loss
from bayestrim.engines.grid import Grid, make_grid
from bayestrim.engines.independent import Feature
from bayestrim.kernels.lattice import Lattice, Nodes, Order
from bayestrim.purse import Purse
from bayestrim.search.contest import Contest, Features
from bayestrim.search.coordinator import Coordinator
from bayestrim.search.descent import Room, Rules, Target, descend, new_room
from bayestrim.search.events import Clock
from bayestrim.search.lattices import FINER, Lattices, cells_for
from bayestrim.search.plan import Node, Slice
from bayestrim.search.run import Outcome, Request
from bayestrim.search.start import greedy

RULES = Rules()
"""All rules."""


def _groups(features: Sequence[Feature], purse: Purse) -> list[int]:
    """Return for each feature the first that says and costs the same, and needs the same set-ups.

    Which features are required, forbidden or free need not be told apart: all these are decided before the tree begins.
    """
    first: dict[Hashable, int] = {}
    return [
        first.setdefault((feature.p.tobytes(), feature.q.tobytes(), cost, needs), i)
        for i, (feature, cost, needs) in enumerate(zip(features, purse.costs, purse.needs, strict=True))
    ]


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


@dataclass(frozen=True)
class AdditivePlan:
    """The tree over features that are independent given the class (see `Plan`).

    Attributes
    ----------
    features
        The names of the features, in the order in which the tree decides them.
    listed
        The same in the model's order.
    lattice, order
        What the kernels need.
    margin
        The lattice's losses are true to this.
    gap
        What the search may leave.
    every
        Whether every affordable subset counts.
    kept
        Which features are included from the start; they are among the first `decided`.
    decided
        How many features are not for the tree to decide.
    rules
        How bounds are saved.
    """

    features: Features
    listed: Features
    lattice: Lattice
    order: Order
    margin: float
    gap: float
    every: bool
    kept: tuple[bool, ...]
    decided: int
    rules: Rules

    def root(self) -> Node:
        """Return the whole tree."""
        return self._node(np.array(self.kept, dtype=bool), self.decided, self.decided, -self.margin)

    def explore(self, node: Node, limit: float, most: int) -> Slice:
        """Look below a node for subsets whose loss may be less than a limit; stop after so many bounds."""
        target = Target(limit + self.margin, 2 * self.margin - self.gap, self.every)
        done = descend(self.lattice, self.order, self._arrays(node), target, most, _room(self.lattice), self.rules)
        subsets = [(self._number(included), bound - self.margin) for included, bound in done.found]
        still = [
            self._node(n.included[0], int(n.begin[0]), int(n.position[0]), float(n.bound[0]) - self.margin)
            for n in done.left
        ]
        return Slice(subsets, still, done.evaluations, done.nodes)

    def _node(self, included: npt.NDArray[np.bool_], begin: int, position: int, bound: float) -> Node:
        number, rest = self._number(included), len(self.features) - begin
        return Node(bound, number, number >> rest << rest if self.every else number, begin, position)

    def _arrays(self, node: Node) -> Nodes:
        count = len(self.features)
        included = [node.included >> (count - 1 - i) & 1 == 1 for i in range(count)]
        columns = np.array([node.begin]), np.array([node.position]), np.array([node.bound + self.margin])
        return Nodes(np.array([included], dtype=bool).reshape(1, count), *columns)

    def _number(self, included: npt.NDArray[np.bool_]) -> int:
        packed = np.packbits(included)
        return int.from_bytes(packed.tobytes()) >> (8 * len(packed) - len(included))

    def names(self, subset: int) -> Features:
        """Return the features of a subset."""
        count = len(self.features)
        chosen = {name for i, name in enumerate(self.features) if subset >> (count - 1 - i) & 1}
        return tuple(name for name in self.listed if name in chosen)

    def number(self, features: Features) -> int:
        """Return the subset of some features."""
        return self._number(np.array([name in features for name in self.features], dtype=bool))

    def identity(self) -> object:
        """Return what another run must share to go on from this one's open nodes."""
        return ["additive", self.features, self.order.until.tolist(), self.every, self.kept, self.decided]


_mine = threading.local()


def _room(lattice: Lattice) -> Room:
    """Return this thread's work space for a lattice."""
    shape = len(lattice.span), lattice.width
    if getattr(_mine, "shape", None) != shape:
        _mine.shape, _mine.room = shape, new_room(lattice)
    room: Room = _mine.room
    return room


def branch_and_bound(request: Request, engine: AdditiveEngine, clock: Clock, rules: Rules = RULES) -> Outcome:
    """Find the best affordable subsets and prove that they are."""
    return _Search(request, engine, request.purse_of(engine.model.names), clock, rules).run()


class _Search:
    """One search.

    Features are numbered in the order in which the tree decides them: those that are forbidden, required or free first,
    then those whose loss alone would hurt most; equal features of equal cost follow each other.
    """

    def __init__(self, request: Request, engine: AdditiveEngine, purse: Purse, clock: Clock, rules: Rules) -> None:
        self._request = request
        self._engine = engine
        self._clock = clock
        self._rules = rules
        self._every = request.every
        rough = make_grid(engine.model, engine.model.features, cells_for(len(purse.costs)), margin=False)
        group = _groups(engine.model.features, purse)
        self._group = {feature.name: g for feature, g in zip(engine.model.features, group, strict=True)}
        self._order(rough, purse, group)
        self._lattices = Lattices(engine, self._features, clock.left)
        self.evaluations = 0
        self._plan = AdditivePlan(
            tuple(feature.name for feature in self._features),
            engine.model.names,
            self._lattices.at(1).lattice,
            prices_in_order(self._purse, self._alike_until),
            self._lattices.margin(1),
            request.limits.gap,
            request.every,
            tuple(self._kept.tolist()),
            self._decided,
            rules,
        )
        self._contest = Contest(
            request.wanted,
            self._narrowing,
            self._alike,
            self._plan.number,
            request.enough,
            request.limits.gap,
            lambda: clock.is_over() or clock.interrupted,
        )

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
        if self._rules.alike and not self._every:  # of equal features, the first are as good as any
            for i in range(count - 2, -1, -1):
                if places[i] == places[i + 1]:
                    self._alike_until[i] = self._alike_until[i + 1]

    def _narrowing(self, features: Features) -> Iterator[Loss | None]:
        """Count if that is quick; otherwise ask finer lattices first, which answer many subsets once they are made."""
        engine, threshold = self._engine, self._request.threshold
        if engine.quick and engine.countable(features, QUICK_STEPS):
            yield engine.exact_loss(features, threshold)
            return
        countable = engine.countable(features)
        for times in () if threshold is not None else FINER[:2] if countable else FINER:
            if not self._lattices.in_time(times):
                return
            while not self._lattices.is_ready(times):
                yield None
            grid, margin = self._lattices.at(times), self._lattices.margin(times)
            lower, upper = grid.losses(np.array([[feature.name in features for feature in self._features]]))
            yield Loss(float(lower[0]) - margin, float(upper[0]) + margin)
        if countable or threshold is not None:
            yield engine.exact_loss(features, threshold)

    def _alike(self, features: Features) -> Hashable:
        """Return what makes subsets alike: the names, or only the tables where one of each kind is enough."""
        return features if self._every else tuple(sorted(self._group[name] for name in features))

    def _in_order(self, features: Features) -> Features:
        """Return those of some features that matter, in the model's order."""
        return tuple(name for name in self._engine.model.names if name in features)

    def run(self) -> Outcome:
        """Search until everything is ruled out or a limit is reached."""
        for features in (self._good(), *self._request.seeds):
            self._contest.enter(self._in_order(features))
        self._contest.settle()
        coordinator = Coordinator(
            self._plan, self._contest, self._request, self._clock, self.evaluations, self._lattices
        )
        reason = coordinator.run()
        best = self._contest.ranking[: self._request.wanted]
        return Outcome(
            [entry.features for entry in best],
            [entry.loss for entry in best],
            max(0.0, coordinator.lower - (0.0 if self._engine.quick else self._engine.doubt)),
            reason,
            coordinator.evaluations + self._contest.evaluations,
            coordinator.nodes,
        )

    def _good(self) -> Features:
        """Return a good subset, so that the search has something to beat."""
        grid = self._lattices.at(1)

        def losses(subsets: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
            self.evaluations += len(subsets)
            return grid.losses(subsets)[1]

        kept = greedy(self._purse, losses, lambda: self._clock.is_over() or self._clock.interrupted)
        return tuple(self._features[i].name for i in np.flatnonzero(kept))
