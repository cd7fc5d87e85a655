"""The network as a drawing: layers from causes to effects, each ordered so that few edges cross.

Layers are the longest ways from the roots; a layer too wide for the page goes on in further rows. Within a layer, nodes
move towards the middle of their neighbours, up and down a few times.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bayestrim.network import BayesianNetwork
from bayestrim.report.markup import Markup, join, tag

WIDTH = 900.0
"""The width of the drawing."""
HEIGHT = 30.0
"""The height of a node."""
GAP = 16.0
"""The least space between neighbours in a row."""
STEP = 74.0
"""From one layer to the next."""
FOLD = 46.0
"""From one row to the next of the same layer."""
NARROW, MIDDLE, WIDE, BROAD = 4.6, 7.6, 10.0, 14.0
"""About the widths of letters: of an i, an n, an M, and an ideograph."""
LONGEST = 20
"""Longer names are cut short; the whole stands in the node's title."""
SWEEPS = 8
"""How often nodes move towards their neighbours."""
MOST_NODES = 120
"""More are not drawn: nobody could read them."""


@dataclass(frozen=True)
class Node:
    """A node of the drawing: its middle, its width, its label and the row it is in."""

    x: float
    y: float
    width: float
    label: str


def shortened(name: str, longest: int = LONGEST) -> str:
    """Return a name that fits, cut in the middle if it has to be."""
    if len(name) <= longest:
        return name
    half = (longest - 1) // 2
    return f"{name[: longest - 1 - half]}…{name[-half:]}"


def layers_of(network: BayesianNetwork) -> list[list[str]]:
    """Return the variables by the longest way that leads to each from a root."""
    depth: dict[str, int] = {}
    for name in network.topological_order:
        depth[name] = 1 + max((depth[parent] for parent in network.parents(name)), default=-1)
    for name in reversed(network.topological_order):  # a cause stands right above its nearest effect
        children = network.children(name)
        if children:
            depth[name] = min(depth[child] for child in children) - 1
    layers: list[list[str]] = [[] for _ in range(1 + max(depth.values()))]
    for name in network.names:
        layers[depth[name]].append(name)
    return [layer for layer in layers if layer]


def _ordered(network: BayesianNetwork, layers: list[list[str]]) -> list[list[str]]:
    place = {name: i - (len(layer) - 1) / 2 for layer in layers for i, name in enumerate(layer)}
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            goal = {}
            for name in layer:
                near = network.parents(name) if down else network.children(name)
                goal[name] = sum(place[other] for other in near) / len(near) if near else place[name]
            layer.sort(key=lambda name: goal[name])
            for i, name in enumerate(layer):
                place[name] = i - (len(layer) - 1) / 2
    return layers


def _rows(layer: Sequence[str], widths: Mapping[str, float]) -> list[list[str]]:
    """Return a layer in as few rows as fit the width, about equally full."""
    total = sum(widths[name] + GAP for name in layer)
    count = max(1, -int(-total // WIDTH))
    rows: list[list[str]] = [[]]
    used = 0.0
    for name in layer:
        needed = widths[name] + GAP
        if rows[-1] and (used + needed > WIDTH or (used + needed / 2 > total / count and len(rows) < count)):
            rows.append([])
            used = 0.0
        rows[-1].append(name)
        used += needed
    return rows


def _breadth(label: str) -> float:
    return sum(_width(letter) for letter in label)


def _width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return BROAD
    if letter in "iljtfrI.,:;|!'()[] ":
        return NARROW
    return WIDE if letter.isupper() or letter in "mw@%" else MIDDLE


def placed(network: BayesianNetwork) -> tuple[dict[str, Node], float]:
    """Return where each variable is drawn, and the height of the drawing."""
    labels = {name: shortened(name) for name in network.names}
    widths = {name: max(44.0, _breadth(label) + 20) for name, label in labels.items()}
    nodes: dict[str, Node] = {}
    y = HEIGHT / 2 + 4
    for layer in _ordered(network, layers_of(network)):
        for row in _rows(layer, widths):
            free = WIDTH - sum(widths[name] for name in row)
            space = min(free / (len(row) + 1), 60.0)
            x = (WIDTH - sum(widths[name] for name in row) - space * (len(row) - 1)) / 2
            for name in row:
                nodes[name] = Node(x + widths[name] / 2, y, widths[name], labels[name])
                x += widths[name] + space
            y += FOLD
        y += STEP - FOLD
    return nodes, y - STEP + HEIGHT / 2 + 4


def drawing(network: BayesianNetwork, roles: Mapping[str, str], title: str, description: str) -> Markup:
    """Return the network as SVG.

    Parameters
    ----------
    network
        What is drawn.
    roles
        What each variable is, as the class of its node; those not named are ``hidden``.
    title, description
        What a screen reader says.
    """
    nodes, height = placed(network)
    lines = [_edge(nodes[parent], nodes[name]) for name in network.names for parent in network.parents(name)]
    boxes = [_box(node, name, roles.get(name, "hidden")) for name, node in nodes.items()]
    tip = tag("path", d="M0,0 L8,4 L0,8 z")
    head = tag(
        "marker", tip, id="arrow", viewBox="0 0 8 8", refX=7, refY=4, markerWidth=7, markerHeight=7, orient="auto"
    )
    return tag(
        "svg",
        tag("title", title, id="network-title"),
        tag("desc", description, id="network-about"),
        tag("defs", head),
        tag("g", *lines, class_="edges"),
        tag("g", *boxes, class_="nodes"),
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        role="img",
        aria_labelledby="network-title network-about",
        class_="network",
    )


def _edge(start: Node, end: Node) -> Markup:
    top, bottom = start.y + HEIGHT / 2, end.y - HEIGHT / 2
    bend = (bottom - top) * 0.45
    points = [(start.x, top), (start.x, top + bend), (end.x, bottom - bend), (end.x, bottom)]
    first, *others = (f"{x:.1f},{y:.1f}" for x, y in points)
    return tag("path", d=f"M{first} C{' '.join(others)}", marker_end="url(#arrow)")


def _box(node: Node, name: str, role: str) -> Markup:
    left, top, width = (f"{value:.1f}" for value in (node.x - node.width / 2, node.y - HEIGHT / 2, node.width))
    box = tag("rect", x=left, y=top, width=width, height=f"{HEIGHT:g}", rx=6)
    text = tag("text", node.label, x=f"{node.x:.1f}", y=f"{node.y + 4.5:.1f}")
    return tag("g", join([tag("title", f"{name}: {role}"), box, text]), class_=role)
