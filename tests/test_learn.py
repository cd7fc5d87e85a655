"""Learning from tables: every number held against counting by hand, and every choice against its definition."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayestrim as bt
from bayestrim.errors import LearnError, UnknownNameError
from bayestrim.ranges import quantile_cuts

HEART = Path(__file__).parents[1] / "examples" / "data" / "heart.csv"
VALUES = st.sampled_from(["x", "y", "z", None])


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Draw a small table with gaps, whose class has at least two states."""
    size = draw(st.integers(2, 12))
    columns = {name: draw(st.lists(VALUES, min_size=size, max_size=size)) for name in ("f", "g", "h")}
    return {"c": ["+", "-", *draw(st.lists(VALUES, min_size=size - 2, max_size=size - 2))], **columns}


@given(tables(), st.sampled_from([0.0, 0.5, 1.0]))
def test_naive_bayes_is_smoothed_counting(table: dict[str, list[Any]], smoothing: float) -> None:
    """Each entry is the share of rows, among those in which class and feature are known."""
    try:
        network = bt.learn(table, "c", smoothing=smoothing).network
    except LearnError:  # no column has two values
        return
    classes = Counter(value for value in table["c"] if value is not None)
    for i, state in enumerate(network.states("c")):
        expected = (classes[state] + smoothing) / (classes.total() + smoothing * len(classes))
        assert network.table("c")[i] == pytest.approx(expected)
    for name in network.names[1:]:
        pairs = Counter(zip(table["c"], table[name], strict=True))
        for i, klass in enumerate(network.states("c")):
            row = [pairs[klass, state] + smoothing for state in network.states(name)]
            if sum(row):
                assert network.table(name)[i] == pytest.approx(np.array(row) / sum(row))
        assert network.parents(name) == ("c",)


def information(table: dict[str, list[Any]], a: str, b: str) -> float:
    """Return the mutual information of two columns given the class, from its definition."""
    rows = [row for row in zip(table["c"], table[a], table[b], strict=True) if None not in row]
    abc = Counter(rows)
    ac, bc = Counter((c, x) for c, x, _ in rows), Counter((c, y) for c, _, y in rows)
    c = Counter(row[0] for row in rows)
    return sum(n / len(rows) * math.log(n * c[k] / (ac[k, x] * bc[k, y])) for (k, x, y), n in abc.items())


@given(tables())
@settings(max_examples=60)
def test_the_tree_carries_the_most_information(table: dict[str, list[Any]]) -> None:
    """No other spanning tree of the features has more mutual information given the class."""
    try:
        learned = bt.learn(table, "c", structure="tree")
    except LearnError:
        return
    names = learned.network.names[1:]
    edges = learned.report.edges
    assert len(edges) == len(names) - 1
    value = {pair: information(table, *pair) for pair in itertools.combinations(names, 2)}
    mine = sum(value[pair] if pair in value else value[pair[::-1]] for pair in edges.items())
    trees = [
        tree for tree in itertools.combinations(value, len(names) - 1) if len(set(itertools.chain(*tree))) == len(names)
    ]
    assert mine == pytest.approx(max((sum(value[pair] for pair in tree) for tree in trees), default=0.0))


@given(tables())
@settings(max_examples=60)
def test_a_tables_rows_without_data_fall_back_on_naive_bayes(table: dict[str, list[Any]]) -> None:
    """Where class and second parent never met, the tree says what the feature does given the class alone."""
    try:
        naive, tree = bt.learn(table, "c").network, bt.learn(table, "c", structure="tree")
    except LearnError:
        return
    for child, parent in tree.report.edges.items():
        seen = Counter(row[:2] for row in zip(table["c"], table[parent], table[child], strict=True) if None not in row)
        for i, klass in enumerate(naive.states("c")):
            for j, state in enumerate(naive.states(parent)):
                if not seen[klass, state]:
                    assert tree.network.table(child)[i, j] == pytest.approx(naive.table(child)[i])


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(2, 8))
def test_ranges_hold_as_nearly_equal_shares_as_repeated_values_allow(values: list[int], bins: int) -> None:
    """Below each cut lie at least as many values as it should have, and fewer below the value before it."""
    distinct, counts = np.unique(np.array(values, dtype=float), return_counts=True)
    cuts = quantile_cuts(distinct, counts.astype(float), bins)
    wanted = {k / bins * len(values) for k in range(1, bins)}
    below = {end: sum(value < end for value in values) for end in [*distinct, math.inf]}
    reached = {min((end for end in below if below[end] >= share - 1e-9), default=math.inf) for share in wanted}
    assert cuts == tuple(sorted(reached - {math.inf, distinct[0]}))
    assert all(np.histogram(values, [-math.inf, *cuts, math.inf])[0])


def test_numbers_are_cut_and_the_cuts_stay() -> None:
    """Raw numbers are decided as the ranges they fall in, in every form a row may have."""
    learned = bt.learn(HEART, "num", positive=["1", "2", "3", "4"])
    age = learned.network.variable("age")
    assert (age.states, age.cuts) == (("<46", "46..<54", "54..<59", "59..<64", ">=64"), (46.0, 54.0, 59.0, 64.0))
    assert set(learned.report.binned) == {"age", "trestbps", "chol", "thalach", "oldpeak"}
    classifier = learned.classifier()
    for value, state in [(45.9, "<46"), (46, "46..<54"), ("53", "46..<54"), ("64.0", ">=64"), (math.inf, ">=64")]:
        assert classifier.posterior({"age": value}) == classifier.posterior({"age": state})
        assert classifier.posterior([{"age": value}])[0] == classifier.posterior({"age": state})
    assert classifier.posterior({"age": math.nan}) == classifier.posterior({})
    with pytest.raises(bt.EvidenceError, match="'age' has no state 'old'"):
        classifier.posterior({"age": "old"})


def test_frames_of_numbers_are_decided_as_their_ranges() -> None:
    """A pandas frame of raw numbers, with gaps, gives what the ranges' names give."""
    pd = pytest.importorskip("pandas")
    classifier = bt.learn(HEART, "num", positive=["1", "2", "3", "4"]).classifier()
    frame = pd.read_csv(HEART)
    frame.loc[::3, "age"] = np.nan
    named = [
        {
            v.name: v.states[v.bin(x)] if v.cuts else str(int(x))
            for v in classifier.feature_variables
            if not math.isnan(x := row[v.name])
        }
        for row in frame.to_dict("records")
    ]
    assert classifier.posterior(frame).tolist() == classifier.posterior(named).tolist()


@pytest.mark.parametrize("ending", ["bif", "xmlbif", "xdsl", "net", "uai", "bif.gz"])
def test_every_format_keeps_the_cuts(tmp_path: Path, ending: str) -> None:
    """What is learnt can be written, read, and asked about numbers again."""
    network = bt.learn(HEART, "num").network
    bt.write_network(network, tmp_path / f"heart.{ending}")
    again = bt.read_network(tmp_path / f"heart.{ending}")
    assert again == network
    assert again.variable("age").cuts == (46.0, 54.0, 59.0, 64.0)


def test_a_saved_classifier_keeps_the_cuts(tmp_path: Path) -> None:
    """So does the package's own file."""
    classifier = bt.learn(HEART, "num").classifier(["1", "2", "3", "4"])
    classifier.save(tmp_path / "heart.json")
    assert bt.Classifier.load(tmp_path / "heart.json") == classifier


def test_weights_count_rows() -> None:
    """A row of weight two is a row that is there twice, also for the ends of ranges; a weight of zero is no row."""
    rows = [("+", 1.5, 2), ("-", 2.5, 1), ("-", 3.5, 0), ("+", 4.5, 3), ("-", 5.5, 1), ("+", 6.5, 1), ("-", 7.5, 2)]
    table = {name: list(column) for name, column in zip(("c", "x", "w"), zip(*rows, strict=True), strict=True)}
    repeated = [row for row in rows for _ in range(row[2])]
    plain = {"c": [row[0] for row in repeated], "x": [row[1] for row in repeated]}
    network = bt.learn(plain, "c", bins=3).network
    assert bt.learn(table, "c", bins=3, weights="w").network == network
    assert bt.learn({"c": table["c"], "x": table["x"]}, "c", bins=3, weights=table["w"]).network == network


def test_joined_classes_keep_the_features_independent() -> None:
    """With the positive states joined before counting, the additive engine answers."""
    classifier = bt.learn(HEART, "num", positive=["1", "2", "3", "4"]).classifier()
    assert classifier.positive == ("1/2/3/4",)
    assert bt.trim(classifier, budget=4).engine == "additive"


def test_the_report_says_what_was_done() -> None:
    """Joined classes, ranges, gaps, and what was left out and why."""
    table = {
        "c": ["0", "1", "2", "0", None] * 30,
        "id": [f"patient {i}" for i in range(150)],
        "same": ["x"] * 150,
        "none": [None] * 150,
        "f": ["a", "b", None, "a", "b"] * 30,
    }
    report = bt.learn(table, "c", positive=["1", "2"]).report
    assert str(report).splitlines() == [
        "rows       120 of 150",
        "class      1/2 (60), 0 (60); states were joined",
        "structure  naive Bayes; 1 added to every count",
        "missing    f 30",
        "left out   id: 150 different texts",
        "left out   same: the same value in all rows",
        "left out   none: no value at all",
    ]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"structure": "forest"}, LearnError, "it is 'naive' or 'tree'"),
        ({"bins": 1}, LearnError, "bins=1"),
        ({"bins": 2.5}, LearnError, "bins=2.5; it must be a whole number, 2 or more"),
        ({"smoothing": -1}, LearnError, "smoothing=-1"),
        ({"target": "d"}, UnknownNameError, "no column 'd'"),
        ({"target": "one"}, LearnError, "has the one value 'x'"),
        ({"target": "empty"}, LearnError, "is empty"),
        ({"positive": "2"}, UnknownNameError, "'c' has no state '2'"),
        ({"positive": ["0", "1"]}, LearnError, "names 2 of the 2 states"),
        ({"features": ["c"]}, LearnError, "'c' is the target"),
        ({"features": ["g"]}, UnknownNameError, "no column 'g'"),
        ({"features": ["one"]}, LearnError, r"no column is left to learn from \(one: the same value in all rows\)"),
        ({"weights": "f"}, LearnError, "row 0: a weight must be a finite number"),
        ({"weights": [1.0]}, LearnError, "weights have the shape"),
        ({"weights": [0, 0, 0]}, LearnError, "are 0"),
        ({"weights": ["a", "b", "c"]}, LearnError, "weights must be numbers"),
    ],
)
def test_what_cannot_be_learnt_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    """Errors say what was given and what is allowed."""
    table = {"c": [0, 1, 1], "f": ["a", "b", "a"], "one": ["x", "x", "x"], "empty": [None] * 3}
    with pytest.raises(error, match=message):
        bt.learn(table, **{"target": "c", **options})


def test_a_table_without_rows_is_refused() -> None:
    """There is nothing to learn from."""
    with pytest.raises(LearnError, match="no rows"):
        bt.learn({"c": [], "f": []}, "c")
