"""Tables of observations by columns: CSV and Parquet files, frames, mappings; each distinct value is kept once."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from bayestrim.errors import EvidenceError, FormatError, UnknownNameError, suggestion
from bayestrim.files import PathOrFile, file_error, origin_of
from bayestrim.network import Variable
from bayestrim.rows import MISSING, IntArray, UnknownStates, as_number, encode_column, is_missing

MARKERS = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "null", "NULL"})
"""Cells that mean "not observed"."""
DELIMITERS = ",;\t|"
"""What may stand between cells; the first line tells which."""
CHUNK = 20_000
"""Rows that are taken apart at once."""

_DECLARED = re.compile(r"sep=(.)\s*\Z")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)?")
_QUOTED = re.compile(r'"[^"]*"?')
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_GZIP, _ZIP, _PARQUET = b"\x1f\x8b", b"PK\x03\x04", b"PAR1"


@dataclass(frozen=True)
class Column:
    """A column: its distinct values, and for each row the number of its value.

    Attributes
    ----------
    values
        The distinct values, in the order in which they first appear; none of them means "not observed".
    codes
        For each row the place of its value, or -1 where nothing was observed.
    """

    values: tuple[Any, ...]
    codes: IntArray


@dataclass(frozen=True)
class Table:
    """A table of observations.

    Attributes
    ----------
    columns
        The columns by name, in order.
    rows
        The number of rows.
    origin
        The file, or an empty string.
    lines
        For each row the line of the file on which it ends, None where there is no such thing.
    unnamed
        How many columns were passed over because they have no name.
    """

    columns: Mapping[str, Column]
    rows: int
    origin: str = ""
    lines: npt.NDArray[np.int64] | None = field(default=None, compare=False)
    unnamed: int = 0

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.rows

    def column(self, name: str) -> Column:
        """Return a column, or name the nearest one."""
        if name not in self.columns:
            where = f"{self.origin}: " if self.origin else ""
            raise UnknownNameError(f"{where}the table has no column {name!r}{suggestion(name, self.columns)}")
        return self.columns[name]

    def place(self, row: int) -> str:
        """Return where a row stands, for messages."""
        if self.lines is None:
            return f"row {row}"
        return f"{self.origin or '<input>'}:{self.lines[row]}"

    def encode(self, features: Sequence[Variable], unknown: UnknownStates = "error") -> IntArray:
        """Return the table as state numbers [rows, features]; a feature without a column was not observed."""
        codes = np.full((self.rows, len(features)), MISSING, dtype=np.int64)
        for place, feature in enumerate(features):
            if feature.name in self.columns:
                codes[:, place] = self._encode(self.columns[feature.name], feature, unknown)
        return codes

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """Return a column as numbers, NaN where nothing was observed; all NaN where there is no such column."""
        if name not in self.columns:
            return np.full(self.rows, np.nan)
        column = self.columns[name]
        values = np.full(len(column.values) + 1, np.nan)  # the code -1 points to the last
        for place, value in enumerate(column.values):
            number = as_number(value)
            if number is None:
                where = self.place(int(np.argmax(column.codes == place)))
                raise EvidenceError(f"{where}: {name!r} is {value!r}; a number is needed")
            values[place] = number
        return values[column.codes]

    def _encode(self, column: Column, feature: Variable, unknown: UnknownStates) -> IntArray:
        states = np.empty(len(column.values) + 1, dtype=np.int64)
        states[-1] = MISSING  # where the code -1 points to
        for place, value in enumerate(column.values):
            try:
                states[place] = encode_column([value], feature, unknown)[0]
            except EvidenceError as error:
                row = int(np.argmax(column.codes == place))
                raise EvidenceError(f"{self.place(row)}: {error}") from None
        return states[column.codes]


def as_table(data: Any, *, missing: Collection[str] = MARKERS) -> Table:
    """Return whatever holds a table as one: a path, an open file, a frame, a mapping of columns, a list of mappings.

    Parameters
    ----------
    data
        A CSV or Parquet file's path, or that file open for reading; a pandas, polars or pyarrow table; a mapping from
        names to columns; or a list of mappings from names to values.
    missing
        Texts that mean "not observed" in a CSV file. None, NaN, NA and NaT do everywhere.
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, str | PathLike) or hasattr(data, "read"):
        return read_table(data, missing=missing)
    if hasattr(type(data), "collect"):
        raise EvidenceError(f"a table of type {type(data).__name__} is not there yet; give what collect() returns")
    if hasattr(data, "column_names") and hasattr(data, "column"):  # pyarrow
        return _of_columns(data.column_names, map(_arrow, data.columns))
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        names = list(data.columns)
        return _of_columns(names, (data[name].to_numpy() for name in names))
    if isinstance(data, Mapping):
        return _of_columns(list(data), data.values())
    if isinstance(data, Sequence) and data and all(isinstance(row, Mapping) for row in data):
        names = list(dict.fromkeys(name for row in data for name in row))
        return _of_columns(names, ([row.get(name) for row in data] for name in names))
    raise EvidenceError(
        f"a table of type {type(data).__name__} is not understood; give a CSV or Parquet file, a pandas, polars or "
        "pyarrow table, a mapping from names to columns, or a list of mappings"
    )


def _of_columns(names: Sequence[Any], columns: Iterable[Any], origin: str = "") -> Table:
    words = [str(name) for name in names]
    for word in words:
        if words.count(word) > 1:
            raise EvidenceError(f"the table has the column {word!r} twice; each may occur once")
    found = {word: _column(values) for word, values in zip(words, columns, strict=True)}
    sizes = {word: len(column.codes) for word, column in found.items()}
    if len(set(sizes.values())) > 1:
        raise EvidenceError(f"the columns differ in length: {', '.join(f'{w!r} has {n}' for w, n in sizes.items())}")
    return Table(found, next(iter(sizes.values()), 0), origin)


def _column(values: Any) -> Column:
    """Return a column of any values, by distinct ones."""
    given = values.to_numpy() if hasattr(values, "to_numpy") else values
    if isinstance(given, np.ndarray) and given.dtype.kind in "iufb":
        distinct, codes = np.unique(given, return_inverse=True)
        return _without_missing(distinct.tolist(), codes.ravel())
    plain = given.tolist() if isinstance(given, np.ndarray) and given.dtype.kind not in "mM" else list(given)
    seen = _Seen()
    # 1, 1.0 and True are equal keys of a dictionary, but may be different states.
    codes = np.fromiter((seen[type(value), value] for value in plain), dtype=np.int64, count=len(plain))
    return _without_missing([value for _, value in seen], codes)


def _without_missing(values: Sequence[Any], codes: IntArray, markers: Collection[str] = ()) -> Column:
    """Return a column whose values are distinct when stripped, and none of which means "not observed"."""
    number: dict[tuple[type, Any], int] = {}
    new = np.empty(len(values) + 1, dtype=np.int64)
    new[-1] = MISSING
    for place, value in enumerate(values):
        kept = value.strip() if isinstance(value, str) else value
        if is_missing(kept) or kept == "" or (isinstance(kept, str) and kept in markers):
            new[place] = MISSING
        else:
            new[place] = number.setdefault((type(kept), kept), len(number))
    return Column(tuple(value for _, value in number), new[codes])


class _Seen(dict[Any, int]):
    """Numbers values in the order in which they appear."""

    def __missing__(self, value: Any) -> int:
        self[value] = number = len(self)
        return number


def read_table(
    source: PathOrFile,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing: Collection[str] = MARKERS,
) -> Table:
    """Read a table with a header from a CSV file, or from a Parquet file where pyarrow is installed.

    Parameters
    ----------
    source
        A path or an open file; gzip is unpacked, whatever the name.
    delimiter
        What stands between cells; by default the first line tells: comma, semicolon, tab or bar.
    encoding
        By default UTF-8, or UTF-16 where the file begins with its mark.
    missing
        Cells that mean "not observed".
    """
    origin = origin_of(source)
    try:
        if isinstance(source, str | PathLike):
            with open(source, "rb") as file:
                return _read_binary(file, origin, delimiter, encoding, missing)
        if isinstance(source, io.TextIOBase):
            return _read_text(source, origin, delimiter, missing)
        return _read_binary(source, origin, delimiter, encoding, missing)
    except (OSError, EOFError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise file_error("read", origin, error) from None


def _read_binary(
    binary: Any, origin: str, delimiter: str | None, encoding: str | None, missing: Collection[str]
) -> Table:
    file: Any = binary if hasattr(binary, "peek") else io.BufferedReader(binary)
    head = file.peek(4)[:4]
    if head.startswith(_GZIP):
        file = gzip.GzipFile(fileobj=file)
        head = file.peek(4)[:4]
    if head == _PARQUET:
        return _read_parquet(file, origin)
    if head == _ZIP:
        raise FormatError("this is a ZIP archive or a workbook; save the table as CSV", origin)
    marked = next((codec for mark, codec in _MARKS if head.startswith(mark)), "utf-8")
    try:
        text = io.TextIOWrapper(file, encoding or marked, newline="")
    except LookupError:
        raise FormatError(f"there is no encoding {encoding!r}; known are utf-8, latin-1, cp1252, …", origin) from None
    try:
        return _read_text(text, origin, delimiter, missing)
    finally:
        text.detach()


def _read_parquet(file: Any, origin: str) -> Table:
    try:
        from pyarrow import parquet  # noqa: PLC0415  (an extra, and slow to import)
    except ImportError:
        raise FormatError("Parquet files need pyarrow: pip install pyarrow", origin) from None
    try:
        frame = parquet.read_table(io.BytesIO(file.read()))
    except Exception as error:  # pyarrow's errors have no common base but this
        raise FormatError(f"this Parquet file cannot be read: {error}", origin) from None
    columns = (_arrow(column) for column in frame.columns)
    return _of_columns(frame.column_names, columns, origin)


def _arrow(column: Any) -> Any:
    """Return a pyarrow column: numbers as an array at once, the rest one by one."""
    plain = str(column.type).startswith(("int", "uint", "float", "double")) and not column.null_count
    return column.to_numpy() if plain else column.to_pylist()


def _read_text(text: Any, origin: str, delimiter: str | None, missing: Collection[str]) -> Table:
    line = 1
    try:
        first = text.readline()
        while first and not first.strip():
            first = text.readline()
            line += 1
        declared = _DECLARED.match(first)
        if declared:
            first = text.readline()
            line += 1
        chosen = delimiter or (declared[1] if declared else sniffed(first))
        reader = csv.reader(chain([first], _without_zeros(text, origin)), delimiter=chosen, strict=True)
        return _read_rows(reader, origin, line - 1, chosen, missing)
    except UnicodeError:
        raise FormatError("this is not UTF-8 text; save it as UTF-8, or name its encoding", origin) from None


def _without_zeros(lines: Iterable[str], origin: str) -> Iterator[str]:
    for line in lines:
        if "\0" in line:
            raise FormatError("this is not a text file; it holds zero bytes", origin)
        yield line


def sniffed(header: str) -> str:
    """Return what separates the cells of a header: what it holds most of, outside of quotes.

    Examples
    --------
    >>> sniffed('age;"weight, kg";sex')
    ';'
    """
    bare = _QUOTED.sub("", header)
    return max(DELIMITERS, key=bare.count)


def _read_rows(reader: Any, origin: str, before: int, delimiter: str, missing: Collection[str]) -> Table:
    """Read header and rows.

    Parameters
    ----------
    before
        How many lines of the file the reader was not given.
    """
    lines = array("q")
    seen: list[_Seen] = []
    codes: list[array[int]] = []
    rows: list[list[str]] = []

    def flush() -> None:
        for column, numbers, cells in zip(seen, codes, zip(*rows, strict=True), strict=True):
            numbers.extend(map(column.__getitem__, cells))
        rows.clear()

    try:
        header = [name.strip() for name in next(reader, [])]
        if not any(header):
            raise FormatError("the table is empty; its first line names the columns", origin)
        _check_header(header, origin, before + reader.line_num)
        width = len(header)
        seen, codes = [_Seen() for _ in header], [array("i") for _ in header]
        for row in reader:
            if len(row) != width:
                if not row:
                    continue
                raise FormatError(
                    f"{len(row)} cells stand here; the header names {width} columns", origin, before + reader.line_num
                )
            rows.append(row)
            lines.append(before + reader.line_num)
            if len(rows) == CHUNK:
                flush()
        if rows:
            flush()
    except csv.Error as error:
        raise FormatError(f"this line cannot be taken apart: {error}", origin, before + reader.line_num) from None
    columns = {
        name: _without_missing(_decimal(list(column), delimiter), np.array(numbers, dtype=np.int64), missing)
        for name, column, numbers in zip(header, seen, codes, strict=True)
        if name
    }
    return Table(columns, len(lines), origin, np.array(lines, dtype=np.int64), header.count(""))


def _check_header(header: Sequence[str], origin: str, line: int) -> None:
    first: dict[str, int] = {}
    for place, name in enumerate(header, start=1):
        if name and name in first:
            raise FormatError(
                f"the column {name!r} is there twice, as number {first[name]} and {place}; names must differ",
                origin,
                line,
            )
        first[name] = place


def _decimal(cells: Sequence[str], delimiter: str) -> Sequence[str]:
    """Return cells with points for decimal commas, where all of a column are numbers and some have such commas."""
    if delimiter == ",":
        return cells
    numbers = [cell.strip() for cell in cells if cell.strip() not in MARKERS]
    if not any(map(_DECIMAL_COMMA.fullmatch, numbers)) or not all(map(_PLAIN_NUMBER.fullmatch, numbers)):
        return cells
    return [cell.replace(",", ".") for cell in cells]
