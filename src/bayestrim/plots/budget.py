"""What each budget buys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayestrim.classifier import Classifier
from bayestrim.curve import CurvePoint
from bayestrim.errors import ProblemError
from bayestrim.network import FloatArray
from bayestrim.plots.frame import BEST, GAINED, INK, OTHER, SAME, SHADE, axes_of, figure_of, legend, percent, result_of
from bayestrim.problem import TrimProblem
from bayestrim.search import frontier, trim
from bayestrim.trimming import Trimming

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class BudgetCurveDisplay:
    """Agreement against cost: what each budget buys, what is proved to be out of reach, and a simple rule beside it.

    Parameters
    ----------
    costs, agreement, bounds
        Of each point: its cost, its agreement (what it surely is at least), and what no choice of this cost exceeds.
    baseline
        The costs and agreements of features chosen by information gain, if they are to be shown.
    here
        The cost and agreement of a result, to be marked.

    Attributes
    ----------
    ax_, figure_, line_
        The axes, the figure and the curve, once plotted.
    """

    ax_: Axes
    figure_: Figure
    line_: Any

    def __init__(
        self,
        *,
        costs: FloatArray,
        agreement: FloatArray,
        bounds: FloatArray,
        baseline: tuple[FloatArray, FloatArray] | None = None,
        here: tuple[float, float] | None = None,
    ) -> None:
        self.costs, self.agreement, self.bounds = costs, agreement, bounds
        self.baseline, self.here = baseline, here

    @classmethod
    def compute(
        cls, curve: Iterable[CurvePoint], problem: TrimProblem | None = None, result: Trimming | None = None
    ) -> BudgetCurveDisplay:
        """Return the display of a budget curve, not plotted yet.

        Parameters
        ----------
        curve
            Its points.
        problem
            If given, what choosing by information gain reaches at each point's cost is shown as well.
        result
            If given, it is marked.
        """
        points = sorted(curve, key=lambda point: point.cost)
        if not points:
            raise ProblemError("the budget curve has no points; there is nothing to plot")
        costs = np.array([point.cost for point in points])
        return cls(
            costs=costs,
            agreement=np.array([point.agreement.lower for point in points]),
            bounds=np.array([min(1.0, max(point.bound, point.agreement.lower)) for point in points]),
            baseline=None if problem is None else (costs, _by_information_gain(problem, costs)),
            here=None if result is None else (result.cost, result.agreement.lower),
        )

    @classmethod
    def from_curve(
        cls, curve: Iterable[CurvePoint], problem: TrimProblem | None = None, *, ax: Axes | None = None
    ) -> BudgetCurveDisplay:
        """Compute and plot a budget curve that `frontier` returned, with the baseline if the problem is given."""
        return cls.compute(curve, problem).plot(ax=ax)

    @classmethod
    def from_classifier(
        cls, classifier: Classifier, costs: Mapping[str, float] | None = None, *, ax: Axes | None = None, **options: Any
    ) -> BudgetCurveDisplay:
        """Compute the budget curve of a classifier, with any option of `frontier`, and plot it with the baseline."""
        curve = frontier(classifier, costs, **options)
        return cls.compute(curve, curve.problem).plot(ax=ax)

    @classmethod
    def from_result(
        cls, result: Trimming, curve: Iterable[CurvePoint] | None = None, *, ax: Axes | None = None, **options: Any
    ) -> BudgetCurveDisplay:
        """Plot the budget curve of a result's problem (computed with any option of `frontier` if not given)."""
        points = frontier(replace(result.problem, budget=np.inf), **options) if curve is None else curve
        return cls.compute(points, result.problem, result).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None, **options: Any) -> BudgetCurveDisplay:
        """Compute and plot the budget curve of a fitted estimator's problem."""
        return cls.from_result(result_of(estimator), ax=ax, **options)

    def plot(self, *, ax: Axes | None = None) -> BudgetCurveDisplay:
        """Plot the curve, what is proved to be out of reach above it, and the baseline below."""
        ax = axes_of(ax, (6.0, 3.8))
        end = float(self.costs[-1]) * 1.02 or 1.0
        costs = np.append(self.costs, end)
        agreement, bounds = (np.append(values, values[-1]) for values in (self.agreement, self.bounds))
        ax.fill_between(costs, bounds, 1.0, step="post", color=SHADE, linewidth=0, label="proved out of reach")
        if (bounds > agreement + SAME).any():
            ax.fill_between(costs, agreement, bounds, step="post", color=GAINED, alpha=0.3, linewidth=0, label="open")
        if self.baseline is not None:
            values = np.append(self.baseline[1], self.baseline[1][-1])
            ax.plot(costs, values, drawstyle="steps-post", color=OTHER, linestyle="--", label="by information gain")
        (self.line_,) = ax.plot(costs, agreement, drawstyle="steps-post", color=BEST, linewidth=2, label="best")
        ax.plot(self.costs, self.agreement, "o", color=BEST, markersize=3.5)
        if self.here is not None:
            ax.plot(*self.here, "o", markerfacecolor="white", markeredgecolor=INK, markersize=8, markeredgewidth=1.6)
        ax.set(
            xlabel="cost of the kept features", ylabel="decisions that stay the same", xlim=(0, end), ylim=(None, 1.0)
        )
        ax.yaxis.set_major_formatter(percent)
        legend(ax)
        self.ax_, self.figure_ = ax, figure_of(ax)
        return self


def _by_information_gain(problem: TrimProblem, costs: FloatArray) -> FloatArray:
    """Return what features ranked by information gain reach at each cost."""
    affordable = [replace(problem, budget=float(cost)) for cost in costs]
    return np.array([trim(each, strategy="information-gain").agreement.lower for each in affordable])
