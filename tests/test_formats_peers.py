"""pgmpy and pyAgrum read what we write, and we read what they read, table by table."""

from __future__ import annotations

import gzip
import itertools
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pgmpy
import pyagrum as gum
import pytest
from pgmpy import readwrite

from bayestrim.formats import FORMATS, read_network, write_network
from bayestrim.network import BayesianNetwork, Variable

MODELS = Path(pgmpy.__file__).parent / "utils" / "example_models"
QUICK = ["alarm", "asia", "cancer", "child", "earthquake", "insurance", "sachs", "survey", "win95pts"]
OTHER_ORDER = ["xdsl", "uai"]
BUDGET = 10.0
"""Seconds for loading all 24 networks."""


def plain(names: tuple[str, str, str] = ("A", "B", "C")) -> BayesianNetwork:
    """Return a network of three variables whose states are identifiers; only the variables' names are odd."""
    first, second, third = names
    return BayesianNetwork(
        [Variable(first, ("x", "y")), Variable(second, ("u", "v", "w")), Variable(third, ("p", "q"))],
        {third: [second, first]},
        {
            first: [1e-05, 0.99999],
            second: [0.25, 0.5, 0.25],
            third: [[[0.1, 0.9], [0.2, 0.8]], [[0.3, 0.7], [0.4, 0.6]], [[1 / 3, 2 / 3], [1.0, 0.0]]],
        },
        name="three",
        costs={second: 2.5},
    )


def with_states(*states: str) -> BayesianNetwork:
    """Return a network of one variable with these states."""
    return BayesianNetwork([Variable("A", states)], {}, {"A": np.full(len(states), 1 / len(states))})


def through_pgmpy(network: BayesianNetwork, form: str, folder: Path) -> dict[str, Any]:
    """Write a network and return pgmpy's tables [parents…, states] by variable."""
    path = folder / ("model" + FORMATS[form].suffixes[0])
    write_network(network, path)
    readers = {
        "bif": "BIFReader",
        "xmlbif": "XMLBIFReader",
        "xdsl": "XDSLReader",
        "net": "NETReader",
        "uai": "UAIReader",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(readwrite, readers[form])(path=str(path)).get_model()
    return {cpd.variable: cpd for cpd in model.get_cpds()}


def through_pyagrum(network: BayesianNetwork, form: str, folder: Path) -> Any:
    """Write a network and return it as pyAgrum reads it."""
    suffix = {"xmlbif": ".bifxml"}.get(form, FORMATS[form].suffixes[0])
    path = folder / ("model" + suffix)
    write_network(network, path)
    return gum.loadBN(str(path))


def assert_pgmpy_agrees(network: BayesianNetwork, cpds: dict[str, Any]) -> None:
    """Check names, states and every bit of every table."""
    assert set(cpds) == set(network.names)
    for name in network.names:
        cpd = cpds[name]
        assert tuple(cpd.variables) == (name, *network.parents(name))
        assert list(cpd.state_names[name]) == list(network.states(name))
        assert np.array_equal(np.moveaxis(cpd.values, 0, -1), network.table(name))


def assert_pyagrum_agrees(network: BayesianNetwork, other: Any, names: dict[str, str]) -> None:
    """Check every entry to the precision of pyAgrum's readers, which is that of 32-bit floats."""
    for name in network.names:
        axes = (*network.parents(name), name)
        cpt = other.cpt(names[name])
        for index in itertools.product(*(range(len(network.states(axis))) for axis in axes)):
            chosen = {names[axis]: position for axis, position in zip(axes, index, strict=True)}
            assert cpt[chosen] == pytest.approx(network.table(name)[index], abs=1e-6)


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "uai"])
def test_pgmpy_reads_what_we_write(form: str, tmp_path: Path) -> None:
    """Every table comes out of pgmpy's reader bit for bit, with exponents, costs and parents in our order."""
    assert_pgmpy_agrees(plain(), through_pgmpy(plain(), form, tmp_path))


def test_pgmpy_reads_our_uai_files_in_its_own_order(tmp_path: Path) -> None:
    """Pgmpy loads the file but takes the child to vary slowest, against the format's definition."""
    cpds = through_pgmpy(plain(), "uai", tmp_path)
    assert set(cpds) == {"var_0", "var_1", "var_2"}
    assert np.array_equal(cpds["var_1"].values, plain().table("B"))
    assert np.array_equal(cpds["var_2"].values.ravel(), plain().table("C").ravel())


def chain() -> BayesianNetwork:
    """Return `plain` without the third variable's second parent."""
    full = plain()
    tables = {"A": full.table("A"), "B": full.table("B"), "C": full.table("C")[:, 1]}
    return BayesianNetwork(full.variables, {"C": ["B"]}, tables)


@pytest.mark.parametrize("form", FORMATS)
def test_pyagrum_reads_what_we_write(form: str, tmp_path: Path) -> None:
    """Every table comes out of pyAgrum's reader to seven digits, which is what it keeps in BIF, NET and UAI."""
    network = chain() if form in OTHER_ORDER else plain()
    other = through_pyagrum(network, form, tmp_path)
    names = {name: str(position) if form == "uai" else name for position, name in enumerate(network.names)}
    assert set(other.names()) == set(names.values())
    assert_pyagrum_agrees(network, other, names)


@pytest.mark.parametrize("form", OTHER_ORDER)
def test_pyagrum_takes_the_first_of_several_parents_to_vary_fastest_in_xdsl_and_uai(form: str, tmp_path: Path) -> None:
    """PyAgrum reads these tables against the formats' definitions; the entries are ours in another order."""
    other = through_pyagrum(plain(), form, tmp_path)
    first, second, third = ("0", "1", "2") if form == "uai" else ("A", "B", "C")
    entries = plain().table("C").ravel()
    found = [other.cpt(third)[{first: a, second: b, third: c}] for a in range(2) for b in range(3) for c in range(2)]
    assert found == pytest.approx(entries, abs=1e-6)


@pytest.mark.parametrize("form", ["xdsl", "net"])
def test_peers_load_names_that_are_no_identifiers_under_identifiers(form: str, tmp_path: Path) -> None:
    """Where a format has only identifiers, odd names do not keep other programs from loading the file."""
    network = plain(("A b", "<5", "Größe"))
    words = dict(zip(network.names, ("A_b", "x_5", "Gr__e"), strict=True))
    cpds = through_pgmpy(network, form, tmp_path)
    assert set(cpds) == set(words.values())
    assert np.array_equal(np.moveaxis(cpds["Gr__e"].values, 0, -1), network.table("Größe"))
    # pyAgrum shows the titles that an XDSL file holds besides its identifiers.
    other = through_pyagrum(network, form, tmp_path)
    assert set(other.names()) == set(words.values() if form == "net" else network.names)


def test_peers_load_any_name_from_xmlbif(tmp_path: Path) -> None:
    """XMLBIF holds odd names of variables and states, and both peers read them as they are."""
    network = plain(("A b", "<5 & |", "Größe "))
    assert_pgmpy_agrees(network, through_pgmpy(network, "xmlbif", tmp_path))
    assert_pyagrum_agrees(network, through_pyagrum(network, "xmlbif", tmp_path), {name: name for name in network.names})


@pytest.mark.parametrize("states", [("<5", "12+"), ("0-3_days", "Asy/Patch", "7.5", ">=7.5"), ("a b", "c"), ("é", "ü")])
def test_pgmpy_loads_odd_states_from_bif(states: tuple[str, ...], tmp_path: Path) -> None:
    """Pgmpy accepts in BIF what the public networks use, and blanks and letters beyond ASCII."""
    assert_pgmpy_agrees(with_states(*states), through_pgmpy(with_states(*states), "bif", tmp_path))


@pytest.mark.parametrize(
    ("form", "states"),
    [("bif", ("<5", "x")), ("bif", ("a b", "c")), ("bif", ("é", "x")), ("net", ("é", "ü")), ("net", ('"', "x"))],
)
def test_states_pyagrum_cannot_load(form: str, states: tuple[str, ...], tmp_path: Path) -> None:
    """The documentation lists these as refused by pyAgrum; when that changes, it should change too."""
    with pytest.raises(Exception, match="pyAgrum"):
        through_pyagrum(with_states(*states), form, tmp_path)


@pytest.mark.parametrize(("form", "states"), [("bif", ("a,b", "c")), ("net", ("a b", "c")), ("net", ("a,b", "c"))])
def test_states_pgmpy_cannot_load(form: str, states: tuple[str, ...], tmp_path: Path) -> None:
    """The documentation lists these as refused by pgmpy; when that changes, it should change too."""
    with pytest.raises((ValueError, IndexError, AssertionError)):
        assert_pgmpy_agrees(with_states(*states), through_pgmpy(with_states(*states), form, tmp_path))


def test_pgmpy_and_pyagrum_agree_on_the_order_of_a_flat_bif_table(tmp_path: Path) -> None:
    """All three readers take the child of a flat table to vary slowest."""
    text = """network "n" {}
variable A { type discrete [2] { x, y }; }
variable C { type discrete [2] { p, q }; }
probability ( A ) { table 0.5, 0.5; }
probability ( C | A ) { table 0.6, 0.05, 0.4, 0.95; }
"""
    path = tmp_path / "flat.bif"
    path.write_text(text)
    ours = read_network(path)
    assert ours.table("C").tolist() == [[0.6, 0.4], [0.05, 0.95]]
    assert_pyagrum_agrees(ours, gum.loadBN(str(path)), {"A": "A", "C": "C"})
    cpds = {cpd.variable: cpd for cpd in readwrite.BIFReader(string=text.replace("} ", "}\n")).get_model().get_cpds()}
    assert np.array_equal(cpds["C"].values.T, ours.table("C"))


@pytest.mark.parametrize("form", ["bif", "net", "uai", "xdsl", "bifxml"])
def test_we_read_what_pyagrum_writes(form: str, tmp_path: Path) -> None:
    """A random network saved by pyAgrum has the same tables here, to the digits pyAgrum writes (see above on order)."""
    gum.initRandom(7)
    theirs = gum.fastBN("A{x|y}->B{u|v|w}->C{p|q}" + ("" if form in OTHER_ORDER else ";A->C;D->C"))
    path = tmp_path / f"theirs.{form}"
    gum.saveBN(theirs, str(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = read_network(path)
    numbers = {name: f"var_{theirs.idFromName(name)}" if form == "uai" else name for name in theirs.names()}
    assert set(ours.names) == set(numbers.values())
    back = {ours_: theirs_ for theirs_, ours_ in numbers.items()}
    for name in ours.names:
        axes = (*ours.parents(name), name)
        for index in itertools.product(*(range(len(ours.states(axis))) for axis in axes)):
            chosen = {back[axis]: position for axis, position in zip(axes, index, strict=True)}
            assert ours.table(name)[index] == pytest.approx(theirs.cpt(back[name])[chosen], abs=1e-4)


@pytest.mark.parametrize("form", ["BIF", "XMLBIF", "XDSL", "NET"])
def test_we_read_what_pgmpy_writes(form: str, tmp_path: Path) -> None:
    """CHILD, with its odd state names, saved by pgmpy has the same tables here (NET rounds to eight decimals).

    pgmpy's XMLBIF writer makes ``_7_5`` of both ``<7.5`` and ``>=7.5``, so INSURANCE stands in for CHILD there.
    """
    source = MODELS / ("insurance.bif.gz" if form == "XMLBIF" else "child.bif.gz")
    text = gzip.decompress(source.read_bytes()).decode()
    path = tmp_path / f"model.{form.lower()}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = readwrite.BIFReader(string=text).get_model()
        getattr(readwrite, f"{form}Writer")(model).write(str(path))
        ours = read_network(path, format=form.lower())
    expected = read_network(source)
    assert set(ours.names) == set(expected.names)
    for name in ours.names:
        assert ours.states(name) == expected.states(name)
        order = [*(ours.parents(name).index(parent) for parent in expected.parents(name)), len(ours.parents(name))]
        assert ours.table(name).transpose(order) == pytest.approx(expected.table(name), abs=1e-8)


def compare_with_pgmpy(name: str) -> None:
    """Check a public network against pgmpy's own reader: names, states, parents, every bit of every table."""
    path = MODELS / f"{name}.bif.gz"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = readwrite.BIFReader(string=gzip.decompress(path.read_bytes()).decode())
        network = read_network(path)
    assert list(reader.variable_names) == list(network.names)
    for variable in network.names:
        assert list(reader.variable_states[variable]) == list(network.states(variable))
        assert list(reader.variable_parents[variable]) == list(network.parents(variable))
        ours = network.table(variable).reshape(-1, len(network.states(variable)))
        assert np.array_equal(np.asarray(reader.variable_cpds[variable]).T, ours)


@pytest.mark.parametrize("name", QUICK)
def test_public_networks_agree_with_pgmpy(name: str) -> None:
    """Every table of the small and medium networks is the one pgmpy reads, bit for bit."""
    compare_with_pgmpy(name)


def test_all_public_networks_load_within_the_budget() -> None:
    """All 24 networks of the repository, MUNIN and CHILD among them, load in far less than ten seconds."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sizes = {path.name.split(".")[0]: len(read_network(path).names) for path in sorted(MODELS.glob("*.bif.gz"))}
    assert time.perf_counter() - start < BUDGET
    assert len(sizes) == 24
    assert sizes["munin"] == 1041
    assert sizes["child"] == 20


@pytest.mark.parametrize("form", FORMATS)
def test_a_large_network_survives_every_format(form: str, tmp_path: Path) -> None:
    """WIN95PTS and CHILD come back from every format as they went in."""
    for name in ("win95pts", "child"):
        network = read_network(MODELS / f"{name}.bif.gz")
        path = tmp_path / f"model{FORMATS[form].suffixes[0]}.gz"
        write_network(network, path)
        assert read_network(path) == network
