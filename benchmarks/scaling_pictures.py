"""Pictures of how searches grow, from what `benchmarks.scaling` found."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from benchmarks.families import FAMILIES
from benchmarks.outputs import new_picture, write_picture

if TYPE_CHECKING:
    from benchmarks.scaling import Found

SIZES = list(FAMILIES)[:2]
COLOURS = ("tab:blue", "tab:orange")
NO_GAP = 1e-6
"""Where proved optima are drawn on logarithmic axes."""
LOGARITHMIC = ("prior", "equal features", "strength falls")
"""Families drawn over a logarithmic axis."""


def draw(found: list[Found]) -> None:
    """Write both pictures: growth with the number of features, and the other questions."""
    draw_sizes(found)
    draw_shapes(found)


def draw_sizes(found: list[Found]) -> None:
    """Draw nodes, evaluations, seconds and gaps over the number of features."""
    figure, axes = new_picture(2, 9, 6.6, rows=2)
    for panel, (name, label) in zip(
        axes.flat, (("nodes", "nodes"), ("evaluations", "evaluations"), ("seconds", "seconds")), strict=False
    ):
        for family, colour in zip(SIZES, COLOURS, strict=True):
            _points(panel, [one for one in found if one.family == family], name, colour, family.split(", ")[1])
        panel.set(yscale="log", xlabel="features", ylabel=label)
    axes[1, 0].axhline(60, c="0.6", lw=0.8, ls=":")
    axes[1, 0].annotate("limit", (10, 60), va="bottom", fontsize="small", color="0.4")
    axes[0, 0].plot([], [], "o", mfc="none", c="0.4", label="not proved")
    axes[0, 0].legend(fontsize="small", frameon=False)
    _gaps(axes[1, 1], found)
    write_picture("scaling", figure)


def _gaps(panel: Any, found: list[Found]) -> None:
    """Draw the median gap after 10 and 60 seconds."""
    for family, colour in zip(SIZES, COLOURS, strict=True):
        mine = [one for one in found if one.family == family]
        sizes = sorted({one.features for one in mine})
        for style, field, when in ((":", "gap_after_10_s", "10 s"), ("-", "gap_after_60_s", "60 s")):
            medians = [
                max(NO_GAP, statistics.median(getattr(one, field) for one in mine if one.features == size))
                for size in sizes
            ]
            panel.plot(sizes, medians, f"o{style}", ms=3, lw=1.2, c=colour, label=f"{family.split(', ')[1]}, {when}")
    panel.set(yscale="log", xlabel="features", ylabel="gap, median")
    panel.set_yticks([NO_GAP, 1e-4, 1e-3, 1e-2, 1e-1], ["proved", "$10^{-4}$", "$10^{-3}$", "$10^{-2}$", "$10^{-1}$"])
    panel.minorticks_off()
    panel.legend(fontsize="small", frameon=False)


def draw_shapes(found: list[Found]) -> None:
    """Draw evaluations and nodes over whatever else was varied."""
    figure, axes = new_picture(4, 12, 6.2, rows=2)
    highest = max((one.evaluations for one in found if one.family not in SIZES), default=1)
    for panel, (family, what) in zip(axes.flat, list(FAMILIES.items())[2:], strict=False):
        mine = [one for one in found if one.family == family]
        _points(panel, mine, "evaluations", "tab:blue", "evaluations")
        _points(panel, mine, "nodes", "0.6", "nodes")
        panel.set(yscale="log", title=family, xlabel=what.partition(" (")[0], ylim=(0.8, 3 * highest))
        if family in LOGARITHMIC:
            panel.set_xscale("log")
    last = axes.flat[-1]
    last.set_axis_off()
    for style, colour, label in (("o-", "tab:blue", "evaluations, median"), ("o-", "0.6", "nodes, median")):
        last.plot([], [], style, ms=4, c=colour, label=label)
    last.plot([], [], "o", ms=4, mfc="none", c="0.4", label="not proved")
    last.plot([], [], "o", ms=4, c="0.4", label="one instance, proved")
    last.legend(loc="center", frameon=False)
    write_picture("scaling_shapes", figure)


def _points(panel: Any, mine: list[Found], name: str, colour: str, label: str) -> None:
    """Draw each instance as a dot, hollow if it was not proved, and a line through the medians."""
    values = sorted({one.value for one in mine})
    medians = [statistics.median(getattr(one, name) for one in mine if one.value == value) for value in values]
    panel.plot(values, medians, "-", lw=1.2, c=colour, label=label)
    for proved, face in ((True, colour), (False, "none")):
        some = [one for one in mine if one.proved == proved]
        panel.plot([one.value for one in some], [getattr(one, name) for one in some], "o", ms=3.5, c=colour, mfc=face)
