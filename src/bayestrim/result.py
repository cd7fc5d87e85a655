"""What an answer looks like: a value with its certainty, and the thresholds that reach it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, SupportsFloat

from bayestrim.ties import as_written

Kind = Literal["exact", "certified", "statistical"]

NEVER_POSITIVE = math.nextafter(1.0, 2.0)
"""The threshold just above 1, which no posterior reaches."""


class _LikeANumber:
    """Answers that compare, round and format by the number that `float` gives."""

    def __float__(self) -> float:
        raise NotImplementedError

    def __lt__(self, other: SupportsFloat) -> bool:
        return float(self) < float(other)

    def __le__(self, other: SupportsFloat) -> bool:
        return float(self) <= float(other)

    def __gt__(self, other: SupportsFloat) -> bool:
        return float(self) > float(other)

    def __ge__(self, other: SupportsFloat) -> bool:
        return float(self) >= float(other)

    def __round__(self, digits: int | None = None) -> float:
        return round(float(self), digits)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)


@dataclass(frozen=True)
class Interval(_LikeANumber):
    """A number and how surely it is known.

    Attributes
    ----------
    lower, upper
        The ends; equal where the value is exact.
    kind
        ``"exact"``: every decision is exact and sums are correct to rounding. ``"certified"``: the value surely lies
        between the ends. ``"statistical"``: it does so at the stated confidence.
    confidence
        The confidence level of a statistical interval.

    Examples
    --------
    >>> float(Interval(0.25, 0.75, "certified"))
    0.5
    """

    lower: float
    upper: float
    kind: Kind = "exact"
    confidence: float | None = None

    def __float__(self) -> float:
        """Return the middle."""
        return self.lower if self.lower == self.upper else (self.lower + self.upper) / 2

    def __contains__(self, value: float) -> bool:
        """Tell whether a value lies between the ends."""
        return self.lower <= value <= self.upper

    @property
    def width(self) -> float:
        """The distance between the ends."""
        return self.upper - self.lower

    def __str__(self) -> str:
        if self.lower == self.upper:
            return f"{self.lower:.6g}"
        return f"[{self.lower:.6g}, {self.upper:.6g}]"


@dataclass(frozen=True)
class ThresholdInterval:
    """The thresholds T with low < T ≤ high, which all decide alike.

    ``low`` is minus infinity where even a threshold of 0 belongs (everything is positive), ``high`` is infinity where
    any large threshold does (nothing is).

    Examples
    --------
    >>> 0.18 in ThresholdInterval(0.08, 0.18), 0.08 in ThresholdInterval(0.08, 0.18)
    (True, False)
    """

    low: float
    high: float

    def __contains__(self, threshold: float) -> bool:
        """Tell whether a threshold, read as the decimal that prints it, lies in the interval."""
        above = self.low == -math.inf or as_written(threshold) > as_written(self.low)
        return above and (self.high == math.inf or as_written(threshold) <= as_written(self.high))

    def pick(self, preferred: float) -> float:
        """Return the preferred threshold if it lies in the interval, else one well inside.

        That is the middle in log-odds; 0 where everything is positive, `NEVER_POSITIVE` where nothing is.
        """
        if preferred in self:
            return preferred
        if self.low == -math.inf:
            return 0.0
        if self.high == math.inf:
            return NEVER_POSITIVE
        middle = _middle(self.low, self.high)
        return middle if middle in self else self.high

    def __str__(self) -> str:
        left = "[0" if self.low == -math.inf else f"({self.low:.6g}"
        return f"{left}, {'∞)' if self.high == math.inf else f'{self.high:.6g}]'}"


def _middle(low: float, high: float) -> float:
    """Return the middle in log-odds, or the plain middle where an end has infinite log-odds."""
    if low <= 0 or high >= 1:
        return (low + high) / 2
    odds = math.sqrt(low / (1 - low)) * math.sqrt(high / (1 - high))
    return odds / (1 + odds)


@dataclass(frozen=True)
class MaxAgreement(_LikeANumber):
    """The maximum achievable agreement (MAA) of some features, and how to achieve it.

    Attributes
    ----------
    value
        The best ECA over all thresholds.
    thresholds
        Thresholds that reach it: the interval that holds the original one if any does, else the lowest.
    threshold
        One of them: the original where that is possible.
    """

    value: Interval
    thresholds: ThresholdInterval
    threshold: float

    def __float__(self) -> float:
        """Return the value."""
        return float(self.value)

    def __str__(self) -> str:
        return f"{self.value} with any threshold in {self.thresholds}"
