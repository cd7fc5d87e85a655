"""Pictures of how searches grow, from what `benchmarks.scaling` found."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.families import FAMILIES
from benchmarks.growth import Found, growth
from benchmarks.outputs import new_picture, write_picture

SIZES = list(FAMILIES)[:2]
COLOURS = ("tab:blue", "tab:orange")
NO_GAP = 1e-6
"""Where proved optima are drawn on logarithmic axes."""


def draw(found: list[Found]) -> None:
    """Write both pictures: growth with the number of features, and the other questions."""
    draw_sizes(found)
    draw_shapes(found)


def draw_sizes(found: list[Found]) -> None:
    """Draw nodes, evaluations, seconds and gaps over the number of features."""
    figure, axes = new_picture(2, 9, 6.6, rows=2)
    for panel, name in zip(axes.flat, ("nodes", "evaluations", "seconds"), strict=False):
        for family, colour in zip(SIZES, COLOURS, strict=True):
            mine = [one for one in found if one.family == family]
            _dots(panel, [(one.value, getattr(one, name), one.proved) for one in mine], colour)
            ended = sorted({one.features for one in mine} - {one.features for one in mine if not one.ended})
            _line(panel, ended, _medians(mine, name, ended), colour, family.split(", ")[1])
        panel.set(yscale="log", xlabel="features", ylabel=name)
    axes[0, 0].plot([], [], "o", ms=3.5, mfc="none", c="0.4", label="not proved")
    axes[0, 0].legend(fontsize="small", frameon=False)
    axes[1, 0].axhline(60, c="0.6", lw=0.8, ls=":")
    axes[1, 0].annotate("limit", (10, 60), va="bottom", fontsize="small", color="0.4")
    grown = growth(found, SIZES[0])
    if grown is not None:
        ends = [grown.sizes[0], grown.reach(3600)]
        axes[1, 0].plot(ends, [grown.seconds(size) for size in ends], "--", lw=1, c="0.4", label="fit, up to an hour")
        axes[1, 0].legend(fontsize="small", frameon=False, loc="lower right")
    _gaps(axes[1, 1], found)
    write_picture("scaling", figure)


def _gaps(panel: Any, found: list[Found]) -> None:
    """Draw the median gap after 10 and 60 seconds."""
    for family, colour in zip(SIZES, COLOURS, strict=True):
        mine = [one for one in found if one.family == family]
        sizes = sorted({one.features for one in mine})
        for style, name, when in ((":", "gap_after_10_s", "10 s"), ("-", "gap_after_60_s", "60 s")):
            medians = [max(NO_GAP, gap) for gap in _medians(mine, name, sizes)]
            panel.plot(sizes, medians, f"o{style}", ms=3, lw=1.2, c=colour, label=f"{family.split(', ')[1]}, {when}")
    panel.set(yscale="log", xlabel="features", ylabel="gap, median", ylim=(NO_GAP / 2, 2))
    ticks = {
        NO_GAP: "proved",
        1e-4: "$10^{-4}$",
        1e-3: "$10^{-3}$",
        1e-2: "$10^{-2}$",
        0.1: "$10^{-1}$",
        1: "nothing known",
    }
    panel.set_yticks(list(ticks), list(ticks.values()))
    panel.minorticks_off()
    panel.legend(fontsize="small", frameon=False, loc="lower right", bbox_to_anchor=(1, 0.06))


def draw_shapes(found: list[Found]) -> None:
    """Draw evaluations and nodes over whatever else was varied, its values side by side."""
    figure, axes = new_picture(4, 12, 6.2, rows=2)
    highest = max((one.evaluations for one in found if one.family not in SIZES), default=1)
    for panel, (family, what) in zip(axes.flat, list(FAMILIES.items())[2:], strict=False):
        mine = [one for one in found if one.family == family]
        values = sorted({one.value for one in mine})
        for name, colour in (("evaluations", "tab:blue"), ("nodes", "0.6")):
            _dots(panel, [(values.index(one.value), getattr(one, name), one.proved) for one in mine], colour)
            _line(panel, range(len(values)), _medians(mine, name, values), colour, name)
        panel.set(yscale="log", title=family, xlabel=what, ylim=(0.8, 3 * highest))
        panel.set_xticks(range(len(values)), [f"{value:g}" for value in values], fontsize="small")
    last = axes.flat[-1]
    last.set_axis_off()
    last.plot([], [], "-", c="tab:blue", label="evaluations, median")
    last.plot([], [], "-", c="0.6", label="nodes, median")
    last.plot([], [], "o", ms=3.5, c="0.4", label="one instance, proved")
    last.plot([], [], "o", ms=3.5, mfc="none", c="0.4", label="one instance, not proved")
    last.legend(loc="center", frameon=False)
    write_picture("scaling_shapes", figure)


def _medians(mine: list[Found], name: str, values: Iterable[float]) -> list[float]:
    return [statistics.median(getattr(one, name) for one in mine if one.value == value) for value in values]


def _line(panel: Any, values: Sequence[float], medians: list[float], colour: str, label: str) -> None:
    panel.plot(values, medians, "-", lw=1.2, c=colour, label=label)


def _dots(panel: Any, points: list[tuple[float, float, bool]], colour: str) -> None:
    """Draw each instance, hollow if it was not proved."""
    for proved, face in ((True, colour), (False, "none")):
        some = [point for point in points if point[2] == proved]
        panel.plot([p[0] for p in some], [p[1] for p in some], "o", ms=3.5, c=colour, mfc=face, ls="none")
