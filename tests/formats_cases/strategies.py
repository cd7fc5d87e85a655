"""Random networks with awkward names and tables, and random damage to files."""

# ruff: noqa: E501  (tables read better with long lines)

from __future__ import annotations

import unicodedata
from random import Random

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from bayestrim.network import BayesianNetwork, Variable

ODD_NAMES = [
    "a", "A", "a b", " a", "a ", "a  b", "<5", "12+", "0-3_days", "Asy/Patch", "7.5", ">=7.5", "|", ",", "a,b", "a|b",
    '"', '"a"', "\\", 'a\\"', "a\\", "//", "a//b", "/*", "*/", "%", "#", "é", "naïve Größe", "疾病", "x_2", "x", "node",
    "net", "variable", "table", "default", "property", "unknown", "network", "(", ")", "{}", ";", "=", "&amp;", "<b>",
    "]]>", "&#32;", "var_0", "var_1", "0", "1", "\u00a0", "\u2028", "a\u2003b", "\ufeff", "e\u0301", "null", "[1]",
]  # fmt: skip


def _allowed(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cs") and character not in "\ufffe\uffff"


CHARACTERS = st.characters(exclude_categories=("Cc", "Cs")).filter(_allowed)
NAMES = st.one_of(st.sampled_from(ODD_NAMES), st.text(CHARACTERS, min_size=1, max_size=6))
WEIGHTS = st.one_of(st.integers(0, 3), st.floats(0, 1), st.sampled_from([1e-300, 5e-324, 1e-5, 1 / 3, 123456789]))


@st.composite
def rows(draw: st.DrawFn, states: int) -> npt.NDArray[np.float64]:
    """Draw a row of a table: weights divided by their sum, so that the decimals are long."""
    weights = np.array(draw(st.lists(WEIGHTS, min_size=states, max_size=states)), dtype=float)
    if weights.sum() < 1e-3:
        weights[draw(st.integers(0, states - 1))] += 1
    row: npt.NDArray[np.float64] = weights / weights.sum()
    return row


@st.composite
def variables_called(draw: st.DrawFn, name: str) -> Variable:
    """Draw a variable; the states of some are ranges of a number."""
    states = tuple(draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)))
    finite = st.floats(allow_nan=False, allow_infinity=False)
    cuts = st.lists(finite, min_size=len(states) - 1, max_size=len(states) - 1, unique=True).map(sorted)
    return Variable(name, states, draw(st.one_of(st.none(), cuts.map(tuple))))


@st.composite
def networks(draw: st.DrawFn) -> BayesianNetwork:
    """Draw a network of up to four variables in any order, with costs, cuts and a name now and then."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    variables = [draw(variables_called(name)) for name in names]
    order = draw(st.permutations(variables))
    parents, tables = {}, {}
    for position, variable in enumerate(order):
        earlier = order[:position]
        given = draw(st.lists(st.sampled_from(earlier), unique=True, max_size=3)) if earlier else []
        parents[variable.name] = [parent.name for parent in given]
        shape = [len(parent) for parent in given]
        table = [draw(rows(len(variable))) for _ in range(int(np.prod(shape)))]
        tables[variable.name] = np.array(table).reshape((*shape, len(variable)))
    costs = draw(st.dictionaries(st.sampled_from(names), st.floats(0, 1e300), max_size=2))
    return BayesianNetwork(variables, parents, tables, name=draw(st.one_of(st.just(""), NAMES)), costs=costs)


SNIPPETS = [
    b"(", b")", b"{", b"}", b"[", b"]", b"|", b",", b";", b"=", b'"', b"\\", b"//", b"/*", b"*/", b"%", b"#", b"<", b">",
    b"&", b"</", b"/>", b"<![CDATA[", b"<!--", b"<!DOCTYPE a [", b"<!ENTITY a 'b'>", b"&a;", b"\x00", b"\xff", b"\r",
    b"\n", b"nan", b"inf", b"-1", b"1e999", b"1e-999", b"9" * 400, b"0x1", b"1_0", b"999999999", b"table", b"default",
    b"property", b"variable A {", b"node", b"data", b"states", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b"\xe2\x80\xa8",
]  # fmt: skip


def damaged(content: bytes, random: Random) -> bytes:
    """Return a file with one to four pieces cut, doubled, swapped, replaced or put in."""
    data = bytearray(content)
    for _ in range(random.randint(1, 4)):
        start = random.randint(0, len(data))
        stop = min(len(data), start + random.choice((0, 1, 1, 2, 5, 20, 200)))
        choice = random.randrange(5)
        if choice == 0:
            del data[start:stop]
        elif choice == 1:
            data[start:start] = data[start:stop] * random.choice((1, 2, 30))
        elif choice == 2:
            data[start:stop] = random.choice(SNIPPETS)
        elif choice == 3:
            data[start:stop] = random.randbytes(stop - start)
        else:
            del data[start:]
    return bytes(data)
