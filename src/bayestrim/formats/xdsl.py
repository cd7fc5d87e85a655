"""XDSL, the format of GeNIe and SMILE: identifiers in the nodes, true names in properties beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np

from bayestrim.formats import _scan
from bayestrim.formats._assemble import Block, Draft, Table, flat_table, row_count, size_words
from bayestrim.formats._names import identifiers, stands_for
from bayestrim.formats._scan import Word
from bayestrim.formats._xml import Element, attribute, content, tree
from bayestrim.network import BayesianNetwork, Variable

_NAME = _scan.PROPERTY + "name"
_STATES = _scan.PROPERTY + "states"
_COST = _scan.PROPERTY + "cost"
_CUTS = _scan.PROPERTY + "cuts"
_POSITION = _scan.PROPERTY + "position"
_SUPPORTED = ("cpt", "deterministic")
_UNNAMED = "network"


class _Node:
    """A node element with its true names, which other nodes use through its identifier."""

    def __init__(self, element: Element) -> None:
        if element.tag not in _SUPPORTED:
            name = element.attributes.get("id", "")
            raise element.fail(
                f"node {name!r} is a <{element.tag}> node; supported are <cpt> and <deterministic> nodes, so convert it"
            )
        self.element = element
        self.id = element.attribute("id")
        self.state_ids = [state.attribute("id") for state in element.all("state")]
        self.properties = {item.attributes.get("id", ""): item for item in element.all("property")}
        stored = self.stored(_NAME)
        self.name = self.id
        if isinstance(stored, str) and stands_for(self.id.text, stored):
            self.name = Word(stored, self.id.at)
        self.states = self._true_states()

    def stored(self, key: str) -> object:
        """Return what we once kept in a property, or None if it is not there or not ours any more."""
        item = self.properties.get(key)
        try:
            return json.loads(item.text) if item else None
        except (ValueError, RecursionError):
            return None

    def _true_states(self) -> list[Word]:
        stored = self.stored(_STATES)
        if not isinstance(stored, list) or len(stored) != len(self.state_ids):
            return self.state_ids
        return [
            Word(true, state.at) if isinstance(true, str) and stands_for(state.text, true) else state
            for state, true in zip(self.state_ids, stored, strict=True)
        ]


def parse(text: str, origin: str) -> BayesianNetwork:
    """Return the network of an XDSL text."""
    root = tree(text, origin)
    if root.tag != "smile":
        raise root.fail(f"the root element is <{root.tag}>; an XDSL file has <smile>")
    for child in root.all("dynamic"):
        raise child.fail("this is a dynamic network; unroll it first, only static networks are supported")
    nodes = _in_order([_Node(element) for element in root.needed("nodes").children])
    draft = Draft(root.source)
    names = {}
    for node in nodes:
        if node.id.text in names:
            raise root.source.fail(f"the node {node.id.text!r} is declared twice; identifiers must differ", node.id.at)
        names[node.id.text] = node.name.text
        draft.declare(node.name, node.states, _cuts(node))
    for node in nodes:
        draft.add(_block(draft, node, names))
    costs = {node.name.text: _cost(node.properties[_COST]) for node in nodes if _COST in node.properties}
    return draft.network(_network_name(root), costs)


def _in_order(nodes: list[_Node]) -> list[_Node]:
    """Return the nodes in the order we kept, if we kept one for all of them."""
    positions = [node.stored(_POSITION) for node in nodes]
    if sorted(map(repr, positions)) != sorted(map(repr, range(len(nodes)))):
        return nodes
    return sorted(nodes, key=lambda node: int(str(node.stored(_POSITION))))


def _cost(item: Element) -> float:
    return _scan.cost(item.word.text, item.fail_inside)


def _cuts(node: _Node) -> tuple[float, ...] | None:
    item = node.properties.get(_CUTS)
    return _scan.cuts(item.word.text, item.fail_inside) if item else None


def _network_name(root: Element) -> str:
    """Return the title GeNIe shows, or the identifier if there is none."""
    for extensions in root.all("extensions"):
        for genie in extensions.all("genie"):
            if "name" in genie.attributes:
                return genie.attributes["name"]
    return root.attributes.get("id", "")


def _block(draft: Draft, node: _Node, names: dict[str, str]) -> Block:
    given = node.element.one("parents")
    parents = [Word(names.get(word.text, word.text), word.at) for word in given.words()] if given else []
    if node.element.tag == "deterministic":
        return Block(node.name, parents, lambda variable, given: _deterministic(draft, node, variable, given))
    table = node.element.needed("probabilities")
    return Block(
        node.name,
        parents,
        lambda variable, given: flat_table(table.source, table.numbers(), variable, given, table.place),
    )


def _deterministic(draft: Draft, node: _Node, variable: Variable, parents: Sequence[Variable]) -> Table:
    element = node.element.needed("resultingstates")
    results, rows = element.words(), row_count(parents)
    if len(results) != rows:
        raise element.fail(
            f"node {variable.name!r} has {len(results)} resulting states; its parents make {rows} combinations "
            f"(the table is {size_words(variable, parents)})"
        )
    codes = {state.text: code for code, state in enumerate(node.state_ids)}
    for result in results:
        if result.text not in codes:
            near = _scan.hint(result.text, codes)
            raise element.fail(f"node {variable.name!r} has no state {_scan.shown(result.text)}{near}", result.at)
    draft.imply(rows * len(variable), element.at)
    table = np.zeros((rows, len(variable)))
    table[np.arange(rows), [codes[result.text] for result in results]] = 1
    return Table(table, lambda row, _state: results[row].at)


def render(network: BayesianNetwork) -> str:
    """Return a network as XDSL text."""
    return "".join(_parts(network))


def _parts(network: BayesianNetwork) -> Iterator[str]:
    ids = identifiers(network.names)
    network_id = identifiers([network.name or _UNNAMED])[network.name or _UNNAMED]
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<smile version="1.0" id="{network_id}" numsamples="10000" discsamples="10000">\n  <nodes>\n'
    # SMILE wants parents before their children, so the true order may have to be kept beside.
    moved = network.topological_order != network.names
    positions = {name: position for position, name in enumerate(network.names)}
    for name in network.topological_order:
        yield from _node(network, network.variable(name), ids, positions[name] if moved else None)
    yield "  </nodes>\n  <extensions>\n"
    yield f'    <genie version="1.0" app="bayestrim" name={attribute(network.name)}>\n'
    for number, name in enumerate(network.topological_order):
        yield from _picture(ids[name], name, number)
    yield "    </genie>\n  </extensions>\n</smile>\n"


def _node(network: BayesianNetwork, variable: Variable, ids: dict[str, str], position: int | None) -> Iterator[str]:
    states = identifiers(variable.states)
    yield f'    <cpt id="{ids[variable.name]}">\n'
    for state in variable.states:
        yield f'      <state id="{states[state]}" />\n'
    parents = network.parents(variable.name)
    if parents:
        yield f"      <parents>{' '.join(ids[parent] for parent in parents)}</parents>\n"
    yield f"      <probabilities>{' '.join(map(repr, network.table(variable.name).ravel().tolist()))}</probabilities>\n"
    if ids[variable.name] != variable.name:
        yield _property(_NAME, variable.name)
    if list(states.values()) != list(variable.states):
        yield _property(_STATES, list(variable.states))
    if variable.name in network.costs:
        yield _property(_COST, network.costs[variable.name])
    if variable.cuts is not None:
        yield f'      <property id="{_CUTS}">{_scan.cuts_text(variable.cuts)}</property>\n'
    if position is not None:
        yield _property(_POSITION, position)
    yield "    </cpt>\n"


def _property(key: str, value: object) -> str:
    return f'      <property id="{key}">{content(json.dumps(value, ensure_ascii=False))}</property>\n'


def _picture(word: str, name: str, number: int) -> Iterator[str]:
    """Yield what GeNIe needs to draw a node: ten to a row."""
    left, top = 100 * (number % 10) + 20, 80 * (number // 10) + 20
    yield f'      <node id="{word}">\n        <name>{content(name)}</name>\n'
    yield f"        <position>{left} {top} {left + 80} {top + 40}</position>\n      </node>\n"
