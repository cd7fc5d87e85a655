"""Sums over all instances: how many decisions the lattice gets wrong, and losses counted exactly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bayestrim.kernels import kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@kernel
def joint_errors(
    start: Ints, shift: Ints, tick: Ints, weight: Floats, begin: int, end: int, table: Floats, spare: Floats
) -> tuple[int, float]:
    """Write the joint distribution, under one class, of the shifts and the errors of some features.

    Parameters
    ----------
    start, shift, tick, weight
        The values of finite log-odds of all features: their steps, their errors in ticks, and their probabilities.
    begin, end
        The features are those from `begin` to before `end`.
    table, spare
        Receive the distribution, and work space; [cells, ticks], an error of 0 in the middle.

    Returns
    -------
    tuple
        The last cell, and the mass of errors beyond the table.
    """
    rows, ticks = table.shape
    for k in range(rows):
        for m in range(ticks):
            table[k, m] = 0.0
    table[0, ticks // 2] = 1.0
    last, beyond = 0, 0.0
    for i in range(begin, end):
        reach = last
        for v in range(start[i], start[i + 1]):
            reach = max(reach, last + shift[v])
        for k in range(reach + 1):
            for m in range(ticks):
                spare[k, m] = 0.0
        for v in range(start[i], start[i + 1]):
            s, d, w = shift[v], tick[v], weight[v]
            lo, hi = min(max(0, d), ticks), max(min(ticks, ticks + d), 0)
            for k in range(last + 1):
                row, source = spare[k + s], table[k]
                for m in range(lo, hi):
                    row[m] += w * source[m - d]
                for m in range(min(ticks, -d)):
                    beyond += w * source[m]
                for m in range(max(0, ticks - d), ticks):
                    beyond += w * source[m]
        last = reach
        for k in range(reach + 1):
            for m in range(ticks):
                table[k, m] = spare[k, m]
    return last, beyond


@kernel
def flipped(
    one: Floats,
    last_one: int,
    two: Floats,
    last_two: int,
    t: int,
    step: float,
    unit: float,
    border: float,
    doubt: float,
) -> float:
    """Return a bound of the mass, under one class, of instances that the lattice decides otherwise than they are.

    An instance of shifts k and error e is positive iff step * k + e >= border, and the lattice says k >= t.

    Parameters
    ----------
    one, last_one, two, last_two
        The joint distributions of shifts and errors of two parts of the features, [cells, ticks], and their last
        cells. The second is changed: its rows are summed up from the left.
    t, step, border
        As above.
    unit, doubt
        The width of a tick, and how far the ticks of an instance may sum up wrong.
    """
    ticks_one, ticks_two = one.shape[1], two.shape[1]
    zero = ticks_one // 2 + ticks_two // 2  # the places of two errors that cancel
    for k in range(last_two + 1):
        for m in range(1, ticks_two):
            two[k, m] += two[k, m - 1]
    largest = unit * zero + doubt
    mass = 0.0
    for k in range(last_one + last_two + 1):
        gap = border - step * k  # the error from which an instance is positive
        if (gap > largest and k < t) or (gap < -largest and k >= t):
            continue  # no error is large enough to make the lattice wrong
        if k >= t:  # wrong are the errors below the gap
            place = int(np.ceil((gap + doubt) / unit)) - 1 + zero
        else:  # wrong are those from the gap on: all but those below it
            place = int(np.ceil((gap - doubt) / unit)) - 1 + zero
        for k_one in range(max(0, k - last_two), min(k, last_one) + 1):
            row, sums = one[k_one], two[k - k_one]
            everything = sums[ticks_two - 1]
            below = 0.0
            total = 0.0
            for m in range(ticks_one):
                total += row[m]
                rest = place - m  # the last place of the other error that is below
                if rest >= ticks_two - 1:
                    below += row[m] * everything
                elif rest >= 0:
                    below += row[m] * sums[rest]
            mass += below if k >= t else total * everything - below
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
