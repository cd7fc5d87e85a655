"""The budget curve: what each worthwhile budget would buy, as a picture, a slider's stops and a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from bayestrim.curve import CurvePoint
from bayestrim.errors import BayestrimError
from bayestrim.problem import Limits
from bayestrim.report import words
from bayestrim.report.markup import Markup, tag
from bayestrim.report.tables import Cell, Column, table
from bayestrim.search import frontier
from bayestrim.trimming import Status, Trimming

LEFT, RIGHT, TOP, BOTTOM = 62.0, 884.0, 14.0, 250.0
"""Where the axes of the picture lie, in a box of 900 by 300."""
ENOUGH = 1e-12
"""How much more often a dearer point must agree to be worth its cost."""
MOST_POINTS = 150
"""A longer curve is thinned to so many points, the first and the last among them."""


def budget_curve(result: Trimming, seconds: float) -> list[CurvePoint] | None:
    """Return what other budgets would buy, found within a time; None where there is none or it cannot be computed.

    A curve is found from its dear end on, and it is the budgets around the result's own that are asked for most. So the
    curve up to there comes first, then up to twice as much, then the whole, each in a third of the time.
    """
    if seconds <= 0:
        return None
    points: list[CurvePoint] = [CurvePoint.of(result)]
    end = -1.0
    try:
        for budget in (result.cost, 2 * result.cost, math.inf):
            found = frontier(replace(result.problem, budget=budget), limits=Limits(seconds=seconds / 3))
            points += [point for point in found if point.cost > end]
            end = budget
    except BayestrimError:
        return None
    return worthwhile(points)


def worthwhile(points: Iterable[CurvePoint]) -> list[CurvePoint]:
    """Return the points that agree more often than all cheaper ones, by ascending cost."""
    best: list[CurvePoint] = []
    for point in sorted(points, key=lambda point: (point.cost, -point.agreement.lower)):
        if not best or point.agreement.lower > best[-1].agreement.lower + ENOUGH:
            best.append(point)
    return best


def thinned(points: Iterable[CurvePoint]) -> list[CurvePoint]:
    """Return the points in order of cost, at most `MOST_POINTS` of them."""
    ordered = sorted(points, key=lambda point: point.cost)
    if len(ordered) <= MOST_POINTS:
        return ordered
    places = {round(i * (len(ordered) - 1) / (MOST_POINTS - 1)) for i in range(MOST_POINTS)}
    return [ordered[i] for i in sorted(places)]


@dataclass(frozen=True)
class Axes:
    """Turns costs and agreements into places of the picture."""

    most: float
    least: float

    @classmethod
    def of(cls, points: Sequence[CurvePoint]) -> Axes:
        """Return axes that hold all points, with round numbers at their ends."""
        lowest = min(point.agreement.lower for point in points)
        step = 0.1 if lowest < 0.9 else 0.02 if lowest < 0.98 else 0.005
        return cls(max(point.cost for point in points) or 1.0, max(0.0, step * int(lowest / step - 1e-9)))

    def x(self, cost: float) -> float:
        """Return how far right a cost lies."""
        return round(LEFT + (RIGHT - LEFT) * cost / self.most, 1)

    def y(self, share: float) -> float:
        """Return how far down an agreement lies."""
        return round(BOTTOM - (BOTTOM - TOP) * (share - self.least) / (1 - self.least or 1.0), 1)


def stops(points: Sequence[CurvePoint]) -> list[dict[str, Any]]:
    """Return what the slider shows at each point, in words, and where the marker then lies."""
    axes = Axes.of(points)
    return [
        {
            "features": list(point.features),
            "cost_words": words.amount(point.cost),
            "agreement_words": words.agreement(point.agreement),
            "threshold_words": words.threshold(point.threshold),
            "proof": proof(point),
            "x": axes.x(point.cost),
            "y": axes.y(point.agreement.lower),
        }
        for point in points
    ]


def proof(point: CurvePoint) -> str:
    """Return what is proved of a point."""
    if point.status is Status.OPTIMAL:
        return "proved to be the best"
    return unproved(point.bound)


def unproved(bound: float) -> str:
    """Return what is said of an answer that may not be the best."""
    return "not proved to be the best" if bound >= 1 else f"not proved: the best has at most {words.percent(bound)}"


def picture(points: Sequence[CurvePoint], here: int) -> Markup:
    """Return the curve as SVG, with a marker at one point; what is proved to be out of reach is shaded."""
    axes = Axes.of(points)
    line = [(axes.x(point.cost), axes.y(point.agreement.lower)) for point in points]
    roof = [(axes.x(point.cost), axes.y(min(1.0, max(point.bound, point.agreement.lower)))) for point in points]
    out = [*_stairs(roof, RIGHT), (RIGHT, TOP), (LEFT, TOP)]
    dots = [tag("circle", cx=x, cy=y, r=3.2, class_="dot") for x, y in line] if len(line) <= 60 else []
    return tag(
        "svg",
        tag("title", "Agreement against cost", id="curve-title"),
        tag("desc", "The numbers stand in the table below.", id="curve-about"),
        *_grid(axes),
        tag("path", d=f"M{_path(out)}Z", class_="out-of-reach"),
        tag("path", d=f"M{_path(_stairs(line, RIGHT))}", class_="curve"),
        *dots,
        tag("circle", id="curve-here", cx=line[here][0], cy=line[here][1], r=7, class_="here"),
        viewBox="0 0 900 300",
        role="img",
        aria_labelledby="curve-title curve-about",
        class_="chart",
    )


def _stairs(points: Sequence[tuple[float, float]], end: float) -> list[tuple[float, float]]:
    """Return the corners of a line that keeps its height until the next point."""
    corners = [points[0]]
    for (_, y), (right, below) in pairwise(points):
        corners += [(right, y), (right, below)]
    return [*corners, (end, points[-1][1])]


def _path(points: Iterable[tuple[float, float]]) -> str:
    return " L".join(f"{x:g},{y:g}" for x, y in points)


def _grid(axes: Axes) -> list[Markup]:
    marks = []
    for share in _round_numbers(axes.least, 1.0):
        y = axes.y(share)
        marks.append(tag("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="rule"))
        marks.append(tag("text", f"{100 * share:.4g} %", x=LEFT - 8, y=y + 4, text_anchor="end"))
    for cost in _round_numbers(0.0, axes.most):
        marks.append(tag("text", f"{cost:g}", x=axes.x(cost), y=BOTTOM + 20, text_anchor="middle"))
    marks.append(tag("text", "cost of the kept features", x=(LEFT + RIGHT) / 2, y=BOTTOM + 42, text_anchor="middle"))
    return marks


def _round_numbers(low: float, high: float) -> list[float]:
    """Return four to nine round numbers from low to high."""
    rough = (high - low) / 8
    if not rough > 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def listing(points: Sequence[CurvePoint]) -> Markup:
    """Return the points as a table."""
    columns = [
        Column("Cost", "number", "up"),
        Column("Decisions that stay the same", "number", "down"),
        Column("Threshold", "number", "up"),
        Column("Keep", "text"),
        Column("Proof", sort="up"),
    ]
    rows = [
        (
            Cell(words.amount(point.cost), point.cost),
            Cell(words.agreement(point.agreement), point.agreement.lower),
            Cell(words.threshold(point.threshold), point.threshold),
            Cell(", ".join(point.features) or "nothing"),
            Cell(proof(point)),
        )
        for point in points
    ]
    return table("What each worthwhile budget buys", columns, rows, anchor="budget-table")
