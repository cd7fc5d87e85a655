"""Hostile and damaged files: refused in no time, in little memory, and only with our own errors."""

# ruff: noqa: E501  (tables read better with long lines)

from __future__ import annotations

import gzip
import io
import random
import time
import tracemalloc
import warnings
from pathlib import Path

import pytest
from formats_cases.strategies import damaged, networks
from hypothesis import given, settings
from hypothesis import strategies as st

from bayestrim import memory
from bayestrim.errors import BayestrimError, FormatError, TooLargeError
from bayestrim.formats import FORMATS, _assemble, _text, _xml, read_network, write_network
from bayestrim.network import BayesianNetwork

CASES = Path(__file__).parent / "formats_cases"
SAMPLES = {form: next(path for path in CASES.iterdir() if path.suffix in FORMATS[form].suffixes) for form in FORMATS}
PATIENCE = 3.0
"""Seconds that no small file may take on a busy machine; what is linear takes a hundredth."""
LONG = 200_000


def outcome(content: bytes, form: str | None = None) -> str:
    """Read a file and return "read" or the name of the error; any error but ours, and any delay, fails the test."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            network = read_network(io.BytesIO(content), format=form)
        found = "read"
        assert all(network.table(name).shape[-1] == len(network.states(name)) for name in network.names)
    except BayestrimError as error:
        found = type(error).__name__
    assert time.perf_counter() - start < PATIENCE
    return found


REPEATED = {
    "bif": [
        b"(", b"{", b"variable", b"variable a {", b'"', b'"\\', b'\\"', b"/*", b"//", b"/", b"property ;", b"network{property a;",
        b"probability (", b"probability (a){", b"probability(a){}", b"probability(a){table", b"probability (a) { (a", b"(a)0;",
        b"a ", b"a,", b"|", b"1 ", b"variable a{type discrete[1]{", b"variable a{property\n", b"variable a{property x ",
        b"variable a { type discrete [ 1 ] { x }; } ", b"network n {",
    ],
    "xmlbif": [b"<a>", b"<a/>", b"<BIF>", b"<", b"&", b"&lt;", b"<!--", b"<!DOCTYPE a [", b"<!DOCTYPE a [<!ELEMENT a (((", b"]",
               b"<![CDATA[", b"<?a", b"<a b='", b" b='1'", b"\n", b"<BIF><NETWORK><VARIABLE>"],
    "xdsl": [b"<smile>", b"<smile><nodes>", b"<smile><nodes><cpt id='a'>", b"<state id='a'/>", b"<cpt "],
    "net": [b"(", b"{", b'"', b'"\\', b"%", b"/*", b"node", b"node a {", b"node a { b = ", b"potential (", b"potential(a){data=",
            b"class a {", b"class a { b = c;", b"net {", b"a=", b"(1", b"1)", b"potential(a){data=((", b"potential(a){data=()"],
    "uai": [b"1 ", b"BAYES ", b"BAYES 1 1 1 ", b"#", b"BAYES\n9 ", b"# bayestrim variable [", b"# bayestrim variable [\n"],
}  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
def test_repetition_is_refused_quickly(form: str) -> None:
    """Nothing repeated hundreds of thousands of times makes a reader slow, deep or big, alone or after a valid start."""
    starts = [b"", SAMPLES[form].read_bytes()[:-40]]
    for piece in REPEATED[form]:
        for start in starts:
            assert outcome(start + piece * (LONG // len(piece)), form) != "read", piece


def test_a_declared_size_is_checked_against_what_is_there() -> None:
    """A billion states, or a table for 10^30 combinations, costs nothing before the entries are counted."""
    many = "".join(
        f"variable v{i} {{ type discrete [ 1000 ] {{ {','.join(map(str, range(1000)))} }}; }}" for i in range(11)
    )
    parents = ",".join(f"v{i}" for i in range(1, 11))
    roots = "".join(f"probability ( v{i} ) {{ default {'0.001 ' * 1000}; }}" for i in range(1, 11))
    tracemalloc.start()
    for body, message in (
        ("table 1;", "1 entries stand here; 'v0' needs 1" + "0" * 33),
        ("", "no row for v1=0, v2=0"),
        (f"default {'0.001 ' * 1000};", "cells that are not listed"),
    ):
        with pytest.raises(FormatError, match=message):
            read_network(io.StringIO(f"{many}{roots}probability ( v0 | {parents} ) {{ {body} }}"), format="bif")
    with pytest.raises(FormatError, match="999999999 states are declared, but only"):
        read_network(io.StringIO("BAYES 1 999999999 1 1 0 999999999 1"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


def test_cells_from_default_rows_are_counted_over_the_whole_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many moderate tables with default rows are refused where their sum is too large."""
    text = "".join(
        f"variable v{i} {{ type discrete [ 2 ] {{ a, b }}; }} probability ( v{i} ) {{ default 0 1; }}\n"
        for i in range(9)
    )
    assert len(read_network(io.StringIO(text)).names) == 9
    monkeypatch.setattr(_assemble, "MAX_IMPLIED_CELLS", 17)
    with pytest.raises(FormatError, match="more than 17 cells") as caught:
        read_network(io.StringIO(text))
    assert caught.value.line == 9


def test_deterministic_nodes_count_as_implied_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short list of resulting states cannot describe an enormous table either."""
    monkeypatch.setattr(_assemble, "MAX_IMPLIED_CELLS", 11)
    with pytest.raises(FormatError, match="more than 11 cells") as caught:
        read_network(SAMPLES["xdsl"])
    assert caught.value.line == 22


def test_gzip_bombs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpacking stops at the limit, for one bomb and for many small ones, without holding more than the limit."""
    monkeypatch.setattr(_text, "MAX_BYTES", 2**20)
    bomb = gzip.compress(b" " * 2**27)
    tracemalloc.start()
    for content in (bomb, gzip.compress(b" " * 2**19) * 3):
        with pytest.raises(FormatError, match="unpacks to more than"):
            read_network(io.BytesIO(content))
    assert tracemalloc.get_traced_memory()[1] < 8e6
    tracemalloc.stop()
    assert outcome(gzip.compress(gzip.compress(b"BAYES"))) == "FormatError"
    assert outcome(gzip.compress(b"") * 20_000) == "FormatError"


ONE_STATE = {
    "bif": "variable A { type discrete [ 1 ] { x }; } probability ( A ) { table %s; }",
    "net": "net {} node A { states = (x); } potential (A) { data = (%s); }",
    "xmlbif": "<BIF><NETWORK><VARIABLE><NAME>A</NAME><OUTCOME>x</OUTCOME></VARIABLE>"
    "<DEFINITION><FOR>A</FOR><TABLE>%s</TABLE></DEFINITION></NETWORK></BIF>",
    "xdsl": '<smile id="n"><nodes><cpt id="A"><state id="x"/><probabilities>%s</probabilities></cpt></nodes></smile>',
}


@pytest.mark.parametrize("form", ONE_STATE)
def test_a_list_of_far_too_many_numbers_takes_little_memory(form: str) -> None:
    """Numbers never all stand there as words or objects, neither while they are counted nor for the complaint."""
    text = ONE_STATE[form] % (".5 " * 1_000_000)
    tracemalloc.start()
    with pytest.raises(FormatError, match="1000000 entries"):
        read_network(io.StringIO(text), format=form)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 15 * len(text)


def test_a_text_that_may_not_fit_is_refused_before_it_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a text becomes is many times its size; with little memory free, even a file within the limit is too large."""
    text = SAMPLES["bif"].read_text() + "\n" * 600_000
    assert read_network(io.StringIO(text)) == read_network(SAMPLES["bif"])
    monkeypatch.setattr(memory, "free_memory", lambda: 2**25)
    with pytest.raises(TooLargeError, match=r"a file of 60\d,\d{3} characters: .* GiB are needed, and .* are allowed"):
        read_network(io.StringIO(text))


def test_files_above_the_limit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain files are read up to the limit and no further."""
    monkeypatch.setattr(_text, "MAX_BYTES", 100)
    (tmp_path / "big.bif").write_bytes(b" " * 101)
    with pytest.raises(FormatError, match="more than 100 bytes"):
        read_network(tmp_path / "big.bif")
    with pytest.raises(FormatError, match="more than 100 bytes"):
        read_network(io.StringIO(" " * 101))


@pytest.mark.parametrize("cut", [1, 3, 9, 12, -9, -1])
def test_truncated_gzip_is_refused(cut: int) -> None:
    """Packed files that end too early are refused, and so are those with a wrong checksum."""
    packed = gzip.compress(SAMPLES["bif"].read_bytes())
    assert outcome(packed[:cut]) == "FormatError"
    assert outcome(packed[:-5] + bytes([packed[-5] ^ 1]) + packed[-4:]) == "FormatError"


@pytest.mark.parametrize(
    "document",
    [
        "<!DOCTYPE BIF [<!ENTITY a 'aaaaaaaaaa'>" + "".join(f"<!ENTITY a{i} '&a{i};&a{i};'>" for i in range(30)) + "]>",
        "<!DOCTYPE BIF [<!ENTITY a 'a'>]>",
        "<!DOCTYPE BIF [<!ENTITY a SYSTEM 'file:///dev/zero'>]>",
        "<!DOCTYPE BIF [<!ENTITY % a SYSTEM 'file:///dev/zero'> %a;]>",
    ],
)
def test_entities_are_neither_expanded_nor_fetched(document: str) -> None:
    """Any declaration of an entity is refused where it stands, before it is used."""
    with pytest.raises(FormatError, match="may not declare entities") as caught:
        read_network(io.StringIO(document + "<BIF><NETWORK><NAME>&a;</NAME></NETWORK></BIF>"))
    assert caught.value.line == 1


def test_an_outside_document_type_is_not_looked_at() -> None:
    """A file may name its document type; entities it would define are unknown."""
    text = SAMPLES["xmlbif"].read_text()
    start, stop = text.index("<!DOCTYPE"), text.index("<BIF VERSION")
    named = text[:start] + "<!DOCTYPE BIF SYSTEM 'file:///dev/zero'>" + text[stop:]
    assert read_network(io.StringIO(named)) == read_network(SAMPLES["xmlbif"])
    with pytest.raises(FormatError, match="entity 'zero' is not known"):
        read_network(io.StringIO(named.replace("<NAME>weather", "<NAME>&zero;weather")))


def test_the_number_of_elements_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of nothing but tags is refused before they fill the memory."""
    monkeypatch.setattr(_xml, "MAX_ELEMENTS", 10)
    with pytest.raises(FormatError, match="more than 10 elements"):
        read_network(SAMPLES["xmlbif"])


@pytest.mark.parametrize("form", FORMATS)
def test_absurd_numbers(form: str) -> None:
    """A million digits, enormous exponents and lookalikes of digits are numbers or refused, never crashes."""
    text = SAMPLES[form].read_text()
    entry = {"bif": "0.7", "xmlbif": ".25", "xdsl": "0.2", "net": ".2", "uai": "0.436"}[form]
    assert text.count(entry) >= 1
    long = text.replace(entry, entry + "0" * 10**6, 1)
    assert read_network(io.StringIO(long), format=form) == read_network(SAMPLES[form])
    for absurd in (
        "9" * 10**6,
        "1e" + "9" * 10**5,
        "-" * 1000,
        "0" * 5000 + "x",
        "٠.٧",
        "½",
        "1e-999",
        "0x1p-1",
        "True",
        "1,0",
    ):
        assert outcome(text.replace(entry, absurd, 1).encode(), form) == "FormatError"


@pytest.mark.parametrize("form", FORMATS)
def test_long_names_and_many_suggestions_stay_cheap(form: str) -> None:
    """An unknown name a hundred thousand characters long among names as long is refused at once."""
    name = {"bif": "dog-out", "xmlbif": "play", "xdsl": "Rain", "net": "Rain", "uai": "BAYES"}[form]
    text = SAMPLES[form].read_text()
    assert outcome(text.replace(name, "ab" * LONG).encode(), form) == ("FormatError" if form == "uai" else "read")
    assert outcome(text.replace(name, "ab" * LONG, 1).encode(), form) == "FormatError"


@pytest.mark.parametrize("form", FORMATS)
@given(seed=st.integers(0, 2**32), network=networks())
@settings(max_examples=300)
def test_damaged_files_raise_only_our_errors(form: str, seed: int, network: BayesianNetwork) -> None:
    """Whatever is cut, doubled or put in, a file is read or refused with our error, soon."""
    chance = random.Random(seed)
    file = io.BytesIO()
    write_network(network, file, format=form)
    content = chance.choice([file.getvalue(), SAMPLES[form].read_bytes()])
    outcome(damaged(content, chance), chance.choice([form, None]))


@pytest.mark.parametrize("form", [*FORMATS, None])
@given(
    content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "ignore")))
)
@settings(max_examples=200)
def test_random_bytes_raise_only_our_errors(form: str, content: bytes) -> None:
    """Files of random bytes are refused with our error."""
    assert outcome(content, form) == "FormatError"


@pytest.mark.parametrize("form", FORMATS)
def test_half_characters_in_text_files_are_refused(form: str) -> None:
    """A lone surrogate, which no encoding can write, is refused in a name wherever it comes from."""
    name = {"bif": "dog-out", "xmlbif": "play", "xdsl": "Rain", "net": "Rain", "uai": "BAYES"}[form]
    text = SAMPLES[form].read_text().replace(name, name + "\ud800")
    with pytest.raises(FormatError):
        read_network(io.StringIO(text), format=form)
