"""BIF, the Interchange Format for Bayesian Networks: blocks of names and numbers in braces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bayestrim.errors import FormatError
from bayestrim.formats import _scan
from bayestrim.formats._assemble import Block, Draft, Table, combination, row_count, size_words
from bayestrim.formats._scan import Scanner, Source, Token, Word
from bayestrim.network import LARGEST_ROW_ERROR, BayesianNetwork, FloatArray, Variable

_SYMBOLS = "{}()[];,|"
_COST = re.compile(rf"\s*{_scan.PROPERTY}cost\s*=\s*(\S+)\s*")
_CUTS = re.compile(rf"\s*{_scan.PROPERTY}cuts\s*=\s*([^\n;]*)")
_PROPERTY = re.compile(r"([^;\n]*);?")
_NUMBERS = re.compile(r"[^(){};\"]*")
# The row as nearly every file has it; all others go through the scanner.
_ROW = re.compile(r'\s*\(([^()"]*)\)([0-9eE.+\-,\s]*);')
_BARE = re.compile(r'(?:[^\s{}()\[\];,|"/\\]|/(?![/*]))+')
_LARGEST_COUNT = 9
_UNNAMED = "unknown"


class _Row(NamedTuple):
    """A row: the parents' states as text or tokens, its number of entries, where it and they begin."""

    given: str | list[Token]
    at: int
    entries_at: int


@dataclass
class _Body:
    """What a probability block holds: a flat table, or rows and perhaps a default for the others."""

    at: int
    flat: Sequence[float] | None = None
    flat_at: int = 0
    default: Sequence[float] | None = None
    default_at: int = 0
    rows: list[_Row] = field(default_factory=list)
    entries: list[Sequence[float]] = field(default_factory=list)


def parse(text: str, origin: str) -> BayesianNetwork:
    """Return the network of a BIF text."""
    return _Reader(Source(_scan.blanked(text, origin, _scan.C_COMMENTS), origin)).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.scan = Scanner(source, _SYMBOLS)
        self.draft = Draft(source)
        self.name = ""
        self.costs: dict[str, float] = {}
        self.cuts: dict[str, tuple[float, ...]] = {}
        self.blocks: list[tuple[list[Token], _Body]] = []

    def read(self) -> BayesianNetwork:
        while not self.scan.is_next(("",)):
            keyword = self.scan.take()
            if keyword.text == "network":
                self._network()
            elif keyword.text == "variable":
                self._variable()
            elif keyword.text == "probability":
                self._probability()
            else:
                raise self.scan.unexpected(keyword, "a block (network, variable or probability)")
        for head, body in self.blocks:
            self.draft.add(self._block(head, body))
        return self.draft.network(self.name, self.costs)

    def _network(self) -> None:
        words = []
        while not self.scan.is_next(("{", "")):
            words.append(self.scan.word("the network's name"))
        unnamed = [(word.text, word.kind) for word in words] == [(_UNNAMED, "word")]
        self.name = "" if unnamed else " ".join(word.text for word in words)
        self.scan.expect("{", "before the network's properties")
        while not self.scan.accept("}"):
            self._property("'property' or '}'")

    def _variable(self) -> None:
        words = []
        while not self.scan.is_next(("{", "")):
            words.append(self.scan.word("the variable's name"))
        opening = self.scan.expect("{", "after the variable's name")
        if not words:
            raise self.scan.unexpected(opening, "the variable's name")
        name = _scan.joined(words)
        states: list[Word] = []
        while not self.scan.accept("}"):
            if self.scan.peek().text == "type":
                states = self._states(name)
            else:
                self._property("'type', 'property' or '}'", name.text)
        if not states:
            missing = "'type discrete [ n ] { … };' is missing"
            raise self.source.fail(f"variable {name.text!r} has no states; {missing}", name.at)
        self.draft.declare(name, states, self.cuts.get(name.text))

    def _states(self, name: Word) -> list[Word]:
        self.scan.take()
        kind = self.scan.word("'discrete'")
        if kind.text != "discrete":
            raise self.source.fail(f"variable {name.text!r} is {kind.text!r}; only discrete is supported", kind.at)
        self.scan.expect("[", "before the number of states")
        count = self.scan.word("the number of states")
        self.scan.expect("]", "after the number of states")
        self.scan.expect("{", "before the states")
        tokens = self.scan.until("}", "after the states")
        self.scan.accept(";")
        names = _names(tokens, count)
        if names is None:
            listed = len(_scan.groups(tokens))
            raise self.source.fail(
                f"variable {name.text!r} declares {_scan.shown(count.text)} states but lists {listed}; "
                "the two numbers must agree",
                count.at,
            )
        return names

    def _property(self, expected: str, name: str = "") -> None:
        keyword = self.scan.word(expected)
        if keyword.text != "property":
            raise self.scan.unexpected(keyword, expected)
        # Properties are free text, and some files leave the semicolon out: never past the end of a line without one.
        text = self.source.text
        line = _PROPERTY.match(text, self.scan.at)
        assert line is not None, "the pattern matches the empty text"
        cost = _COST.fullmatch(text, line.start(1), line.end(1))
        if cost and name:
            self.costs[name] = _scan.cost(cost[1], lambda message: self.source.fail(message, cost.start(1)))
        cuts = _CUTS.fullmatch(text, line.start(1), line.end(1))
        if cuts and name:
            self.cuts[name] = _scan.cuts(cuts[1], lambda message: self.source.fail(message, cuts.start(1)))
        self.scan.at = line.end()

    def _probability(self) -> None:
        self.scan.expect("(", "before the variable")
        head = self.scan.until(")", "after the parents")
        opening = self.scan.expect("{", "before the table")
        body = _Body(opening.at)
        while not self.scan.accept("}"):
            self._fast_rows(body)
            if not self.scan.is_next(("}",)):
                self._statement(body)
        self.blocks.append((head, body))

    def _fast_rows(self, body: _Body) -> None:
        text, match_row = self.source.text, _ROW.match
        while match := match_row(text, self.scan.at):
            try:
                values = list(map(float, match[2].replace(",", " ").split()))
            except ValueError:
                return
            body.rows.append(_Row(match[1], match.start(1), match.start(2)))
            body.entries.append(values)
            self.scan.at = match.end()

    def _statement(self, body: _Body) -> None:
        token = self.scan.peek()
        if self.scan.accept("("):
            given = self.scan.until(")", "after the parents' states")
            at = self.scan.at
            body.entries.append(self._numbers())
            body.rows.append(_Row(given, token.at, at))
        elif token.text == "table":
            self._once(body.flat, "table")
            body.flat_at = self.scan.at
            body.flat = self._numbers()
        elif token.text == "default":
            self._once(body.default, "default")
            body.default_at = self.scan.at
            body.default = self._numbers()
        else:
            self._property("'table', 'default', 'property', '(' or '}'")

    def _once(self, given: object, what: str) -> None:
        token = self.scan.take()
        if given is not None:
            raise self.source.fail(f"this block has a second {what!r}; one is allowed", token.at)

    def _numbers(self) -> Sequence[float]:
        match = _NUMBERS.match(self.source.text, self.scan.at)
        assert match is not None, "the pattern matches the empty text"
        start = self.scan.at

        def fail(message: str, position: int) -> FormatError:
            return self.source.fail(message, self.source.locate(start, position))

        values = _scan.floats(match[0].replace(",", " "), fail)
        self.scan.at = match.end()
        if not self.scan.accept(";") and not self.scan.is_next("}("):
            raise self.scan.unexpected(self.scan.peek(), "a number or ';'")
        return values

    def _block(self, head: Sequence[Token], body: _Body) -> Block:
        child, parents = self._head(head, body.at)
        return Block(child, parents, lambda variable, given: self._fill(body, variable, given))

    def _head(self, head: Sequence[Token], at: int) -> tuple[Word, list[Word]]:
        bars = [position for position, token in enumerate(head) if token.kind == "symbol" and token.text == "|"]
        if len(bars) > 1:
            raise self.source.fail("there are two '|'; one separates the variable from its parents", head[bars[1]].at)
        symbols = [token for token in head if token.kind == "symbol" and token.text not in ",|"]
        if symbols:
            raise self.scan.unexpected(symbols[0], "a name, ',', '|' or ')'")
        before = self._known(head[: bars[0]] if bars else head)
        after = self._known(head[bars[0] + 1 :]) if bars else []
        if not before:
            raise self.source.fail("the variable's name is missing here", at)
        if bars and len(before) > 1:
            raise self.source.fail("two variables stand before '|'; tables of one variable are supported", before[1].at)
        return before[0], before[1:] + after

    def _known(self, tokens: Sequence[Token]) -> list[Word]:
        """Return the names in a list whose commas may be missing, and whose names may hold blanks without quotes."""
        names = []
        for group in _scan.groups(tokens):
            whole = _scan.joined(group)
            names += [whole] if self.draft.knows(whole.text) else [Word(token.text, token.at) for token in group]
        return names

    def _fill(self, body: _Body, variable: Variable, parents: Sequence[Variable]) -> Table:
        if body.flat is not None:
            if body.rows or body.default is not None:
                raise self.source.fail("this block has both 'table' and rows; one of the two is allowed", body.flat_at)
            return self._flat(body.flat, body.flat_at, variable, parents)
        return self._from_rows(body, variable, parents)

    def _flat(self, values: Sequence[float], at: int, variable: Variable, parents: Sequence[Variable]) -> Table:
        states, rows = len(variable), row_count(parents)
        self._check_count(len(values), rows * states, at, variable, parents)
        # The format's counting order: the first variable of the block, which is the child, varies slowest.
        table = np.array(values, dtype=np.float64).reshape(states, rows).T
        if _is_off(table) and not _is_off(table.T.reshape(rows, states)):
            raise self.source.fail(
                f"the table of {variable.name!r} has rows that sum to 1 only if its own states vary fastest; in a flat "
                "'table' they vary slowest, so list rows '(…) …;' instead",
                self.source.locate(at, 0),
            )
        return Table(np.ascontiguousarray(table), lambda row, state: self.source.locate(at, state * rows + row))

    def _check_count(self, found: int, needed: int, at: int, variable: Variable, parents: Sequence[Variable]) -> None:
        if found != needed:
            raise self.source.fail(
                f"{found} entries stand here; {variable.name!r} needs {size_words(variable, parents)}",
                self.source.locate(at, 0),
            )

    def _from_rows(self, body: _Body, variable: Variable, parents: Sequence[Variable]) -> Table:
        states, rows = len(variable), row_count(parents)
        for row, values in zip(body.rows, body.entries, strict=True):
            self._check_count(len(values), states, row.entries_at, variable, ())
        numbers = self._row_numbers(body, parents)
        if body.default is not None:
            self._check_count(len(body.default), states, body.default_at, variable, ())
            self.draft.imply(rows * states, body.default_at)
        elif len(numbers) < rows:
            missing = combination(parents, _first_missing(numbers))
            what = f"row for {missing}" if parents else "'table'"
            raise self.source.fail(f"the block of {variable.name!r} has no {what}; every row is needed", body.at)
        table = np.empty((rows, states))
        if body.default is not None:
            table[:] = body.default
        if numbers:
            table[numbers] = body.entries
        places = dict(zip(numbers, body.rows, strict=True))

        def locate(row: int, state: int) -> int:
            start = places[row].entries_at if row in places else body.default_at
            return self.source.locate(start, state)

        return Table(table, locate)

    def _row_numbers(self, body: _Body, parents: Sequence[Variable]) -> list[int]:
        codes = [{state: code for code, state in enumerate(parent.states)} for parent in parents]
        numbers = []
        for row in body.rows:
            number = 0
            for state, code, parent in zip(self._row_states(row, parents), codes, parents, strict=True):
                if state not in code:
                    near = _scan.hint(state, parent.states)
                    raise self.source.fail(f"{parent.name!r} has no state {_scan.shown(state)}{near}", row.at)
                number = number * len(code) + code[state]
            numbers.append(number)
        if len(set(numbers)) < len(numbers):
            self._fail_repeated(body, numbers, parents)
        return numbers

    def _row_states(self, row: _Row, parents: Sequence[Variable]) -> list[str]:
        if isinstance(row.given, str):
            states = [state.strip() for state in row.given.split(",")]
            if len(states) != len(parents):
                states = row.given.replace(",", " ").split()
        else:
            parts = _scan.groups(row.given)
            states = [_scan.joined(part).text for part in parts]
            if len(parts) != len(parents):
                states = [token.text for part in parts for token in part]
        if len(states) != len(parents):
            raise self.source.fail(f"this row names {len(states)} states; there are {len(parents)} parents", row.at)
        return states

    def _fail_repeated(self, body: _Body, numbers: Sequence[int], parents: Sequence[Variable]) -> None:
        seen: set[int] = set()
        for number, row in zip(numbers, body.rows, strict=True):
            if number in seen:
                raise self.source.fail(f"the row for {combination(parents, number)} is given twice", row.at)
            seen.add(number)


def _names(tokens: Sequence[Token], count: Token) -> list[Word] | None:
    """Return the declared number of names, read with commas between them or, if that does not fit, without."""
    if not (count.text.isascii() and count.text.isdigit() and len(count.text) <= _LARGEST_COUNT):
        return None
    groups = _scan.groups(tokens)
    words = [Word(token.text, token.at) for group in groups for token in group]
    if len(groups) == int(count.text):
        return [_scan.joined(group) for group in groups]
    return words if len(words) == int(count.text) else None


def _is_off(table: FloatArray) -> bool:
    return bool((np.abs(table.sum(axis=-1) - 1) > LARGEST_ROW_ERROR).any())


def _first_missing(numbers: Sequence[int]) -> int:
    present = set(numbers)
    return next(number for number in range(len(present) + 1) if number not in present)


def render(network: BayesianNetwork) -> str:
    """Return a network as BIF text."""
    return "".join(_parts(network))


def _parts(network: BayesianNetwork) -> Iterator[str]:
    name = "" if not network.name else f"{_written(network.name, (_UNNAMED,))} "
    yield f"network {name or _UNNAMED + ' '}{{\n}}\n"
    for variable in network.variables:
        yield f"variable {_written(variable.name)} {{\n"
        yield f"  type discrete [ {len(variable)} ] {{ {', '.join(map(_written, variable.states))} }};\n"
        if variable.name in network.costs:
            yield f"  property {_scan.PROPERTY}cost = {network.costs[variable.name]!r} ;\n"
        if variable.cuts is not None:
            yield f"  property {_scan.PROPERTY}cuts = {_scan.cuts_text(variable.cuts)} ;\n"
        yield "}\n"
    for variable in network.variables:
        yield from _table(network, variable)


def _table(network: BayesianNetwork, variable: Variable) -> Iterator[str]:
    parents = network.parents(variable.name)
    rows = network.table(variable.name).reshape(-1, len(variable)).tolist()
    given = f" | {', '.join(map(_written, parents))}" if parents else ""
    yield f"probability ( {_written(variable.name)}{given} ) {{\n"
    for number, row in enumerate(rows):
        entries = ", ".join(map(repr, row))
        if parents:
            yield f"  ({_row_head(network, parents, number)}) {entries};\n"
        else:
            yield f"  table {entries};\n"
    yield "}\n"


def _row_head(network: BayesianNetwork, parents: Sequence[str], number: int) -> str:
    words = []
    for parent in reversed(parents):
        number, state = divmod(number, len(network.states(parent)))
        words.append(_written(network.states(parent)[state]))
    return ", ".join(reversed(words))


def _written(name: str, reserved: Sequence[str] = ()) -> str:
    """Return a name bare if it would be read back as it is, else in quotes."""
    return name if _BARE.fullmatch(name) and name not in reserved else _scan.quote(name)
