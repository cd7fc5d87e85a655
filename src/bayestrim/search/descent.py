"""A slice of the search over features that are independent given the class: a few bounds below one node."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayestrim.kernels.lattice import (
    Found,
    Lattice,
    Nodes,
    Order,
    Outlook,
    Stack,
    explore,
    new_nodes,
    new_stack,
    no_outlook,
)
from bayestrim.search.outlook import outlook_of

QUICK = 1 << 5
"""Bounds that are computed below a node before it is worth an outlook of its own."""
RENEWED = 1 << 10
"""Bounds after which the nodes that are left get outlooks of their own, which see further."""
AHEAD = 8
"""How far ahead of the feature in hand the features lie that are kept ready as one distribution."""
ROOM = 1 << 10
"""Subsets that one call of the kernel can report; a slice that finds more stops early."""


@dataclass(frozen=True)
class Rules:
    """What the search does to save bounds or to make them cheap; benchmarks switch each off (docs/bounds.md).

    Attributes
    ----------
    outlook
        Bound what the money that is left can buy.
    renewal
        Make outlooks anew as the search descends.
    alike
        Of equal features that cost the same, exclude all where one is excluded.
    ahead
        Keep the distribution of far undecided features ready.
    """

    outlook: bool = True
    renewal: bool = True
    alike: bool = True
    ahead: bool = True


class Room(NamedTuple):
    """Work space of one slice at a time, for one lattice."""

    stack: Stack
    found: Found
    left: Nodes


def new_room(lattice: Lattice) -> Room:
    """Return work space."""
    count = len(lattice.span)
    found = Found(np.empty((ROOM, count), dtype=bool), np.empty(ROOM))
    return Room(new_stack(lattice), found, new_nodes(count + 2, count))


@dataclass(frozen=True)
class Target:
    """What is looked for.

    Attributes
    ----------
    limit
        Only losses less than this are wanted.
    rise
        A subset that is found lowers the limit to the upper bound of its loss and this.
    every
        Look for every subset under the limit, and leave the limit as it is.
    """

    limit: float
    rise: float
    every: bool


class Descent(NamedTuple):
    """What came of a slice: subsets with lower bounds of their losses, open nodes (one each), and what it took."""

    found: list[tuple[npt.NDArray[np.bool_], float]]
    left: list[Nodes]
    evaluations: int
    nodes: int


def descend(
    lattice: Lattice, order: Order, start: Nodes, target: Target, most: int, room: Room, rules: Rules
) -> Descent:
    """Look below a node, depth first, for subsets whose loss may be less than a limit; stop after so many bounds.

    What is left open of a piece is taken up again, the deepest first.
    """
    waiting: list[Nodes] = [start]
    found: list[tuple[npt.NDArray[np.bool_], float]] = []
    evaluations, nodes, limit = 0, 0, target.limit
    while waiting and evaluations < most and len(found) < ROOM:
        goal = replace(target, limit=limit)
        piece = _explore(lattice, order, waiting.pop(), goal, most - evaluations, room, rules)
        evaluations, nodes, limit = evaluations + piece.evaluations, nodes + piece.nodes, piece.limit
        found += [(room.found.included[i].copy(), float(room.found.bound[i])) for i in range(piece.sets)]
        waiting += [_single(room.left, i) for i in range(piece.left)]
    return Descent(found, waiting, evaluations, nodes)


def _single(nodes: Nodes, i: int) -> Nodes:
    """Return a copy of one of several nodes."""
    here = slice(i, i + 1)
    return Nodes(
        nodes.included[here].copy(), nodes.begin[here].copy(), nodes.position[here].copy(), nodes.bound[here].copy()
    )


class _Piece(NamedTuple):
    """What the kernel returns."""

    evaluations: int
    nodes: int
    sets: int
    left: int
    limit: float


def _explore(
    lattice: Lattice, order: Order, node: Nodes, target: Target, most: int, room: Room, rules: Rules
) -> _Piece:
    """Explore below a node: most nodes are settled after a few bounds; one that is not gets an outlook of its own."""
    ahead = AHEAD if rules.ahead else 1

    def run(outlook: Outlook, most: int) -> _Piece:
        aim = target.limit, target.rise, target.every
        return _Piece(*explore(lattice, order, outlook, node, 0, *aim, most, ahead, *room))

    if not rules.outlook:
        return run(no_outlook(), most)
    quick = run(no_outlook(), min(QUICK, most))
    rest = most - quick.evaluations
    if quick.left == 0 or rest <= 0:
        return quick
    outlook = outlook_of(lattice, order, node.included[0], int(node.position[0]))
    piece = run(outlook, min(RENEWED, rest) if rules.renewal else rest)
    return piece._replace(evaluations=piece.evaluations + quick.evaluations)
