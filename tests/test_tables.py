"""Tables from files and frames: everything CSV is, and what it must not be."""

from __future__ import annotations

import contextlib
import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bayestrim.errors import BayestrimError, EvidenceError, FileError, FormatError, UnknownNameError
from bayestrim.network import Variable
from bayestrim.tables import Table, as_table, read_table


def read(text: str | bytes, **options: Any) -> Table:
    """Read a table from bytes in memory."""
    return read_table(io.BytesIO(text.encode() if isinstance(text, str) else text), **options)


def content(table: Table) -> dict[str, list[Any]]:
    """Return a table's columns as lists, None where nothing was observed."""
    return {
        name: [None if code < 0 else column.values[code] for code in column.codes]
        for name, column in table.columns.items()
    }


PLAIN = {"a": ["1", "2"], "größe, cm": ["x", None]}


@pytest.mark.parametrize(
    "text",
    [
        'a,"größe, cm"\n1,x\n2,\n',
        'a;"größe, cm"\n1;x\n2;\n',
        'a\t"größe, cm"\r\n1\tx\r\n2\t?\r\n',
        '\ufeffa|"größe, cm"\n 1 | x\n2|NA',
        'sep=;\na;größe, cm\n1;x\n2;"  "\n',
        '\n\na,"größe, cm"\n\n1,x\n\n2,null\n\n',
    ],
    ids=["commas", "semicolons", "tabs", "mark-bars-blanks", "declared", "empty-lines"],
)
def test_every_dialect_is_the_same_table(text: str) -> None:
    """Delimiters are found, byte-order marks and empty lines passed, cells stripped, markers known."""
    assert content(read(text)) == PLAIN
    assert content(read(gzip.compress(text.encode()))) == PLAIN
    assert content(read(text.removeprefix("\ufeff").encode("utf-16"))) == PLAIN


def test_quotes_hold_line_ends_and_quotes(tmp_path: Path) -> None:
    """A quoted cell may hold anything, and lines are still counted right."""
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"x\n""y""",1\nz,1,2\n', encoding="utf-8")
    with pytest.raises(FormatError, match=r"t\.csv:4: 3 cells stand here; the header names 2 columns"):
        read_table(path)
    path.write_text('a,b\n"x\n""y""",1\nz,2\n', encoding="utf-8")
    table = read_table(path)
    assert content(table) == {"a": ['x\n"y"', "z"], "b": ["1", "2"]}
    assert [table.place(row) for row in range(2)] == [f"{path}:3", f"{path}:4"]


def test_decimal_commas_are_numbers_where_cells_end_with_something_else() -> None:
    """Half the world's spreadsheets write 1,5; a comma in a text stays."""
    table = read("a;b\n1,5;x,y\n-2;2,5\n?;z\n")
    assert content(table) == {"a": ["1.5", "-2", None], "b": ["x,y", "2,5", "z"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,a\n1,2,3\n", r"<input>:1: the column 'a' is there twice, as number 1 and 3"),
        ("\na,b\n1,2\n3\n", r"<input>:4: 1 cells stand here; the header names 2 columns"),
        ('a,b\n1,2\n"x,3\n', r"<input>:3: this line cannot be taken apart"),
        ('a,b\n"x"y,3\n', r"<input>:2: this line cannot be taken apart"),
        ("", "the table is empty"),
        ("\n \n", "the table is empty"),
        (b"a,b\n1,\xff\n", "not UTF-8 text"),
        (b"a,b\n1,\0\n", "zero bytes"),
        (b"PK\x03\x04rest", "ZIP archive or a workbook"),
        (b"PAR1nonsense", "this Parquet file cannot be read"),
        (b"a\n" + b"x" * 200_000, "field larger than field limit"),
    ],
    ids=["twice", "ragged", "unclosed", "after-quote", "empty", "blank", "latin", "zeros", "zip", "parquet", "huge"],
)
def test_what_is_no_table_is_refused_with_its_place(text: str | bytes, message: str) -> None:
    """Errors name file and line, and only the package's own escape."""
    with pytest.raises(FormatError, match=message):
        read(text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file, a folder and a damaged gzip file are errors of the package."""
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")
    for source in (tmp_path, io.BytesIO(gzip.compress(b"a,b\n1,2\n" * 100)[:-20])):
        with pytest.raises(FileError):
            read_table(source)
    with pytest.raises(FormatError, match="no encoding 'latin-9x'"):
        read("a\n1\n", encoding="latin-9x")


def test_the_encoding_can_be_named() -> None:
    """What is not UTF-8 is read once somebody says what it is."""
    assert content(read("a\nGröße\n".encode("latin-1"), encoding="latin-1")) == {"a": ["Größe"]}


def test_columns_without_a_name_are_passed_over() -> None:
    """Frames are often saved with their row numbers in a column that has no name."""
    table = read(",a\n0,x\n1,y\n")
    assert (list(table.columns), table.unnamed) == (["a"], 1)


def test_all_kinds_of_tables_are_the_same(tmp_path: Path) -> None:
    """Frames of three libraries, Parquet, mappings and lists hold the same columns."""
    columns = {"n": [1.5, 2.0, None, 1.5], "s": ["x", None, "y", "x"]}
    arrow = pa.table(columns)
    pq.write_table(arrow, tmp_path / "t.parquet")
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    for table in (
        columns,
        {"n": np.array([1.5, 2.0, np.nan, 1.5]), "s": pd.Series(columns["s"])},
        rows,
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        arrow,
        tmp_path / "t.parquet",
    ):
        assert content(as_table(table)) == columns


def test_what_cannot_be_a_table_is_refused() -> None:
    """Lazy frames, columns of different lengths, repeated names and other things."""
    with pytest.raises(EvidenceError, match="collect"):
        as_table(pl.LazyFrame({"a": [1]}))
    with pytest.raises(EvidenceError, match="differ in length: 'a' has 1, 'b' has 2"):
        as_table({"a": [1], "b": [1, 2]})
    with pytest.raises(EvidenceError, match="'a' twice"):
        as_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(EvidenceError, match="type int is not understood"):
        as_table(3)
    with pytest.raises(UnknownNameError, match="no column 'aeg'; did you mean 'age'"):
        as_table({"age": [1]}).column("aeg")


def test_a_table_is_encoded_by_names_and_by_numbers() -> None:
    """States are found however they are spelt, numbers by the cuts, and faults are placed."""
    features = [Variable("s", ("0", "1")), Variable("n", ("<2", ">=2"), (2.0,)), Variable("absent", ("x",))]
    table = read("n,s\n1.99,1.0\n2,0\n>=2,1\n?,\n")
    assert table.encode(features).tolist() == [[1, 0, -1], [0, 1, -1], [1, 1, -1], [-1, -1, -1]]
    wrong = read("n,s\n1,1\n1,2\n")
    with pytest.raises(EvidenceError, match=r"<input>:3: 's' has no state '2'"):
        wrong.encode(features)
    assert wrong.encode(features, "missing")[:, 0].tolist() == [1, -1]


@pytest.mark.parametrize("seed", range(30))
def test_damaged_tables_raise_only_the_packages_errors(seed: int) -> None:
    """Whatever bytes a table holds, it is read or refused, never something else."""
    random = np.random.default_rng(seed)
    whole = bytearray('a;b;"c,d"\n1;2,5;"x\n"\n?;-1;y\n'.encode("utf-8-sig") * 3)
    for _ in range(20):
        damaged = bytearray(whole)
        for _ in range(random.integers(1, 5)):
            damaged[random.integers(len(damaged))] = random.choice(list(b'";,\n\r\0\xff\x1f\x8bPK1'))
        with contextlib.suppress(BayestrimError):
            read(bytes(damaged))
