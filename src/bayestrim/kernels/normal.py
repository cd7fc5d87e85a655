"""Masses of intervals under the normal distribution."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from bayestrim.kernels import inner, kernel

Floats = npt.NDArray[np.float64]


@inner
def mass_between(low: float, high: float) -> float:
    """Return the probability that a standard normal variable lies between two numbers, low <= high.

    A difference of tails on the side where both are small, so that the error is some roundings of the smaller one.
    """
    root = math.sqrt(0.5)
    if low > 0:
        return 0.5 * (math.erfc(low * root) - math.erfc(high * root))
    if high < 0:
        return 0.5 * (math.erfc(-high * root) - math.erfc(-low * root))
    return 1.0 - 0.5 * (math.erfc(high * root) + math.erfc(-low * root))


@kernel
def masses_between(places: Floats, masses: Floats) -> None:
    """Add to each mass the one between two places that follow each other, in either order.

    Parameters
    ----------
    places
        Places, ascending or descending, infinite ones included; one more than masses.
    masses
        Are added to.
    """
    for i in range(len(masses)):
        low, high = min(places[i], places[i + 1]), max(places[i], places[i + 1])
        if low < high:
            masses[i] += max(0.0, mass_between(low, high))
