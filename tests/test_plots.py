"""Pictures: their numbers are those of the public quantities, and they look as they did when they were looked at."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from generators import random_classifier, random_naive_bayes, random_subset
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.testing.compare import compare_images

import bayestrim as bt
from bayestrim.instances import instances_of
from bayestrim.plots import (
    BudgetCurveDisplay,
    DisagreementDisplay,
    FeatureLossDisplay,
    SearchTraceDisplay,
    ThresholdCurveDisplay,
)
from bayestrim.reference import eca as reference_eca
from bayestrim.reference import maa as reference_maa
from bayestrim.search import Event

PICTURES = Path(__file__).parent / "pictures"
TOLERANCE = 6.0
"""Root mean square difference of grey levels, of 255: another FreeType shifts letters by less than a missing line."""


@pytest.fixture(autouse=True)
def _same_style() -> Iterator[None]:
    backend = mpl.get_backend()
    plt.switch_backend("agg")
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams["figure.dpi"] = 60
        yield
    plt.close("all")
    plt.switch_backend(backend)


def quiz(threshold: float = 0.07) -> bt.Classifier:
    """Return the paper's example."""
    return bt.Classifier(
        bt.read_network(PICTURES.parents[1] / "examples" / "quiz.bif"), "Mastery", "+", None, threshold
    )


def panel() -> bt.Classifier:
    """Return a naive Bayes classifier of eight features, whose pictures have something to show."""
    random = Random(8)
    names = ["age", "blood pressure", "glucose", "insulin", "sodium", "weight", "pulse", "$5 test"]
    tables = {name: [[p, 1 - p] for p in (random.random(), random.random())] for name in names}
    variables = [bt.Variable(name, ("+", "-")) for name in ["ill", *names]]
    return bt.Classifier(
        bt.BayesianNetwork(variables, {name: ["ill"] for name in names}, {"ill": [0.3, 0.7], **tables}), "ill", "+"
    )


def looks_as_before(figure: Any, name: str, folder: Path) -> None:
    """Compare a figure with the committed picture of that name.

    To renew one after a wanted change: delete it, run the test, look at it. A missing picture is made and fails.
    """
    committed, drawn = PICTURES / f"{name}.png", folder / f"{name}.png"
    if not committed.exists():
        committed.parent.mkdir(exist_ok=True)
        figure.savefig(committed, metadata={"Software": None})
        pytest.fail(f"there was no {committed}; it was made: look at it and commit it")
    figure.savefig(drawn, metadata={"Software": None})
    difference = compare_images(str(committed), str(drawn), tol=TOLERANCE)
    assert difference is None, difference


def budget_curve() -> BudgetCurveDisplay:
    """Return the budget curve of the panel, with a point that is not proved."""
    found = [bt.trim(panel(), budget) for budget in range(7)]
    points: list[Any] = [SimpleNamespace(cost=r.cost, agreement=r.agreement, bound=r.bound) for r in found]
    points[2].bound += 0.02
    return BudgetCurveDisplay.compute(reversed(points), bt.TrimProblem(panel(), 3), found[3])


def search_trace() -> SearchTraceDisplay:
    """Return the trace of a search that improves twice before its bound comes down."""
    steps = [(0.0, 0.8, 1.0), (0.4, 0.9, 0.99), (1.1, 0.9, 0.96), (1.8, 0.93, 0.95), (2.5, 0.93, 0.93)]
    return SearchTraceDisplay.compute([event(*step) for step in reversed(steps)])


def event(seconds: float, agreement: float, bound: float) -> Event:
    """Return an event."""
    return Event("progress", (), agreement, bound, bound - agreement, 0, 0, seconds)


DRAWINGS: dict[str, Callable[[], Any]] = {
    "threshold_quiz": lambda: ThresholdCurveDisplay.from_classifier(quiz(), ["Q1", "Q3"]),
    "threshold_panel": lambda: ThresholdCurveDisplay.from_result(bt.trim(panel(), budget=4)),
    "losses_panel": lambda: FeatureLossDisplay.from_classifier(panel()),
    "losses_result": lambda: FeatureLossDisplay.from_result(bt.trim(panel(), budget=4, costs={"$5 test": 2.5})),
    "disagreement_quiz": lambda: DisagreementDisplay.from_result(bt.trim(quiz(), budget=2)),
    "budget_panel": lambda: budget_curve().plot(),
    "trace": lambda: search_trace().plot(),
    "disagreement_panel": lambda: DisagreementDisplay.from_classifier(panel(), ["glucose", "insulin", "pulse"]),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_pictures_look_as_they_did(name: str, tmp_path: Path) -> None:
    """Each display draws what was looked at and found right."""
    looks_as_before(DRAWINGS[name]().figure_, name, tmp_path)


def test_the_comparison_notices_a_missing_line(tmp_path: Path) -> None:
    """The tolerance is narrower than the smallest change that matters."""
    display = ThresholdCurveDisplay.from_classifier(quiz(), ["Q1", "Q3"])
    display.line_.remove()
    with pytest.raises(AssertionError, match="RMS"):
        looks_as_before(display.figure_, "threshold_quiz", tmp_path)


@given(st.randoms(use_true_random=False))
def test_the_threshold_curve_is_the_eca_at_every_threshold(random: Any) -> None:
    """Between two edges, the agreement is what brute force says, and its maximum is the MAA."""
    classifier = random_classifier(random, 5)
    kept = random_subset(random, classifier)
    display = ThresholdCurveDisplay.compute(classifier, kept)
    for _ in range(3):
        threshold = 0.001 + 0.998 * random.random()  # between 0 and 1, as the curve is
        if len(display.edges) and np.abs(display.edges - threshold).min() < 1e-9:
            continue
        found = display.agreement[int(np.searchsorted(display.edges, threshold))]
        assert float(found) == pytest.approx(float(reference_eca(classifier, kept, threshold)), abs=1e-9)
    best = max(display.agreement, key=float)
    assert float(best) <= float(reference_maa(classifier, kept).value) + 1e-9
    assert display.best == bt.maa(classifier, kept).thresholds


@given(st.randoms(use_true_random=False))
def test_losses_are_differences_of_the_maa(random: Any) -> None:
    """What dropping a feature costs is what brute force says."""
    classifier = random_naive_bayes(random)
    display = FeatureLossDisplay.compute(classifier)
    whole = float(reference_maa(classifier, classifier.features).value)
    for name, loss in zip(display.features, display.losses, strict=True):
        rest = [other for other in classifier.features if other != name]
        assert float(loss) == pytest.approx(whole - float(reference_maa(classifier, rest).value), abs=1e-9)


@given(st.randoms(use_true_random=False))
def test_what_changes_and_what_agrees_make_one(random: Any) -> None:
    """The coloured instances weigh what the ECA leaves."""
    classifier = random_classifier(random, 5)
    kept, threshold = random_subset(random, classifier), random.random()
    display = DisagreementDisplay.compute(classifier, kept, threshold)
    agreement = float(reference_eca(classifier, kept, threshold))
    assert display.lost + display.gained == pytest.approx(1 - agreement, abs=1e-9)
    assert not display.sampled


@given(st.randoms(use_true_random=False))
def test_drawn_instances_have_the_listed_probabilities(random: Any) -> None:
    """Where there are too many to be listed, instances are drawn as the network says, evidence included."""
    classifier = random_classifier(random, 4)
    listed = instances_of(classifier)
    assert listed.weights.sum() == pytest.approx(1)
    drawn = instances_of(classifier, most=0, samples=2000)
    assert drawn.sampled
    known = {tuple(row): weight for row, weight in zip(listed.codes.tolist(), listed.weights, strict=True)}
    found, counts = np.unique(drawn.codes, axis=0, return_counts=True)
    assert len(drawn) == counts.sum() <= 2000
    for row, count in zip(found.tolist(), counts, strict=True):
        expected = known[tuple(row)]
        assert abs(count / len(drawn) - expected) <= 8 * np.sqrt(expected / len(drawn)) + 8 / len(drawn)


def test_the_baseline_is_what_information_gain_reaches() -> None:
    """At each cost, the dashed line is the result of that strategy, and never above the best."""
    display = budget_curve()
    assert display.baseline is not None
    for cost, value, best in zip(*display.baseline, display.agreement, strict=True):
        result = bt.trim(panel(), float(cost), strategy="information-gain")
        assert value == result.agreement.lower <= best + 1e-12
    assert display.here == (3.0, display.agreement[3])


def test_the_curve_is_that_of_the_frontier() -> None:
    """A classifier's or a result's curve has the points that `frontier` proves."""
    points = list(bt.frontier(panel()))
    for display in (
        BudgetCurveDisplay.from_classifier(panel()),
        BudgetCurveDisplay.from_result(bt.trim(panel(), budget=3)),
        BudgetCurveDisplay.from_curve(points),
    ):
        assert display.costs.tolist() == [point.cost for point in points]
        assert display.agreement.tolist() == [point.agreement.lower for point in points]
    assert display.baseline is None


def test_a_search_draws_its_own_trace() -> None:
    """The events of a search end where found and bound meet, and its classifier or result can be searched again."""
    for display in (
        SearchTraceDisplay.from_classifier(panel(), 3),
        SearchTraceDisplay.from_result(bt.trim(panel(), 3)),
    ):
        assert (np.diff(display.agreement) >= 0).all()
        assert display.agreement[-1] == pytest.approx(display.bounds[-1], abs=1e-9)
    with pytest.raises(bt.ProblemError, match="no events"):
        SearchTraceDisplay.from_events([])
    with pytest.raises(bt.ProblemError, match="no points"):
        BudgetCurveDisplay.from_curve([])


def test_many_posteriors_are_thinned() -> None:
    """A curve of more steps than a picture shows is computed at some of them, never more."""
    random = Random(3)
    names = [f"F{i}" for i in range(10)]
    tables = {name: [[p, 1 - p] for p in (random.random(), random.random())] for name in names}
    variables = [bt.Variable(name, ("+", "-")) for name in ["C", *names]]
    network = bt.BayesianNetwork(variables, {name: ["C"] for name in names}, {"C": [0.4, 0.6], **tables})
    display = ThresholdCurveDisplay.compute(bt.Classifier(network, "C"), names[:9])
    assert len(display.edges) == 256
    assert len(display.agreement) == 257


def test_an_estimator_is_asked_for_its_result() -> None:
    """The last step of a pipeline is taken, and one that is not fitted refused."""
    fitted = SimpleNamespace(steps=[("a", None), ("b", SimpleNamespace(result_=bt.trim(quiz(), budget=2)))])
    display = DisagreementDisplay.from_estimator(fitted)
    assert display.lost == pytest.approx(0.0252)
    with pytest.raises(bt.ProblemError, match="fit it first"):
        ThresholdCurveDisplay.from_estimator(SimpleNamespace())


def test_axes_of_the_caller_are_used() -> None:
    """Displays fit into a figure of the caller's, and can be drawn again."""
    figure, axes = plt.subplots(1, 2)
    display = FeatureLossDisplay.from_classifier(quiz(), ax=axes[0])
    assert display.ax_ is axes[0]
    assert display.plot(ax=axes[1]).figure_ is figure


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named."""
    real = builtins.__import__

    def refuse(name: str, *args: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args)

    display = FeatureLossDisplay.compute(quiz())
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"bayestrim\[plot\]"):
        display.plot()
