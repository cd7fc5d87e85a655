"""Sums over all instances: how many decisions the lattice gets wrong, and losses counted exactly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bayestrim.kernels import kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@kernel
def flipped(
    start: Ints,
    shift: Ints,
    tick: Ints,
    weight: Floats,
    t: int,
    step: float,
    unit: float,
    border: float,
    doubt: float,
    table: Floats,
    spare: Floats,
) -> float:
    """Return a bound of the mass, under one class, of instances that the lattice decides otherwise than they are.

    An instance of shifts k and error e is positive iff step * k + e >= border, and the lattice says k >= t. The
    joint distribution of k and e is built up, e being counted in ticks of `unit`.

    Parameters
    ----------
    start, shift, weight
        The values of finite log-odds and their probabilities under the class.
    tick
        The error of each value, in ticks.
    t, step, border
        As above.
    unit, doubt
        The width of a tick, and how far the ticks of an instance may sum up wrong.
    table, spare
        Work space, [cells, ticks], for all sums of shifts; ticks beyond count as flipped.
    """
    rows, ticks = table.shape
    zero = ticks // 2
    for k in range(rows):
        for m in range(ticks):
            table[k, m] = 0.0
    table[0, zero] = 1.0
    last = 0
    beyond = 0.0
    for i in range(len(start) - 1):
        reach = last
        for v in range(start[i], start[i + 1]):
            reach = max(reach, last + shift[v])
        for k in range(reach + 1):
            for m in range(ticks):
                spare[k, m] = 0.0
        for v in range(start[i], start[i + 1]):
            s, d, w = shift[v], tick[v], weight[v]
            lo, hi = max(0, d), min(ticks, ticks + d)
            for k in range(last + 1):
                row, source = spare[k + s], table[k]
                for m in range(lo, hi):
                    row[m] += w * source[m - d]
                for m in range(0, lo - d):
                    beyond += w * source[m]
                for m in range(hi - d, ticks):
                    beyond += w * source[m]
        last = reach
        for k in range(reach + 1):
            for m in range(ticks):
                table[k, m] = spare[k, m]
    mass = beyond
    for k in range(last + 1):
        gap = border - step * k  # the error from which an instance is positive
        for m in range(ticks):
            error = unit * (m - zero)
            if (k >= t and error - doubt < gap) or (k < t and error + doubt >= gap):
                mass += table[k, m]
    return mass


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
