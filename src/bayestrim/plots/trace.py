"""How a search went."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from bayestrim.classifier import Classifier
from bayestrim.errors import ProblemError
from bayestrim.network import FloatArray
from bayestrim.plots.frame import BEST, LOST, SHADE, axes_of, figure_of, legend, percent, result_of
from bayestrim.search import trim
from bayestrim.search.events import Event
from bayestrim.trimming import Trimming

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class SearchTraceDisplay:
    """How a search went: the best agreement found so far, and the bound that no choice exceeds, over time.

    Parameters
    ----------
    seconds, agreement, bounds
        Of each event: when, how good the best choice was, and the bound.

    Attributes
    ----------
    ax_, figure_, lines_
        The axes, the figure and the two lines, once plotted.

    Examples
    --------
    >>> import bayestrim as bt
    >>> from bayestrim.plots import SearchTraceDisplay
    >>> quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+", threshold=0.07)
    >>> events = []
    >>> result = bt.trim(quiz, budget=2, on_event=events.append)
    >>> trace = SearchTraceDisplay.compute(events)
    >>> round(float(trace.agreement[-1]), 4), round(float(trace.bounds[-1]), 4)
    (0.9748, 0.9748)
    """

    ax_: Axes
    figure_: Figure
    lines_: Any

    def __init__(self, *, seconds: FloatArray, agreement: FloatArray, bounds: FloatArray) -> None:
        self.seconds, self.agreement, self.bounds = seconds, agreement, bounds

    @classmethod
    def compute(cls, events: Iterable[Event]) -> SearchTraceDisplay:
        """Return the display of the events of a search, not plotted yet."""
        seen = sorted(events, key=lambda event: event.seconds)
        if not seen:
            raise ProblemError("there are no events; collect them with trim(…, on_event=events.append)")
        return cls(
            seconds=np.array([event.seconds for event in seen]),
            agreement=np.array([event.agreement for event in seen]),
            bounds=np.array([min(1.0, event.bound) for event in seen]),
        )

    @classmethod
    def from_events(cls, events: Iterable[Event], *, ax: Axes | None = None) -> SearchTraceDisplay:
        """Plot the events that a search told of."""
        return cls.compute(events).plot(ax=ax)

    @classmethod
    def from_classifier(
        cls, classifier: Classifier, budget: float, *, ax: Axes | None = None, **options: Any
    ) -> SearchTraceDisplay:
        """Trim a classifier, with any option of `trim`, and plot how the search went."""
        events: list[Event] = []
        trim(classifier, budget, on_event=events.append, **options)
        return cls.from_events(events, ax=ax)

    @classmethod
    def from_result(cls, result: Trimming, *, ax: Axes | None = None, **options: Any) -> SearchTraceDisplay:
        """Search again for the answer of a result's problem, with any option of `trim`, and plot how that went."""
        events: list[Event] = []
        trim(result.problem, on_event=events.append, **options)
        return cls.from_events(events, ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None, **options: Any) -> SearchTraceDisplay:
        """Search again for what a fitted estimator holds, and plot how that went."""
        return cls.from_result(result_of(estimator), ax=ax, **options)

    def plot(self, *, ax: Axes | None = None) -> SearchTraceDisplay:
        """Plot both lines; where they meet, the answer is proved."""
        ax = axes_of(ax, (6.0, 3.4))
        ax.fill_between(
            self.seconds, self.agreement, self.bounds, step="post", color=SHADE, linewidth=0, label="not yet known"
        )
        (bound,) = ax.plot(self.seconds, self.bounds, drawstyle="steps-post", color=LOST, label="bound")
        (found,) = ax.plot(self.seconds, self.agreement, drawstyle="steps-post", color=BEST, linewidth=2, label="found")
        self.lines_ = (found, bound)
        ax.set(xlabel="seconds", ylabel="decisions that stay the same", xlim=(0, None))
        ax.yaxis.set_major_formatter(percent)
        legend(ax)
        self.ax_, self.figure_ = ax, figure_of(ax)
        return self
