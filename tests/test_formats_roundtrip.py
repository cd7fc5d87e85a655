"""Writing a network and reading it back returns the same network, whatever its names."""

# ruff: noqa: E501  (tables read better with long lines)

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from typing import IO, cast

import numpy as np
import pytest
from formats_cases.strategies import NAMES, ODD_NAMES, networks
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bayestrim.errors import FileError, FormatError, UnknownNameError
from bayestrim.formats import FORMATS, _text, read_network, write_network
from bayestrim.formats._names import identifier, identifiers, stands_for
from bayestrim.network import BayesianNetwork, Variable

COIN = BayesianNetwork([Variable("Coin", ("heads", "tails"))], {}, {"Coin": [0.25, 0.75]}, name="One coin")
ODD = BayesianNetwork(
    [Variable(name, tuple(ODD_NAMES)) for name in ODD_NAMES],
    {},
    {name: [1.0] + [0.0] * (len(ODD_NAMES) - 1) for name in ODD_NAMES},
)


def same(left: BayesianNetwork, right: BayesianNetwork) -> bool:
    """Tell whether two networks agree in everything, bit for bit."""
    return (
        left == right
        and left.name == right.name
        and all(left.table(name).tobytes() == right.table(name).tobytes() for name in left.names)
    )


def written(network: BayesianNetwork, form: str) -> bytes:
    """Return what is written to a binary file."""
    file = io.BytesIO()
    write_network(network, file, format=form)
    return file.getvalue()


@pytest.mark.parametrize("form", FORMATS)
@given(network=networks())
@example(network=ODD)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_written_network_is_read_back_bit_for_bit(form: str, network: BayesianNetwork) -> None:
    """Names, order, parents, costs, the network's own name and every bit survive; the content alone tells the format."""
    assert same(read_network(io.BytesIO(written(network, form))), network)


@pytest.mark.parametrize("form", FORMATS)
@given(values=st.lists(st.floats(0, 1), min_size=2, max_size=2).filter(lambda v: sum(v) > 0.01))
def test_every_float_is_spelled_so_that_it_comes_back(form: str, values: list[float]) -> None:
    """The shortest decimal that names a float names it in every format."""
    row = np.array(values) / sum(values)
    network = BayesianNetwork([Variable("A", ("a", "b"))], {}, {"A": row})
    assert read_network(io.BytesIO(written(network, form))).table("A").tobytes() == row.tobytes()


@pytest.mark.parametrize("form", FORMATS)
def test_written_bytes_are_the_same_every_time(form: str) -> None:
    """Nothing in a file depends on the time or on chance."""
    assert written(ODD, form) == written(ODD, form)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("packed", [False, True])
def test_the_suffix_chooses_the_format_of_a_path(tmp_path: Path, form: str, packed: bool) -> None:
    """Every suffix of every format writes that format; with .gz the same bytes twice."""
    for suffix in FORMATS[form].suffixes:
        path = tmp_path / ("coin" + suffix + (".gz" if packed else ""))
        write_network(COIN, path)
        content = path.read_bytes()
        assert (gzip.decompress(content) if packed else content) == written(COIN, form)
        assert not packed or content[4:8] == bytes(4), "the time of writing must not be in the file"
        write_network(COIN, str(path))
        assert path.read_bytes() == content
        assert same(read_network(path), COIN)


@pytest.mark.parametrize("form", FORMATS)
def test_text_files_are_read_and_written_too(form: str, tmp_path: Path) -> None:
    """An open text file serves as well as a binary one."""
    with open(tmp_path / "coin", "w", encoding="utf-8") as file:
        write_network(COIN, file, format=form)
    with open(tmp_path / "coin", encoding="utf-8") as file:
        assert same(read_network(file), COIN)
    text = io.StringIO()
    write_network(COIN, text, format=form)
    assert same(read_network(io.StringIO(text.getvalue())), COIN)


def test_a_file_that_is_neither_text_nor_binary_by_class_takes_what_it_can() -> None:
    """A write method that refuses bytes is given text."""

    class Box:
        content = ""

        def write(self, text: str) -> None:
            self.content = self.content + text

    box = Box()
    write_network(COIN, cast(IO[str], box), format="bif")
    assert same(read_network(io.StringIO(box.content)), COIN)


def test_what_could_not_be_read_back_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file above the limit of the readers is refused, to a path and to an open file, and the old one stays."""
    path = tmp_path / "coin.bif"
    path.write_text("old")
    monkeypatch.setattr(_text, "MAX_BYTES", 100)
    for target in (path, tmp_path / "coin.bif.gz", io.BytesIO(), io.StringIO()):
        with pytest.raises(FormatError, match="no more than 100 are read back"):
            write_network(COIN, target, format="bif")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("coin.bif", "old")]


@pytest.mark.parametrize("form", ["xmlbif", "xdsl"])
def test_xml_refuses_names_it_cannot_hold(form: str, tmp_path: Path) -> None:
    """U+FFFE is no XML character, not even as a reference; the old file stays."""
    path = tmp_path / "odd.xml"
    path.write_text("old")
    network = BayesianNetwork([Variable("A\ufffe", ("a", "b"))], {}, {"A\ufffe": [0.5, 0.5]})
    with pytest.raises(FormatError, match="XML cannot hold") as caught:
        write_network(network, path, format=form)
    assert caught.value.origin == str(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["odd.xml"]


def test_an_unknown_format_or_suffix_names_the_formats_there_are(tmp_path: Path) -> None:
    """The message lists names and suffixes, and suggests the nearest."""
    with pytest.raises(UnknownNameError, match=r"did you mean 'xmlbif'.*xdsl \(\.xdsl\)"):
        write_network(COIN, tmp_path / "a", format="xmlbiff")
    with pytest.raises(UnknownNameError, match=r"suffix names no format.*uai"):
        write_network(COIN, tmp_path / "a.txt")
    with pytest.raises(UnknownNameError, match="no format 'csv'"):
        read_network(io.StringIO("x"), format="csv")
    with pytest.raises(UnknownNameError, match="the file: the suffix"):
        write_network(COIN, io.BytesIO())
    assert os.listdir(tmp_path) == []


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is replaced in one step or not at all."""
    path = tmp_path / "coin.bif"
    write_network(COIN, path)
    old = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(FileError, match=r"coin\.bif.*No space left"):
        write_network(ODD, path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["coin.bif"]


def test_writing_through_a_link_replaces_what_it_points_to(tmp_path: Path) -> None:
    """The link stays a link."""
    (tmp_path / "real.bif").write_text("old")
    (tmp_path / "link.bif").symlink_to("real.bif")
    write_network(COIN, tmp_path / "link.bif")
    assert (tmp_path / "link.bif").is_symlink()
    assert same(read_network(tmp_path / "real.bif"), COIN)


def test_a_device_is_written_to_and_not_replaced() -> None:
    """Writing to the null device leaves a device."""
    write_network(COIN, os.devnull, format="bif")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("path", ["missing/coin.bif", "folder.bif", "nul\0.bif"])
def test_paths_that_cannot_be_used_are_file_errors_that_name_them(tmp_path: Path, path: str) -> None:
    """Reading and writing say which file it was."""
    (tmp_path / "folder.bif").mkdir()
    for action in (read_network, lambda target: write_network(COIN, target)):
        with pytest.raises(FileError) as caught:
            action(str(tmp_path / path))
        assert path.rsplit("/", maxsplit=1)[-1].split("\0", maxsplit=1)[0] in str(caught.value)
        assert isinstance(caught.value, OSError)


def test_closed_files_are_file_errors() -> None:
    """A file that is closed cannot be read or written, and says so as our error."""
    for kind in (io.StringIO, io.BytesIO):
        file = kind()
        file.close()
        with pytest.raises(FileError, match="closed"):
            read_network(file)
        with pytest.raises(FileError, match="closed"):
            write_network(COIN, file, format="bif")


@given(names=st.lists(NAMES, unique=True, max_size=8), reserved=st.sets(st.sampled_from(ODD_NAMES)))
def test_identifiers_differ_are_valid_and_can_be_recognised(names: list[str], reserved: set[str]) -> None:
    """Each name gets its own identifier, a valid name keeps itself, and `stands_for` knows the pair again."""
    found = identifiers(names, reserved)
    assert list(found) == names
    assert len(set(found.values())) == len(names)
    for name, word in found.items():
        assert word.isascii()
        assert word.isidentifier()
        assert word[0].isalpha()
        assert word not in reserved
        assert stands_for(word, name, reserved)
        assert word == name or identifier(name, reserved) != name


def test_a_renamed_node_is_read_under_its_new_name() -> None:
    """When another program renamed a node or state, the name kept beside it is no longer believed."""
    network = BayesianNetwork([Variable("A b", ("<1", ">1"))], {}, {"A b": [0.5, 0.5]})
    text = written(network, "xdsl").decode().replace('"A_b"', '"Renamed"').replace('"x_1_2"', '"more"')
    read = read_network(io.StringIO(text))
    assert read.variables == (Variable("Renamed", ("<1", "more")),)
    text = written(network, "net").decode().replace("node A_b", "node Renamed").replace("(A_b)", "(Renamed)")
    assert read_network(io.StringIO(text)).names == ("Renamed",)


def test_the_order_of_the_variables_survives_where_parents_must_come_first() -> None:
    """XDSL lists parents before children; the true order is kept beside and lost only if a node is added."""
    network = BayesianNetwork(
        [Variable("Child", ("a", "b")), Variable("Parent", ("c", "d"))],
        {"Child": ["Parent"]},
        {"Child": [[0.1, 0.9], [0.2, 0.8]], "Parent": [0.5, 0.5]},
    )
    text = written(network, "xdsl").decode()
    assert text.index('<cpt id="Parent"') < text.index('<cpt id="Child"')
    assert read_network(io.StringIO(text)).names == ("Child", "Parent")
    assert read_network(io.StringIO(text.replace("bayestrim_position", "p", 1))).names == ("Parent", "Child")
