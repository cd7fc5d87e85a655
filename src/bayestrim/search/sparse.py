"""Branch and bound over listed instances, or over classes of them, for feature spaces that no table holds.

What a subset gets wrong of the listed instances bounds its loss from below, and no subset's loss is less than the least
of these. So the search finds the subset that is best for what is listed, and proves that. The rest comes in at the end:
the subset loses at most that much more, so that it is within the rest of the best of all. Over classes of all instances
(the merged engine) there is no rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from bayestrim.engines.fine import Loss
from bayestrim.engines.merged import MergedEngine
from bayestrim.engines.sparse import SparseEngine
from bayestrim.errors import TooLargeError
from bayestrim.purse import Purse
from bayestrim.result import Interval
from bayestrim.search.contest import Contest, Features, Narrowing
from bayestrim.search.coordinator import Coordinator
from bayestrim.search.events import Clock
from bayestrim.search.plan import Node, Slice
from bayestrim.search.run import Outcome, Request

ROUNDING = 2.5e-13
"""Losses that differ by less are equal: their sums are not more exact."""

SLICE = 0.25
"""A slice stops after so many seconds: where evaluations take long, they are not counted but timed."""

Places = tuple[int, ...]


class Bounded(Protocol):
    """Some features, and what is known of the loss of all their subsets."""

    @property
    def loss(self) -> float:
        """A lower bound of the loss of all subsets."""
        ...

    def keeping(self, features: Iterable[str]) -> Bounded:
        """Return the same for some of the features."""
        ...

    def __len__(self) -> int:
        """Return what tells it from others about the same features."""
        ...


@dataclass(frozen=True)
class _Branch:
    """A node being explored.

    Attributes
    ----------
    kept, open
        The places of the features that are kept, and of those that may yet be.
    cells
        What is known about both together.
    bound
        A lower bound of the loss of every subset below.
    """

    kept: Places
    open: Places
    cells: Bounded
    bound: float


@dataclass(frozen=True)
class SparsePlan:
    """The tree of all affordable subsets of some features, over listed instances or classes of them (see `Plan`).

    Attributes
    ----------
    cells
        The instances of all features.
    names_in_order
        The features in that order.
    purse
        What may be bought; its places are those of this order.
    twins
        For each feature the first that is like it in everything, itself if there is none: of such, the first ones are
        as good as any, so that where one is left out, so are those that follow. Empty where that is not known.
    """

    cells: Bounded
    names_in_order: Features
    purse: Purse
    twins: Places = ()

    def root(self) -> Node:
        """Return the whole tree: what is required is kept."""
        number = self._number(self.purse.required)
        return Node(0.0, number, number, 0, 0)

    def explore(self, node: Node, limit: float, most: int) -> Slice:
        """Look below a node for subsets whose loss may be less than a limit; stop after so many evaluations."""
        kept = self._places(node.included)
        waiting = [self._narrowed(kept, range(node.position, len(self.names_in_order)), self.cells)]
        found, evaluations, nodes = [], 1, 0
        until = time.monotonic() + SLICE
        while waiting and evaluations < max(2, most) and (evaluations < 2 or time.monotonic() < until):
            branch = waiting.pop()
            nodes += 1
            if branch.bound >= limit:
                continue
            if not branch.open:
                found.append((self._number(branch.kept), branch.bound))
                continue
            first, *others = branch.open
            unlike = [place for place in others if not self.twins or self.twins[place] != self.twins[first]]
            without = self._narrowed(branch.kept, unlike, branch.cells)
            with_it = self._narrowed((*branch.kept, first), others, branch.cells)
            evaluations += (without.cells is not branch.cells) + (with_it.cells is not branch.cells)
            waiting += [without, with_it]
        return Slice(found, [self._node(branch) for branch in waiting], evaluations, nodes)

    def _narrowed(self, kept: Places, places: Sequence[int], cells: Bounded) -> _Branch:
        """Return the branch that keeps some features and may keep those of others that can still be paid for."""
        still = tuple(i for i in places if i not in kept and self.purse.affords((*kept, i)))
        fewer = cells.keeping(self.names_in_order[i] for i in (*kept, *still))
        return _Branch(kept, still, fewer, fewer.loss - ROUNDING)

    def _node(self, branch: _Branch) -> Node:
        number = self._number(branch.kept)
        position = min(branch.open, default=len(self.names_in_order))
        return Node(branch.bound, number, number, position, position)

    def _number(self, kept: Sequence[int]) -> int:
        return sum(1 << (len(self.names_in_order) - 1 - place) for place in kept)

    def _places(self, number: int) -> Places:
        count = len(self.names_in_order)
        return tuple(place for place in range(count) if number >> (count - 1 - place) & 1)

    def names(self, subset: int) -> Features:
        """Return the features of a subset."""
        return tuple(self.names_in_order[place] for place in self._places(subset))

    def number(self, features: Features) -> int:
        """Return the subset of some features; those that the tree does not know do not count."""
        return self._number([place for place, name in enumerate(self.names_in_order) if name in features])

    def identity(self) -> object:
        """Return what another run must share to go on from this one's open nodes."""
        return ["sparse", list(self.names_in_order), len(self.cells), list(self.twins)]


def sparse_search(request: Request, engine: SparseEngine, clock: Clock) -> Outcome:
    """Find the best affordable subsets for what is listed, and prove that they are."""
    plan = _plan_of(request, engine, clock)

    def narrowing(features: Features) -> Iterator[Loss]:
        threshold = request.threshold
        low, high = engine.listed_maa(features) if threshold is None else engine.listed_eca(features, threshold)
        listed = float((engine.cells.positive + engine.cells.negative).sum())
        yield Loss(max(0.0, listed - high), max(0.0, listed - low))

    outcome = _searched(plan, request, clock, narrowing, [_start(plan)])
    if not engine.rest:
        return outcome
    # What was ruled out loses no less than the last of the best, of what is listed.
    lower = min(outcome.lower, *(loss.upper for loss in outcome.losses))
    losses = [Loss(loss.lower, min(1.0, loss.upper + engine.rest)) for loss in outcome.losses]
    return replace(outcome, losses=losses, lower=lower)


def merged_search(request: Request, engine: MergedEngine, clock: Clock) -> Outcome:
    """Find the best affordable subsets over classes of instances, and prove that they are."""
    forward = _Forward(request, engine, clock)
    order = forward.order()
    purse = request.purse_of(order)
    prices = list(zip(purse.costs, purse.needs, (i in purse.required for i in range(len(order))), strict=True))
    twins = engine.twins(order, prices) if request.wanted == 1 else ()
    plan = SparsePlan(engine.whole.keeping(order), order, purse, twins)

    def narrowing(features: Features) -> Iterator[Loss]:
        threshold = request.threshold
        try:
            value = engine.maa(features).value if threshold is None else engine.eca(features, threshold)
        except TooLargeError:  # then nothing is known, and nothing proved
            value = Interval(0.0, 1.0, "certified")
        yield Loss(1 - value.upper, 1 - value.lower)

    return _searched(plan, request, clock, narrowing, forward.found)


def _searched(
    plan: SparsePlan,
    request: Request,
    clock: Clock,
    narrowing: Narrowing,
    starts: Sequence[Features],
) -> Outcome:
    """Search a tree from some subsets on."""
    contest = Contest(request.wanted, narrowing, plan.number, plan.number, request.enough)
    for features in (plan.names(plan.root().included), *starts, *request.seeds):
        contest.enter(plan.names(plan.number(features)))
    contest.settle()
    coordinator = Coordinator(plan, contest, request, clock)
    reason = coordinator.run()
    best = contest.ranking[: request.wanted]
    return Outcome(
        [entry.features for entry in best],
        [entry.loss for entry in best],
        coordinator.lower,
        reason,
        coordinator.evaluations + contest.evaluations,
        coordinator.nodes,
    )


def _plan_of(request: Request, engine: SparseEngine, clock: Clock) -> SparsePlan:
    """Return the tree, with first those features whose removal would hurt most; the required ones come before.

    When the time is up, those that are left come in any order.
    """
    purse = request.purse_of(engine.features)
    required = [engine.features[place] for place in purse.required]
    forbidden = {engine.features[place] for place in purse.forbidden}
    cells = engine.cells.keeping(name for name in engine.features if name not in forbidden)
    whole, order = cells, list[str]()
    while len(cells.features) > len(required):
        free = [name for name in cells.features if name not in required]
        if clock.is_over() or clock.interrupted:
            order += reversed(free)
            break
        smaller = [cells.keeping(name for name in cells.features if name != feature) for feature in free]
        least = min(range(len(free)), key=lambda i: (smaller[i].loss, i))
        order.append(free[least])
        cells = smaller[least]
    names = (*required, *reversed(order))
    return SparsePlan(whole, names, request.purse_of(names))


def _start(plan: SparsePlan) -> Features:
    """Return what is kept by whoever takes features in the tree's order, each that can be paid for."""
    kept: Places = plan.purse.required
    for place in range(len(plan.names_in_order)):
        if place not in kept and plan.purse.affords((*kept, place)):
            kept = (*kept, place)
    return tuple(plan.names_in_order[place] for place in kept)


class _Forward:
    """Takes features that decide one by one, each time the one that helps most; the order is the tree's.

    Attributes
    ----------
    found
        The subset that this ends with, if any.
    """

    def __init__(self, request: Request, engine: MergedEngine, clock: Clock) -> None:
        self._request, self._engine, self._clock = request, engine, clock
        self._purse = request.purse_of(engine.features)
        self.found: list[Features] = []

    def order(self) -> Features:
        """Return the features, those that are required first."""
        names, purse = self._engine.features, self._purse
        kept: Places = purse.required
        free = [place for place in range(len(names)) if place not in (*kept, *purse.forbidden)]
        deciding = [place for place in free if names[place] in self._engine.deciding]
        losses = dict.fromkeys(free, 1.0) | dict.fromkeys(deciding, 0.0)
        everything = (*kept, *deciding)
        if purse.affords(everything):
            kept = everything
        while True:
            can = [place for place in deciding if place not in kept and purse.affords((*kept, place))]
            for place in can:
                if self._clock.is_over() or self._clock.interrupted:
                    break
                losses[place] = self._loss((*kept, place))
            else:
                if can:
                    kept = (*kept, min(can, key=lambda place: losses[place]))
                    continue
            break
        if purse.affords(kept):
            self.found = [tuple(names[place] for place in kept)]
        rest = sorted((place for place in free if place not in kept), key=lambda place: losses[place])
        return tuple(names[place] for place in (*kept, *rest))

    def _loss(self, kept: Places) -> float:
        """Return what the best rule for some features loses, and 1 where that is not known."""
        loss = self._engine.bound([self._engine.features[place] for place in kept])
        return 1.0 if loss is None else loss
