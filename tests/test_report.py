"""The page as a file: complete, small, self-contained, and safe whatever names hold."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import pytest
from generators import random_classifier, random_network
from hypothesis import given
from hypothesis import strategies as st

import bayestrim as bt
from bayestrim.cli import run
from bayestrim.report import page_of, sections, write_report
from bayestrim.report.calculator import calculator
from bayestrim.report.curve import MOST_POINTS, Axes, thinned
from bayestrim.report.facts import fingerprint, gather
from bayestrim.report.network import HEIGHT, WIDTH, placed

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'&<>",
    "Größe µ ∅ 日本語",
    "]]>--><!--",
    "${x} $title {{}}",
    "__proto__",
    "\u2028line",
)
"""Names that break what is not escaped."""


def curve_of(
    classifier: bt.Classifier, budgets: list[float], costs: dict[str, float] | None = None
) -> list[bt.CurvePoint]:
    """Return the budget curve at some budgets."""
    return [bt.CurvePoint.of(bt.trim(classifier, budget, costs)) for budget in budgets]


def panel(features: int = 8, names: tuple[str, ...] = ()) -> bt.Classifier:
    """Return a naive Bayes classifier of so many features, of two and three states."""
    random = Random(5)
    labels = [*names, *(f"Test {i}" for i in range(features - len(names)))]
    variables = [bt.Variable("Illness", ("yes", "no"))]
    tables: dict[str, Any] = {"Illness": [0.3, 0.7]}
    for i, label in enumerate(labels):
        states = ("low", "normal", "high")[: 2 + i % 2]
        weights = [[random.random() for _ in states] for _ in range(2)]
        variables.append(bt.Variable(label, states))
        tables[label] = [[w / sum(row) for w in row] for row in weights]
    return bt.Classifier(bt.BayesianNetwork(variables, {label: ["Illness"] for label in labels}, tables), "Illness")


class Outline(HTMLParser):
    """Collects a page's elements and text, and refuses what is not nested."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "link", "br", "hr", "img"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Check that it closes the last one opened."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Tell scripts from text."""
        (self.scripts if self._open and self._open[-1] == "script" else self.text).append(data)


def test_the_page_states_the_result(tmp_path: Path) -> None:
    """What to keep, its cost, agreement, threshold, proof, version and fingerprint stand in it, in order."""
    classifier = panel()
    result = bt.trim(classifier, budget=3, alternatives=2)
    write_report(result, tmp_path / "page.html", curve=curve_of(classifier, [0, 1, 2, 3, 4]))
    outline = Outline((tmp_path / "page.html").read_text(encoding="utf-8"))
    text = "\n".join(outline.text)
    for expected in (
        "Keep 3 of 8 features",
        f"{result.agreement:.2%}".replace("%", " %"),
        f"{result.threshold:.6g}",
        "proved: no affordable choice does better",
        bt.__version__,
        fingerprint(classifier),
        result.stop_reason.value,
        *result.features,
        *(", ".join(other.features) for other in result.alternatives),
    ):
        assert expected in text
    anchors = [attributes.get("id") for name, attributes in outline.elements if name == "section"]
    assert anchors == [section.anchor for section in sections.SECTIONS]


@pytest.mark.parametrize("features", [1, 8, 30, 75])
def test_the_page_is_self_contained_and_small(features: int) -> None:
    """Nothing in it refers to another place, and it stays below 300 kB."""
    classifier = panel(features)
    result = bt.trim(classifier, budget=min(features, 5), limits=bt.Limits(seconds=2, gap=0.05))
    page = page_of(result, seconds=0.5)
    assert len(page.encode()) < 300_000
    for name, attributes in Outline(page).elements:
        assert not {"src", "srcset", "action", "background", "poster"} & set(attributes), name
        assert str(attributes.get("href", "#")).startswith("#")
        assert not any(attribute.startswith("on") or attribute == "style" for attribute in attributes)
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|WebSocket|https?:", page)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_leaves_its_place(name: str) -> None:
    """A feature, a state, a class or a title may be called anything that a file can hold."""
    variables = [bt.Variable(f"C{name}", (f"p{name}", "n")), bt.Variable(f"F{name}", (f"a{name}", "b"))]
    parents = {variables[1].name: [variables[0].name]}
    tables: dict[str, Any] = {variables[0].name: [0.3, 0.7], variables[1].name: [[0.9, 0.1], [0.2, 0.8]]}
    if "\u2028" in name:  # a line separator is no control character, so that networks may hold it
        assert variables[0].name
    network = bt.BayesianNetwork(variables, parents, tables, name=name)
    classifier = bt.Classifier(network, variables[0].name, f"p{name}")
    result = bt.trim(classifier, budget=1, alternatives=1)
    page = page_of(result, curve=curve_of(classifier, [0, 1]), title=name)
    outline = Outline(page)
    assert [tag for tag, _ in outline.elements].count("script") == 2
    assert "img" not in [tag for tag, _ in outline.elements]
    data = json.loads(outline.scripts[0])
    assert data["calculator"]["inputs"] == [{"name": f"F{name}", "states": [f"a{name}", "b"], "cuts": None}]
    assert data["curve"][-1]["features"] == [f"F{name}"]
    assert name in "".join(outline.text)


def test_the_page_is_the_same_each_time() -> None:
    """Nothing but the time a search took depends on when or where a page is made."""
    result = bt.trim(panel(), budget=3)
    assert page_of(result) == page_of(result)


def test_a_page_too_large_says_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer instances are shown, then no drawing and no calculator; a page that never fits is refused."""
    result = bt.trim(panel(), budget=3)
    whole = page_of(result)
    monkeypatch.setattr("bayestrim.report.MOST_BYTES", len(whole.encode()) - 1)
    less = page_of(result)
    assert len(less) < len(whole)
    monkeypatch.setattr("bayestrim.report.MOST_BYTES", 15_000)
    with pytest.raises(bt.ProblemError, match="would exceed 15,000 bytes"):
        page_of(result)


def test_only_results_are_reported() -> None:
    """Something else is refused by name."""
    with pytest.raises(bt.ProblemError, match="not about a Classifier"):
        page_of(panel())  # type: ignore[arg-type]


def test_what_is_not_proved_is_not_claimed() -> None:
    """A search that was stopped says so, with what is proved nevertheless."""
    result = bt.trim(panel(30), budget=10, limits=bt.Limits(evaluations=50))
    assert result.status is bt.Status.FEASIBLE
    text = "".join(Outline(page_of(result, seconds=0)).text)
    assert "not proved" in text
    assert "The budget curve was not computed" in text
    assert "that is proved" not in text


def test_the_curve_is_computed_if_it_is_not_given() -> None:
    """The page has what `frontier` finds, whatever the result's own budget."""
    result = bt.trim(panel(), budget=3)
    data = json.loads(Outline(page_of(result)).scripts[0])
    expected = [list(point.features) for point in bt.frontier(panel())]
    assert [stop["features"] for stop in data["curve"]] == expected


def test_a_long_curve_keeps_its_ends() -> None:
    """Thinning shows the cheapest and the dearest point, and no more than a page holds."""
    point = bt.CurvePoint.of(bt.trim(panel(), budget=3))
    points = [replace(point, cost=i, agreement=bt.Interval(i / 400, i / 400)) for i in range(400)]
    few = thinned(reversed(points))
    assert len(few) == MOST_POINTS
    assert (few[0].cost, few[-1].cost) == (0, 399)


@given(st.randoms(use_true_random=False))
def test_drawn_nodes_do_not_overlap_and_arrows_lead_down(random: Any) -> None:
    """Causes stand above effects, and every node has a place of its own within the drawing."""
    network = random_network(random, 12)
    nodes, height = placed(network)
    assert nodes.keys() == set(network.names)
    for name in network.names:
        assert all(nodes[parent].y < nodes[name].y for parent in network.parents(name))
    boxes = list(nodes.values())
    for i, one in enumerate(boxes):
        assert one.width / 2 <= one.x <= WIDTH - one.width / 2 + 1e-9
        assert HEIGHT / 2 <= one.y <= height - HEIGHT / 2
        for other in boxes[i + 1 :]:
            assert one.y != other.y or abs(one.x - other.x) >= (one.width + other.width) / 2 - 1e-9


def test_wide_layers_are_folded() -> None:
    """Forty effects of one cause fit the page in rows of about equal length."""
    nodes, _ = placed(panel(40).network)
    rows: dict[float, int] = {}
    for node in nodes.values():
        rows[node.y] = rows.get(node.y, 0) + 1
    assert len(rows) > 2
    assert max(list(rows.values())[1:]) - min(list(rows.values())[1:]) <= 3


def test_axes_hold_every_point() -> None:
    """The lowest agreement and the highest cost lie within the picture."""
    points = curve_of(panel(), [0, 1, 2])
    axes = Axes.of(points)
    assert axes.least <= min(point.agreement.lower for point in points)
    assert axes.x(0) < axes.x(2) == axes.x(axes.most)


def test_large_classifiers_get_a_list_or_no_calculator() -> None:
    """Tables up to a size, then answers of few instances, then a reason."""
    assert calculator(panel(5))["kind"] == "tables"
    assert calculator(wide(parents=11, observed=5))["kind"] == "answers"
    assert calculator(wide(parents=11, observed=11))["kind"] == "none"


def wide(parents: int, observed: int) -> bt.Classifier:
    """Return a classifier whose class has many parents, some observed: its table is too large for a page."""
    random = Random(2)
    names = [f"P{i}" for i in range(parents)]
    variables = [bt.Variable(name, ("+", "-")) for name in ["C", *names]]
    rows = [random.random() for _ in range(2**parents)]
    table = [[p, 1 - p] for p in rows]
    tables: dict[str, Any] = {name: [0.4, 0.6] for name in names}
    tables["C"] = _shaped(table, parents)
    return bt.Classifier(bt.BayesianNetwork(variables, {"C": names}, tables), "C", "+", names[:observed])


def _shaped(rows: list[list[float]], axes: int) -> Any:
    if axes == 0:
        return rows[0]
    half = len(rows) // 2
    return [_shaped(rows[:half], axes - 1), _shaped(rows[half:], axes - 1)]


@given(st.randoms(use_true_random=False))
def test_any_classifier_makes_a_page(random: Any) -> None:
    """Ties, zeros, one-state features, evidence and thresholds that decide always the same are all shown."""
    classifier = random_classifier(random, 5)
    result = bt.trim(classifier, budget=random.choice([0, 1, 2, math.inf]), alternatives=random.choice([0, 1]))
    Outline(page_of(result, curve=curve_of(classifier, [0, 1])))


@given(st.randoms(use_true_random=False))
def test_the_page_counts_as_the_engines_do(random: Any) -> None:
    """What dropping one more feature changes, and what observing nothing reaches, are differences of public answers."""
    classifier = random_classifier(random, 5)
    rule = random.choice(["optimal", "keep"])
    result = bt.trim(classifier, budget=2, threshold=rule)

    def agreement(names: Any) -> float:
        return float(bt.eca(classifier, names) if rule == "keep" else bt.maa(classifier, names).value)

    facts = gather(result, None, "", 3)
    whole = agreement(result.features)
    for name, loss in facts.losses.items():
        rest = [other for other in result.features if other != name]
        assert loss == pytest.approx(max(0.0, whole - agreement(rest)), abs=1e-8)
    assert facts.baseline is not None
    assert float(facts.baseline) == pytest.approx(agreement([]), abs=1e-9)


def test_two_commands_lead_from_a_table_to_a_page(tmp_path: Path) -> None:
    """Once installed, a newcomer learns a model from their table, and trims it into a page."""
    table = Path(__file__).parents[1] / "examples" / "data" / "heart.csv"
    model, page = str(tmp_path / "heart.json"), tmp_path / "heart.html"
    assert run(["learn", str(table), "--target", "num", "--positive", "1,2,3,4", "-o", model]) == 0
    assert run(["trim", model, "--budget", "3", "--report", str(page)]) == 0
    assert "Keep 3 of 13 features" in page.read_text(encoding="utf-8")


def test_the_fingerprint_tells_classifiers_apart() -> None:
    """One bit of one table, or another threshold, changes it; the same classifier has the same one."""
    one = panel()
    other = bt.Classifier(one.network, "Illness", threshold=0.4)
    assert fingerprint(one) == fingerprint(panel()) != fingerprint(other)


def test_what_is_out_of_reach_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where changes or losses cannot be computed, the page says so and shows the rest."""

    def refuse(*_: object, **__: object) -> None:
        raise bt.TooLargeError("too large")

    monkeypatch.setattr("bayestrim.report.facts.changes", refuse)
    monkeypatch.setattr("bayestrim.report.facts.eca", refuse)
    facts = gather(bt.trim(panel(), budget=2), None, "", 10)
    assert (facts.changes, facts.baseline) == (None, None)
    assert "out of reach" in page_of(bt.trim(panel(), budget=2))
