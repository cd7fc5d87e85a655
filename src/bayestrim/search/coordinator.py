"""The coordinator: it holds the open nodes and the best subsets, gives slices to workers, and knows what is proved.

Whatever happens to a slice, its node stays open until the slice has come back; so a search can be stopped, saved and
continued between any two slices, and a slice that was lost is done again. What is found does not depend on who does
which slice and when: all subsets of the least loss are found, and of these the one of the lowest number is taken.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
import warnings
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from typing import Protocol

from bayestrim.errors import LostWorkersWarning
from bayestrim.search.checkpoint import State
from bayestrim.search.contest import Contest
from bayestrim.search.events import Clock
from bayestrim.search.plan import Node, Plan, Slice, work
from bayestrim.search.run import Request
from bayestrim.search.workers import SHORT, Hands, Here
from bayestrim.trimming import StopReason

FIRST_SLICE = 1 << 10
"""Evaluations of the first slice, before it is known how many can be done in the time a slice is meant to take."""
LEAST, MOST = 1 << 6, 1 << 22
"""The fewest and the most evaluations in a slice."""
SHORTEST, PART = 0.01, 1 / 32
"""With several workers, slices take this part of the time so far, and never less than these seconds."""
WORTH = 5
"""With several workers, a slice takes at least so many times longer than handing it over."""
BATCH = 16
"""The most nodes in a slice."""
ATTEMPTS = 4
"""How often a slice is tried before its error is raised."""
PATIENCE = 0.05
"""Seconds after which the coordinator looks up from waiting for slices."""


@dataclass
class _InHand:
    """A slice that some worker has."""

    nodes: list[Node]
    attempt: int
    most: int
    since: float


class Errands(Protocol):
    """Work besides slices that workers can do."""

    def hire(self, workers: Executor) -> None:
        """Let workers do it from now on."""
        ...

    def dismiss(self) -> None:
        """Wait for what they do, whenever it is needed from now on."""
        ...


class Coordinator:
    """One search.

    Parameters
    ----------
    plan
        The tree, and how to explore it.
    contest
        Judges what is found.
    request
        When to stop, who works, where checkpoints go.
    clock
        Knows the time and tells the caller.
    spent
        The evaluations that were made beforehand.
    errands
        What judging needs, and workers can do.
    """

    def __init__(
        self,
        plan: Plan,
        contest: Contest,
        request: Request,
        clock: Clock,
        spent: int = 0,
        errands: Errands | None = None,
    ) -> None:
        self._plan = plan
        self._contest = contest
        self._request = request
        self._clock = clock
        self._open: list[tuple[float, int, Node]] = []
        self._numbers = itertools.count()
        self._in_hand: dict[Future[Slice], _InHand] = {}
        self._attempts: dict[Node, int] = {}
        self._errands = errands
        self._rate, self._latency = 0.0, math.inf
        self._most = request.limits.evaluations
        self.evaluations, self.nodes = spent, 0

    def run(self) -> StopReason:
        """Explore until nothing is left that could be better, or a limit is reached; return which."""
        self._begin()
        try:
            with self._request.crew.ready() as hands:
                reason = self._explore(hands)
        finally:  # also when a second interruption stops it at once
            self._save()
        return reason

    def _wait_for_errands(self) -> None:
        if self._errands is not None:
            self._errands.dismiss()
            self._contest.settle()

    def _begin(self) -> None:
        checkpoint = self._request.checkpoint
        state = checkpoint.open(self._plan.identity()) if checkpoint is not None else None
        if state is None:
            self._push(self._plan.root())
            return
        for node in state.open:
            self._push(node)
        for features, loss in state.entries:
            self._contest.enter(features, loss.lower)
        self._contest.settle()
        self.evaluations, self.nodes = self.evaluations + state.evaluations, state.nodes
        self._clock.earlier = state.seconds
        if self._most is not None:  # limits are for this run
            self._most += state.evaluations

    def _explore(self, hands: Hands) -> StopReason:
        if self._errands is not None and hands.room > 1:
            self._errands.hire(hands.executor)
        while True:
            reason = self._reason_to_stop()
            if reason is not None:
                return reason
            self._fill(hands)
            if not self._in_hand:
                self._wait_for_errands()
                return StopReason.EXHAUSTED if self._request.limits.gap == 0 else StopReason.GAP
            for future in self._finished():
                self._take(future, hands)
            self._tell()
            if self._request.checkpoint is not None and self._request.checkpoint.due:
                self._save()

    def _reason_to_stop(self) -> StopReason | None:
        if self._clock.interrupted:
            return StopReason.INTERRUPTED
        if self._clock.is_over():
            return StopReason.TIME_LIMIT
        if self._most is not None and self.evaluations >= self._most and (self._next_is_open() or self._in_hand):
            return StopReason.EVALUATION_LIMIT
        return None

    # What is open.

    @property
    def _limit(self) -> float:
        """Nodes of this bound or more cannot hold what is wanted."""
        enough = self._request.enough
        limit = min(self._contest.limit, float("inf") if enough is None else enough + ENOUGH)
        return limit - self._request.limits.gap

    def _is_settled(self, node: Node) -> bool:
        """Tell whether a node cannot hold what is wanted: by its bound, or since it comes after what is perfect."""
        if node.bound >= self._limit:
            return True
        perfect = self._contest.limit <= self._request.floor
        return perfect and node.first >= self._contest.last_key

    def _is_found(self) -> bool:
        """Tell whether a subset is good enough, where that is all that is wanted."""
        enough = self._request.enough
        return enough is not None and self._contest.limit <= enough + ENOUGH

    def _next_is_open(self) -> bool:
        """Drop settled nodes until the next one is open; tell whether there is any."""
        if self._is_found():
            self._open.clear()
        while self._open and self._is_settled(self._open[0][2]):
            heapq.heappop(self._open)
        return bool(self._open)

    def _push(self, *nodes: Node) -> None:
        for node in nodes:
            heapq.heappush(self._open, (node.bound, next(self._numbers), node))

    @property
    def lower(self) -> float:
        """A lower bound of the losses of all subsets that are not among the best."""
        nodes = self._handed
        nodes += [self._open[0][2]] if self._open else []
        lower = min([self._contest.lower, *(node.bound for node in nodes)])
        if self._request.limits.gap > 0:  # nodes were settled although they might be so much better
            lower = min(lower, self._contest.limit - self._request.limits.gap)
        return max(self._request.floor, lower)

    @property
    def _handed(self) -> list[Node]:
        """The nodes that workers have."""
        return [node for slice_ in self._in_hand.values() for node in slice_.nodes]

    # Slices.

    def _fill(self, hands: Hands) -> None:
        """Hand over the most promising nodes."""
        while len(self._in_hand) < hands.room and self._next_is_open():
            most = self._size(hands)
            if most <= 0:
                return
            nodes = self._most_promising(hands)
            attempt = self._attempts.get(nodes[0], 0)
            since = time.perf_counter()
            try:
                future = hands.executor.submit(work, self._plan, nodes, self._limit, most, next(self._numbers))
            except RuntimeError as error:  # BrokenExecutor is one; so is what an executor says after its shutdown
                self._push(*nodes)
                self._go_on_alone(hands, error)
                continue
            self._in_hand[future] = _InHand(nodes, attempt, most, since)

    def _most_promising(self, hands: Hands) -> list[Node]:
        """Take the next open node; with several workers and many open nodes, several, none of which was lost before."""
        share = 1 if hands.room == 1 else min(max(1, len(self._open) // hands.room), BATCH)
        nodes = [heapq.heappop(self._open)[2]]
        while len(nodes) < share and nodes[0] not in self._attempts and self._next_is_open():
            if self._open[0][2] in self._attempts:
                break
            nodes.append(heapq.heappop(self._open)[2])
        return nodes

    def _size(self, hands: Hands) -> int:
        """Return how many evaluations the next slice may take."""
        seconds = hands.seconds
        if hands.room > 1:
            seconds = min(seconds, max(SHORTEST, self._clock.seconds * PART))  # young trees have all in one branch
            if len(self._open) < hands.room:
                seconds /= 8  # leave nodes for the others
            if self._latency < math.inf:
                seconds = max(seconds, WORTH * self._latency)
        wished = self._rate * seconds
        size = min(max(int(wished), LEAST), MOST) if self._rate else FIRST_SLICE
        if self._most is None:
            return size
        promised = sum(slice_.most for slice_ in self._in_hand.values())
        return min(size, self._most - self.evaluations - promised)

    def _finished(self) -> set[Future[Slice]]:
        return wait(self._in_hand, min(PATIENCE, self._clock.left()), FIRST_COMPLETED).done

    def _take(self, future: Future[Slice], hands: Hands) -> None:
        """Take what came of a slice, or its node back if it was lost."""
        in_hand = self._in_hand.pop(future)
        try:
            done = future.result()
        except (Exception, KeyboardInterrupt) as error:
            self._lose(in_hand, error, hands)
            return
        self.evaluations += done.evaluations
        self.nodes += done.nodes
        if done.seconds > 0 and done.evaluations:
            self._rate = done.evaluations / done.seconds
        self._latency = min(self._latency, time.perf_counter() - in_hand.since - done.seconds)
        self._push(*done.left)
        for subset, bound in sorted(done.found, key=lambda pair: (pair[1], pair[0])):
            if not self._is_settled(Node(bound, subset, subset, 0, 0)):
                self._contest.enter(self._plan.names(subset), bound)
        self._contest.settle()

    def _lose(self, in_hand: _InHand, error: BaseException, hands: Hands) -> None:
        """Put a lost slice's nodes back; give up where they are lost again and again."""
        self._push(*in_hand.nodes)
        if isinstance(error, KeyboardInterrupt):  # a worker hears Ctrl-C as well
            return
        if isinstance(error, BrokenExecutor):
            self._go_on_alone(hands, error)
            return
        self._attempts.update(dict.fromkeys(in_hand.nodes, in_hand.attempt + 1))
        if in_hand.attempt + 1 >= ATTEMPTS:
            raise error

    def _go_on_alone(self, hands: Hands, error: BaseException) -> None:
        """Do the rest in this thread: the executor takes no more."""
        if not isinstance(hands.executor, Here):
            warnings.warn(
                f"the workers are gone ({type(error).__name__}: {error}); the search goes on in this process",
                LostWorkersWarning,
                stacklevel=2,
            )
            hands.executor, hands.room, hands.seconds = Here(), 1, SHORT

    # What is told and kept.

    def _tell(self) -> None:
        ranking = self._contest.ranking
        if ranking:
            bound = 1 - min(ranking[0].loss.lower, max(0.0, self.lower))
            evaluations = self.evaluations + self._contest.evaluations
            self._clock.report(ranking[0].features, 1 - ranking[0].loss.upper, bound, evaluations, self.nodes)

    def _save(self) -> None:
        if self._request.checkpoint is None:
            return
        nodes = [*self._handed, *(node for _, _, node in self._open)]
        entries = [(entry.features, entry.loss) for entry in self._contest.ranking]
        nodes = [node for node in nodes if not self._is_settled(node)]
        self._request.checkpoint.write(State(nodes, entries, self.evaluations, self.nodes, self._clock.total))


ENOUGH = 1e-12
"""How much more than enough is still enough: losses are sums of floats."""
