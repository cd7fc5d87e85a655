"""The page in a browser: what it computes, how it is operated, and that anyone can."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from browser import chromium, faults_of_access
from generators import random_classifier
from playwright.sync_api import Browser, BrowserContext, Page
from test_report import HOSTILE, curve_of, panel, wide

import bayestrim as bt
from bayestrim.report import calculator, page_of

EXACT = 1e-12
"""So near are the posteriors of the page to Python's."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a browser for all tests of this module."""
    with chromium() as started:
        yield started


class Opened:
    """A page that was opened, with everything it complained of or asked for."""

    def __init__(self, context: BrowserContext, path: Path) -> None:
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html.ready")


def opened(browser: Browser, folder: Path, text: str, **settings: Any) -> Opened:
    """Open a page in a context of its own."""
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    return Opened(browser.new_context(**settings), path)


@pytest.fixture
def report(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    """Return a page with every section, opened."""
    it = opened(browser, tmp_path, whole_page(), viewport={"width": 1100, "height": 800})
    yield it
    assert it.complaints == []
    assert len(it.requests) == 1  # the page itself
    it.page.context.close()


def whole_page() -> str:
    """Return a page with every section."""
    classifier = panel()
    result = bt.trim(classifier, budget=3, alternatives=3)
    return page_of(result, curve=curve_of(classifier, [0, 1, 2, 3, 4, 5]))


def codes_of(classifier: bt.Classifier, most: int = 200) -> list[tuple[int, ...]]:
    """Return combinations of states, "not observed" included: all, or some at random."""
    every = itertools.product(*(range(-1, len(variable)) for variable in classifier.feature_variables))
    combinations = list(itertools.islice(every, 20_000))
    return combinations if len(combinations) <= most else Random(0).sample(combinations, most)


def agrees_with_python(page: Page, classifier: bt.Classifier, model: dict[str, Any]) -> None:
    """Hold the page's posteriors and decisions against Python's, impossible combinations included."""
    codes = codes_of(classifier)
    found = page.evaluate("([model, rows]) => rows.map((codes) => decide(model, codes))", [model, codes])
    rows = np.array(codes, dtype=np.int64).reshape(len(codes), len(classifier.features))
    posteriors = np.asarray(classifier.posterior(rows, impossible="nan"))
    possible = ~np.isnan(posteriors)
    assert [answer is not None for answer in found] == possible.tolist()
    decisions = np.zeros(len(rows), dtype=bool)
    decisions[possible] = classifier.decide(rows[possible])
    for answer, posterior, decision in zip(found, posteriors, decisions, strict=True):
        if answer is not None:
            assert abs(answer["posterior"] - posterior) <= EXACT
            assert answer["positive"] == decision


def test_the_calculator_is_equal_to_python(report: Opened) -> None:
    """For 150 random classifiers, ties, zeros, evidence and gaps included, in both of its ways."""
    kinds = set()
    for seed in range(150):
        classifier = random_classifier(Random(seed), 5)
        for model in (calculator.calculator(classifier), {**base(classifier), **answers(classifier)}):
            kinds.add(model["kind"])
            agrees_with_python(report.page, classifier, model)
    assert kinds == {"tables", "answers"}


def base(classifier: bt.Classifier) -> dict[str, Any]:
    """Return what both kinds of calculators have."""
    full = calculator.calculator(classifier)
    return {key: full[key] for key in ("inputs", "threshold")}


def answers(classifier: bt.Classifier) -> dict[str, Any]:
    """Return the list of answers of a small classifier."""
    found = calculator._answers(classifier)
    assert found is not None
    return found


def test_ties_are_decided_exactly(report: Opened) -> None:
    """Where 64-bit arithmetic falls on the wrong side of the threshold, the page does not."""
    wrong = exactly = 0
    for seed in range(120):
        random = Random(seed)
        tenths = [[[p / 10, 1 - p / 10] for p in (random.randint(1, 9), random.randint(1, 9))] for _ in range(4)]
        variables = [bt.Variable(name, ("+", "-")) for name in "CABDE"]
        tables: dict[str, Any] = {"C": [0.5, 0.5], **dict(zip("ABDE", tenths, strict=True))}
        classifier = bt.Classifier(bt.BayesianNetwork(variables, {name: ["C"] for name in "ABDE"}, tables), "C", "+")
        model = calculator.calculator(classifier)
        rows = list(itertools.product(range(-1, 2), repeat=4))
        found = report.page.evaluate("([model, rows]) => rows.map((codes) => decide(model, codes))", [model, rows])
        decided = classifier.decide(np.array(rows)).tolist()
        assert [answer["positive"] for answer in found] == decided
        exactly += sum(answer["exactly"] for answer in found)
        wrong += sum((answer["posterior"] >= 0.5) != answer["positive"] for answer in found)
    assert exactly > 100
    assert wrong > 0


def measured() -> bt.GaussianNaiveBayes:
    """Return a classifier of measurements and of states."""
    parts: list[Any] = [
        bt.GaussianFeature("temperature", positive=(38.5, 0.6), negative=(36.8, 0.2)),
        bt.GaussianFeature("pulse", positive=(90, 100), negative=(75, 100)),
        bt.DiscreteFeature("cough", ("dry", "wet", "none"), positive=(0.5, 0.5, 0.0), negative=(0.1, 0.0, 0.9)),
    ]
    return bt.GaussianNaiveBayes(parts, prior=0.2, threshold=0.3)


def test_measurements_are_computed_in_the_page(report: Opened) -> None:
    """Sums of log-odds, far and missing measurements and impossible states included, are Python's."""
    classifier = measured()
    model = calculator.calculator(classifier)
    random = Random(4)
    rows: list[list[float | None]] = [[1e200, 60.0, None], [None, None, 2], [37.2, None, 0], [-1.0, 80.0, 1]]
    rows += [[random.gauss(37.5, 1), random.gauss(80, 12), random.choice([None, 0, 1, 2])] for _ in range(300)]
    found = report.page.evaluate("([model, rows]) => rows.map((seen) => decide(model, seen))", [model, rows])
    values = np.array([[np.nan if value is None else value for value in row] for row in rows])
    posteriors, decisions = classifier.posterior(values), classifier.decide(values)
    for answer, posterior, decision in zip(found, np.asarray(posteriors), np.asarray(decisions), strict=True):
        assert abs(answer["posterior"] - posterior) <= EXACT
        assert answer["positive"] == decision


def test_measurements_are_entered_as_numbers(browser: Browser, tmp_path: Path) -> None:
    """A page about measurements asks for numbers, and so does one about ranges that were cut from numbers."""
    result = bt.trim(measured(), budget=2)
    it = opened(browser, tmp_path, page_of(result))
    it.page.get_by_label("temperature", exact=True).fill("38.1")
    shown = float(it.page.locator("#calculator-answer").get_attribute("data-posterior") or "nan")
    assert abs(shown - result.classifier.posterior({"temperature": 38.1})) <= EXACT
    assert faults_of_access(it.page) == []
    assert it.complaints == []
    it.page.context.close()

    variables = [bt.Variable("Ill", ("yes", "no")), bt.Variable("Age", ("young", "middle", "old"), cuts=(40.0, 60.0))]
    tables: dict[str, Any] = {"Ill": [0.3, 0.7], "Age": [[0.1, 0.3, 0.6], [0.5, 0.3, 0.2]]}
    ages = bt.Classifier(bt.BayesianNetwork(variables, {"Age": ["Ill"]}, tables), "Ill")
    it = opened(browser, tmp_path, page_of(bt.trim(ages, budget=1)))
    for entered, state in (("39.9", "young"), ("40", "middle"), ("-3", "young"), ("1e3", "old"), ("", None)):
        it.page.get_by_label("Age", exact=True).fill(entered)
        shown = float(it.page.locator("#calculator-answer").get_attribute("data-posterior") or "nan")
        assert abs(shown - ages.posterior({"Age": state})) <= EXACT
    it.page.context.close()


def test_large_models_are_computed_in_the_page(report: Opened) -> None:
    """A panel of forty tests, and a class with eleven parents, give what Python gives."""
    agrees_with_python(report.page, panel(40), calculator.calculator(panel(40)))
    large = wide(parents=11, observed=5)
    agrees_with_python(report.page, large, calculator.calculator(large))


def test_a_person_uses_the_calculator(report: Opened) -> None:
    """Choosing states shows posterior and decision as Python has them; clearing starts again."""
    page = report.page
    trimmed = bt.trim(panel(), budget=3).classifier
    first, second = trimmed.feature_variables[:2]
    page.get_by_label(first.name, exact=True).select_option(first.states[1])
    page.get_by_label(second.name, exact=True).select_option(second.states[0])
    row = {first.name: first.states[1], second.name: second.states[0]}
    shown = float(page.locator("#calculator-answer").get_attribute("data-posterior") or "nan")
    assert abs(shown - trimmed.posterior(row)) <= EXACT
    assert page.locator("#calculator-decision").text_content() == f"Illness: {'yes' if trimmed.decide(row) else 'no'}"
    page.get_by_role("button", name="Clear").click()
    page.evaluate("new Promise((done) => setTimeout(done, 20))")
    shown = float(page.locator("#calculator-answer").get_attribute("data-posterior") or "nan")
    assert abs(shown - trimmed.posterior({})) <= EXACT


def test_the_slider_moves_along_the_curve(report: Opened) -> None:
    """Each stop shows its own features, cost, agreement and threshold, and marks its row and its place."""
    page, points = report.page, curve_of(panel(), [0, 1, 2, 3, 4, 5])
    slider = page.get_by_label("Budget", exact=True)
    assert slider.input_value() == "3"
    slider.focus()
    page.keyboard.press("Home")
    places = []
    for point in points:
        kept = page.locator("#budget-kept li").all_text_contents()
        assert tuple(kept) == (point.features or ("nothing",))
        assert page.locator("#budget-agreement").text_content() == f"{point.agreement:.2%}".replace("%", " %")
        assert page.locator("#budget-cost").text_content() == f"{point.cost:g}"
        assert page.locator("#budget-threshold").text_content() in (
            f"{point.threshold:.6g}",
            "above 1 (never positive)",
        )
        assert ", ".join(kept) in (slider.get_attribute("aria-valuetext") or "")
        assert page.locator("#budget-table tr[data-here]").count() == 1
        places.append(page.locator("#curve-here").get_attribute("cx"))
        page.keyboard.press("ArrowRight")
    assert len(set(places)) == len(points)


def test_tables_sort_by_every_column(report: Opened) -> None:
    """Numbers sort as numbers, words as words, a second time in the other direction, by keyboard as by mouse."""
    page = report.page
    tables = page.locator("table.sortable")
    for i in range(tables.count()):
        table = tables.nth(i)
        for column in range(table.locator("thead th").count()):
            head = table.locator("thead th").nth(column)
            if not head.locator("button").count():
                continue
            for _ in range(2):
                head.locator("button").evaluate("button => button.focus()")
                head.locator("button").evaluate("button => button.click()")
                direction = head.get_attribute("aria-sort")
                cells = table.evaluate(CELLS, column)
                keys = [text if value is None else float(value) for value, text in cells]
                assert keys == sorted(keys, reverse=direction == "descending")
            assert page.locator("th[aria-sort]").count() <= i + 1


CELLS = """(table, column) => [...table.tBodies[0].rows].map((row) => row.cells[column])
    .map((cell) => [cell.dataset.value ?? null, cell.textContent])"""


def test_a_table_is_sorted_by_keyboard(report: Opened) -> None:
    """Enter on a heading sorts, and the heading says in which direction."""
    page = report.page
    button = page.locator("#keep thead button").nth(2)
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator("#keep thead th").nth(2).get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")
    assert page.locator("#keep thead th").nth(2).get_attribute("aria-sort") == "ascending"


def test_everything_is_reached_by_keyboard(report: Opened) -> None:
    """Tab goes through all controls once, in the order of the page, each visibly in focus; the first skips ahead."""
    page = report.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the answer"
    controls = page.evaluate(
        "[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex=\"0\"]')]"
        ".filter((e) => !e.closest('details:not([open])') || e.tagName === 'SUMMARY').length"
    )
    seen = [page.evaluate(WHERE)]
    for _ in range(controls - 1):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(WHERE))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert seen == sorted(set(seen))


WHERE = "[...document.querySelectorAll('*')].indexOf(document.activeElement)"


@pytest.mark.parametrize(
    "settings",
    [
        {"viewport": {"width": 1100, "height": 800}, "color_scheme": "light"},
        {"viewport": {"width": 1100, "height": 800}, "color_scheme": "dark"},
        {"viewport": {"width": 390, "height": 844}, "color_scheme": "light", "has_touch": True, "is_mobile": True},
        {"viewport": {"width": 320, "height": 640}, "color_scheme": "dark", "reduced_motion": "reduce"},
    ],
    ids=["light", "dark", "phone", "small-dark"],
)
def test_the_page_is_accessible(browser: Browser, tmp_path: Path, settings: dict[str, Any]) -> None:
    """Axe finds nothing serious, and nothing is wider than the screen, in light and dark, on a desk and on a phone."""
    it = opened(browser, tmp_path, whole_page(), **settings)
    it.page.evaluate("document.querySelector('details').open = true")
    assert faults_of_access(it.page) == []
    assert it.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    it.page.context.close()


def test_the_checker_of_access_finds_faults(browser: Browser) -> None:
    """A control without a name and grey letters on grey are noticed."""
    page = browser.new_page()
    page.set_content("<main><input><p style='color:#888;background:#999'>grey</p></main>")
    assert len(faults_of_access(page)) >= 2
    page.close()


def test_light_and_dark_differ(browser: Browser, tmp_path: Path) -> None:
    """The page follows the reader's setting."""
    shades = []
    for scheme in ("light", "dark"):
        it = opened(browser, tmp_path, whole_page(), color_scheme=scheme)
        shades.append(it.page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"))
        it.page.context.close()
    assert min(shades[0]) > 200
    assert max(shades[1]) < 60


def test_the_page_prints(report: Opened, tmp_path: Path) -> None:
    """On paper it is light, has no controls, and loses nothing to the right."""
    page = report.page
    page.pdf(path=tmp_path / "page.pdf", format="A4", margin={"top": "1.5cm", "left": "1.5cm", "right": "1.5cm"})
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": 680, "height": 960})
    assert not page.get_by_role("navigation").is_visible()
    assert not page.locator("#budget").is_visible()
    assert page.locator("#budget-kept").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_shown_and_do_nothing(browser: Browser, tmp_path: Path, name: str) -> None:
    """Names that look like scripts, templates or prototypes are text, in what the script writes too."""
    variables = [bt.Variable(f"C{name}", (f"p{name}", "n")), bt.Variable(name, (f"a{name}", "b"))]
    tables: dict[str, Any] = {variables[0].name: [0.3, 0.7], name: [[0.9, 0.1], [0.2, 0.8]]}
    network = bt.BayesianNetwork(variables, {name: [variables[0].name]}, tables)
    classifier = bt.Classifier(network, variables[0].name, f"p{name}")
    result = bt.trim(classifier, budget=1)
    it = opened(browser, tmp_path, page_of(result, curve=curve_of(classifier, [0, 1]), title=name))
    it.page.on("dialog", lambda dialog: it.complaints.append(dialog.message))
    it.page.locator("#calculator select").select_option(index=1)
    assert it.page.locator("#calculator-decision").text_content() == f"C{name}: p{name}"
    it.page.locator("#budget").focus()
    it.page.keyboard.press("Home")
    it.page.keyboard.press("End")
    assert it.page.locator("#budget-kept li").text_content() == name
    assert it.page.locator("h1").text_content() == name
    assert it.complaints == []
    assert len(it.requests) == 1
    it.page.context.close()


def test_without_script_the_answer_is_there(browser: Browser, tmp_path: Path) -> None:
    """Where scripts are switched off, the page still answers, and says what it cannot do."""
    path = tmp_path / "page.html"
    path.write_text(whole_page(), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.get_by_role("heading", level=1).text_content() == "Keep 3 of 8 features"
    assert page.get_by_text("The calculator needs JavaScript").is_visible()
    context.close()
