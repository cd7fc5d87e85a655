"""Pictures in the manner of scikit-learn's displays: the numbers are computed once, and plotted as often as wanted.

Each display is made by a ``from_…`` method, which computes its numbers and plots them, and can be plotted again on
other axes with ``plot(ax=…)``. matplotlib is imported when something is plotted.
"""

from bayestrim.plots.budget import BudgetCurveDisplay
from bayestrim.plots.disagreement import DisagreementDisplay
from bayestrim.plots.losses import FeatureLossDisplay
from bayestrim.plots.threshold import ThresholdCurveDisplay
from bayestrim.plots.trace import SearchTraceDisplay

__all__ = [
    "BudgetCurveDisplay",
    "DisagreementDisplay",
    "FeatureLossDisplay",
    "SearchTraceDisplay",
    "ThresholdCurveDisplay",
]
