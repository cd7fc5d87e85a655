"""Losses counted exactly: pairs of instances of two parts of the features."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bayestrim.kernels import kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@kernel
def count_pairs(
    kept_odds: Floats,
    one_odds: Floats,
    one_p: Floats,
    one_q: Floats,
    two_odds: Floats,
    two_p: Floats,
    two_q: Floats,
    border: float,
    positive: Floats,
) -> None:
    """Sum, for each kept instance, the mass of the dropped instances with which it is decided positive.

    Parameters
    ----------
    kept_odds
        The log-odds of the kept instances, ascending.
    one_odds, one_p, one_q
        The log-odds of the instances of one part of the dropped features, in any order, and their probabilities.
    two_odds, two_p, two_q
        Those of the other part, ascending; the probabilities are summed up from the right, and end with 0.
    border
        An instance is positive iff its log-odds sum to at least this.
    positive
        Receives the sums under each class, [2, kept instances].
    """
    for x in range(len(kept_odds)):
        positive[0, x] = positive[1, x] = 0.0
    for i in range(len(one_odds)):
        j = len(two_odds)
        p, q = one_p[i], one_q[i]
        for x in range(len(kept_odds)):
            need = border - kept_odds[x] - one_odds[i]
            while j > 0 and two_odds[j - 1] >= need:
                j -= 1
            positive[0, x] += p * two_p[j]
            positive[1, x] += q * two_q[j]


@kernel
def pairs_between(one_odds: Floats, two_odds: Floats, low: float, high: float, pairs: Ints) -> int:
    """List the pairs whose log-odds sum to at least `low` and at most `high`, as far as there is room.

    Parameters
    ----------
    one_odds, two_odds
        Ascending log-odds of two parts of an instance.
    low, high
        The range.
    pairs
        Receives places in the two lists, [room, 2].

    Returns
    -------
    int
        How many there are; more than the room if not all were listed.
    """
    count = 0
    begin = len(two_odds)
    for i in range(len(one_odds)):
        while begin > 0 and one_odds[i] + two_odds[begin - 1] >= low:
            begin -= 1
        j = begin
        while j < len(two_odds) and one_odds[i] + two_odds[j] <= high:
            if count < len(pairs):
                pairs[count, 0] = i
                pairs[count, 1] = j
            count += 1
            j += 1
        if count > len(pairs):
            break
    return count
