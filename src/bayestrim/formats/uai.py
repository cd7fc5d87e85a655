"""UAI: numbers only; names travel in comments after the last table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple

from bayestrim.errors import FormatError
from bayestrim.formats import _scan
from bayestrim.formats._assemble import Block, Draft, flat_table
from bayestrim.formats._scan import Source, Word
from bayestrim.network import BayesianNetwork, Variable

_COMMENT = re.compile(r"#[^\n]*")
_STORED = re.compile(r"^# bayestrim (network|variable) ([^\n]*)$", re.MULTILINE)
_WORD = re.compile(r"\S+")
_COUNT = re.compile(r"[0-9]{1,18}")
_HEAD = 2


class _Stored(NamedTuple):
    """What we kept about a variable: its name, its states and perhaps its cost and its cuts."""

    name: str
    states: list[str]
    cost: float | None = None
    cuts: tuple[float, ...] | None = None


class _Words:
    """A cursor over the words of a text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.words = source.text.split()
        self.position = 0

    def offset(self, position: int) -> int:
        for number, match in enumerate(_WORD.finditer(self.source.text)):
            if number == position:
                return match.start()
        return len(self.source.text)

    def fail(self, message: str, position: int) -> FormatError:
        return self.source.fail(message, self.offset(position))

    def take(self, what: str) -> str:
        if self.position >= len(self.words):
            raise self.fail(f"the file ends where {what} should follow", self.position)
        self.position += 1
        return self.words[self.position - 1]

    def count(self, what: str) -> int:
        word = self.take(what)
        if not _COUNT.fullmatch(word):
            raise self.fail(
                f"{_scan.shown(word)} stands where {what} should: a whole number of at most 18 digits",
                self.position - 1,
            )
        return int(word)

    def below(self, limit: int, what: str) -> int:
        number = self.count(what)
        if number >= limit:
            raise self.fail(f"{number} is no variable; variables are numbered 0 to {limit - 1}", self.position - 1)
        return number

    def room(self, needed: int, what: str) -> None:
        """Refuse a count that the rest of the file cannot hold, before anything of that size is made."""
        left = len(self.words) - self.position
        if needed > left:
            raise self.fail(f"{needed} {what} are declared, but only {left} words follow", self.position - 1)


def parse(text: str, origin: str) -> BayesianNetwork:
    """Return the network of a UAI text."""
    source = Source(_COMMENT.sub(lambda match: " " * len(match[0]), text), origin)
    words = _Words(source)
    kind = words.take("'BAYES'")
    if kind.upper() == "MARKOV":
        raise words.fail("this is a Markov network; only Bayesian networks ('BAYES') are supported", 0)
    if kind.upper() != "BAYES":
        raise words.fail(f"found {_scan.shown(kind)} where 'BAYES' should stand", 0)
    network_name, stored = _stored(text)
    sizes = _sizes(words)
    scopes = _scopes(words, len(sizes))
    places = _places(words.source, words.position)
    variables = [_named(number, size, stored) for number, size in enumerate(sizes)]
    draft = Draft(source)
    for at, variable in zip(places[_HEAD:], variables, strict=False):
        draft.declare(Word(variable.name, at), [Word(state, at) for state in variable.states], variable.cuts)
    for scope in scopes:
        *parents, child = [Word(variables[number].name, places[position]) for position, number in scope]
        draft.add(_block(words, child, parents))
    if words.position < len(words.words):
        raise words.fail("more text follows the last table; a UAI model ends there", words.position)
    return draft.network(network_name, {v.name: v.cost for v in variables if v.cost is not None})


def _sizes(words: _Words) -> list[int]:
    """Return the number of states of each variable."""
    number = words.count("the number of variables")
    words.room(number, "variables")
    sizes = []
    for _ in range(number):
        sizes.append(words.count("a number of states"))
        # Every variable has a table with at least one entry for each of its states.
        words.room(sizes[-1], "states")
        if not sizes[-1]:
            raise words.fail("a variable has 0 states; at least one is needed", words.position - 1)
    if sum(sizes) > len(words.words):
        raise words.fail(f"{sum(sizes)} states are declared, but the file has only {len(words.words)} words", 1)
    return sizes


def _places(source: Source, count: int) -> list[int]:
    """Return the offsets of the first words."""
    return [match.start() for match in islice(_WORD.finditer(source.text), count)]


def _named(index: int, size: int, stored: dict[int, _Stored]) -> _Stored:
    kept = stored.get(index)
    if kept and len(kept.states) == size:
        return kept
    return _Stored(default_name(index), default_states(size), kept.cost if kept else None)


def default_name(index: int) -> str:
    """Return the name of a variable that has none."""
    return f"var_{index}"


def default_states(size: int) -> list[str]:
    """Return the names of states that have none."""
    return [str(state) for state in range(size)]


def _stored(text: str) -> tuple[str, dict[int, _Stored]]:
    """Return the network's and the variables' names from our comments; a comment that is not ours counts as none."""
    name = ""
    found = {}
    for match in _STORED.finditer(text):
        try:
            value = json.loads(match[2])
        except (ValueError, RecursionError):
            continue
        if match[1] == "network" and isinstance(value, str):
            name = value
        elif match[1] == "variable" and _is_stored(value):
            number, variable, states, cost, cuts = (*value, None, None)[:5]
            found[number] = _Stored(variable, states, cost, None if cuts is None else tuple(cuts))
    return name, found


def _is_stored(value: object) -> bool:
    match value:
        case [int(), str(), list(states), *rest]:
            cost, cuts = (*rest, None, None)[:2]
            priced = cost is None or (isinstance(cost, float) and 0 <= cost < float("inf"))
            cut = cuts is None or (isinstance(cuts, list) and all(isinstance(end, float) for end in cuts))
            return all(isinstance(state, str) for state in states) and len(rest) <= 2 and priced and cut
    return False


def _scopes(words: _Words, variables: int) -> list[list[tuple[int, int]]]:
    """Return the variables of each function, by number, and the position of the word that names each."""
    count = words.count("the number of functions")
    words.room(count, "functions")
    scopes = []
    for _ in range(count):
        size = words.count("the size of a scope")
        if not size:
            raise words.fail("this function has no variables; each needs its child, as the last", words.position - 1)
        words.room(size, "variables in a scope")
        scopes.append([(words.position, words.below(variables, "a variable's number")) for _ in range(size)])
    return scopes


def _block(words: _Words, child: Word, parents: Sequence[Word]) -> Block:
    """Return the next function table."""
    size = words.count("a table's number of entries")
    first = words.position
    words.room(size, "entries")
    words.position += size

    def locate(position: int) -> int:
        return words.offset(first + position)

    entries = " ".join(words.words[first : first + size])
    return Block(
        child,
        parents,
        lambda variable, given: flat_table(
            words.source,
            _scan.floats(entries, lambda message, position: words.fail(message, first + position)),
            variable,
            given,
            locate,
        ),
    )


def render(network: BayesianNetwork) -> str:
    """Return a network as UAI text."""
    return "".join(_parts(network))


def _parts(network: BayesianNetwork) -> Iterator[str]:
    numbers = {name: number for number, name in enumerate(network.names)}
    variables = network.variables
    yield f"BAYES\n{len(variables)}\n{' '.join(str(len(variable)) for variable in variables)}\n{len(variables)}\n"
    for variable in variables:
        scope = [numbers[name] for name in (*network.parents(variable.name), variable.name)]
        yield f"{len(scope)} {' '.join(map(str, scope))}\n"
    for variable in variables:
        table = network.table(variable.name)
        yield f"\n{table.size}\n"
        for row in table.reshape(-1, len(variable)).tolist():
            yield f" {' '.join(map(_decimal, row))}\n"
    yield from _comments(network)


def _decimal(value: float) -> str:
    """Return the shortest decimal without an exponent, which not every reader of the format knows."""
    return format(Decimal(repr(value)), "f")


def _comments(network: BayesianNetwork) -> Iterator[str]:
    if network.name:
        yield f"# bayestrim network {json.dumps(network.name)}\n"
    for number, variable in enumerate(network.variables):
        kept = [number, variable.name, list(variable.states), *_extras(network, variable)]
        if kept != [number, default_name(number), default_states(len(variable))]:
            yield f"# bayestrim variable {json.dumps(kept)}\n"


def _extras(network: BayesianNetwork, variable: Variable) -> list[Any]:
    """Return the cost and the cuts, as far as there are any."""
    cost = network.costs.get(variable.name)
    if variable.cuts is not None:
        return [cost, list(variable.cuts)]
    return [] if cost is None else [cost]
