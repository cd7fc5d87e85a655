"""Numbers as a reader wants them."""

from __future__ import annotations

import math

from bayestrim.result import Interval, ThresholdInterval

Share = float


def percent(share: Share) -> str:
    """Return a share in percent, with as many digits as it takes to tell it from 0 and from 1.

    Examples
    --------
    >>> percent(0.9748), percent(0.99996), percent(0.00012), percent(1.0)
    ('97.48 %', '99.9960 %', '0.012 %', '100 %')
    """
    if share in (0.0, 1.0):
        return f"{100 * share:g} %"
    digits = math.ceil(-math.log10(min(share, 1 - share))) - 1
    return f"{100 * share:.{min(12, max(2, digits))}f} %"


def agreement(value: Interval) -> str:
    """Return an agreement: the number where it is exact, else what it surely, or likely, is at least."""
    if value.kind == "exact" or value.width == 0:
        return percent(value.lower)
    floor = math.floor(value.lower * 1e4) / 1e4  # what is claimed must not be rounded up
    about = "likely at least" if value.kind == "statistical" else "at least"
    return f"{about} {percent(floor)}"


def threshold(value: float) -> str:
    """Return a threshold, in words where it decides always the same."""
    if value > 1:
        return "above 1 (never positive)"
    return "0 (always positive)" if value == 0 else f"{value:.6g}"


def thresholds(value: ThresholdInterval) -> str:
    """Return an interval of thresholds in words.

    Examples
    --------
    >>> thresholds(ThresholdInterval(0.25, 0.5)), thresholds(ThresholdInterval(0.25, math.inf))
    ('above 0.25, up to 0.5', 'above 0.25')
    """
    if value.high == math.inf:
        return "any" if value.low == -math.inf else f"above {value.low:.6g}"
    if value.low == -math.inf:
        return f"up to {value.high:.6g}"
    if math.nextafter(value.low, math.inf) >= value.high:
        return f"{value.high:.6g} alone"
    return f"above {value.low:.6g}, up to {value.high:.6g}"


def amount(cost: float) -> str:
    """Return a cost without needless digits."""
    return "unlimited" if cost == math.inf else f"{cost:.10g}"


def listed(names: tuple[str, ...] | list[str], nothing: str = "nothing") -> str:
    """Return names as a list in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed([])
    ('a, b and c', 'nothing')
    """
    if len(names) < 2:
        return names[0] if names else nothing
    return f"{', '.join(names[:-1])} and {names[-1]}"


def count(number: int, one: str, several: str | None = None) -> str:
    """Return a number of things.

    Examples
    --------
    >>> count(1, "feature"), count(1234, "feature")
    ('1 feature', '1,234 features')
    """
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def capitalised(text: str) -> str:
    """Return a text that may begin a sentence.

    Examples
    --------
    >>> capitalised("at least 97 %"), capitalised("97 %")
    ('At least 97 %', '97 %')
    """
    return text[:1].upper() + text[1:]
