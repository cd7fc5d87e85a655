"""Classifiers: posteriors and decisions from whatever was observed, conditioning, restriction, saving."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import generators
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayestrim as bt
from bayestrim import inference, reference

randoms = st.randoms(use_true_random=False)

QUIZ = bt.read_network(Path(__file__).parents[1] / "examples" / "quiz.bif")
quiz = bt.Classifier(QUIZ, "Mastery", "+", threshold=0.07)


def random_rows(random: Random, classifier: bt.Classifier, count: int) -> list[dict[str, str]]:
    """Return rows of positive probability with gaps, in keys of any order."""
    worlds = [w for w, _ in reference.worlds(classifier.network) if generators.agrees(w, classifier.evidence)]
    return [{f: w[f] for f in generators.random_subset(random, classifier)} for w in random.choices(worlds, k=count)]


@given(randoms)
def test_posteriors_and_decisions_equal_brute_force(random: Random) -> None:
    """A batch of rows with different gaps gets the exact posteriors, to rounding, and exactly the right decisions."""
    classifier = generators.random_classifier(random)
    rows = random_rows(random, classifier, 6)
    exact = [reference.posterior(classifier, row) for row in rows]
    assert classifier.posterior(rows) == pytest.approx([float(p) for p in exact], abs=1e-13)
    assert classifier.decide(rows).tolist() == [p >= reference.rational(classifier.threshold) for p in exact]


@given(randoms)
def test_rows_decide_alike_alone_and_in_company(random: Random) -> None:
    """What a row is decided does not depend on the rows beside it."""
    classifier = generators.random_classifier(random)
    rows = random_rows(random, classifier, 6)
    assert classifier.decide(rows).tolist() == [classifier.decide(row) for row in rows]
    assert classifier.posterior(rows) == pytest.approx([classifier.posterior(row) for row in rows], abs=1e-14)


@given(randoms)
def test_grouping_rows_by_their_gaps_gives_the_same_posteriors(random: Random) -> None:
    """Where soft evidence would need too wide a product, rows are grouped instead, with the same result."""
    classifier = generators.random_classifier(random)
    rows = random_rows(random, classifier, 6)
    together = classifier.posterior(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inference, "SOFT_CELLS", 0)
        assert classifier.posterior(rows) == pytest.approx(together, abs=1e-14)


@given(randoms)
def test_logarithms_change_no_posterior_and_no_decision(random: Random) -> None:
    """Where products could underflow, masses are computed by their logarithms, with the same answers."""
    classifier = generators.random_classifier(random)
    rows = random_rows(random, classifier, 6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inference, "SAFE_EXPONENT", 1)
        again = pickle.loads(pickle.dumps(classifier))
        assert again.posterior(rows) == pytest.approx(classifier.posterior(rows), abs=1e-13)
        assert again.decide(rows).tolist() == classifier.decide(rows).tolist()


def long_chain(length: int) -> bt.Classifier:
    """Return naive Bayes with so many features that the probability of an instance underflows."""
    features = [bt.Variable(f"F{i}", ("s0", "s1")) for i in range(length)]
    tables = {f.name: [[0.01, 0.99], [0.02, 0.98]] for f in features}
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "n")), *features],
        {f.name: ["C"] for f in features},
        {"C": [0.5, 0.5], **tables},
    )
    return bt.Classifier(network, "C", "c")


def test_a_thousand_observations_do_not_underflow() -> None:
    """Evidence of probability 10^-1700 still has the right posterior and decision."""
    classifier = long_chain(1000)
    row = np.array([[0] * 500 + [1] * 500, [0] * 1000])
    log_odds = 500 * math.log(0.01 / 0.02) + 500 * math.log(0.99 / 0.98)
    assert classifier.posterior(row)[0] == pytest.approx(math.exp(log_odds), rel=1e-9)
    assert classifier.posterior(row)[1] == pytest.approx(math.exp(1000 * math.log(0.5)), rel=1e-9)
    assert not classifier.decide(row).any()


def test_a_posterior_that_only_rounds_to_one_does_not_reach_the_threshold_one() -> None:
    """With underflow on the way, a threshold of 1 is compared exactly."""
    classifier = long_chain(2000)
    one = generators.with_threshold(bt.Classifier(classifier.network, "C", "n"), 1.0)
    row = np.zeros((1, 2000), dtype=int)
    assert one.posterior(row)[0] == 1.0
    assert not one.decide(row)[0]


def test_what_is_ruled_out_late_does_not_hide_what_is_tiny() -> None:
    """A third class that fits 108 answers far better, and is impossible after the last one, takes no digits away."""
    features = [bt.Variable(f"F{i}", ("y", "n")) for i in range(108)]
    answer = np.array([[0.999, 0.001], [0.001, 0.999], [0.001, 0.999]])
    last = {
        "Q": np.array([[0.9, 0.1], [0.004, 0.996], [0.005, 0.995]]),
        "G": np.array([[0, 1], [0.5, 0.5], [0.5, 0.5]]),
    }
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("a", "b", "c")), *features, bt.Variable("Q", ("y", "n")), bt.Variable("G", ("y", "n"))],
        dict.fromkeys([*(f.name for f in features), "Q", "G"], ("C",)),
        {"C": np.array([0.4, 0.3, 0.3]), **{f.name: answer for f in features}, **last},
    )
    row = dict.fromkeys(network.names[1:], "y")
    classifier = bt.Classifier(network, "C", "b", threshold=0.4445)
    assert classifier.posterior(row) == pytest.approx(4 / 9, rel=1e-9)
    assert not classifier.decide(row)
    assert generators.with_threshold(classifier, 0.4444).decide(row)
    tail = classifier.given(dict.fromkeys(network.names[1:-2], "y"))
    assert float(bt.sdp(tail, {"Q": "y", "G": "y"})) == 1.0
    assert bt.maa(tail, ["Q"]).value.lower == pytest.approx(1.0)


FRAMES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas categories": lambda columns: pd.DataFrame(columns).astype("category"),
    "pandas strings": lambda columns: pd.DataFrame(columns).astype("string"),
    "polars": pl.DataFrame,
    "polars categories": lambda columns: pl.DataFrame(columns).cast(pl.Categorical),
    "mappings": lambda columns: [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ],
}


@pytest.mark.parametrize("kind", FRAMES)
def test_rows_may_come_in_any_form(kind: str) -> None:
    """Frames and mappings give the posteriors of the coded array; None is not observed, absent columns neither."""
    columns = {"Q3": ["+", "-", None, "+"], "Q1": ["-", None, None, "+"]}
    codes = np.array([[1, -1, 0], [-1, -1, 1], [-1, -1, -1], [0, -1, 0]])
    assert quiz.posterior(FRAMES[kind](columns)).tolist() == quiz.posterior(codes).tolist()


def test_numbers_and_truth_values_find_their_states() -> None:
    """A state called 1 is found as 1, 1.0 and True; NaN and pandas' NA are not observed."""
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("no", "yes")), bt.Variable("F", ("0", "1")), bt.Variable("G", ("false", "true"))],
        {"F": ["C"], "G": ["C"]},
        {"C": [0.5, 0.5], "F": [[0.9, 0.1], [0.2, 0.8]], "G": [[0.7, 0.3], [0.4, 0.6]]},
    )
    classifier = bt.Classifier(network, "C")
    assert classifier.positive == ("yes",)
    values: list[Any] = [1, 1.0, True, "1", np.int64(1), None, math.nan, pd.NA, np.float32("nan"), pd.NaT]
    found = [classifier.encode([{"F": value}])[0, 0] for value in values]
    assert found == [1, 1, 1, 1, 1, -1, -1, -1, -1, -1]
    assert classifier.encode([{"G": True}, {"G": False}])[:, 1].tolist() == [1, 0]
    frame = pd.DataFrame({"F": [1, None], "G": [True, False]})
    assert classifier.encode(frame).tolist() == [[1, 1], [-1, 0]]
    for kind in (np.int8, np.uint8, np.uint64, np.float32):
        masked = np.ma.masked_array(np.array([[1, 7]], dtype=kind), mask=[[False, True]])
        assert classifier.encode(masked).tolist() == [[1, -1]]
    floats = np.array([[1.0, np.nan]])
    assert classifier.encode(floats).tolist() == [[1, -1]]


def test_equal_values_of_different_types_are_different_states() -> None:
    """1 and True are equal to Python, but a state called True is not found as 1, in whatever order they come."""
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "n")), bt.Variable("F", ("True", "False"))], {}, {"C": [0.5, 0.5], "F": [0.5, 0.5]}
    )
    classifier = bt.Classifier(network, "C", "c")
    assert classifier.encode([{"F": True}])[0, 0] == 0
    with pytest.raises(bt.EvidenceError, match="'F' has no state 1;"):
        classifier.encode([{"F": True}, {"F": 1}])


def test_dates_are_found_by_their_spelling() -> None:
    """A column of times is compared with the names of states as pandas prints times."""
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "n")), bt.Variable("F", ("2020-01-01 00:00:00", "later"))],
        {},
        {"C": [0.5, 0.5], "F": [0.5, 0.5]},
    )
    frame = pd.DataFrame({"F": pd.to_datetime(["2020-01-01", None])})
    assert bt.Classifier(network, "C", "c").encode(frame).tolist() == [[0], [-1]]


BAD_ROWS: dict[str, tuple[Any, str]] = {
    "an unknown state": ([{"Q1": "right"}], "'Q1' has no state 'right'; known: '\\+', '-'"),
    "an unknown state in a frame": (pd.DataFrame({"Q1": ["?"]}), "'Q1' has no state '\\?'"),
    "a misspelt name": ([{}, {"q1": "+"}], "row 1 observes 'q1', which is not a feature; did you mean 'Q1'"),
    "a row that is no mapping": (["+"], "row 0 is '\\+'; a row is a mapping"),
    "a value that is a list": ([{"Q1": ["+"]}], "'Q1' is given a list"),
    "a frame of something else": (pd.DataFrame({"x": [1]}), "no column of any feature \\('Q1', 'Q2', 'Q3'\\)"),
    "a column twice": (pd.DataFrame([["+", "-"]], columns=["Q1", "Q1"]), "column 'Q1' twice"),
    "too few columns": (np.zeros((1, 2), dtype=int), r"shape \(1, 2\); \(rows, 3\) is needed"),
    "a state number too large": (np.array([[0, 2, 0]]), "state number 2 for 'Q2', which has 2 states"),
    "an infinite state number": (np.array([[np.inf, 0, 0]]), "state number inf for 'Q1'"),
    "an unsigned number too large": (np.array([[0, 2**63, 0]], dtype=np.uint64), "for 'Q2', which has 2 states"),
    "a lazy frame": (pl.LazyFrame({"Q1": ["+"]}), "LazyFrame are not there yet; give what collect"),
    "fractions": (np.array([[0.5, 0, 0]]), "holds fractions"),
    "an array of words": (np.array([["+", "+", "+"]]), "state numbers are needed"),
    "a string": ("Q1=+", "rows of type str are not understood"),
    "a number": (3, "rows of type int are not understood"),
}


@pytest.mark.parametrize("what", BAD_ROWS)
def test_rows_that_make_no_sense_are_refused(what: str) -> None:
    """The message names the row, the column or the value, and what is allowed."""
    rows, words = BAD_ROWS[what]
    with pytest.raises(bt.BayestrimError, match=words):
        quiz.decide(rows)


def test_unknown_states_are_missing_on_request() -> None:
    """`unknown="missing"` takes them as not observed, in all forms of rows."""
    prior = quiz.posterior({})
    assert quiz.posterior({"Q1": "right"}, unknown="missing") == prior
    assert quiz.posterior(np.array([[7, -1, -1], [-7, -1, -1]]), unknown="missing").tolist() == [prior, prior]
    assert quiz.posterior(np.array([[7, 7, 7]], dtype=np.uint8), unknown="missing").tolist() == [prior]
    assert quiz.decide({"Q1": "right"}, unknown="missing") == quiz.decide({})
    with pytest.raises(bt.EvidenceError, match="'error' or 'missing'"):
        quiz.posterior({}, unknown="ignore")  # type: ignore[call-overload]


def certain() -> bt.Classifier:
    """Return a classifier in which F never takes its last state when C is sure."""
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("yes", "no")), bt.Variable("F", ("a", "b", "never"))],
        {"F": ["C"]},
        {"C": [0.5, 0.5], "F": [[0.5, 0.5, 0], [0.25, 0.75, 0]]},
    )
    return bt.Classifier(network, "C", "yes")


def test_impossible_rows_are_an_error_or_nan() -> None:
    """The error names the row and its observations; `impossible="nan"` gives NaN for that row alone."""
    rows = [{"F": "a"}, {"F": "never"}, {"F": "never"}]
    with pytest.raises(bt.ImpossibleEvidenceError, match="row 1 has probability zero in the network: F=never"):
        certain().posterior(rows)
    with pytest.raises(bt.ImpossibleEvidenceError):
        certain().decide(rows)
    found = certain().posterior(rows, impossible="nan")
    assert np.isnan(found).tolist() == [False, True, True]
    with pytest.raises(bt.EvidenceError, match="'error' or 'nan'"):
        certain().posterior(rows, impossible="none")  # type: ignore[call-overload]


def test_no_rows_give_no_answers() -> None:
    """Empty batches are fine, with and without features."""
    assert quiz.posterior([]).tolist() == []
    assert quiz.decide(np.empty((0, 3), dtype=int)).tolist() == []
    assert quiz.restricted([]).decide([{}, {}]).tolist() == [True, True]


@given(randoms)
def test_given_conditions_on_evidence(random: Random) -> None:
    """`given` answers as if its evidence stood in every row, in one step or in two."""
    classifier = generators.random_classifier(random)
    row = random_rows(random, classifier, 1)[0]
    later = [name for name in row if random.random() < 0.5]
    first = {name: state for name, state in row.items() if name not in later}
    conditioned = classifier.given(first)
    assert set(conditioned.features) == set(classifier.features) - set(first)
    assert conditioned.posterior({name: row[name] for name in later}) == pytest.approx(
        classifier.posterior(row), abs=1e-13
    )
    assert conditioned.given({name: row[name] for name in later}) == classifier.given(row)


@given(randoms)
def test_a_restricted_classifier_reads_rows_of_the_original(random: Random) -> None:
    """It ignores what was dropped, marginalises it, and carries only ancestors of what it needs."""
    classifier = generators.random_classifier(random)
    kept = generators.random_subset(random, classifier)
    small = classifier.restricted(kept, 0.3)
    row = random_rows(random, classifier, 1)[0]
    expected = classifier.posterior({name: state for name, state in row.items() if name in kept})
    assert small.posterior(row) == pytest.approx(expected, abs=1e-13)
    assert small.threshold == 0.3
    needed = {classifier.target, *kept, *classifier.evidence}
    assert set(small.network.names) == classifier.network.ancestors(needed)


BAD_CLASSIFIERS: dict[str, tuple[Callable[[], object], str]] = {
    "an unknown target": (lambda: bt.Classifier(QUIZ, "mastery", "+"), "'mastery'; did you mean 'Mastery'"),
    "an unknown positive state": (lambda: bt.Classifier(QUIZ, "Mastery", "yes"), "no state 'yes'"),
    "all states positive": (lambda: bt.Classifier(QUIZ, "Mastery", ["+", "-"]), "2 of the 2 states"),
    "no state positive": (lambda: bt.Classifier(QUIZ, "Mastery", []), "0 of the 2 states"),
    "no guess": (lambda: bt.Classifier(certain().network, "F"), "which state of 'F' is positive"),
    "an unknown feature": (
        lambda: bt.Classifier(QUIZ, "Mastery", "+", ["Q4"]),
        "no variable 'Q4'; known: 'Mastery', 'Q1'",
    ),
    "the target as feature": (lambda: bt.Classifier(QUIZ, "Mastery", "+", ["Mastery"]), "is the target"),
    "a feature twice": (lambda: bt.Classifier(QUIZ, "Mastery", "+", ["Q1", "Q1"]), "named twice"),
    "features as a string": (lambda: bt.Classifier(QUIZ, "Mastery", "+", "Q1"), "must be a list of names"),
    "a threshold above 1": (
        lambda: bt.Classifier(QUIZ, "Mastery", "+", threshold=1.5),
        "1.5; it is a number from 0 to 1",
    ),
    "a threshold that is no number": (
        lambda: bt.Classifier(QUIZ, "Mastery", "+", threshold=math.nan),
        "nan; it is a number",
    ),
    "a threshold that is a truth value": (lambda: bt.Classifier(QUIZ, "Mastery", "+", threshold=True), "is True; it"),
    "features that are no list": (lambda: bt.Classifier(QUIZ, "Mastery", "+", 3), "must be a list of names, not 3"),  # type: ignore[arg-type]
    "features that are no names": (lambda: bt.Classifier(QUIZ, "Mastery", "+", [["Q1"]]), "must be a list of names"),  # type: ignore[list-item]
    "the target as evidence": (lambda: quiz.given({"Mastery": "+"}), "target 'Mastery' is given as evidence"),
    "contradicting evidence": (
        lambda: quiz.given({"Q1": "+"}).given({"Q1": "-"}),
        "already known to be '\\+', not '-'",
    ),
    "impossible evidence": (lambda: certain().given({"F": "never"}), "probability zero"),
    "a feature already seen": (lambda: bt.sdp(quiz, {"Q1": "+"}, ["Q1"]), "'Q1' is already known to be '\\+'"),
    "evidence about nobody": (lambda: quiz.given({"Q4": "+"}), "no variable 'Q4'"),
    "a subset of other features": (lambda: quiz.restricted(["Q4"]), "'Q4' is not a feature .* known: 'Q1'"),
    "a subset as a string": (lambda: bt.eca(quiz, "Q1"), "must be a list of names"),
}


@pytest.mark.parametrize("what", BAD_CLASSIFIERS)
def test_classifiers_that_make_no_sense_are_refused(what: str) -> None:
    """The message names the argument and what is allowed."""
    build, words = BAD_CLASSIFIERS[what]
    with pytest.raises(bt.BayestrimError, match=words):
        build()


@given(randoms)
def test_a_loaded_classifier_predicts_bit_for_bit_like_the_saved(random: Random) -> None:
    """Saving and loading restores an equal classifier, whose posteriors have the same bits."""
    classifier = generators.random_classifier(random)
    path = Path("saved.json")
    with pytest.MonkeyPatch.context() as patch:
        written: list[bytes] = []
        patch.setattr("bayestrim.classifier.write_file", lambda _, content: written.append(content))
        patch.setattr("bayestrim.classifier.read_text", lambda _: written[0].decode())
        classifier.save(path)
        loaded = bt.Classifier.load(path)
    assert loaded == classifier
    assert hash(loaded) == hash(classifier)
    rows = random_rows(random, classifier, 5)
    assert loaded.posterior(rows).tolist() == classifier.posterior(rows).tolist()


def test_the_saved_file_is_for_people_too(tmp_path: Path) -> None:
    """One line for each entry, one for each variable, and valid JSON."""
    quiz.save(tmp_path / "quiz.json")
    text = (tmp_path / "quiz.json").read_text()
    assert '  "threshold": 0.07,\n' in text
    assert '{"name": "Q1", "states": ["+", "-"], "parents": ["Mastery"], "table": [[0.9, 0.1], [0.3, 0.7]]}' in text
    assert json.loads(text)["target"] == "Mastery"
    assert bt.Classifier.load(tmp_path / "quiz.json") == quiz
    assert [path.name for path in tmp_path.iterdir()] == ["quiz.json"]


DAMAGE: dict[str, tuple[Callable[[str], str], str]] = {
    "cut short": (lambda text: text[:200], "quiz.json:10:13: this is not JSON"),
    "another kind": (lambda text: text.replace("bayestrim classifier", "x"), 'says "format": "bayestrim classifier"'),
    "an endless cost": (
        lambda text: text.replace('"costs": {}', f'"costs": {{"Q1": {10**400}}}'),
        "the cost of 'Q1' is 1000",
    ),
    "states in one word": (
        lambda text: text.replace('"states": ["+", "-"]', '"states": "+-"'),
        "states of 'Mastery' must be a list",
    ),
    "an odd ignored name": (
        lambda text: text.replace('"ignored": []', '"ignored": ["\\ud800"]'),
        "an ignored name must not",
    ),
    "a list": (lambda text: "[]", "not a saved bayestrim classifier"),
    "a later version": (lambda text: text.replace('"version": 1', '"version": 9'), "version 9 is not supported"),
    "an entry gone": (lambda text: text.replace('"threshold"', '"treshold"'), "lacks 'threshold'"),
    "a bad row": (lambda text: text.replace("[0.9, 0.1]", "[0.9, 0.5]"), "damaged: .*sums to 1.4"),
    "a wrong type": (lambda text: text.replace('["Q1", "Q2", "Q3"]', "7"), "damaged: "),
    "nested without end": (lambda text: "[" * 100_000, "nested too deeply"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_file_is_a_clear_error(what: str, tmp_path: Path) -> None:
    """The message names the file, the line where it has one, and what is wrong."""
    damage, words = DAMAGE[what]
    path = tmp_path / "quiz.json"
    quiz.save(path)
    path.write_text(damage(path.read_text()))
    with pytest.raises(bt.FormatError, match=words):
        bt.Classifier.load(path)


def test_files_that_cannot_be_opened_or_written_are_clear_errors(tmp_path: Path) -> None:
    """A missing file, a missing folder and bytes that are no text are told apart."""
    with pytest.raises(bt.FileError, match=r"cannot read .*missing.json: No such file"):
        bt.Classifier.load(tmp_path / "missing.json")
    with pytest.raises(bt.FileError, match=r"cannot write .*quiz.json: No such file"):
        quiz.save(tmp_path / "nowhere" / "quiz.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(bt.FormatError, match="not UTF-8"):
        bt.Classifier.load(tmp_path / "binary.json")
    quiz.save(tmp_path / "quiz.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(bt.FileError, match="cannot write"):
        quiz.save(tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["binary.json", "folder", "quiz.json"]


def test_an_interrupted_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither half a file nor a temporary one; the old content stays."""
    path = tmp_path / "quiz.json"
    path.write_text("old")
    monkeypatch.setattr("bayestrim.files.os.fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        quiz.save(path)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("quiz.json", "old")]


def test_a_write_through_a_link_replaces_what_it_points_to(tmp_path: Path) -> None:
    """The link stays a link."""
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    quiz.save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert bt.Classifier.load(tmp_path / "real.json") == quiz


def test_a_classifier_with_many_features_of_one_state_works() -> None:
    """An array has at most 64 axes; variables that have no choice need none."""
    single = [bt.Variable(f"S{i}", ("only",)) for i in range(100)]
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "n")), bt.Variable("F", ("f", "g")), *single],
        {"F": ["C", *(f"S{i}" for i in range(60))]},
        {"C": np.array([0.3, 0.7]), "F": np.array([[0.9, 0.1], [0.2, 0.8]]).reshape(2, *[1] * 60, 2)}
        | {v.name: np.ones(1) for v in single},
    )
    classifier = bt.Classifier(network, "C", "c")
    assert classifier.posterior({"F": "f", "S3": "only"}) == pytest.approx(0.27 / 0.41)
    assert float(bt.maa(classifier, ["S1", "S99"])) == pytest.approx(float(bt.eca(classifier, [], 1.0)))


def test_classifiers_describe_themselves() -> None:
    """The short form names the decision, the features, the threshold and the evidence."""
    assert repr(quiz) == "Classifier(Mastery=+, 3 features, threshold=0.07)"
    assert repr(quiz.given({"Q1": "+"})).endswith("threshold=0.07, given {'Q1': '+'})")
    several = bt.Classifier(certain().network, "F", ["a", "b"])
    assert repr(several) == "Classifier(F in {a, b}, 1 features, threshold=0.5)"
    assert several.negative == ("never",)


def test_other_variables_of_the_network_are_no_observations() -> None:
    """What is in the network but not a feature is refused in rows; the label is passed over; `given` is the way."""
    classifier = bt.Classifier(QUIZ, "Mastery", "+", ["Q1", "Q2"])
    with pytest.raises(bt.UnknownNameError, match="observed is 'Q3', which is not a feature; known: 'Q1', 'Q2'"):
        classifier.posterior({"Q3": "+"})
    assert classifier.posterior({"Q1": "+", "Mastery": "-"}) == classifier.posterior({"Q1": "+"})
    assert classifier.given({"Q3": "+"}).posterior({"Q1": "+"}) > classifier.posterior({"Q1": "+"})


def test_rows_may_repeat_the_evidence_but_not_contradict_it() -> None:
    """After `given`, rows may still hold what is known."""
    after = quiz.given({"Q1": "+"})
    assert after.posterior({"Q1": "+", "Q2": "+"}) == after.posterior({"Q2": "+"})
    with pytest.raises(bt.EvidenceError, match=r"contradicts the evidence: 'Q1' is already known to be '\+'"):
        after.posterior({"Q1": "-"})


def test_a_misspelt_column_gives_a_warning() -> None:
    """A feature without a column is not observed; a column of almost its name is pointed out."""
    with pytest.warns(bt.ColumnWarning, match="no column 'Mastery', which is taken as not observed; it has 'mastery'"):
        found = bt.Classifier(QUIZ, "Q1", "+").posterior(pd.DataFrame({"mastery": ["+"], "Q2": ["+"]}))
    assert found[0] == bt.Classifier(QUIZ, "Q1", "+").posterior({"Q2": "+"})


def test_a_frame_of_dropped_columns_is_a_frame_of_nothing_observed() -> None:
    """Frames that fitted the original fit the restricted classifier."""
    short = quiz.restricted(["Q1"])
    assert short.posterior(pd.DataFrame({"Q2": ["+", "-"]})).tolist() == [0.1, 0.1]


def test_a_series_is_a_row() -> None:
    """A row of a pandas frame works like a mapping."""
    frame = pd.DataFrame({"Q1": ["+"], "Q2": [None]})
    assert quiz.posterior(frame.iloc[0]) == 0.25
    assert quiz.given(frame.iloc[0]).posterior({}) == 0.25


def test_features_given_as_a_set_have_the_networks_order() -> None:
    """The order of a set changes from process to process; that of features must not."""
    assert bt.Classifier(QUIZ, "Mastery", "+", {"Q3", "Q1", "Q2"}).features == ("Q1", "Q2", "Q3")


def test_an_unknown_state_in_many_rows_is_named_with_its_row() -> None:
    """The first bad row is named."""
    with pytest.raises(bt.EvidenceError, match=r"^row 2: 'Q1' has no state 'x'"):
        quiz.decide(pd.DataFrame({"Q1": ["+", None, "x", "y"]}))


WRONG_THINGS: dict[str, tuple[Callable[[Any], object], Any, str]] = {
    "a path for a network": (
        lambda x: bt.Classifier(x, "Mastery"),
        "quiz.bif",
        "BayesianNetwork, not str; read_network",
    ),
    "a network for a classifier": (lambda x: bt.maa(x, []), QUIZ, "a Classifier is needed, not BayesianNetwork"),
    "a classifier to write": (
        lambda x: bt.write_network(x, "a.bif"),
        quiz,
        "not Classifier; of a classifier, write its",
    ),
    "nothing to read": (bt.read_network, None, "from a path or an open file, not from NoneType"),
    "a string as evidence": (lambda x: bt.sdp(quiz, x), "Q1", "evidence is a mapping from names to states, not str"),
    "half a hundred": (lambda x: bt.Classifier(QUIZ, "Mastery", "+", threshold=x), 50, r"50; .* \(50 % is 0.5\)"),
    "a number for a state": (
        lambda x: bt.Classifier(QUIZ, "Mastery", x),
        0,
        "where it is not one state, must be a list",
    ),
    "too much brute force": (lambda x: bt.reference.maa(long_chain(x), ["F1"]), 30, "too many to write out one by one"),
}


@pytest.mark.parametrize("what", WRONG_THINGS)
def test_wrong_things_are_refused_with_the_way_out(what: str) -> None:
    """The message says what is needed and how to get it."""
    call, thing, words = WRONG_THINGS[what]
    with pytest.raises(bt.BayestrimError, match=words):
        call(thing)


def test_saved_classifiers_and_networks_are_not_taken_for_each_other(tmp_path: Path) -> None:
    """Each reader names the other; a ZIP archive is told from a text."""
    quiz.save(tmp_path / "quiz.json")
    with pytest.raises(bt.FormatError, match=r"Classifier\.load reads it"):
        bt.read_network(tmp_path / "quiz.json")
    (tmp_path / "quiz.zip").write_bytes(b"PK\x03\x04\x00\x00")
    with pytest.raises(bt.FormatError, match="ZIP archive; unpack it first"):
        bt.read_network(tmp_path / "quiz.zip")
    with pytest.raises(FileNotFoundError, match=r"cannot read .*none\.bif"):
        bt.read_network(tmp_path / "none.bif")


def test_answers_print_format_round_and_sort_like_numbers() -> None:
    """Intervals order by their middles, and every answer fits an f-string."""
    answers = [bt.eca(quiz, [question], 0.1) for question in quiz.features]
    assert max(answers) == answers[0]
    assert sorted(answers)[-1] == answers[0]
    assert answers[0] > 0.9
    assert f"{answers[0]:.1%}" == "90.8%"
    assert f"{answers[0]}" == "0.9082"
    assert round(answers[0], 2) == 0.91
    best = bt.maa(quiz, ["Q1"])
    assert f"{best:.1%}, {best}" == "90.8%, 0.9082 with any threshold in (0.015625, 0.25]"
    assert "maa" in dir(bt)
    assert "engines" not in dir(bt)
