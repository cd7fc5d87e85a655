"""How a search is cut into slices that any worker can do: nodes, what comes of a slice, and what does one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from bayestrim.search.contest import Features


class Node(NamedTuple):
    """An open node of a search tree, whose features are numbered in the order in which the tree decides them.

    Subsets are whole numbers: the first feature is the highest bit. The tree is searched in the order of these numbers,
    so that of two subsets the one that is found first, whoever searches, is the one of the lower number.

    Attributes
    ----------
    bound
        A lower bound of the loss of every subset below.
    included
        The features that are included.
    first
        The lowest of the subsets below.
    begin
        Subsets that end before this position have been considered.
    position
        The first undecided feature: those before it that are not included are excluded.
    """

    bound: float
    included: int
    first: int
    begin: int
    position: int


class Slice(NamedTuple):
    """What came of exploring a node for a while.

    Attributes
    ----------
    found
        Subsets that could not be ruled out, with lower bounds of their losses.
    left
        The nodes that are still open.
    evaluations, nodes
        How many bounds were computed, and how many nodes visited.
    seconds
        How long it took.
    """

    found: list[tuple[int, float]]
    left: list[Node]
    evaluations: int
    nodes: int
    seconds: float = 0.0


class Plan(Protocol):
    """A search tree, small enough to be sent to a worker with each slice."""

    def root(self) -> Node:
        """Return the whole tree."""
        ...

    def explore(self, node: Node, limit: float, most: int) -> Slice:
        """Look below a node for subsets whose loss may be less than a limit; stop after so many evaluations."""
        ...

    def names(self, subset: int) -> Features:
        """Return the features of a subset."""
        ...

    def number(self, features: Features) -> int:
        """Return the subset of some features; those that the tree does not know do not count."""
        ...

    def identity(self) -> object:
        """Return what another run must share to go on from this one's open nodes; plain lists and dictionaries."""
        ...


def work(plan: Plan, nodes: Sequence[Node], limit: float, most: int, _: int) -> Slice:
    """Do one slice: explore some nodes, one after the other; what workers are given to call.

    The last argument tells repeated calls apart.
    """
    begin = time.perf_counter()
    done = Slice([], [], 0, 0)
    for node in nodes:
        if done.evaluations < most:
            more = plan.explore(node, limit, most - done.evaluations)
            left = [*done.left, *more.left]
            done = Slice([*done.found, *more.found], left, done.evaluations + more.evaluations, done.nodes + more.nodes)
        else:
            done.left.append(node)
    return done._replace(seconds=time.perf_counter() - begin)
