"""The paper's worked examples (Choi and Van den Broeck, IJCAI 2018): where they are consistent and where not."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

import bayestrim as bt
from bayestrim import reference

EXAMPLES = Path(__file__).parents[1] / "examples"
quiz = bt.Classifier(bt.read_network(EXAMPLES / "quiz.bif"), "Mastery", "+", threshold=0.07)
general = bt.Classifier(bt.read_network(EXAMPLES / "three_features.bif"), "C", "+", threshold=0.55)


def test_three_of_eight_outcomes_pass_the_quiz() -> None:
    """All right, all but Q3, all but Q2: as the paper lists them."""
    passing = {
        answers for answers in product("+-", repeat=3) if quiz.decide(dict(zip(quiz.features, answers, strict=True)))
    }
    assert passing == {("+", "+", "+"), ("+", "+", "-"), ("+", "-", "+")}


@pytest.mark.parametrize(
    ("kept", "threshold", "exact"),
    [
        (["Q1", "Q3"], 0.10, Fraction(9082, 10000)),  # the paper: 91 %
        (["Q2", "Q3"], 0.30, Fraction(7318, 10000)),  # the paper: 68 %, see the next test
        (["Q3"], 0.15, Fraction(6918, 10000)),  # the paper: 75 %, see the next test
        ([], 0.0, Fraction(2682, 10000)),  # the pass probability; the paper: 32 %, see the next test
    ],
)
def test_agreements_of_the_quiz_follow_from_its_figure(kept: list[str], threshold: float, exact: Fraction) -> None:
    """The figure's numbers give these agreements, by enumeration and by `eca`."""
    assert reference.eca(quiz, kept, threshold) == exact
    assert float(bt.eca(quiz, kept, threshold)) == pytest.approx(float(exact), abs=1e-15)


@pytest.mark.parametrize(
    ("kept", "threshold", "printed"), [(["Q2", "Q3"], 0.30, 0.68), (["Q3"], 0.15, 0.75), ([], 0.0, 0.32)]
)
def test_the_papers_other_figures_mix_two_networks(kept: list[str], threshold: float, printed: float) -> None:
    """They are reached by deciding with the figure's network and weighing with one whose Q1 and Q2 are exchanged."""
    tables = {name: quiz.network.table(name) for name in quiz.network.names}
    tables["Q1"], tables["Q2"] = tables["Q2"], tables["Q1"]
    exchanged = bt.BayesianNetwork(quiz.network.variables, {q: ["Mastery"] for q in quiz.features}, tables)
    short = quiz.restricted(kept, threshold)
    agreeing = sum(
        probability
        for world, probability in reference.worlds(exchanged)
        for answers in [{q: world[q] for q in quiz.features}]
        if quiz.decide(answers) == short.decide(answers)
    )
    assert round(float(agreeing), 2) == printed


def test_thresholds_between_the_posteriors_of_q3_pass_those_who_answer_it() -> None:
    """The paper's interval (0.08, 0.18]: its ends are 1/13 and 2/11."""
    wrong, right = reference.posterior(quiz, {"Q3": "-"}), reference.posterior(quiz, {"Q3": "+"})
    assert (wrong, right) == (Fraction(1, 13), Fraction(2, 11))
    for threshold in (0.08, 0.15, 0.18):
        short = quiz.restricted(["Q3"], threshold)
        assert short.decide([{"Q3": "-"}, {"Q3": "+"}]).tolist() == [False, True]


def test_the_sdp_of_the_quiz_follows_from_its_figure() -> None:
    """The paper's source says 65 % for Q3 answered right; its figure gives 9/22."""
    assert reference.sdp(quiz, {"Q3": "+"}) == Fraction(9, 22)
    assert float(bt.sdp(quiz, {"Q3": "+"})) == pytest.approx(9 / 22, abs=1e-15)


def test_the_table_of_the_three_feature_network() -> None:
    """Posteriors and masses per instance of F1 and F2 are the paper's, to two decimals."""
    table = reference.Table(general)
    rows = {
        kept: tuple(
            round(float(x), 2)
            for x in (table.posterior(group), table.agreeing(group, True), table.agreeing(group, False))
        )
        for kept, group in table.kept(["F1", "F2"]).items()
    }
    assert rows == {
        ("-", "+"): (0.75, 0.04, 0.04),
        ("+", "+"): (0.69, 0.19, 0.27),  # the paper prints 0.20; the exact value is 0.1944
        ("+", "-"): (0.50, 0.30, 0.13),
        ("-", "-"): (0.00, 0.00, 0.02),
    }


def test_the_maa_of_the_three_feature_network() -> None:
    """The paper's 0.56 is the sum of rounded rows; its interval of thresholds is exact."""
    best = bt.maa(general, ["F1", "F2"])
    assert float(best) == pytest.approx(0.5528, abs=1e-15)
    assert reference.maa(general, ["F1", "F2"]).value == Fraction(5528, 10000)
    assert (best.thresholds.low, best.thresholds.high) == (0.0, 0.5)
    assert str(best.thresholds) == "(0, 0.5]"
