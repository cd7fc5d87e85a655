"""Branch and bound for features that are numbers, whose distributions are dense: each bound is a few transforms.

The tree is that of the paper's first algorithm. Most bounds are asked of a coarse lattice; where it says that a node
is likely not worth visiting, but cannot prove it, a finer one is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import numpy as np

from bayestrim.engines.continuous import ContinuousEngine
from bayestrim.engines.fine import Loss
from bayestrim.engines.rungs import BoolArray
from bayestrim.network import FloatArray
from bayestrim.search.contest import Contest, Features
from bayestrim.search.events import Clock
from bayestrim.search.run import Outcome, Request
from bayestrim.search.start import greedy
from bayestrim.trimming import StopReason

FINEST = 2
"""The finest rung that is asked about a node."""
FIRST = 2
"""The rung that is asked first about a subset that could not be ruled out."""
REFINEMENT = 4.0
"""About how many times narrower the margin of a rung is than that of the one before."""
MOST_ENTRIES = 32
"""With more subsets than this in the contest, the best are told from the rest."""
GLANCE = 16
"""After so many nodes, the clock is looked at."""


class _Node(NamedTuple):
    """Some features are kept, others dropped; those from a position on are undecided unless they are dropped."""

    kept: BoolArray
    dropped: BoolArray
    position: int
    bound: float


def continuous_search(request: Request, engine: ContinuousEngine, clock: Clock) -> Outcome:
    """Find the best affordable subsets and prove that they are."""
    return _Search(request, engine, clock).run()


class _Search:
    """One search; features are decided in the order of how much their loss alone would hurt."""

    def __init__(self, request: Request, engine: ContinuousEngine, clock: Clock) -> None:
        self._request, self._engine, self._clock = request, engine, clock
        self._names = engine.model.names
        self._purse = request.purse_of(self._names)
        self._contest = Contest(request.wanted, self._narrowing, lambda features: features)
        self.evaluations, self.nodes = 0, 0
        features = len(self._names)
        alone = self._coarse(~np.eye(features, dtype=bool))
        decided = {*self._purse.required, *self._purse.forbidden}
        self._order = [i for i in np.argsort(-alone, kind="stable").tolist() if i not in decided]

    def _narrowing(self, features: Features) -> Iterator[Loss]:
        return self._engine.narrowing(features, self._request.threshold, FIRST)

    def _coarse(self, subsets: BoolArray) -> FloatArray:
        """Estimate the losses of subsets [subsets, features]."""
        self.evaluations += len(subsets)
        rung = self._engine.ladder[0]
        return np.array([rung.estimate(chosen) for chosen in subsets])

    def run(self) -> Outcome:
        """Search until everything is ruled out or a limit is reached."""
        waiting: list[_Node] = []
        reason = StopReason.EXHAUSTED
        try:
            self._contest.enter(self._chosen(greedy(self._purse, self._coarse)))
            waiting.append(self._root())
            reason = self._visit_all(waiting)
            self._contest.settle()
        except KeyboardInterrupt:
            reason = StopReason.INTERRUPTED
        gap = self._request.limits.gap
        lower = min([self._contest.lower, *(node.bound for node in waiting)])
        if gap > 0:  # nodes were ruled out although they might be so much better
            lower = min(lower, self._contest.limit - gap)
            reason = StopReason.GAP if reason is StopReason.EXHAUSTED else reason
        best = self._contest.ranking[: self._request.wanted]
        evaluations = self.evaluations + self._contest.evaluations
        losses = [entry.loss for entry in best]
        return Outcome([entry.features for entry in best], losses, max(0.0, lower), reason, evaluations, self.nodes)

    def _root(self) -> _Node:
        kept, dropped = np.zeros((2, len(self._names)), dtype=bool)
        kept[list(self._purse.required)] = True
        dropped[list(self._purse.forbidden)] = True
        return _Node(kept, dropped, 0, 0.0)

    def _visit_all(self, waiting: list[_Node]) -> StopReason:
        limits = self._request.limits
        for visits in count():
            if not waiting:
                return StopReason.EXHAUSTED
            if visits % GLANCE == 0:
                self._report(min(node.bound for node in waiting))
                if self._clock.is_over():
                    return StopReason.TIME_LIMIT
                if self._clock.interrupted:
                    return StopReason.INTERRUPTED
                if limits.evaluations is not None and self.evaluations >= limits.evaluations:
                    return StopReason.EVALUATION_LIMIT
            node = waiting.pop()
            try:
                waiting += self._visit(node)
            except KeyboardInterrupt:
                waiting.append(node)
                return StopReason.INTERRUPTED
        raise AssertionError

    def _visit(self, node: _Node) -> list[_Node]:
        """Return what must be visited next, last first; enter the subset in the contest where nothing can be added."""
        if node.bound >= self._limit:
            return []
        self.nodes += 1
        kept, dropped = node.kept, node.dropped.copy()
        bought = tuple(np.flatnonzero(kept).tolist())
        undecided = self._order[node.position :]
        for i in undecided:
            dropped[i] = not self._purse.affords((*bought, i))
        if self._request.every:  # each subset counts, the smaller ones as well
            self._enter(kept, node.bound)
        bound = node.bound
        if (dropped != node.dropped).any():
            bound = max(bound, self._bound(~dropped))
            if bound >= self._limit:
                return []
        open_ = [i for i in undecided if not dropped[i]]
        if not open_:
            if not self._request.every:
                self._enter(kept, bound)
            return []
        first = open_[0]
        position = self._order.index(first) + 1
        with_it, without = kept.copy(), dropped.copy()
        with_it[first] = without[first] = True
        following = [_Node(with_it, dropped, position, bound)]
        lower = max(bound, self._bound(~without))
        if lower < self._limit:
            following.append(_Node(kept, without, position, lower))
        return following

    @property
    def _limit(self) -> float:
        """Only losses below this are wanted."""
        return self._contest.limit - self._request.limits.gap

    def _bound(self, chosen: BoolArray) -> float:
        """Bound the loss of some features, and of all their subsets, as precisely as it takes to rule it out."""
        lower, place = 0.0, 0
        while place <= FINEST:
            self.evaluations += 1
            rung = self._engine.ladder[place]
            loss = rung.loss(chosen)
            lower = max(lower, loss.lower)
            estimate, margin = loss.upper - rung.margin, rung.margin
            if lower >= self._limit or estimate < self._limit:
                return lower
            place, margin = place + 1, margin / REFINEMENT
            while place <= FINEST and estimate - margin < self._limit:  # rungs that will not be fine enough
                place, margin = place + 1, margin / REFINEMENT
        return lower

    def _enter(self, kept: BoolArray, bound: float) -> None:
        """Enter a subset in the contest, unless a coarse lattice rules it out."""
        bound = max(bound, self._bound(kept))
        if bound < self._limit:
            self._contest.enter(self._chosen(kept), bound)
            if len(self._contest.ranking) > MOST_ENTRIES + 2 * self._request.wanted:
                self._contest.settle()

    def _chosen(self, kept: BoolArray) -> Features:
        return tuple(name for name, chosen in zip(self._names, kept, strict=True) if chosen)

    def _report(self, bound: float) -> None:
        best = self._contest.ranking[0]
        reached = 1 - min(best.loss.lower, max(0.0, bound))
        self._clock.report(best.features, 1 - best.loss.upper, reached, self.evaluations, self.nodes)
