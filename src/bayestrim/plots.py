"""Pictures in the manner of scikit-learn's displays: the numbers are computed once, and plotted as often as wanted.

Each display is made by a ``from_…`` method, which computes its numbers and plots them, and can be plotted again on
other axes with ``plot(ax=…)``. matplotlib is imported when something is plotted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bayestrim.agreement import eca, maa
from bayestrim.classifier import Classifier
from bayestrim.errors import MissingPackageError, ProblemError
from bayestrim.instances import MOST_INSTANCES, SAMPLES, instances_of
from bayestrim.network import FloatArray
from bayestrim.result import Interval, ThresholdInterval
from bayestrim.trimming import Trimming

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["DisagreementDisplay", "FeatureLossDisplay", "ThresholdCurveDisplay"]

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

MOST_STEPS = 256
"""Up to so many steps of a threshold curve are computed one by one; beyond, so many thresholds spread over them."""
SAME = 1e-9
"""Posteriors nearer to each other than this are one step of the curve."""
OUTSIDE = -1.0
"""No threshold of the curve: one well inside each step is taken instead, since an edge may be off by a rounding."""
LARGEST_POINT = 400
"""The area of the largest instance of a picture, in square points."""


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
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


def _legend(ax: Axes, columns: int = 3) -> None:
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


def _figure(ax: Axes) -> Figure:
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
        ax = _axes(ax, (6.0, 3.6))
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
        ax.yaxis.set_major_formatter(_percent)
        _legend(ax)
        self.ax_, self.figure_ = ax, _figure(ax)
        return self


def _percent(value: float, _: float = 0) -> str:
    return f"{100 * value:.3g} %"


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


class FeatureLossDisplay:
    """What dropping one more feature costs: the share of decisions that no longer stay the same.

    Parameters
    ----------
    features
        The features.
    losses
        What dropping each alone takes away from the agreement.
    costs
        What each costs, for the labels.

    Attributes
    ----------
    ax_, figure_, bars_
        The axes, the figure and the bars, once plotted.

    Examples
    --------
    >>> import bayestrim as bt
    >>> from bayestrim.plots import FeatureLossDisplay
    >>> quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+", threshold=0.07)
    >>> display = FeatureLossDisplay.compute(quiz)
    >>> {name: round(float(loss), 4) for name, loss in zip(display.features, display.losses)}
    {'Q1': 0.2682, 'Q2': 0.0918, 'Q3': 0.0252}
    """

    ax_: Axes
    figure_: Figure
    bars_: Any

    def __init__(
        self, *, features: Sequence[str], losses: Sequence[Interval], costs: Mapping[str, float] | None = None
    ) -> None:
        self.features = tuple(features)
        self.losses = tuple(losses)
        self.costs = dict(costs or {})

    @classmethod
    def compute(
        cls,
        classifier: Classifier,
        features: Iterable[str] | None = None,
        *,
        costs: Mapping[str, float] | None = None,
        keep_threshold: bool = False,
    ) -> FeatureLossDisplay:
        """Return the display of dropping each of some features, all by default, not plotted yet."""
        kept = classifier.features if features is None else classifier.checked_subset(features)

        def agreement(names: Sequence[str]) -> Interval:
            return eca(classifier, names) if keep_threshold else maa(classifier, names).value

        whole = agreement(kept)
        losses = [_difference(whole, agreement([n for n in kept if n != name])) for name in kept]
        return cls(features=kept, losses=losses, costs=costs)

    @classmethod
    def from_classifier(
        cls,
        classifier: Classifier,
        features: Iterable[str] | None = None,
        *,
        costs: Mapping[str, float] | None = None,
        ax: Axes | None = None,
    ) -> FeatureLossDisplay:
        """Compute and plot what dropping each feature of a classifier costs."""
        return cls.compute(classifier, features, costs=costs).plot(ax=ax)

    @classmethod
    def from_result(cls, result: Trimming, *, ax: Axes | None = None) -> FeatureLossDisplay:
        """Compute and plot what dropping one more of the kept features would cost."""
        problem = result.problem
        keep = problem.threshold == "keep"
        costs = {name: problem.costs[name] for name in result.features}
        return cls.compute(problem.classifier, result.features, costs=costs, keep_threshold=keep).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> FeatureLossDisplay:
        """Compute and plot what dropping one more feature would cost a fitted estimator."""
        return cls.from_result(result_of(estimator), ax=ax)

    def plot(self, *, ax: Axes | None = None) -> FeatureLossDisplay:
        """Plot one bar for each feature, the one that hurts most on top."""
        ax = _axes(ax, (6.0, 0.8 + 0.3 * max(3, len(self.features))))
        order = sorted(range(len(self.features)), key=lambda i: float(self.losses[i]))
        names = [self._label(self.features[i]) for i in order]
        values = [float(self.losses[i]) for i in order]
        half = [self.losses[i].width / 2 for i in order]
        self.bars_ = ax.barh(names, values, height=0.62, color=BEST, xerr=half if any(half) else None)
        ax.bar_label(self.bars_, [_percent(value) for value in values], padding=4, fontsize="small")
        ax.set(xlabel="decisions that change when it alone is dropped")
        ax.margins(x=0.14)
        ax.grid(visible=False, axis="y")
        ax.tick_params(axis="y", length=0)
        ax.xaxis.set_major_formatter(_percent)
        self.ax_, self.figure_ = ax, _figure(ax)
        return self

    def _label(self, name: str) -> str:
        text = name.replace("$", r"\$")  # or matplotlib reads mathematics
        return f"{text} ({self.costs[name]:g})" if name in self.costs else text


def _difference(whole: Interval, part: Interval) -> Interval:
    kind = "exact" if whole.kind == part.kind == "exact" else "certified"
    if "statistical" in (whole.kind, part.kind):
        kind = "statistical"
    lower, upper = max(0.0, whole.lower - part.upper), max(0.0, whole.upper - part.lower)
    return Interval(lower, upper, kind, part.confidence if kind == "statistical" else None)  # type: ignore[arg-type]


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
        ax = _axes(ax, (5.2, 5.0))
        ax.axvline(min(1.0, self.original), color=OTHER, linestyle=":", linewidth=1.5)
        ax.axhline(min(1.0, self.new), color=INK, linewidth=1.2)
        groups = [
            (self.was == self.becomes, OTHER, f"same ({_percent(1 - self.lost - self.gained)})"),
            (self.was & ~self.becomes, LOST, f"positive → negative ({_percent(self.lost)})"),
            (~self.was & self.becomes, GAINED, f"negative → positive ({_percent(self.gained)})"),
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
        _legend(ax, 2)
        self.ax_, self.figure_ = ax, _figure(ax)
        return self


def _merged(before: FloatArray, after: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return points with those that no picture tells apart put together, the largest first."""
    points, where = np.unique(np.stack([before, after]).round(2), axis=1, return_inverse=True)
    total = np.bincount(where.ravel(), weights, minlength=points.shape[1]).astype(np.float64)
    order = np.argsort(-total)
    return points[0, order], points[1, order], total[order]
