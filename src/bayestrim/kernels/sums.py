"""Distributions of sums over all instances: of whole-numbered log-odds, and of what rounding them left out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bayestrim.kernels import inner, kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@inner
def spread(
    source: Floats, low: int, high: int, shift: Ints, weight: Floats, begin: int, stop: int, reach: int, target: Floats
) -> None:
    """Add a feature to a distribution: target[k] = sum over its values of weight * source[k - shift].

    Parameters
    ----------
    source, low, high
        The distribution, zero outside the cells from `low` to `high`.
    shift, weight, begin, stop
        The feature's values are those from `begin` to before `stop`.
    reach
        The largest shift.
    target
        Written from cell `low` to `high + reach`.
    """
    count, fresh = high + 1 - low, low  # cells of the target before `fresh` are written
    for v in range(begin, stop):
        w, to = weight[v], low + shift[v]
        x, y = source[low : high + 1], target[to : to + count]
        for k in range(fresh, to):
            target[k] = 0.0
        written = min(max(fresh - to, 0), count)
        for k in range(written):
            y[k] += w * x[k]
        for k in range(written, count):
            y[k] = w * x[k]
        fresh = max(fresh, to + count)
    for k in range(fresh, high + reach + 1):
        target[k] = 0.0


@kernel
def sums_of_shifts(start: Ints, shift: Ints, weight: Floats, chosen: Ints, one: Floats, two: Floats) -> bool:
    """Write what weights come to for each sum of some features' shifts.

    Parameters
    ----------
    start, shift, weight
        The values of finite log-odds of all features: their steps, and any numbers that are not negative.
    chosen
        The features; it takes least time if those of small shifts come first.
    one, two
        Zeros, as many as sums can be; one receives the result, the other is work space.

    Returns
    -------
    bool
        Whether it is `two` that holds the result.
    """
    source, target = one, two
    source[0] = 1.0
    last = 0
    for i in chosen:
        reach = 0
        for v in range(start[i], start[i + 1]):
            reach = max(reach, shift[v])
        spread(source, 0, last, shift, weight, start[i], start[i + 1], reach, target)
        last += reach
        source, target = target, source
    return len(chosen) % 2 == 1


@kernel
def distributions(
    start: Ints, shift: Ints, p: Floats, q: Floats, negligible: float, one: Floats, two: Floats
) -> tuple[int, int, int, bool]:
    """Write the distributions of the sum of all features' shifts under both classes, less what is negligible.

    Parameters
    ----------
    start, shift, p, q
        The values of finite log-odds of the features: their steps, and their probabilities under each class.
    negligible
        Cells at the ends that hold no more than this under either class are cut off, each time a feature is added.
    one, two
        One receives the result, the other is work space; [classes, cells].

    Returns
    -------
    tuple
        The first and the last cell that are left, how many were cut off, and whether it is `two` that holds the result.
    """
    source, target = one, two
    source[0, 0] = source[1, 0] = 1.0
    low = high = cut = 0
    for i in range(len(start) - 1):
        reach = 0
        for v in range(start[i], start[i + 1]):
            reach = max(reach, shift[v])
        spread(source[0], low, high, shift, p, start[i], start[i + 1], reach, target[0])
        spread(source[1], low, high, shift, q, start[i], start[i + 1], reach, target[1])
        high += reach
        while low < high and target[0, low] <= negligible and target[1, low] <= negligible:
            low += 1
            cut += 1
        while low < high and target[0, high] <= negligible and target[1, high] <= negligible:
            high -= 1
            cut += 1
        source, target = target, source
    return low, high, cut, len(start) % 2 == 0


@kernel
def sums_of_both(one: Floats, two: Floats, low: int, found: Floats) -> None:
    """Write what two lists come to together: found[i] = sum over k of one[k] * two[low + i - k].

    Parameters
    ----------
    one, two
        The lists; the second from its end to its beginning.
    low
        The sum that the first result is for.
    found
        Receives the results.
    """
    for i in range(len(found)):
        skip = len(two) - 1 - low - i  # one[k] meets the reversed two[k + skip]
        begin, end = max(0, -skip), min(len(one), len(two) - skip)
        x, y = one[begin:end], two[begin + skip : end + skip]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0  # four sums at a time, which a processor adds together
        quarter = len(x) // 4
        for k in range(quarter):
            s0 += x[4 * k] * y[4 * k]
            s1 += x[4 * k + 1] * y[4 * k + 1]
            s2 += x[4 * k + 2] * y[4 * k + 2]
            s3 += x[4 * k + 3] * y[4 * k + 3]
        for k in range(4 * quarter, len(x)):
            s0 += x[k] * y[k]
        found[i] = s0 + s1 + s2 + s3


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
