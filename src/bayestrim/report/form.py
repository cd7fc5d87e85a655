"""The calculator as a form: a field for each kept feature, and where the answer is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayestrim.report import words
from bayestrim.report.facts import Facts
from bayestrim.report.markup import Markup, join, tag


def use(facts: Facts) -> Markup:
    """Return the calculator."""
    model = facts.calculator
    if model["kind"] == "none":
        return tag("p", model["reason"])
    limit = facts.result.threshold
    fields = []
    for place, variable in enumerate(model["inputs"]):
        control = _entry(variable, f"input-{place}")
        fields.append(tag("div", tag("label", variable["name"], for_=f"input-{place}"), control))
    mark = f"{1000 * min(1.0, limit):.1f}"
    bar = tag(
        "svg",
        tag("rect", x=0, y=8, width=1000, height=16, rx=8, class_="track"),
        tag("rect", x=0, y=8, width=0, height=16, rx=8, class_="fill", id="calculator-bar"),
        tag("line", x1=mark, x2=mark, y1=2, y2=30, class_="mark"),
        viewBox="0 0 1000 32",
        preserveAspectRatio="none",
        aria_hidden="true",
        class_="scale",
    )
    answer = tag(
        "output",
        tag("strong", "", id="calculator-decision"),
        tag("span", "", id="calculator-posterior"),
        id="calculator-answer",
        for_=" ".join(f"input-{i}" for i in range(len(fields))) or None,
        aria_live="polite",
    )
    return join(
        [
            tag("p", "Enter what was observed. The posterior is computed in this page; nothing leaves it."),
            tag("p", "The calculator needs JavaScript, which is switched off here.", class_="without-script"),
            tag(
                "form",
                tag("div", *fields, class_="fields"),
                answer,
                bar,
                tag("p", f"The mark is the threshold, {words.threshold(limit)}.", class_="note"),
                tag("button", "Clear", type="reset"),
                id="calculator",
            ),
        ]
    )


def _entry(variable: Mapping[str, Any], anchor: str) -> Markup:
    """Return where a feature's value is entered: a number where it was one, else one of its states."""
    if variable["cuts"] or not variable["states"]:
        ends = variable["cuts"]
        hint = f"cut at {', '.join(f'{cut:g}' for cut in ends)}" if ends else None
        return tag(
            "input", type="number", step="any", id=anchor, placeholder="not observed", title=hint, autocomplete="off"
        )
    options = [tag("option", "not observed", value="")]
    options += [tag("option", state, value=code) for code, state in enumerate(variable["states"])]
    return tag("select", *options, id=anchor, autocomplete="off")
