"""XML as a tree of elements that know where they stand, read without trusting the file.

Entities may not be declared and nothing outside the file is looked at, so neither expansion bombs nor fetching
of other files is possible; a document type with element declarations, as XMLBIF files carry, is harmless.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import NamedTuple, NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from bayestrim.errors import FormatError
from bayestrim.formats._scan import Source, Word, floats

MAX_DEPTH = 100
"""How deep elements may nest; model files nest five deep."""
MAX_ELEMENTS = 2_000_000
"""How many elements a file may have."""

_BLANK = " \t\n\r"
_WORD = re.compile(r"\S+")
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class XmlSource(Source):
    """XML text; offsets count its bytes in UTF-8, which is what the parser counts."""

    @property
    def data(self) -> bytes:
        """The text as the parser sees it."""
        return self.text.encode("utf-8", "surrogatepass")

    def fail(self, message: str, at: int = -1) -> FormatError:
        """Return the error for what stands at an offset; a negative offset has no place."""
        if at >= 0:
            at = len(self.data[:at].decode("utf-8", "ignore"))
        return super().fail(message, at)


class Piece(NamedTuple):
    """A run of text: its parts, where it begins, and whether it was written as a character reference."""

    parts: list[str]
    at: int
    literal: bool

    @property
    def text(self) -> str:
        """The run as one string."""
        return "".join(self.parts)


@dataclass
class Element:
    """An element: its name, attributes, text in pieces, and children."""

    tag: str
    attributes: dict[str, str]
    at: int
    source: XmlSource
    pieces: list[Piece] = field(default_factory=list)
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> Iterator[Element]:
        """Yield the children of a name, in any case."""
        return (child for child in self.children if child.tag.lower() == tag)

    def one(self, tag: str) -> Element | None:
        """Return the only child of a name, or None; a second one is an error."""
        found = list(self.all(tag))
        if len(found) > 1:
            raise found[1].fail(f"this <{self.tag}> has a second <{found[1].tag}>; one is allowed")
        return found[0] if found else None

    def needed(self, tag: str) -> Element:
        """Return the only child of a name."""
        found = self.one(tag)
        if found is None:
            raise self.fail(f"this <{self.tag}> has no <{tag}>; one is needed")
        return found

    def attribute(self, name: str) -> Word:
        """Return an attribute that has to be there."""
        if name not in self.attributes:
            raise self.fail(f"this <{self.tag}> has no {name!r} attribute; one is needed")
        return Word(self.attributes[name], self.at)

    @property
    def text(self) -> str:
        """All text directly inside the element."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def word(self) -> Word:
        """The text without the blanks around it, except those written as character references."""
        kept = [number for number, piece in enumerate(self.pieces) if piece.literal or piece.text.strip(_BLANK)]
        if not kept:
            return Word("", self.at)
        pieces = self.pieces[kept[0] : kept[-1] + 1]
        text = "".join(piece.text for piece in pieces)
        at = pieces[0].at
        if not pieces[0].literal:
            at += len(text) - len(text.lstrip(_BLANK))
            text = text.lstrip(_BLANK)
        if not pieces[-1].literal:
            text = text.rstrip(_BLANK)
        return Word(text, at)

    def words(self) -> list[Word]:
        """Return the words of the text, separated by white space."""
        return list(self._each_word())

    def _each_word(self) -> Iterator[Word]:
        ends = list(accumulate(len(piece.text) for piece in self.pieces))
        for match in _WORD.finditer(self.text):
            piece = bisect_right(ends, match.start())
            begin = ends[piece - 1] if piece else 0
            yield Word(match[0], self.pieces[piece].at + match.start() - begin)

    def numbers(self) -> Sequence[float]:
        """Return the numbers of the text."""
        return floats(self.text, lambda message, position: self.fail(message, self.place(position)))

    def place(self, position: int) -> int:
        """Return where the word of a given number stands; where the element does, if there is none."""
        word = next(islice(self._each_word(), position, None), None)  # a hostile text has too many to list
        return self.at if word is None else word.at

    def fail(self, message: str, at: int = -1) -> FormatError:
        """Return an error at this element, or at an offset."""
        return self.source.fail(message, self.at if at < 0 else at)

    def fail_inside(self, message: str) -> FormatError:
        """Return an error at the text of this element."""
        return self.fail(message, self.word.at)


def tree(text: str, origin: str) -> Element:
    """Return the root element of an XML text."""
    return _Builder(XmlSource(text, origin)).build()


class _Builder:
    def __init__(self, source: XmlSource) -> None:
        self._source = source
        self._open: list[Element] = []
        self._root: Element | None = None
        self._count = 0
        self._text_end = -1
        # Blanks before the XML declaration are a common slip and not worth a refusal.
        self._skipped = len(source.text) - len(source.text.lstrip(_BLANK))
        self._data = source.data
        self._parser = expat.ParserCreate("utf-8")
        self._parser.ordered_attributes = False
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._entity
        self._parser.SkippedEntityHandler = self._skipped_entity

    def build(self) -> Element:
        try:
            self._parser.Parse(self._data[self._skipped :], True)
        except expat.ExpatError as error:
            at = self._parser.ErrorByteIndex + self._skipped
            what = expat.ErrorString(error.code) or "error"
            raise self._source.fail(f"this is not well-formed XML: {what}", max(at, 0)) from None
        assert self._root is not None, "a well-formed document has a root"
        return self._root

    @property
    def _at(self) -> int:
        return self._parser.CurrentByteIndex + self._skipped

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self._at, self._source)
        if len(self._open) >= MAX_DEPTH:
            raise element.fail(f"the elements nest more than {MAX_DEPTH} deep; model files do not")
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        self._open.append(element)
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise element.fail(f"the file has more than {MAX_ELEMENTS:,} elements; model files do not")

    def _end(self, _tag: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        at = self._at
        pieces = self._open[-1].pieces
        # A character reference comes as a part of its own, and so does every line end.
        literal = self._data[at : at + 1] == b"&"
        if at == self._text_end and pieces and not literal and not pieces[-1].literal:
            pieces[-1].parts.append(text)
        else:
            pieces.append(Piece([text], at, literal))
        self._text_end = -1 if literal else at + (len(text) if text.isascii() else len(text.encode()))

    def _entity(self, name: str, *_: object) -> NoReturn:
        raise self._source.fail(f"the entity {name!r} is declared here; model files may not declare entities", self._at)

    def _skipped_entity(self, name: str, _is_parameter: bool) -> NoReturn:
        raise self._source.fail(f"the entity {name!r} is not known; write the character itself", self._at)


def content(name: str) -> str:
    """Return a name as the text of an element: outer blanks as references, which `Element.word` keeps."""
    core = name.strip(_BLANK)
    start = name.index(core)
    return "&#32;" * start + escape(writable(core)) + "&#32;" * (len(name) - start - len(core))


def attribute(name: str) -> str:
    """Return a name as an attribute's value, with its quotes."""
    return quoteattr(writable(name))


def writable(name: str) -> str:
    """Return a name, or refuse it if no XML file can hold it."""
    if _UNWRITABLE.search(name):
        raise FormatError(f"XML cannot hold the characters of {name!r}; write another format, such as BIF")
    return name
