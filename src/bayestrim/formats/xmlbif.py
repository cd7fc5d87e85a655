"""XMLBIF 0.3: the Interchange Format in XML."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayestrim.formats import _scan
from bayestrim.formats._assemble import Block, Draft, flat_table
from bayestrim.formats._xml import Element, content, tree
from bayestrim.network import BayesianNetwork, Variable

_COST = re.compile(rf"{_scan.PROPERTY}cost\s*=\s*(\S+)")
_CUTS = re.compile(rf"{_scan.PROPERTY}cuts\s*=\s*([^\n]*)")
_CHANCE = ("", "nature", "discrete")

_PROLOGUE = """<?xml version="1.0" encoding="UTF-8"?>
<BIF VERSION="0.3">
<NETWORK>
"""


def parse(text: str, origin: str) -> BayesianNetwork:
    """Return the network of an XMLBIF text."""
    root = tree(text, origin)
    if root.tag.lower() != "bif":
        raise root.fail(f"the root element is <{root.tag}>; an XMLBIF file has <BIF>")
    model = root.needed("network")
    draft = Draft(root.source)
    costs: dict[str, float] = {}
    for variable in model.all("variable"):
        _declare(draft, variable, costs)
    for definition in model.all("definition"):
        draft.add(_block(definition))
    name = model.one("name")
    return draft.network(name.word.text if name else "", costs)


def _declare(draft: Draft, element: Element, costs: dict[str, float]) -> None:
    name = element.needed("name").word
    kind = element.attributes.get("TYPE", "")
    if kind.lower() not in _CHANCE:
        raise element.fail(f"variable {name.text!r} is a {kind} node; only chance nodes (TYPE='nature') are supported")
    cuts = None
    for item in element.all("property"):
        match = _COST.fullmatch(item.word.text)
        if match:
            costs[name.text] = _scan.cost(match[1], item.fail_inside)
        match = _CUTS.fullmatch(item.word.text)
        if match:
            cuts = _scan.cuts(match[1], item.fail_inside)
    draft.declare(name, [outcome.word for outcome in element.all("outcome")], cuts)


def _block(element: Element) -> Block:
    owners = list(element.all("for"))
    if len(owners) != 1:
        raise element.fail(f"this <{element.tag}> has {len(owners)} <FOR>; exactly one is supported")
    table = element.needed("table")
    return Block(
        owners[0].word,
        [given.word for given in element.all("given")],
        # The child varies fastest, the last parent next.
        lambda variable, parents: flat_table(table.source, table.numbers(), variable, parents, table.place),
    )


def render(network: BayesianNetwork) -> str:
    """Return a network as XMLBIF text."""
    return "".join(_parts(network))


def _parts(network: BayesianNetwork) -> Iterator[str]:
    yield _PROLOGUE
    yield f"<NAME>{content(network.name)}</NAME>\n"
    for variable in network.variables:
        yield '<VARIABLE TYPE="nature">\n'
        yield f"  <NAME>{content(variable.name)}</NAME>\n"
        for state in variable.states:
            yield f"  <OUTCOME>{content(state)}</OUTCOME>\n"
        if variable.name in network.costs:
            yield f"  <PROPERTY>{_scan.PROPERTY}cost = {network.costs[variable.name]!r}</PROPERTY>\n"
        if variable.cuts is not None:
            yield f"  <PROPERTY>{_scan.PROPERTY}cuts = {_scan.cuts_text(variable.cuts)}</PROPERTY>\n"
        yield "</VARIABLE>\n"
    for variable in network.variables:
        yield from _definition(network, variable)
    yield "</NETWORK>\n</BIF>\n"


def _definition(network: BayesianNetwork, variable: Variable) -> Iterator[str]:
    yield f"<DEFINITION>\n  <FOR>{content(variable.name)}</FOR>\n"
    for parent in network.parents(variable.name):
        yield f"  <GIVEN>{content(parent)}</GIVEN>\n"
    yield "  <TABLE>\n"
    for row in network.table(variable.name).reshape(-1, len(variable)).tolist():
        yield f"    {' '.join(map(repr, row))}\n"
    yield "  </TABLE>\n</DEFINITION>\n"
