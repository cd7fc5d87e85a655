"""How the agreement of the kept features depends on their threshold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bayestrim.agreement import eca, maa
from bayestrim.classifier import Classifier
from bayestrim.instances import MOST_INSTANCES, instances_of
from bayestrim.network import FloatArray
from bayestrim.plots.frame import BEST, INK, OTHER, SAME, SHADE, axes_of, figure_of, legend, percent, result_of
from bayestrim.result import Interval, ThresholdInterval
from bayestrim.trimming import Trimming

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_STEPS = 256
"""Up to so many steps of a threshold curve are computed one by one; beyond, so many thresholds spread over them."""
OUTSIDE = -1.0
"""No threshold of the curve: one well inside each step is taken instead, since an edge may be off by a rounding."""


class ThresholdCurveDisplay:
    """How often decisions stay the same, for every threshold that the kept features may be compared with.

    Parameters
    ----------
    edges
        Where the curve steps, ascending: the posteriors that the kept features can give.
    agreement
        The ECA between them [edges + 1]: from 0 to the first edge, … from the last to 1.
    best
        Thresholds that decide as the new one does.
    new, original
        The new threshold and the original one.

    Attributes
    ----------
    ax_, figure_, line_
        The axes, the figure and the curve, once plotted.

    Examples
    --------
    >>> import bayestrim as bt
    >>> from bayestrim.plots import ThresholdCurveDisplay
    >>> quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+", threshold=0.07)
    >>> display = ThresholdCurveDisplay.compute(quiz, ["Q3"])
    >>> display.edges.round(3).tolist(), [round(float(a), 4) for a in display.agreement]
    ([0.077, 0.182], [0.2682, 0.6918, 0.7318])
    """

    ax_: Axes
    figure_: Figure
    line_: Any

    def __init__(
        self,
        *,
        edges: FloatArray,
        agreement: Sequence[Interval],
        best: ThresholdInterval,
        new: float,
        original: float,
    ) -> None:
        self.edges = edges
        self.agreement = tuple(agreement)
        self.best = best
        self.new = new
        self.original = original

    @classmethod
    def compute(cls, classifier: Classifier, features: Iterable[str]) -> ThresholdCurveDisplay:
        """Return the display of some features, not plotted yet."""
        kept = classifier.checked_subset(features)
        best = maa(classifier, kept)
        return cls._of(classifier, kept, best.thresholds, best.threshold)

    @classmethod
    def _of(
        cls, classifier: Classifier, kept: Sequence[str], best: ThresholdInterval, new: float
    ) -> ThresholdCurveDisplay:
        edges = _edges(classifier.restricted(kept))
        between = [ThresholdInterval(low, high) for low, high in pairwise([0.0, *edges.tolist(), 1.0])]
        agreement = [eca(classifier, kept, interval.pick(OUTSIDE)) for interval in between]
        return cls(edges=edges, agreement=agreement, best=best, new=new, original=classifier.threshold)

    @classmethod
    def from_classifier(
        cls, classifier: Classifier, features: Iterable[str], *, ax: Axes | None = None
    ) -> ThresholdCurveDisplay:
        """Compute and plot the curve of some features of a classifier."""
        return cls.compute(classifier, features).plot(ax=ax)

    @classmethod
    def from_result(cls, result: Trimming, *, ax: Axes | None = None) -> ThresholdCurveDisplay:
        """Compute and plot the curve of the features that a result keeps."""
        display = cls._of(result.problem.classifier, result.features, result.thresholds, result.threshold)
        return display.plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> ThresholdCurveDisplay:
        """Compute and plot the curve of the features that a fitted estimator keeps."""
        return cls.from_result(result_of(estimator), ax=ax)

    def plot(self, *, ax: Axes | None = None) -> ThresholdCurveDisplay:
        """Plot the curve, the thresholds that are as good as the new one, and the original threshold."""
        ax = axes_of(ax, (6.0, 3.6))
        lower, upper = (np.array([getattr(a, end) for a in self.agreement]) for end in ("lower", "upper"))
        low, high = max(0.0, self.best.low), min(1.0, self.best.high)
        ax.axvspan(low, high, color=SHADE, label="equally good")
        ends = np.concatenate([[0.0], self.edges, [1.0]])
        (self.line_,) = ax.plot(ends, np.append(lower, lower[-1]), drawstyle="steps-post", color=BEST, linewidth=2)
        self.line_.set_label("agreement")
        if (upper > lower).any():
            top = np.append(upper, upper[-1])
            ax.fill_between(ends, np.append(lower, lower[-1]), top, step="post", color=BEST, alpha=0.25, linewidth=0)
        ax.axvline(min(1.0, self.original), color=OTHER, linestyle=":", linewidth=1.5, label="original threshold")
        if self.new != self.original:
            ax.axvline(min(1.0, self.new), color=INK, linewidth=1.2, label="new threshold")
        ax.set(xlabel="threshold of the kept features", ylabel="decisions that stay the same", xlim=(0, 1))
        ax.yaxis.set_major_formatter(percent)
        legend(ax)
        self.ax_, self.figure_ = ax, figure_of(ax)
        return self


def _edges(trimmed: Classifier) -> FloatArray:
    """Return the posteriors strictly between 0 and 1 that a classifier can give, or as many spread over them."""
    seen = instances_of(trimmed, most=MOST_INSTANCES)
    posteriors = np.sort(np.asarray(trimmed.posterior(seen.codes)))
    inner = posteriors[(posteriors > 0) & (posteriors < 1)]
    if not len(inner):
        return inner
    edges: FloatArray = inner[np.append(True, np.diff(inner) > SAME * inner[1:] * (1 - inner[1:]))]
    if len(edges) > MOST_STEPS:
        edges = edges[np.linspace(0, len(edges) - 1, MOST_STEPS).round().astype(int)]
    return edges
