"""Files as other programs and people write them are read as they are meant."""

from __future__ import annotations

import gzip
import io
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bayestrim.errors import FormatError, RowSumWarning
from bayestrim.formats import FORMATS, read_network
from bayestrim.network import BayesianNetwork

CASES = Path(__file__).parent / "formats_cases"

BIF = """network quiz {
}
variable Mastery {
  type discrete [ 2 ] { yes, no };
}
variable Q {
  type discrete [ 3 ] { right, wrong, none };
}
probability ( Mastery ) {
  table 0.1, 0.9;
}
probability ( Q | Mastery ) {
  (yes) 0.7, 0.2, 0.1;
  (no) 0.3, 0.3, 0.4;
}
"""
TABLE = [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]


def read(text: str, format: str | None = None) -> BayesianNetwork:
    """Read a text."""
    return read_network(io.StringIO(text), format=format)


def test_javabayes_quotes_comments_and_properties() -> None:
    """Quotes, no commas, no semicolons, a block before its variable; a flat table lists the child's states slowest."""
    network = read_network(CASES / "javabayes.bif")
    assert network.name == "Dog-Problem"
    assert network.names == ("hear-bark", "dog-out")
    assert network.states("dog-out") == ("true", "false")
    assert network.parents("hear-bark") == ("dog-out",)
    assert network.table("hear-bark").tolist() == [[0.7, 0.3], [0.01, 0.99]]


def test_genie_deterministic_nodes_costs_and_extensions() -> None:
    """Deterministic nodes become tables of 0 and 1; our cost property is a cost; pictures and submodels are ignored."""
    network = read_network(CASES / "genie.xdsl")
    assert network.name == "Garden & lawn"
    assert network.names == ("Rain", "Sprinkler", "Wet")
    assert dict(network.costs) == {"Rain": 2.5}
    assert network.table("Sprinkler").tolist() == [[0.01, 0.99], [0.4, 0.6]]
    assert network.table("Wet").argmax(axis=-1).tolist() == [[2, 1], [1, 0]]
    assert network.table("Wet").sum(axis=-1).tolist() == [[1, 1], [1, 1]]


def test_hugin_classes_comments_and_nested_tables() -> None:
    """A class around the nodes, comments with semicolons in a table, strings with semicolons, extra attributes."""
    network = read_network(CASES / "hugin.net")
    assert network.name == "Garden"
    assert network.states("Wet") == ("dry", "damp; moist", "soaked")
    assert network.table("Wet").tolist() == [[0.1, 0.2, 0.7], [0.9, 0.1, 0.0]]
    assert network.table("Rain").tolist() == [0.2, 0.8]


def test_xmlbif_with_a_document_type_and_comments_inside_tables() -> None:
    """The usual prologue is accepted, blanks around names are not part of them, the child varies fastest."""
    network = read_network(CASES / "weka.xml")
    assert network.name == "weather-weka.filters"
    assert network.names == ("humidity", "play")
    assert network.states("humidity") == (r"'\'(-inf-82.5]\''", "< 3 & more")
    assert network.table("humidity").tolist() == [[0.65, 0.35], [0.2, 0.8]]


def test_uai_functions_in_any_order() -> None:
    """A function belongs to the last variable of its scope; the last variable varies fastest."""
    network = read_network(CASES / "unordered.uai")
    assert network.names == ("var_0", "var_1", "var_2")
    assert network.states("var_2") == ("0", "1", "2")
    assert network.parents("var_2") == ("var_1", "var_0")
    assert network.table("var_1")[1].tolist() == [0.128, 0.872]
    assert network.table("var_2")[1, 0].tolist() == [0.1, 0.2, 0.7]


def test_every_case_file_is_read_by_content_alone() -> None:
    """The suffix is not needed for any of the sample files."""
    files = [path for path in CASES.iterdir() if path.suffix not in (".py", "")]
    assert len(files) == len(FORMATS)
    for path in files:
        assert read_network(io.BytesIO(path.read_bytes())) == read_network(path)


def test_content_wins_over_a_misleading_suffix(tmp_path: Path) -> None:
    """A BIF file called .xdsl is still a BIF file."""
    (tmp_path / "quiz.xdsl").write_text(BIF)
    assert read_network(tmp_path / "quiz.xdsl").table("Q").tolist() == TABLE


def test_an_explicit_format_wins_over_everything(tmp_path: Path) -> None:
    """A file is read as what the caller says it is, and refused as that."""
    (tmp_path / "quiz.bif").write_text(BIF)
    with pytest.raises(ValueError, match="not well-formed XML"):
        read_network(tmp_path / "quiz.bif", format="xmlbif")


ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "a byte-order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "big-endian UTF-16": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "UTF-32": lambda text: text.encode("utf-32"),
    "Latin-1": lambda text: text.encode("latin-1"),
    "Windows line ends": lambda text: text.replace("\n", "\r\n").encode(),
    "old Mac line ends": lambda text: text.replace("\n", "\r").encode(),
    "gzip": lambda text: gzip.compress(text.encode()),
    "gzip in two members": lambda text: gzip.compress(text[:99].encode()) + gzip.compress(text[99:].encode()),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings_and_line_ends(encoding: str, tmp_path: Path) -> None:
    """Whatever the encoding, the names and numbers are the same, and packing needs no suffix."""
    (tmp_path / "quiz.bif").write_bytes(ENCODINGS[encoding](BIF.replace("Mastery", "Größe")))
    network = read_network(tmp_path / "quiz.bif")
    assert network.names == ("Größe", "Q")
    assert network.table("Q").tolist() == TABLE


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_comments_end_and_lines_are_counted_at_every_kind_of_line_end(end: str) -> None:
    """A comment does not swallow the next line, and a fault is on the line an editor shows."""
    text = BIF.replace("{\n}", "{ // the { end\n}").replace("(no) 0.3", "(none) 0.3")
    with pytest.raises(FormatError) as caught:
        read_network(io.BytesIO(text.replace("\n", end).encode()))
    assert (caught.value.line, caught.value.column) == (14, 4)
    assert "'Mastery' has no state 'none'" in str(caught.value)


@pytest.mark.parametrize(
    ("written", "name"), [("unknown", ""), ('"unknown"', "unknown"), ("my quiz", "my quiz"), ("", ""), ('""', "")]
)
def test_the_name_of_a_bif_network(written: str, name: str) -> None:
    """A bare ``unknown`` is what programs write when there is no name; in quotes it is one."""
    assert read(BIF.replace("network quiz", f"network {written}")).name == name


@pytest.mark.parametrize("declared", ["ISO-8859-1", "windows-1252", "iso-8859-15", "nonsense", "zlib", "utf-8"])
def test_an_xml_file_in_the_encoding_it_declares_or_else_in_latin_1(declared: str) -> None:
    """Bytes that are not UTF-8 are read by the declaration if it names a plain encoding."""
    text = (
        f'<?xml version="1.0" encoding="{declared}"?><BIF><NETWORK><NAME/><VARIABLE><NAME>é</NAME><OUTCOME>a</OUTCOME>'
    )
    text += "</VARIABLE><DEFINITION><FOR>é</FOR><TABLE>1</TABLE></DEFINITION></NETWORK></BIF>"
    assert read_network(io.BytesIO(text.encode("latin-1"))).names == ("é",)


def test_xml_declared_as_another_encoding_than_it_has_is_read_as_what_it_is() -> None:
    """A UTF-16 file that still says UTF-8, and blanks before the declaration, are common slips."""
    text = (CASES / "weka.xml").read_text()
    assert read_network(io.BytesIO(("\n " + text).encode("utf-16"))).names == ("humidity", "play")


VARIANTS: dict[str, Callable[[str], str]] = {
    "comments": lambda t: "// a\n/* b { */" + t.replace("table", "table // c ;\n /* ; */"),
    "no commas": lambda t: t.replace(",", " "),
    "no semicolon after the states": lambda t: t.replace("};", "}"),
    "no semicolon after numbers": lambda t: t.replace("0.4;", "0.4").replace("0.9;", "0.9").replace("0.1;", "0.1\n"),
    "everything on one line": lambda t: t.replace("\n", " "),
    "no blanks": lambda t: t.replace("  ", "").replace(" ( ", "(").replace(" )", ")").replace(" | ", "|"),
    "rows in another order": lambda t: t.replace(
        "(yes) 0.7, 0.2, 0.1;\n  (no) 0.3, 0.3, 0.4;", "(no) .3 .3 .4;(yes) 7e-1 2E-1 +0.1;"
    ),
    "a default row": lambda t: t.replace("(no) 0.3", "default 0.3"),
    "a default row first": lambda t: t.replace("(yes)", "default 0.3 0.3 0.4; (yes)").replace(
        "(no) 0.3, 0.3, 0.4;", ""
    ),
    "a flat table, child slowest": lambda t: t.replace(
        "(yes) 0.7, 0.2, 0.1;", "table 0.7 0.3, 0.2 0.3, 0.1 0.4;"
    ).replace("(no) 0.3, 0.3, 0.4;", ""),
    "quoted names": lambda t: t.replace("yes", '"yes"').replace("Mastery", '"Mastery"').replace("right", '"right"'),
    "no bar": lambda t: t.replace("Q | Mastery", "Q Mastery"),
    "a comma for a bar": lambda t: t.replace("Q | Mastery", "Q, Mastery"),
    "tables before variables": lambda t: t[t.index("prob") :] + t[: t.index("prob")],
    "properties": lambda t: (
        t.replace("quiz {", "quiz { property author = J. Doe } {; property x;")
        .replace("};\n", "};\n property position = (1, 2) ;\n property link http://x.org/a;\n", 1)
        .replace("(yes)", "property p ;(yes)")
    ),
    "a network without a name": lambda t: t.replace("network quiz {\n}\n", ""),
    "trailing commas": lambda t: t.replace("no }", "no, }").replace("0.4;", "0.4,;"),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_bif_variants_mean_the_same(variant: str) -> None:
    """Separators, order, comments, properties and ways of giving rows do not matter."""
    text = VARIANTS[variant](BIF)
    assert text != BIF
    assert read(text, format="bif") == read(BIF)


def test_bif_names_with_blanks_and_without_quotes() -> None:
    """Some writers leave the quotes out; the commas and the declared count tell what belongs together."""
    text = BIF.replace("Mastery", "has mastery").replace("yes", "well yes").replace("none", "7.5 - 8")
    network = read(text)
    assert network.names == ("has mastery", "Q")
    assert network.states("has mastery") == ("well yes", "no")
    assert network.states("Q") == ("right", "wrong", "7.5 - 8")
    assert network.table("Q").tolist() == TABLE


def test_bif_flat_table_of_two_parents() -> None:
    """In a flat table the child varies slowest and the last parent fastest."""
    text = """variable C { type discrete [ 2 ] { c0, c1 }; } variable A { type discrete [ 2 ] { a0, a1 }; }
    variable B { type discrete [ 3 ] { b0, b1, b2 }; } probability ( A ) { table 0.5 0.5; }
    probability ( B ) { table 0.2 0.2 0.6; }
    probability ( C | A, B ) { table 0.1 0.2 0.3 0.4 0.5 0.6 0.9 0.8 0.7 0.6 0.5 0.4; }"""
    assert read(text).table("C")[:, :, 0].tolist() == [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]


def test_net_flat_table_and_both_comment_styles() -> None:
    """Parentheses around rows may be left out, and states may have no quotes."""
    text = """net{} node A{states=(a b);} // one
    node B{states=(c, d, e);} /* two */ potential(A){data=(0.5 0.5);} % three
    potential(B|A){data=0.1 0.2 0.7 0.2 0.3 0.5;}"""
    assert read(text).table("B").tolist() == [[0.1, 0.2, 0.7], [0.2, 0.3, 0.5]]


def test_decimals_are_kept_bit_for_bit_when_rows_are_rounded() -> None:
    """Thirds written as 0.333333 stay 0.333333, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        network = read(BIF.replace("0.3, 0.3, 0.4", "0.333333, 0.333333, 0.3333335"))
    assert network.table("Q")[1].tolist() == [0.333333, 0.333333, 0.3333335]


def test_one_warning_names_the_worst_row_of_all() -> None:
    """Rows off by at most one percent are divided by their sum, with one warning per file."""
    text = BIF.replace("0.7, 0.2", "0.7, 0.202").replace("0.3, 0.3, 0.4", "0.3, 0.3, 0.391").replace("0.9;", "0.901;")
    with pytest.warns(RowSumWarning) as caught:
        network = read_network(io.BytesIO(text.encode()), format="bif")
    assert len(caught) == 1
    assert "2 tables" in str(caught[0].message)
    assert "'Q' given Mastery=no, off by 0.009" in str(caught[0].message)
    assert network.table("Q").sum(axis=-1) == pytest.approx(1, abs=1e-15)
    assert network.table("Q")[1].tolist() == (np.array([0.3, 0.3, 0.391]) / np.sum([0.3, 0.3, 0.391])).tolist()


def test_the_row_sum_warning_names_the_file(tmp_path: Path) -> None:
    """The reader knows which of many files it was."""
    (tmp_path / "off.bif").write_text(BIF.replace("0.9;", "0.901;"))
    with pytest.warns(RowSumWarning, match=r"off\.bif: 1 table has rows"):
        read_network(tmp_path / "off.bif")
