"""From the values of a column to states: names as they are, and numbers cut into ranges of about equal weight."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from bayestrim.network import FloatArray
from bayestrim.rows import MISSING, IntArray, as_number
from bayestrim.tables import Column

MOST_WHOLE = 10
"""So many different whole numbers, or fewer, are names of states and not measurements."""


def named_states(column: Column) -> tuple[list[str], IntArray]:
    """Return a column's values as names of states, in a natural order, and each row's state."""
    measured = as_numbers(column.values)
    words = [_word(value) for value in (column.values if measured is None else measured)]
    order = dict.fromkeys(words)
    names = sorted(order, key=float) if measured is not None else list(order)
    place = {name: number for number, name in enumerate(names)}
    codes = np.array([place[word] for word in words] + [MISSING], dtype=np.int64)[column.codes]
    return names, codes


def _word(value: Any) -> str:
    """Return the name of the state that a value stands for; 1.0 is 1."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def as_numbers(values: Sequence[Any]) -> list[float] | None:
    """Return a column's distinct values as numbers, None if they are not all numbers."""
    found = [as_number(value) for value in values]
    return None if not found or any(number is None for number in found) else [n for n in found if n is not None]


def is_measurement(values: Collection[float], bins: int) -> bool:
    """Tell whether numbers are to be cut into ranges: many whole ones, or some with fractions."""
    whole = all(value.is_integer() for value in values)
    return len(values) > (max(bins, MOST_WHOLE) if whole else bins)


def quantile_cuts(values: FloatArray, mass: FloatArray, bins: int) -> tuple[float, ...]:
    """Return the ends between ranges of about equal mass; fewer where a single value holds more than a range.

    Parameters
    ----------
    values, mass
        The distinct values, and what each weighs.
    bins
        How many ranges there should be.

    Examples
    --------
    >>> quantile_cuts(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), 2)
    (3.0,)
    >>> quantile_cuts(np.array([0.0, 1.0, 2.0]), np.array([8.0, 1.0, 1.0]), 5)
    (1.0,)
    """
    order = np.argsort(values)
    ordered, weight = values[order], mass[order]
    below = np.concatenate([[0.0], np.cumsum(weight)[:-1]])
    wanted = np.arange(1, bins) / bins * weight.sum()
    places = np.searchsorted(below, wanted * (1 - 1e-12))
    ends = ordered[places[places < len(ordered)]]
    return tuple(float(end) for end in np.unique(ends) if end > ordered[0] and math.isfinite(end))


def range_names(cuts: Sequence[float]) -> tuple[str, ...]:
    """Return names of the ranges between cuts.

    Examples
    --------
    >>> range_names((48.0, 54.5))
    ('<48', '48..<54.5', '>=54.5')
    """
    ends = [_word(cut) for cut in cuts]
    if not ends:
        return ("any",)
    between = (f"{low}..<{high}" for low, high in pairwise(ends))
    return (f"<{ends[0]}", *between, f">={ends[-1]}")
