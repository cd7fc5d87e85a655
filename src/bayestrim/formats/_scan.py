"""Text with positions: where a character stands, comments blanked in place, words, numbers and tokens.

Every pattern here is linear in the text: an opening quote or comment that never closes is matched to its end, so
that it cannot be tried again from each of its characters.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from bayestrim.errors import FormatError, suggestion

PROPERTY = "bayestrim_"
"""Prefix of the properties in which we keep what a format has no place for."""

_NUMERIC = re.compile(r"[\s0-9eE.+\-]*")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_ENTRY = re.compile(r"[^\s,()]+")
_ESCAPED = re.compile(r'\\(["\\])')
_STRING = r'"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"?'
_SHOWN = 40
_SUGGESTED = 2000
_BLANK = re.compile(r"\s")
_PIECE = 2**16
MAX_LIST = 1_000_000
"""How many names may stand in one list."""


class Word(NamedTuple):
    """A name in a file and where it stands."""

    text: str
    at: int


class Token(NamedTuple):
    """One lexical unit: a quoted string, a symbol or a bare word; at the end of the text an empty symbol."""

    text: str
    at: int
    kind: str


LONGEST_MESSAGE = 600
"""The longest message of an error; a hostile file can hold a name of any length."""


@dataclass(frozen=True)
class Source:
    """The text of a model file and the name it came under."""

    text: str
    origin: str

    def fail(self, message: str, at: int = -1) -> FormatError:
        """Return the error for what stands at an offset; a negative offset has no place."""
        if len(message) > LONGEST_MESSAGE:
            message = f"{message[:LONGEST_MESSAGE]}…"
        if at < 0:
            return FormatError(message, self.origin)
        before = self.text[:at]
        return FormatError(message, self.origin, before.count("\n") + 1, at - before.rfind("\n"))

    def locate(self, at: int, count: int) -> int:
        """Return the offset of the entry that stands ``count`` entries after the one at ``at``."""
        for passed, match in enumerate(_ENTRY.finditer(self.text, at)):
            if passed == count:
                return match.start()
        return at


def shown(text: str) -> str:
    """Return a text as it is quoted in a message: not too long."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def hint(word: str, allowed: Iterable[str]) -> str:
    """Return a suggestion, made from names short and few enough to compare in no time."""
    if len(word) > _SHOWN:
        return ""
    return suggestion(word, (name for name in islice(allowed, _SUGGESTED) if len(name) <= _SHOWN))


def floats(entries: str, fail: Callable[[str, int], FormatError]) -> Sequence[float]:
    """Return the numbers of a text, to the last bit what ``float`` makes of each.

    Parameters
    ----------
    entries
        Numbers with white space between them.
    fail
        Makes the error for the entry of a given number.
    """
    if _NUMERIC.fullmatch(entries):
        try:
            return _floats(entries)
        except ValueError:
            pass
    for position, word in enumerate(word for words in _pieces(entries) for word in words):
        if not _NUMBER.fullmatch(word):
            finite = "a finite number" if _NOT_FINITE.fullmatch(word) else "a number"
            raise fail(f"{shown(word)} is not {finite}; an entry is a decimal such as 0.25 or 1e-3", position)
    return _floats(entries)


def _floats(entries: str) -> array[float]:
    found = array("d")
    for words in _pieces(entries):
        found.extend(map(float, words))
    return found


def _pieces(text: str) -> Iterator[list[str]]:
    """Yield the words of a text, a piece at a time: as words, all of it would take twenty times its size."""
    start = 0
    while start < len(text):
        blank = _BLANK.search(text, start + _PIECE)
        stop = blank.start() if blank else len(text)
        yield text[start:stop].split()
        start = stop


def cost(text: str, fail: Callable[[str], FormatError]) -> float:
    """Return the cost written in a property."""
    if not _NUMBER.fullmatch(text) or not 0 <= float(text) < float("inf"):
        raise fail(f"the cost {shown(text)} is not a finite number of at least 0")
    return float(text)


def cuts(text: str, fail: Callable[[str], FormatError]) -> tuple[float, ...]:
    """Return the cuts written in a property, as numbers with blanks between them."""
    for word in text.split():
        if not _NUMBER.fullmatch(word):
            raise fail(f"the cut {shown(word)} is not a number")
    return tuple(map(float, text.split()))


def cuts_text(given: Sequence[float]) -> str:
    """Return cuts as `cuts` reads them."""
    return " ".join(map(repr, given))


def blanked(text: str, origin: str, comments: str) -> str:
    """Return the text with spaces in place of its comments, so that every offset stays what it was.

    Parameters
    ----------
    comments
        A pattern of the comments. It must match a comment that never ends up to the end of the text.
    """

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        if found[0] == '"':
            return found
        if found[:2] == "/*" and not (found.endswith("*/") and len(found) >= len("/**/")):
            raise Source(text, origin).fail("this comment never ends; '*/' is missing", match.start())
        return re.sub(r"[^\n]", " ", found)

    return re.sub(f"{_STRING}|{comments}", blank, text)


C_COMMENTS = r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)"


def quote(name: str) -> str:
    """Return a name in double quotes, its own quotes and backslashes escaped."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class Scanner:
    """A cursor over the tokens of a text.

    Parameters
    ----------
    source
        The text, its comments already blanked.
    symbols
        The characters that are tokens of their own.
    """

    def __init__(self, source: Source, symbols: str) -> None:
        self.source = source
        self.at = 0
        symbol = re.escape(symbols)
        self._next: tuple[int, Token, int] | None = None  # where, the token found there, and its end
        self._pattern = re.compile(rf'\s*(?:(?P<quoted>{_STRING})|(?P<symbol>[{symbol}]|\Z)|(?P<word>[^\s{symbol}"]+))')

    def peek(self) -> Token:
        """Return the next token without passing it."""
        return self._match()[0]

    def take(self) -> Token:
        """Return the next token and pass it."""
        token, self.at = self._match()
        return token

    def _match(self) -> tuple[Token, int]:
        if self._next is None or self._next[0] != self.at:
            self._next = (self.at, *self._find())
        return self._next[1:]

    def _find(self) -> tuple[Token, int]:
        match = self._pattern.match(self.source.text, self.at)
        assert match is not None, "the pattern has an alternative for every character"
        kind = match.lastgroup or ""
        text, at = match.group(kind), match.start(kind)
        if kind == "quoted":
            if len(text) == 1 or not _closed(text):
                raise self.source.fail("this quoted name does not end on its line; '\"' is missing", at)
            text = _ESCAPED.sub(r"\1", text[1:-1])
        return Token(text, at, kind), match.end()

    def is_next(self, symbols: Iterable[str]) -> bool:
        """Tell whether the next token is one of these symbols; the end of the text is the symbol ''."""
        token = self.peek()
        return token.kind == "symbol" and token.text in symbols

    def accept(self, symbol: str) -> bool:
        """Pass a symbol if it is next, and tell whether it was."""
        found = self.is_next((symbol,))
        if found:
            self.take()
        return found

    def expect(self, symbol: str, where: str) -> Token:
        """Pass a symbol that has to be next."""
        token = self.peek()
        if not self.is_next((symbol,)):
            raise self.unexpected(token, f"{symbol!r} {where}")
        return self.take()

    def word(self, what: str) -> Token:
        """Pass a bare or quoted word."""
        token = self.peek()
        if token.kind == "symbol":
            raise self.unexpected(token, what)
        return self.take()

    def unexpected(self, token: Token, expected: str) -> FormatError:
        """Return the error for a token that should have been something else."""
        if token.kind == "symbol" and not token.text:
            return self.source.fail(f"the file ends where {expected} should follow", token.at)
        return self.source.fail(f"found {shown(token.text)} where {expected} should stand", token.at)

    def until(self, closing: str, where: str) -> list[Token]:
        """Pass all tokens up to a closing symbol, and that symbol."""
        tokens = []
        while not self.is_next((closing, "")):
            tokens.append(self.take())
            if len(tokens) > MAX_LIST:
                raise self.source.fail(f"this list has more than {MAX_LIST:,} names", tokens[0].at)
        self.expect(closing, where)
        return tokens


def _closed(text: str) -> bool:
    # A last quote behind an odd number of backslashes is an escaped one.
    body = text[:-1]
    return text[-1] == '"' and (len(body) - len(body.rstrip("\\"))) % 2 == 0


def groups(tokens: Iterable[Token]) -> list[list[Token]]:
    """Split tokens at the commas; empty groups are left out."""
    found: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == "symbol" and token.text == ",":
            found.append([])
        else:
            found[-1].append(token)
    return [group for group in found if group]


def joined(group: Sequence[Token]) -> Word:
    """Return several bare words as one name: some programs write names with blanks and no quotes."""
    return Word(" ".join(token.text for token in group), group[0].at)
