"""NET, the format of Hugin: identifiers for nodes, quoted states, tables in nested parentheses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bayestrim.errors import FormatError
from bayestrim.formats import _scan
from bayestrim.formats._assemble import Block, Draft, Table, flat_table
from bayestrim.formats._names import identifiers, stands_for
from bayestrim.formats._scan import Scanner, Source, Token, Word
from bayestrim.network import BayesianNetwork, Variable

_SYMBOLS = "{}()=;,|"
_COMMENTS = rf"%[^\n]*|{_scan.C_COMMENTS}"
_NAME = _scan.PROPERTY + "name"
_COST = _scan.PROPERTY + "cost"
_CUTS = _scan.PROPERTY + "cuts"
_DATA = re.compile(r'[^;{}"]*')
_GROUP = re.compile(r"[^()]+")
_UNSUPPORTED = ("continuous", "decision", "utility", "function", "boolean", "interval", "instance")
RESERVED = frozenset(
    ("net", "class", "node", "potential", "discrete", "inputs", "outputs", "data", "states", "normal", *_UNSUPPORTED)
)
"""Words that are no node names in Hugin."""


@dataclass(frozen=True)
class _Data:
    """The text of a table and where it begins."""

    text: str
    at: int


def parse(text: str, origin: str) -> BayesianNetwork:
    """Return the network of a NET text."""
    return _Reader(Source(_scan.blanked(text, origin, _COMMENTS), origin)).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.scan = Scanner(source, _SYMBOLS)
        self.draft = Draft(source)
        self.name = ""
        self.inside_class = False
        self.names: dict[str, str] = {}
        self.costs: dict[str, float] = {}
        self.blocks: list[tuple[list[Token], int, _Data | None]] = []

    def read(self) -> BayesianNetwork:
        while not self.scan.is_next(("",)):
            self._item()
        if self.inside_class:
            raise self.scan.unexpected(self.scan.peek(), "'}' after the class")
        for head, at, data in self.blocks:
            self.draft.add(self._block(head, at, data))
        return self.draft.network(self.name, self.costs)

    def _item(self) -> None:
        token = self.scan.take()
        if token.text == "net":
            self.name = self._value(self._attributes("the network"), "name") or self.name
        elif token.text == "class" and not self.inside_class:
            self.name = self.scan.word("the class's name").text
            self.scan.expect("{", "after the class's name")
            self.inside_class = True
        elif token.text == "node":
            self._node()
        elif token.text == "discrete" and self.scan.peek().text == "node":
            self.scan.take()
            self._node()
        elif token.text == "potential":
            self._potential()
        elif token.text in _UNSUPPORTED:
            self._refuse(token)
        else:
            self._rest(token)

    def _rest(self, token: Token) -> None:
        if self.inside_class and token.text == "}":
            self.inside_class = False
        elif self.inside_class and token.kind == "word" and self.scan.accept("="):
            self.scan.until(";", "after the attribute")
        else:
            raise self.scan.unexpected(token, "'net', 'node' or 'potential'")

    def _refuse(self, token: Token) -> None:
        self.scan.accept("node")
        name = self.scan.take()
        if name.text == "node":
            name = self.scan.take()
        raise self.source.fail(
            f"{name.text!r} is a {token.text} node; only discrete chance nodes ('node' or 'discrete node') can be read",
            token.at,
        )

    def _attributes(self, whose: str) -> dict[str, list[Token]]:
        """Pass ``{ name = value; … }`` and return the tokens of each value."""
        self.scan.expect("{", f"before the attributes of {whose}")
        found: dict[str, list[Token]] = {}
        while not self.scan.accept("}"):
            key = self.scan.word(f"an attribute of {whose} or '}}'")
            self.scan.expect("=", f"after the attribute {_scan.shown(key.text)}")
            found[key.text] = self.scan.until(";", f"after the attribute {_scan.shown(key.text)}")
        return found

    def _value(self, attributes: dict[str, list[Token]], key: str) -> str | None:
        """Return an attribute's value as one string, if it is one."""
        tokens = attributes.get(key, [])
        return tokens[0].text if len(tokens) == 1 and tokens[0].kind != "symbol" else None

    def _node(self) -> None:
        identifier = self.scan.word("the node's name")
        attributes = self._attributes(f"the node {identifier.text!r}")
        true = self._value(attributes, _NAME)
        kept = true is not None and stands_for(identifier.text, true, RESERVED)
        name = Word(true if kept and true else identifier.text, identifier.at)
        if "states" not in attributes:
            raise self.source.fail(f"the node {name.text!r} has no 'states = (…);'; they are needed", name.at)
        if identifier.text in self.names:
            raise self.source.fail(f"the node {identifier.text!r} is declared twice; names must differ", name.at)
        self.names[identifier.text] = name.text
        self.draft.declare(
            name,
            [Word(t.text, t.at) for t in attributes["states"] if t.kind != "symbol"],
            self._cuts(attributes, name),
        )
        if _COST in attributes:
            self.costs[name.text] = _scan.cost(
                self._value(attributes, _COST) or "", lambda message: self.source.fail(message, name.at)
            )

    def _cuts(self, attributes: dict[str, list[Token]], name: Word) -> tuple[float, ...] | None:
        text = self._value(attributes, _CUTS)
        return None if text is None else _scan.cuts(text, lambda message: self.source.fail(message, name.at))

    def _potential(self) -> None:
        opening = self.scan.expect("(", "before the node")
        head = self.scan.until(")", "after the parents")
        self.scan.expect("{", "before the table")
        data: _Data | None = None
        while not self.scan.accept("}"):
            key = self.scan.word("'data' or '}'")
            self.scan.expect("=", f"after {_scan.shown(key.text)}")
            if key.text != "data":
                self.scan.until(";", f"after the attribute {_scan.shown(key.text)}")
                continue
            if data:
                raise self.source.fail("this potential has a second 'data'; one is allowed", key.at)
            data = self._data()
        self.blocks.append((head, opening.at, data))

    def _data(self) -> _Data:
        match = _DATA.match(self.source.text, self.scan.peek().at)
        assert match is not None, "the pattern matches the empty text"
        self.scan.at = match.end()
        if not self.scan.accept(";") and not self.scan.is_next(("}",)):
            raise self.scan.unexpected(self.scan.peek(), "a number, ')' or ';'")
        if match[0].count("(") != match[0].count(")"):
            raise self.source.fail("the parentheses of this table do not match", match.start())
        return _Data(match[0].replace(",", " "), match.start())

    def _block(self, head: Sequence[Token], at: int, data: _Data | None) -> Block:
        bars = [position for position, token in enumerate(head) if token.kind == "symbol" and token.text == "|"]
        symbols = [token for token in head if token.kind == "symbol" and token.text not in ",|"]
        if len(bars) > 1 or symbols:
            raise self.scan.unexpected(symbols[0] if symbols else head[bars[1]], "a node's name or ')'")
        bar = bars[0] if bars else len(head)
        children = [token for token in head[:bar] if token.kind != "symbol"]
        if len(children) != 1:
            raise self.source.fail(f"this potential has {len(children)} nodes before '|'; exactly one is supported", at)
        if data is None:
            raise self.source.fail(f"the potential of {children[0].text!r} has no 'data = (…);'; it is needed", at)
        child, *parents = [self._true(token) for token in (*children, *head[bar:]) if token.kind != "symbol"]
        return Block(child, parents, lambda variable, given: self._fill(data, variable, given))

    def _true(self, token: Token) -> Word:
        return Word(self.names.get(token.text, token.text), token.at)

    def _fill(self, data: _Data, variable: Variable, parents: Sequence[Variable]) -> Table:
        def locate(position: int) -> int:
            return self.source.locate(data.at, position)

        def fail(message: str, position: int) -> FormatError:
            return self.source.fail(message, locate(position))

        self._check_groups(data, variable)
        values = _scan.floats(data.text.replace("(", " ").replace(")", " "), fail)
        return flat_table(self.source, values, variable, parents, locate)

    def _check_groups(self, data: _Data, variable: Variable) -> None:
        """Check that each innermost pair of parentheses holds one row, unless there is only one pair."""
        groups = [group for group in _GROUP.finditer(data.text) if not group[0].isspace()]
        for group in groups if len(groups) > 1 else ():
            count = len(group[0].split())
            if count != len(variable):
                raise self.source.fail(
                    f"{count} entries stand in this row of {variable.name!r}; it needs {len(variable)}",
                    self.source.locate(data.at + group.start(), 0),
                )


def render(network: BayesianNetwork) -> str:
    """Return a network as NET text."""
    return "".join(_parts(network))


def _parts(network: BayesianNetwork) -> Iterator[str]:
    ids = identifiers(network.names, RESERVED)
    yield f"net\n{{\n  name = {_scan.quote(network.name)};\n}}\n"
    for variable in network.variables:
        name = variable.name
        yield f"node {ids[name]}\n{{\n"
        yield f"  states = ({' '.join(map(_scan.quote, variable.states))});\n"
        yield f"  label = {_scan.quote(name)};\n"
        if ids[name] != name:
            yield f"  {_NAME} = {_scan.quote(name)};\n"
        if name in network.costs:
            yield f'  {_COST} = "{network.costs[name]!r}";\n'
        if variable.cuts is not None:
            yield f'  {_CUTS} = "{_scan.cuts_text(variable.cuts)}";\n'
        yield "}\n"
    for variable in network.variables:
        given = "".join(f" {ids[parent]}" for parent in network.parents(variable.name))
        yield f"potential ({ids[variable.name]}{' |' if given else ''}{given})\n{{\n  data = "
        yield _nested(network, variable)
        yield ";\n}\n"


def _nested(network: BayesianNetwork, variable: Variable) -> str:
    """Return a table in parentheses, one pair around every axis."""
    table = network.table(variable.name)
    items = [f"({' '.join(map(repr, row))})" for row in table.reshape(-1, len(variable)).tolist()]
    for size in reversed(table.shape[:-1]):
        items = [f"({' '.join(items[start : start + size])})" for start in range(0, len(items), size)]
    return items[0].replace(") (", ")\n    (")
