"""Bytes to text and back: compression, encodings, line ends, and files that are not text at all."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from os import PathLike
from typing import IO, Any

from bayestrim.errors import FormatError
from bayestrim.files import PathOrFile, file_error, origin_of, write_file
from bayestrim.formats._scan import Source

MAX_BYTES = 128 * 2**20
"""The largest model read, unpacked; the largest public one has 6 MB."""

_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_GZIP_WINDOW = 31
_CHUNK = 2**20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(rb"\s*<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([A-Za-z0-9_.-]{1,40})[\"']")
_PLAIN_CODEC = re.compile(r"(?:iso-?8859-\d+|windows-\d+|cp\d+|koi8-[ru]|shift_jis|euc-\w+|gb\w+|big5)")


def read(source: PathOrFile) -> tuple[str, str]:
    """Return a source's text, with line feeds at the ends of its lines, and its name."""
    origin = origin_of(source)
    content = _content(source, origin)
    if content[:4] == _ZIP:
        raise FormatError("this is a ZIP archive; unpack it first (only gzip is unpacked here)", origin)
    text = content if isinstance(content, str) else decode(unpack(content, origin), origin)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise FormatError("the file is empty", origin)
    if "\0" in text:
        raise Source(text, origin).fail("this is not a text file; it holds zero bytes", text.index("\0"))
    return text, origin


def _content(source: PathOrFile, origin: str) -> bytes | str:
    try:
        if isinstance(source, str | PathLike):
            with open(source, "rb") as file:
                content: bytes | str = file.read(MAX_BYTES + 1)
        else:
            content = source.read(MAX_BYTES + 1)
    except UnicodeError as error:
        raise FormatError(f"the text cannot be decoded: {error}", origin) from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise file_error("read", origin, error) from None
    if len(content) > MAX_BYTES:
        raise FormatError(f"the file has more than {MAX_BYTES:,} bytes, the most that is read", origin)
    return content


def unpack(content: bytes, origin: str) -> bytes:
    """Return the content of a gzip file, whatever its name; other content as it is."""
    if not content.startswith(_GZIP):
        return content
    unpacked = bytearray()
    at = 0
    while content.startswith(_GZIP, at):
        at = _unpack_member(content, at, unpacked, origin)
    return bytes(unpacked)


def _unpack_member(content: bytes, at: int, unpacked: bytearray, origin: str) -> int:
    """Add one unpacked member, and return where the member ends."""
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    # Growing pieces: what is left over after the member is then never much more than the member.
    piece = 64
    while not unpacker.eof and at < len(content):
        given = content[at : at + piece]
        try:
            unpacked += unpacker.decompress(given, MAX_BYTES + 1 - len(unpacked))
        except zlib.error as error:
            raise FormatError(f"the gzip data are damaged: {error}", origin) from None
        if len(unpacked) > MAX_BYTES:
            raise FormatError(f"the file unpacks to more than {MAX_BYTES:,} bytes, the most that is read", origin)
        at += len(given) - len(unpacker.unused_data)
        piece = min(2 * piece, _CHUNK)
    if not unpacker.eof:
        raise FormatError("the gzip data end too early; the file is truncated", origin)
    return at


def decode(content: bytes, origin: str) -> str:
    """Return bytes as text: by byte-order mark, as UTF-8, as an XML declaration says, else as Latin-1."""
    for mark, codec in _MARKS:
        if content.startswith(mark):
            try:
                return content[len(mark) :].decode(codec)
            except UnicodeError:
                raise FormatError(f"the file begins as {codec} text but is not", origin) from None
    try:
        return content.decode("utf-8")
    except UnicodeError:
        return content.decode(_declared(content), "replace")


def _declared(content: bytes) -> str:
    match = _DECLARED.match(content)
    name = match[1].decode("ascii").lower() if match else ""
    if _PLAIN_CODEC.fullmatch(name):
        try:
            return codecs.lookup(name).name
        except LookupError:
            pass
    return "latin-1"


def write(text: str, target: PathOrFile, *, packed: bool) -> None:
    """Write a text as UTF-8; a path's old content survives a write that fails."""
    content = text.encode("utf-8")
    if len(content) > MAX_BYTES:
        raise FormatError(
            f"the file would have {len(content):,} bytes; no more than {MAX_BYTES:,} are read back "
            "(UAI files are the shortest)",
            origin_of(target),
        )
    if isinstance(target, str | PathLike):
        write_file(target, gzip.compress(content, mtime=0) if packed else content)
    else:
        _write_file(text, target)


def _write_file(text: str, target: IO[Any]) -> None:
    try:
        if isinstance(target, io.TextIOBase):
            target.write(text)
            return
        try:
            target.write(text.encode("utf-8"))
        except TypeError:
            target.write(text)
    except (OSError, ValueError) as error:
        raise file_error("write", origin_of(target), error) from None
