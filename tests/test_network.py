"""Networks: what is accepted, what is refused and in which words, and what they answer."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import generators
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayestrim as bt

A = bt.Variable("A", ("a0", "a1"))
B = bt.Variable("B", ("b0", "b1", "b2"))
C = bt.Variable("C", ("c0", "c1"))
ROW_OF_B = [0.2, 0.3, 0.5]


def chain(**changes: Any) -> bt.BayesianNetwork:
    """Return the network A → B → C, with some arguments changed."""
    arguments: dict[str, Any] = {
        "variables": [A, B, C],
        "parents": {"B": ["A"], "C": ["B"]},
        "tables": {"A": [0.1, 0.9], "B": [ROW_OF_B, ROW_OF_B], "C": [[1, 0], [0, 1], [0.5, 0.5]]},
    }
    return bt.BayesianNetwork(**{**arguments, **changes})


def table_of_b(rows: object) -> dict[str, object]:
    """Return the chain's tables with another one for B."""
    return {"A": [0.1, 0.9], "B": rows, "C": [[1, 0], [0, 1], [0.5, 0.5]]}


def test_a_network_answers_what_it_was_built_from() -> None:
    """Names, states, parents, children, roots, leaves, order and tables are those given."""
    net = chain(name="chain", costs={"B": 2})
    assert net.names == ("A", "B", "C")
    assert net.states("B") == ("b0", "b1", "b2")
    assert net.parents("C") == ("B",)
    assert net.children("A") == ("B",)
    assert net.roots == ("A",)
    assert net.leaves == ("C",)
    assert net.topological_order == ("A", "B", "C")
    assert net.table("B").tolist() == [ROW_OF_B, ROW_OF_B]
    assert dict(net.costs) == {"B": 2.0}
    assert "B" in net
    assert "D" not in net
    assert repr(net) == "BayesianNetwork('chain', 3 variables, 2 edges)"


def test_tables_cannot_be_changed() -> None:
    """Neither the table given nor the table returned can alter the network."""
    given_table = np.array([0.1, 0.9])
    net = chain(tables=table_of_b([ROW_OF_B, ROW_OF_B]) | {"A": given_table})
    given_table[0] = 0.5
    assert net.table("A")[0] == 0.1
    with pytest.raises(ValueError, match="read-only"):
        net.table("A")[0] = 0.5


def test_the_topological_order_puts_parents_first_whatever_the_listing() -> None:
    """Variables may be listed in any order."""
    net = chain(variables=[C, B, A])
    assert net.names == ("C", "B", "A")
    assert net.topological_order == ("A", "B", "C")


def test_the_ancestral_part_holds_the_variables_and_their_ancestors_only() -> None:
    """What lies below the wanted variables is left out; with everything wanted, it is the same object."""
    net = chain(costs={"A": 1, "C": 3})
    part = net.ancestral(["B"])
    assert part.names == ("A", "B")
    assert dict(part.costs) == {"A": 1.0}
    assert net.ancestral(["C"]) is net


REFUSALS: dict[str, tuple[Callable[[], object], str]] = {
    "no variables": (lambda: bt.BayesianNetwork([], {}, {}), "at least one variable"),
    "a variable twice": (lambda: chain(variables=[A, A, B, C]), "'A' is given twice"),
    "no states": (lambda: bt.Variable("A", ()), "no states"),
    "a state twice": (lambda: bt.Variable("A", ("x", "y", "x")), "the state 'x' twice"),
    "an empty name": (lambda: bt.Variable("", ("x",)), "must not be empty"),
    "an empty state": (lambda: bt.Variable("A", ("",)), "a state of 'A' must not be empty"),
    "a name that is no string": (lambda: bt.Variable(3, ("x",)), "must be a string, not 3"),  # type: ignore[arg-type]
    "a control character": (lambda: bt.Variable("a\nb", ("x",)), "control characters"),
    "a network's name in two lines": (lambda: chain(name="a\nb"), "a network's name must not hold control characters"),
    "an unknown parent": (lambda: chain(parents={"B": ["Aa"]}), "unknown parent 'Aa'; did you mean 'A'"),
    "parents as a string": (lambda: chain(parents={"B": "A"}), "must be a list of names"),
    "a parent twice": (lambda: chain(parents={"B": ["A", "A"]}), "names a parent twice"),
    "parents for nobody": (lambda: chain(parents={"D": ["A"]}), "no variable 'D'"),
    "a cycle": (lambda: chain(parents={"A": ["C"], "B": ["A"], "C": ["B"]}), "cycle: A → B → C → A"),
    "its own parent": (lambda: chain(parents={"A": ["A"]}), "cycle: A → A"),
    "no table": (lambda: chain(tables={"A": [0.1, 0.9]}), "'B' has no table"),
    "a wrong shape": (lambda: chain(tables=table_of_b(ROW_OF_B)), r"shape \(3,\); \[A, B\] needs \(2, 3\)"),
    "words for numbers": (lambda: chain(tables=table_of_b("x")), "not an array of numbers"),
    "a ragged table": (lambda: chain(tables=table_of_b([[1], [0.5, 0.5]])), "not an array of numbers"),
    "a negative entry": (lambda: chain(tables=table_of_b([ROW_OF_B, [-0.5, 1, 0.5]])), "B' given A=a1, .*-0.5 is neg"),
    "an entry above 1": (lambda: chain(tables=table_of_b([ROW_OF_B, [1.5, 0, 0]])), "1.5 is above 1"),
    "an infinite entry": (lambda: chain(tables=table_of_b([ROW_OF_B, [np.inf, 0, 0]])), "inf is not a finite"),
    "no number": (lambda: chain(tables=table_of_b([ROW_OF_B, [np.nan, 0, 1]])), "nan is not a finite"),
    "a bad row sum": (lambda: chain(tables=table_of_b([ROW_OF_B, [0.2, 0.3, 0.4]])), "given A=a1, .* sums to 0.9;"),
    "a cost for nobody": (lambda: chain(costs={"D": 1}), "no variable 'D'"),
    "a negative cost": (lambda: chain(costs={"A": -1}), "cost of 'A' is -1; .* at least 0"),
    "an unknown variable": (lambda: chain().table("D"), "no variable 'D'; known: 'A', 'B', 'C'"),
    "an unknown state": (lambda: chain().variable("A").index("a2"), "'A' has no state 'a2'; known: 'a0', 'a1'"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_what_is_wrong_is_refused_in_words_that_say_so(what: str) -> None:
    """Every fault raises one of the package's own errors, naming the variable, the row and what is allowed."""
    build, words = REFUSALS[what]
    with pytest.raises(bt.BayestrimError, match=words):
        build()


def test_rows_a_little_off_are_divided_out_with_one_warning() -> None:
    """Row sums off by more than rounding, but by no more than 1 %, give one warning that names the worst."""
    off = [[0.2, 0.3, 0.505], [0.2, 0.3, 0.501]]
    with pytest.warns(bt.RowSumWarning, match="2 tables have rows .* worst is 'C' given B=b1, off by 0.009") as caught:
        net = chain(tables={"A": [0.1, 0.9], "B": off, "C": [[1, 0], [0.0, 0.991], [0.5, 0.5]]})
    assert len(caught) == 1
    assert net.table("B").sum(axis=-1) == pytest.approx(1, abs=1e-15)
    assert net.table("C")[0].tolist() == [1, 0]


def test_rows_off_by_rounding_keep_their_decimals() -> None:
    """Decimals that were rounded when they were written are kept to the digit, without a word."""
    third = [0.3333333, 0.3333333, 0.3333333]
    assert chain(tables=table_of_b([third, third])).table("B")[0].tolist() == third


@given(st.randoms(use_true_random=False))
def test_networks_survive_pickling_and_know_their_equals(random: Random) -> None:
    """A pickled network is equal, hashes alike, and differs once a digit of a table does."""
    net = generators.random_network(random)
    copy = pickle.loads(pickle.dumps(net))
    assert copy == net
    assert hash(copy) == hash(net)
    changed = {name: net.table(name).copy() for name in net.names}
    name = next(v.name for v in net.variables if len(v) > 1)
    changed[name][...] = 1 / len(net.variable(name))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = bt.BayesianNetwork(net.variables, {v: net.parents(v) for v in net.names}, changed)
    assert (other == net) == np.array_equal(net.table(name), changed[name])
    assert net != "a network"
