"""One HTML page that answers what people ask about a trimming: self-contained, readable anywhere, printable.

The page asks nothing of a network: its style, its script and its pictures stand in it, and its security policy forbids
everything else. It also computes posteriors of the trimmed classifier, so that it can be used and not only read.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib import resources
from os import PathLike
from string import Template

import bayestrim
from bayestrim.curve import CurvePoint
from bayestrim.errors import ProblemError
from bayestrim.files import write_file
from bayestrim.report.curve import budget_curve, stops
from bayestrim.report.facts import Facts, gather
from bayestrim.report.markup import Markup, data, escape, join, tag
from bayestrim.report.sections import SECTIONS, headline
from bayestrim.trimming import Status, Trimming

__all__ = ["page_of", "write_report"]

MOST_BYTES = 300_000
"""A page is never larger."""
SECONDS = 10.0
"""So long is spent on the budget curve."""
DETAILS = (10, 3, 0)
"""So many changed instances are shown; fewer where the page would be too large."""


def write_report(
    result: Trimming,
    path: str | PathLike[str],
    *,
    curve: Iterable[CurvePoint] | None = None,
    title: str = "",
    seconds: float = SECONDS,
) -> None:
    """Write a page about a result: what to keep, what changes, what other budgets buy, and a calculator.

    Parameters
    ----------
    result
        The answer of `trim`.
    path
        The file to write, which usually ends in ``.html``.
    curve
        What other budgets buy: the points of a budget curve, as `frontier` returns; computed if not given.
    title
        A heading instead of "Keep 4 of 13 features".
    seconds
        So long is spent on the budget curve at most; what is not proved by then says so. With 0 there is none.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import bayestrim as bt
    >>> from bayestrim.report import write_report
    >>> quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+", threshold=0.07)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder) / "quiz.html"
    ...     write_report(bt.trim(quiz, budget=2), page)
    ...     page.stat().st_size < 300_000
    True
    """
    write_file(path, page_of(result, curve=curve, title=title, seconds=seconds).encode())


def page_of(
    result: Trimming, *, curve: Iterable[CurvePoint] | None = None, title: str = "", seconds: float = SECONDS
) -> str:
    """Return the page that `write_report` writes, as text."""
    if not isinstance(result, Trimming):
        raise ProblemError(f"a report is about the result of trim, not about a {type(result).__name__}")
    if result.status is Status.INFEASIBLE:
        raise ProblemError(f"there is nothing to report: {result.status.value}")
    points = budget_curve(result, seconds) if curve is None else list(curve)
    for most in DETAILS:
        page = _page(gather(result, points, title, most), brief=most == 0)
        if len(page.encode()) <= MOST_BYTES:
            return page
    count = len(result.problem.classifier.features)
    raise ProblemError(f"a page about these {count} features would exceed {MOST_BYTES:,} bytes")


def _page(facts: Facts, brief: bool) -> str:
    style, script = _resource("page.css"), _resource("page.js")
    parts = [(s, s.content(facts)) for s in SECTIONS if not (brief and s.anchor in ("network", "use"))]
    shown = [(section, content) for section, content in parts if content is not None]
    head = headline(facts)
    title = facts.title or f"Keep {len(facts.result.features)} of {len(facts.classifier.features)} features"
    values = {
        "version": escape(bayestrim.__version__),
        "title": escape(f"{title} · {facts.classifier.target}"),
        "style": style,
        "style_hash": _digest(style),
        "contents": join(tag("li", tag("a", section.short, href=f"#{section.anchor}")) for section, _ in shown),
        "headline": head,
        "sections": join(
            tag("section", tag("h2", s.heading, id=f"{s.anchor}-title"), content, id=s.anchor,
                aria_labelledby=f"{s.anchor}-title") for s, content in shown
        ),
        "data": data(_for_the_script(facts, brief)),
        "script": script,
        "script_hash": _digest(script),
    }  # fmt: skip
    return Template(_resource("page.html")).substitute(values)


def _for_the_script(facts: Facts, brief: bool) -> dict[str, object]:
    classifier = facts.classifier
    positive = " or ".join(classifier.positive)
    return {
        "curve": stops(facts.curve) if facts.curve else [],
        "calculator": None if brief else facts.calculator,
        "words": {
            "positive": f"{classifier.target}: {positive}",
            "negative": f"{classifier.target}: {' or '.join(classifier.negative)}",
            "posterior": f"probability of {positive}",
        },
    }


def _resource(name: str) -> Markup:
    return Markup(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    """Return what the page's security policy calls a text by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
