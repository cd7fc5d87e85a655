"""The thresholds at which a lattice says that the best decisions turn positive, where instances are too many to cut."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bayestrim.engines.independent import Feature, all_values, instance_count
from bayestrim.result import ThresholdInterval

MOST_LISTED = 1 << 17
"""The most instances of kept features among which a threshold is looked for."""


def thresholds_about(turn: float, bias: float, kept: Sequence[Feature] | None) -> ThresholdInterval:
    """Return thresholds that decide alike, where decisions turn.

    Parameters
    ----------
    turn
        The sum of the kept features' log-odds from which on decisions are positive; infinite where they never turn.
    bias
        The prior's log-odds.
    kept
        The kept features, between whose posteriors the thresholds lie; None where these cannot be listed.
    """
    if not math.isfinite(turn):
        return ThresholdInterval(-math.inf, 0.0) if turn < 0 else ThresholdInterval(1.0, math.inf)
    threshold = _probability(turn + bias)
    if kept is None or instance_count(kept) > MOST_LISTED:
        return ThresholdInterval(math.nextafter(threshold, 0.0), threshold)
    odds, p, q = all_values(kept)
    posteriors = np.array([_probability(w + bias) for w in np.unique(odds[(p > 0) | (q > 0)])])
    low, high = posteriors[posteriors < threshold], posteriors[posteriors >= threshold]
    return ThresholdInterval(
        _clear(low[-1], math.inf) if len(low) else -math.inf, _clear(high[0], -math.inf) if len(high) else math.inf
    )


def _clear(posterior: float, towards: float) -> float:
    """Step over what rounding may have done to a posterior."""
    return float(posterior + (1 if towards > posterior else -1) * 1e-12 * min(posterior, 1 - posterior))


def _probability(log_odds: float) -> float:
    odds = math.exp(-abs(log_odds))
    return 1 / (1 + odds) if log_odds > 0 else odds / (1 + odds)
