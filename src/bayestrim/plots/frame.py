"""What all pictures share: colours, axes, legends, and where an estimator keeps its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayestrim.errors import MissingPackageError, ProblemError
from bayestrim.trimming import Trimming

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


INK = "#1f2a36"
"""Text and frames."""
BEST = "#1b6ca8"
"""What was found: the kept features, the agreement."""
OTHER = "#8a94a0"
"""What it is compared with."""
LOST = "#c4472b"
"""Decisions that turn from positive to negative."""
GAINED = "#d99a00"
"""Decisions that turn from negative to positive."""
SHADE = "#dfe7ef"
"""Regions."""
SAME = 1e-9
"""Posteriors nearer to each other than this are one step of the curve."""


def axes_of(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the given axes, or those of a new figure, with the frame that all displays share."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ImportError:
        raise MissingPackageError("pictures need matplotlib: pip install 'bayestrim[plot]'") from None
    if ax is None:
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color=SHADE, linewidth=0.8)
    ax.set_axisbelow(True)
    return ax


def legend(ax: Axes, columns: int = 3) -> None:
    """Put the legend above the axes, where it hides nothing."""
    ax.legend(
        frameon=False,
        fontsize="small",
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=columns,
        borderaxespad=0.3,
        columnspacing=1.4,
        handletextpad=0.5,
    )


def figure_of(ax: Axes) -> Figure:
    """Return the figure that axes belong to."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def result_of(estimator: Any) -> Trimming:
    """Return the result that a fitted estimator holds, looking through pipelines to their last step."""
    while hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    for name in ("result_", "trimming_"):
        result = getattr(estimator, name, None)
        if isinstance(result, Trimming):
            return result
    raise ProblemError(f"{type(estimator).__name__} holds no result of trimming; fit it first")


def percent(value: float, _: float = 0) -> str:
    """Return a share in percent, as ticks and labels write it."""
    return f"{100 * value:.3g} %"
