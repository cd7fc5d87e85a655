"""Faulty files are refused with the line, the column and a sentence that says what is wrong.

The sign § in a text marks where the fault should be found; it is taken out before reading.
"""

# ruff: noqa: E501  (tables read better with long lines)

from __future__ import annotations

import dataclasses
import io
import pickle
from pathlib import Path

import pytest

from bayestrim.errors import FormatError, TooLargeError
from bayestrim.formats import FORMATS, read_network
from bayestrim.network import BayesianNetwork

BIF = """variable A {
  type discrete [ 2 ] { yes, no };
}
variable B {
  type discrete [ 3 ] { u, v, w };
}
probability ( A ) {
  table 0.1, 0.9;
}
probability ( B | A ) {
  (yes) 0.7, 0.2, 0.1;
  (no) 0.3, 0.3, 0.4;
}
"""
XMLBIF = """<?xml version="1.0"?>
<BIF VERSION="0.3">
<NETWORK>
<NAME>é</NAME>
<VARIABLE TYPE="nature"><NAME>A</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>B</NAME><OUTCOME>u</OUTCOME><OUTCOME>v</OUTCOME></VARIABLE>
<DEFINITION><FOR>A</FOR><TABLE>0.1 0.9</TABLE></DEFINITION>
<DEFINITION><FOR>B</FOR><GIVEN>A</GIVEN>
<TABLE>
 0.7 0.3
 0.6 0.4
</TABLE>
</DEFINITION>
</NETWORK>
</BIF>
"""
XDSL = """<?xml version="1.0"?>
<smile version="1.0" id="n">
<nodes>
<cpt id="A">
 <state id="yes"/>
 <state id="no"/>
 <probabilities>0.1 0.9</probabilities>
</cpt>
<cpt id="B">
 <state id="u"/>
 <state id="v"/>
 <parents>A</parents>
 <probabilities>0.7 0.3 0.6 0.4</probabilities>
</cpt>
<deterministic id="C">
 <state id="on"/>
 <state id="off"/>
 <parents>A B</parents>
 <resultingstates>on on off off</resultingstates>
</deterministic>
</nodes>
</smile>
"""
NET = """net
{
}
node A
{
  states = ("yes" "no");
}
node B
{
  states = ("u" "v");
}
potential (A)
{
  data = (0.1 0.9);
}
potential (B | A)
{
  data = ((0.7 0.3)
          (0.6 0.4));
}
"""
UAI = """BAYES
2
2 3
2
1 0
2 0 1

2
 0.1 0.9
6
 0.7 0.2 0.1
 0.3 0.3 0.4
"""
VALID = {"bif": BIF, "xmlbif": XMLBIF, "xdsl": XDSL, "net": NET, "uai": UAI}

# format, what is replaced (once), what stands there instead, a part of the message
FAULTS = [
    # tables
    ("bif", "probability ( B | A ) {\n  (yes) 0.7, 0.2, 0.1;", "probability ( B | A ) §{", "no row for A=yes; every row"),
    ("bif", "{\n  table 0.1, 0.9;\n", "§{ ", "the block of 'A' has no 'table'"),
    ("bif", "(no) 0.3", "(§yes) 0.3", "the row for A=yes is given twice"),
    ("bif", "0.3, 0.3, 0.4", "§0.3, 0.7", "2 entries stand here; 'B' needs 3"),
    ("bif", "0.1, 0.9", "§0.1, 0.8, 0.1", "3 entries stand here; 'A' needs 2"),
    ("bif", "(no) 0.3, 0.3, 0.4", "default §0.3, 0.7", "2 entries stand here; 'B' needs 3"),
    ("bif", "(no) 0.3, 0.3, 0.4", "(no) 0.3, §-0.3, 1.0", "'B' given A=no, the entry -0.3 is negative"),
    ("bif", "(no) 0.3, 0.3, 0.4", "default 0.3, §-0.3, 1.0", "'B' given A=no, the entry -0.3 is negative"),
    ("bif", "0.1, 0.9", "0.1, §1.9", "the entry 1.9 is above 1"),
    ("bif", "0.1, 0.9", "0.1, §nan", "'nan' is not a finite number"),
    ("bif", "0.1, 0.9", "0.1, §-Infinity", "'-Infinity' is not a finite number"),
    ("bif", "0.1, 0.9", "0.1, §1e999", "the entry inf is not a finite number"),
    ("bif", "0.3, 0.3, 0.4", "§0.3, 0.3, 0.3", "the row sums to 0.9; a row must sum to 1 (within 1%)"),
    ("bif", "(yes) 0.7, 0.2, 0.1;", "table§ 0.7, 0.3, 0.2, 0.2, 0.1, 0.4;", "both 'table' and rows"),
    ("bif", "(yes) 0.7, 0.2, 0.1;\n  (no) 0.3, 0.3, 0.4", "table §0.7, 0.2, 0.1, 0.3, 0.3, 0.4", "only if its own states vary fastest"),
    ("bif", "(yes) 0.7, 0.2, 0.1;\n  (no) 0.3, 0.3, 0.4", "table §0.7, 0.2, 0.1, 0.3, 0.3, 0.1", "'B' given A=yes, the row sums to 1.1"),
    ("bif", "0.3, 0.3, 0.4", "0.3, 0.3, §O.4", "'O.4' is not a number"),
    ("bif", "0.3, 0.3, 0.4", "0.3, 0.3, §0_4", "'0_4' is not a number"),
    ("bif", "0.3, 0.3, 0.4", "0.3, 0.3, §٤", "'٤' is not a number"),
    ("bif", "0.3, 0.3, 0.4", "0.3, 0.3, §0.4.1", "'0.4.1' is not a number"),
    ("bif", "table 0.1, 0.9;", "table 0.1 0.9; §table 0.1 0.9;", "a second 'table'"),
    ("bif", "(yes)", "default 1 0 0; §default 1 0 0; (yes)", "a second 'default'"),
    ("bif", "(yes)", "table§ 1 0 0 1 0 0; (yes)", "both 'table' and rows"),
    ("bif", "0.1, 0.9;", "0.1, 0.9§\"x\";", "found 'x' where a number or ';' should stand"),
    # names
    ("bif", "B | A", "B | §a", "no variable 'a' is declared; did you mean 'A'?"),
    ("bif", "probability ( A )", "probability ( §X )", "no variable 'X' is declared; known: 'A', 'B'"),
    ("bif", "(no)", "(§No)", "'A' has no state 'No'; did you mean 'no'?"),
    ("bif", "(no)", "(§no, u)", "this row names 2 states; there are 1 parents"),
    ("bif", "(no)", "(§)", "'A' has no state ''"),
    ("bif", "B | A", "B | A, §A", "'B' names the parent 'A' twice"),
    ("bif", "variable B", "variable §A", "the variable 'A' is declared twice"),
    ("bif", "u, v, w", "u, v, §u", "the state 'u' twice"),
    ("bif", "variable B", "variable §B\x07", "control characters"),
    ("bif", "B | A", "§A | B", "'A' has a second table"),
    ("bif", "variable B {", "variable §C { type discrete [1] { c }; } variable B {", "'C' has no table"),
    ("bif", "probability ( A ) {\n  table", "probability ( §A | B ) {\n  default", "a cycle: A → B → A"),
    ("bif", "probability ( A ) {", "probability ( §A | A ) {", "a cycle: A → A"),
    # blocks
    ("bif", "[ 3 ]", "[ §4 ]", "declares '4' states but lists 3"),
    ("bif", "[ 3 ]", "[ §1000000000 ]", "declares '1000000000' states but lists 3"),
    ("bif", "[ 3 ]", "[ §three ]", "declares 'three' states but lists 3"),
    ("bif", "type discrete [ 2 ] { yes, no };", "type §continuous [ 1 ] { x };", "'A' is 'continuous'; only discrete"),
    ("bif", "variable A {\n  type discrete [ 2 ] { yes, no };", "variable §A {", "variable 'A' has no states"),
    ("bif", "variable A {", "variable §{", "found '{' where the variable's name should stand"),
    ("bif", "variable B", "§varable B", "found 'varable' where a block (network, variable or probability)"),
    ("bif", "  (yes)", "  §rows (yes)", "found 'rows' where 'table', 'default', 'property', '(' or '}' should"),
    ("bif", "  type discrete [ 2 ]", "  §kind discrete [ 2 ]", "'type', 'property' or '}' should stand"),
    ("bif", "B | A", "B | A §| A", "two '|'"),
    ("bif", "B | A", "B §A | A", "two variables stand before '|'"),
    ("bif", "B | A", "B | §{ A", "found '{' where a name, ',', '|' or ')' should stand"),
    ("bif", "( B | A ) {", "( ) §{", "the variable's name is missing"),
    ("bif", "yes, no", 'yes, §"no', "quoted name does not end on its line"),
    ("bif", "yes, no", 'yes, §"no\\" };', "quoted name does not end on its line"),
    ("bif", "variable B", "§/* variable B", "comment never ends"),
    ("bif", "variable B", "§/*/ variable B", "comment never ends"),
    ("bif", "};\n}\nvariable B", "};\n property bayestrim_cost = §-3 ;\n}\nvariable B", "the cost '-3' is not a finite"),
    # XMLBIF
    ("xmlbif", "0.6 0.4", "0.6 §-0.4", "'B' given A=no, the entry -0.4 is negative"),
    ("xmlbif", "0.6 0.4", "§0.6 0.5", "the row sums to 1.1"),
    ("xmlbif", "0.6 0.4", "<!-- ü -->§0.6 0.5", "the row sums to 1.1"),
    ("xmlbif", "<TABLE>\n 0.7 0.3\n ", "<TABLE>\n  §", "the table of 'B' has 2 entries; it needs 4 (2 x 2)"),
    ("xmlbif", "0.6 0.4", "0.6 §zero", "'zero' is not a number"),
    ("xmlbif", "<DEFINITION><FOR>A</FOR><TABLE>0.1 0.9</TABLE>", "§<DEFINITION><FOR>A</FOR>", "this <DEFINITION> has no <table>"),
    ("xmlbif", "<DEFINITION><FOR>A</FOR>", "§<DEFINITION>", "has 0 <FOR>; exactly one"),
    ("xmlbif", "<GIVEN>A", "<GIVEN>§é", "no variable 'é' is declared"),
    ("xmlbif", "<GIVEN>A", "<GIVEN>§AA", "no variable 'AA' is declared"),
    ("xmlbif", "<NAME>B", "<NAME>§A", "the variable 'A' is declared twice"),
    ("xmlbif", "<NAME>B</NAME>", "<NAME>B</NAME>§<NAME>C</NAME>", "this <VARIABLE> has a second <NAME>"),
    ("xmlbif", "<OUTCOME>v", "<OUTCOME>§u", "the state 'u' twice"),
    ("xmlbif", "<NAME>A</NAME>", "§<NAME></NAME>", "a variable's name must not be empty"),
    ("xmlbif", "<NAME>A</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME>", "<NAME>§A</NAME>", "variable 'A' has no states"),
    ("xmlbif", "<DEFINITION><FOR>A</FOR>", "<DEFINITION><FOR>§A</FOR><GIVEN>B</GIVEN>", "a cycle: A → B → A"),
    ("xmlbif", '<VARIABLE TYPE="nature"><NAME>A', '§<VARIABLE TYPE="utility"><NAME>A', "variable 'A' is a utility node"),
    ("xmlbif", "<NETWORK>\n", "<NETWORK>\n<PROPERTY>a</PROPERTY§", "not well-formed XML"),
    ("xmlbif", "</NETWORK>", "</§NETWURK>", "mismatched tag"),
    ("xmlbif", "\n<NETWORK>", "\n<x>é§&nbsp;</x><NETWORK>", "undefined entity"),
    ("xmlbif", "<BIF ", "<!DOCTYPE BIF [<!ENTITY a §'b'>]><BIF ", "the entity 'a' is declared here"),
    ("xmlbif", "<BIF ", "<!DOCTYPE BIF [<!ENTITY a SYSTEM 'file:///etc/passwd'§>]><BIF ", "may not declare entities"),
    ("xmlbif", "<BIF ", "<!DOCTYPE BIF [<!ENTITY % a SYSTEM 'x'§> %a;]><BIF ", "may not declare entities"),
    ("xmlbif", "<NAME>é", "<NAME>é" + "<a>" * 97 + "§<a>", "nest more than 100 deep"),
    ("xmlbif", "</BIF>\n", "§", "no element found"),
    ("xmlbif", "<NAME>A</NAME>", "<NAME>A</NAME><PROPERTY>§bayestrim_cost = lots</PROPERTY>", "the cost 'lots' is not"),
    # XDSL
    ("xdsl", "0.6 0.4", "0.6 §1.4", "'B' given A=no, the entry 1.4 is above 1"),
    ("xdsl", "0.7 0.3 0.6 0.4", "§0.7 0.3 0.6", "the table of 'B' has 3 entries; it needs 4 (2 x 2)"),
    ("xdsl", "<parents>A<", "<parents>§Aa<", "no variable 'Aa' is declared"),
    ("xdsl", "<parents>A B<", "<parents>A §A<", "'C' names the parent 'A' twice"),
    ("xdsl", '<cpt id="B">', '§<cpt id="A">', "the node 'A' is declared twice"),
    ("xdsl", '<cpt id="B">', "§<cpt>", "this <cpt> has no 'id' attribute"),
    ("xdsl", '<state id="v"/>', '§<state id="u"/>', "the state 'u' twice"),
    ("xdsl", "on on off off", "on on off §of", "node 'C' has no state 'of'; did you mean 'off'?"),
    ("xdsl", "<resultingstates>on on off off", "§<resultingstates>on on off", "has 3 resulting states; its parents make 4"),
    ("xdsl", '<cpt id="A">', '§<noisymax id="N"/><cpt id="A">', "node 'N' is a <noisymax> node; supported are <cpt>"),
    ("xdsl", '<cpt id="A">', '§<decision id="N"/><cpt id="A">', "node 'N' is a <decision> node"),
    ("xdsl", "<nodes>", "§<dynamic/><nodes>", "a dynamic network"),
    ("xdsl", "<smile", "<smiley/>§<smile", "junk after document element"),
    ("xdsl", '<cpt id="B">', '§<cpt id="D"><state id="d"/></cpt><cpt id="B">', "this <cpt> has no <probabilities>"),
    ("xdsl", " <probabilities>0.1", ' <property id="bayestrim_cost">§x</property><probabilities>0.1', "the cost 'x' is not a finite"),
    # NET
    ("net", "(0.6 0.4)", "(0.6 §-0.4)", "'B' given A=no, the entry -0.4 is negative"),
    ("net", "(0.6 0.4)", "(§0.6 0.3 0.1)", "3 entries stand in this row of 'B'; it needs 2"),
    ("net", "((0.7 0.3)\n          (0.6 0.4))", "(§0.7 0.3 0.6)", "the table of 'B' has 3 entries; it needs 4 (2 x 2)"),
    ("net", "(0.1 0.9)", "§(0.1 0.9", "parentheses of this table do not match"),
    ("net", "potential (A)\n{\n  data = (0.1 0.9);", "potential §(A)\n{\n", "the potential of 'A' has no 'data"),
    ("net", "data = (0.1 0.9);", "data = (0.1 0.9); §data = (0.1 0.9);", "a second 'data'"),
    ("net", "(B | A)", "§(B A)", "has 2 nodes before '|'; exactly one"),
    ("net", "(B | A)", "(B | A §| A)", "found '|' where a node's name"),
    ("net", "(B | A)", "(B | §X)", "no variable 'X' is declared"),
    ("net", "node B\n", "node §A\n", "the node 'A' is declared twice"),
    ("net", "node B\n", "§decision B\n", "'B' is a decision node; only discrete chance nodes"),
    ("net", "node B\n", "§continuous node B\n", "'B' is a continuous node; only discrete chance nodes"),
    ("net", "node A\n{\n  states = (\"yes\" \"no\");", "node §A\n{\n", "the node 'A' has no 'states"),
    ("net", "node B\n", "§noode B\n", "found 'noode' where 'net', 'node' or 'potential' should stand"),
    ("net", 'states = ("u" "v");', 'states §("u" "v");', "found '(' where '=' after the attribute 'states'"),
    ("net", 'states = ("u" "v");', 'states = ("u" §"u");', "the state 'u' twice"),
    ("net", "(0.6 0.4));", "(0.6 0.4))§\"x\";", "found 'x' where a number, ')' or ';' should stand"),
    # UAI
    ("uai", "BAYES", "§MARKOV", "this is a Markov network; only Bayesian networks"),
    ("uai", "BAYES", "§BAYESIAN", "found 'BAYESIAN' where 'BAYES' should stand"),
    ("uai", "2\n2 3", "§1000000\n2 3", "1000000 variables are declared, but only 18 words follow"),
    ("uai", "2 3\n", "2 §999999999\n", "999999999 states are declared, but only 16 words follow"),
    ("uai", "2 3\n", "2 §0\n", "a variable has 0 states"),
    ("uai", "2\n2 3", "§1234567890123456789\n2 3", "'1234567890123456789' stands where the number of variables should"),
    ("uai", "2 0 1", "2 0 §2", "2 is no variable; variables are numbered 0 to 1"),
    ("uai", "2 0 1", "2 1 §1", "a cycle: var_1 → var_1"),
    ("uai", "2 0 1", "3 0 §0 1", "'var_1' names the parent 'var_0' twice"),
    ("uai", "1 0\n", "§0\n", "this function has no variables"),
    ("uai", "2 0 1", "2 1 §0", "'var_0' has a second table"),
    ("uai", "6\n 0.7 0.2 0.1\n 0.3 0.3 0.4", "5\n §0.7 0.2 0.1\n 0.3 0.3", "has 5 entries; it needs 6 (2 x 3)"),
    ("uai", "6\n 0.7", "§7\n 0.7", "7 entries are declared, but only 6 words follow"),
    ("uai", "0.3 0.3 0.4\n", "0.3 0.3 0.4\n§0.1", "more text follows the last table"),
    ("uai", "0.3 0.3 0.4", "0.3 §-0.3 1.0", "'var_1' given var_0=1, the entry -0.3 is negative"),
    ("uai", "0.3 0.3 0.4", "0.3 0.3 §x", "'x' is not a number"),
    ("uai", "0.3 0.3 0.4", "§0.3 0.3 0.5", "the row sums to 1.1"),
    ("uai", "2 3\n2\n1 0\n2 0 1\n\n2\n 0.1 0.9\n", "§2 3\n1\n2 0 1\n", "'var_0' has no table"),
]  # fmt: skip


def marked(text: str) -> tuple[str, int, int]:
    """Return a text without its mark, and the line and column of the mark."""
    before, _, after = text.partition("§")
    return before + after, before.count("\n") + 1, len(before) - before.rfind("\n")


def refusal(text: str, form: str) -> FormatError:
    """Return the error that reading a text gives."""
    with pytest.raises(FormatError) as caught:
        read_network(io.StringIO(text), format=form)
    return caught.value


@pytest.mark.parametrize("form", FORMATS)
def test_the_files_that_are_damaged_below_are_valid(form: str) -> None:
    """What the faults are made from is read without complaint."""
    assert read_network(io.StringIO(VALID[form])).table("var_1" if form == "uai" else "B").shape[0] == 2


@pytest.mark.parametrize(("form", "old", "new", "message"), FAULTS)
def test_a_fault_is_reported_with_its_place(form: str, old: str, new: str, message: str) -> None:
    """Line and column are those of the mark, and the message says what is wrong."""
    assert old in VALID[form]
    text, line, column = marked(VALID[form].replace(old, new, 1))
    error = refusal(text, form)
    assert message in error.message
    assert (error.line, error.column) == (line, column)
    assert str(error).startswith(f"<input>:{line}:{column}: ")


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_cut_anywhere_before_its_last_numbers_is_refused(form: str) -> None:
    """Truncation never goes unnoticed: every prefix that lacks a table entry is refused."""
    text = VALID[form]
    last = max(position for position, character in enumerate(text) if character == "4")
    for end in range(last):
        refusal(text[:end], form)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("text", ["", " \n\t\n", "\ufeff"])
def test_empty_files_are_refused(form: str, text: str) -> None:
    """A file with nothing but blanks is empty, in every format and without one."""
    assert refusal(text, form).message == "the file is empty"
    with pytest.raises(FormatError, match="empty"):
        read_network(io.StringIO(text))


@pytest.mark.parametrize("form", FORMATS)
def test_binary_files_are_refused(form: str) -> None:
    """Zero bytes, random bytes and damaged gzip are no model."""
    for content in (
        b"\x00\x01",
        b"\x89PNG\r\n\x1a\n\x00",
        bytes(range(1, 256)),
        b"\x1f\x8b\x08\x00junk",
        b"\x1f\x8b",
        b"\xff\xfea",
    ):
        with pytest.raises(FormatError):
            read_network(io.BytesIO(content), format=form)


@pytest.mark.parametrize("form", FORMATS)
def test_other_formats_are_refused_or_recognised(form: str) -> None:
    """A file of one format is refused as another, and known for what it is without being told."""
    for other, text in VALID.items():
        if other != form:
            refusal(text, form)
    assert read_network(io.StringIO(VALID[form])) == read_network(io.StringIO(VALID[form]), format=form)


def test_an_unrecognisable_file_lists_the_formats(tmp_path: Path) -> None:
    """Neither content nor suffix help: the message names what would."""
    (tmp_path / "model.txt").write_text("once upon a time")
    with pytest.raises(FormatError, match=r"tells the format; the formats are bif \(\.bif\), xmlbif"):
        read_network(tmp_path / "model.txt")


def test_errors_name_the_file_and_survive_pickling(tmp_path: Path) -> None:
    """The file's name comes first, and a worker process can send the error home."""
    path = tmp_path / "bad.bif"
    path.write_text(BIF.replace("(no)", "(No)"))
    with pytest.raises(FormatError) as caught:
        read_network(path)
    assert str(caught.value).startswith(f"{path}:12:4: 'A' has no state 'No'")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.line, copy.column) == (str(caught.value), 12, 4)


def test_memory_that_runs_out_is_our_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that needs more memory than there is says so."""

    def fail(*_: object) -> BayesianNetwork:
        raise MemoryError

    monkeypatch.setitem(FORMATS, "bif", dataclasses.replace(FORMATS["bif"], parse=fail))
    with pytest.raises(TooLargeError, match="more memory than there is"):
        read_network(io.StringIO(BIF))


def test_a_class_that_never_closes_is_refused() -> None:
    """The end of a Hugin class is needed as much as its beginning."""
    error = refusal(NET.replace("net\n{\n}", "class X {"), "net")
    assert "the file ends where '}' after the class should follow" in error.message
    read_network(io.StringIO(NET.replace("net\n{\n}", "class X {") + "}"))
