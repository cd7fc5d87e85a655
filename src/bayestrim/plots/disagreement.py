"""Posteriors before trimming against after."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bayestrim.agreement import maa
from bayestrim.classifier import Classifier
from bayestrim.instances import SAMPLES, instances_of
from bayestrim.network import FloatArray
from bayestrim.plots.frame import GAINED, INK, LOST, OTHER, axes_of, figure_of, legend, percent, result_of
from bayestrim.trimming import Trimming

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LARGEST_POINT = 400
"""The area of the largest instance of a picture, in square points."""


class DisagreementDisplay:
    """Posteriors before trimming against after, each instance by its probability; changed decisions are coloured.

    Parameters
    ----------
    before, after
        The posterior of each instance, of all features and of the kept ones.
    weights
        Their probabilities.
    was, becomes
        Whether each is decided positive, before and after.
    original, new
        The thresholds.
    sampled
        Whether the instances are a sample.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure, once plotted.

    Examples
    --------
    >>> import bayestrim as bt
    >>> from bayestrim.plots import DisagreementDisplay
    >>> quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+", threshold=0.07)
    >>> display = DisagreementDisplay.compute(quiz, ["Q1", "Q2"], threshold=0.1)
    >>> round(display.lost, 4), round(display.gained, 4)
    (0.0252, 0.0)
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        before: FloatArray,
        after: FloatArray,
        weights: FloatArray,
        was: npt.NDArray[np.bool_],
        becomes: npt.NDArray[np.bool_],
        original: float,
        new: float,
        sampled: bool = False,
    ) -> None:
        self.before, self.after, self.weights = before, after, weights
        self.was, self.becomes = was, becomes
        self.original, self.new, self.sampled = original, new, sampled

    @property
    def lost(self) -> float:
        """The probability of decisions that turn from positive to negative."""
        return float(self.weights[self.was & ~self.becomes].sum())

    @property
    def gained(self) -> float:
        """The probability of decisions that turn from negative to positive."""
        return float(self.weights[~self.was & self.becomes].sum())

    @classmethod
    def compute(
        cls,
        classifier: Classifier,
        features: Iterable[str],
        threshold: float | None = None,
        *,
        samples: int = SAMPLES,
        seed: int = 0,
    ) -> DisagreementDisplay:
        """Return the display of some features and a threshold, by default the best one, not plotted yet."""
        kept = classifier.checked_subset(features)
        trimmed = classifier.restricted(kept, maa(classifier, kept).threshold if threshold is None else threshold)
        seen = instances_of(classifier, samples=samples, seed=seed)
        columns = [classifier.features.index(name) for name in kept]
        codes = seen.codes[:, columns]
        return cls(
            before=np.asarray(classifier.posterior(seen.codes)),
            after=np.asarray(trimmed.posterior(codes)),
            weights=seen.weights,
            was=classifier.decide(seen.codes),
            becomes=trimmed.decide(codes),
            original=classifier.threshold,
            new=trimmed.threshold,
            sampled=seen.sampled,
        )

    @classmethod
    def from_classifier(
        cls,
        classifier: Classifier,
        features: Iterable[str],
        threshold: float | None = None,
        *,
        ax: Axes | None = None,
    ) -> DisagreementDisplay:
        """Compute and plot what keeping only some features changes."""
        return cls.compute(classifier, features, threshold).plot(ax=ax)

    @classmethod
    def from_result(cls, result: Trimming, *, ax: Axes | None = None) -> DisagreementDisplay:
        """Compute and plot what a result changes."""
        return cls.from_classifier(result.problem.classifier, result.features, result.threshold, ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> DisagreementDisplay:
        """Compute and plot what a fitted estimator changes."""
        return cls.from_result(result_of(estimator), ax=ax)

    def plot(self, *, ax: Axes | None = None) -> DisagreementDisplay:
        """Plot the instances, and both thresholds."""
        ax = axes_of(ax, (5.2, 5.0))
        ax.axvline(min(1.0, self.original), color=OTHER, linestyle=":", linewidth=1.5)
        ax.axhline(min(1.0, self.new), color=INK, linewidth=1.2)
        groups = [
            (self.was == self.becomes, OTHER, f"same ({percent(1 - self.lost - self.gained)})"),
            (self.was & ~self.becomes, LOST, f"positive → negative ({percent(self.lost)})"),
            (~self.was & self.becomes, GAINED, f"negative → positive ({percent(self.gained)})"),
        ]
        merged = [_merged(self.before[chosen], self.after[chosen], self.weights[chosen]) for chosen, *_ in groups]
        largest = LARGEST_POINT / max(float(weights.max(initial=0.0)) for *_, weights in merged)
        for (_, color, label), (before, after, weights) in zip(groups, merged, strict=True):
            ax.scatter(
                before,
                after,
                s=8 + largest * weights,
                color=color,
                alpha=0.7,
                linewidth=0.4,
                edgecolor="white",
                zorder=3,
            )
            ax.scatter([], [], s=40, color=color, label=label)
        what = "drawn instances" if self.sampled else "instances"
        ax.set(
            xlabel=f"posterior of all features (area: probability of {what})",
            ylabel="posterior of the kept features",
            xlim=(-0.03, 1.03),
            ylim=(-0.03, 1.03),
        )
        legend(ax, 2)
        self.ax_, self.figure_ = ax, figure_of(ax)
        return self


def _merged(before: FloatArray, after: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return points with those that no picture tells apart put together, the largest first."""
    points, where = np.unique(np.stack([before, after]).round(2), axis=1, return_inverse=True)
    total = np.bincount(where.ravel(), weights, minlength=points.shape[1]).astype(np.float64)
    order = np.argsort(-total)
    return points[0, order], points[1, order], total[order]
