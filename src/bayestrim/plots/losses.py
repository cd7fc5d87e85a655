"""What dropping one more feature costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayestrim.agreement import eca, maa
from bayestrim.classifier import Classifier
from bayestrim.plots.frame import BEST, axes_of, figure_of, percent, result_of
from bayestrim.result import Interval
from bayestrim.trimming import Trimming

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
        ax = axes_of(ax, (6.0, 0.8 + 0.3 * max(3, len(self.features))))
        order = sorted(range(len(self.features)), key=lambda i: float(self.losses[i]))
        names = [self._label(self.features[i]) for i in order]
        values = [float(self.losses[i]) for i in order]
        half = [self.losses[i].width / 2 for i in order]
        self.bars_ = ax.barh(names, values, height=0.62, color=BEST, xerr=half if any(half) else None)
        ax.bar_label(self.bars_, [percent(value) for value in values], padding=4, fontsize="small")
        ax.set(xlabel="decisions that change when it alone is dropped")
        ax.margins(x=0.14)
        ax.grid(visible=False, axis="y")
        ax.tick_params(axis="y", length=0)
        ax.xaxis.set_major_formatter(percent)
        self.ax_, self.figure_ = ax, figure_of(ax)
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
