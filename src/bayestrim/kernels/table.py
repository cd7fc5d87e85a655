"""Depth-first search over tables that shrink with each dropped feature (the paper's first algorithm).

A table holds three numbers for each instance of the features that are not yet dropped: Pr(positive, instance),
Pr(negative, instance), and the probability that it comes with a positive decision of the original classifier. Dropping
a feature sums over its axis, so that the tables on one path of the tree together take no more than the first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayestrim.kernels import inner, kernel

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Masks = npt.NDArray[np.bool_]

OPTIMAL, COMPARE, ALWAYS, NEVER = 0, 1, 2, 3
"""Rules for the new threshold: the best, a given one, one that makes everything positive, one that makes nothing so."""
INCLUDING, EXCLUDING, DONE = 0, 1, 2
"""What is to be done next at a node: keep its feature, drop it, or go back."""
CHUNK = 1024
"""So many terms are summed by themselves: long sums lose digits."""
CROWDED = 15.0
"""Log-odds from which floats below 1 may be too far apart for a threshold to lie between two posteriors."""
APART = 1e-15
"""Posteriors that differ by more than this have a float between them."""


class Table(NamedTuple):
    """Instances in the order of an array with one axis per feature.

    Attributes
    ----------
    p, n, a
        Pr(positive, instance), Pr(negative, instance), and the mass of positive decisions.
    size
        The number of states of each feature.
    """

    p: Floats
    n: Floats
    a: Floats
    size: Integers


class Prices(NamedTuple):
    """What features cost, by axis.

    Attributes
    ----------
    cost
        The cost of each.
    needs
        The set-ups that each needs, as bits.
    setup
        What each set-up costs, once.
    budget, most
        How much may be spent, and how many features may be kept.
    """

    cost: Integers
    needs: Integers
    setup: Integers
    budget: int
    most: int


class Rule(NamedTuple):
    """Which new threshold a subset gets.

    Attributes
    ----------
    kind
        `OPTIMAL`, `COMPARE`, `ALWAYS` or `NEVER`.
    odds_for, odds_against
        An instance is positive if Pr(positive)·odds_for ≥ Pr(negative)·odds_against.
    band
        Log-odds this near may be equal.
    """

    kind: int
    odds_for: float
    odds_against: float
    band: float


class Found(NamedTuple):
    """Subsets that could not be ruled out [found, features], with bounds of their losses."""

    kept: Masks
    lower: Floats
    upper: Floats


class Open(NamedTuple):
    """Nodes that are still to be searched: what is kept [nodes, features], from which position on, and their bounds."""

    kept: Masks
    position: Integers
    bound: Floats


class Space(NamedTuple):
    """Room for the tables of one path, modified: as many numbers as the first table holds, for each of the three."""

    p: Floats
    n: Floats
    a: Floats


class Limit(NamedTuple):
    """Which subsets are of interest.

    Attributes
    ----------
    loss
        Those of less loss than this, if by more than `enough`.
    enough
        What rounding can do to a loss.
    rise
        By how much the loss of a subset that is found is raised to make the new limit.
    alone
        Whether one best subset is enough, so that what is found lowers the limit.
    """

    loss: float
    enough: float
    rise: float
    alone: bool


@inner
def drop(
    p: Floats, n: Floats, a: Floats, to_p: Floats, to_n: Floats, to_a: Floats, before: int, states: int, after: int
) -> float:
    """Sum a table [before, states, after] over its middle axis; return the best decisions' agreement of the result."""
    agreement = 0.0
    for i in range(before):
        source, target = i * states * after, i * after
        for begin in range(0, after, CHUNK):
            end = min(begin + CHUNK, after)
            for j in range(begin, end):
                to_p[target + j] = p[source + j]
                to_n[target + j] = n[source + j]
                to_a[target + j] = a[source + j]
            for s in range(1, states):
                row = source + s * after
                for j in range(begin, end):
                    to_p[target + j] += p[row + j]
                    to_n[target + j] += n[row + j]
                    to_a[target + j] += a[row + j]
            part = 0.0
            for j in range(begin, end):
                agreeing = to_a[target + j]
                part += max(agreeing, to_p[target + j] + to_n[target + j] - agreeing)
            agreement += part
    return agreement


@kernel
def removals(table: Table, losses: Floats) -> None:
    """Fill in, for each feature, the loss of the best decisions without it."""
    cells = len(table.p)
    before = 1
    for axis in range(len(table.size)):
        states = table.size[axis]
        after = cells // (before * states)
        agreement = 0.0
        for i in range(before):
            part = 0.0
            for j in range(after):
                mass = agreeing = 0.0
                for s in range(states):
                    at = (i * states + s) * after + j
                    mass += table.p[at] + table.n[at]
                    agreeing += table.a[at]
                part += max(agreeing, mass - agreeing)
                if j % CHUNK == CHUNK - 1:
                    agreement += part
                    part = 0.0
            agreement += part
        losses[axis] = 1.0 - agreement
        before *= states


@inner
def _separable(low: float, high: float, band: float) -> bool:
    """Tell whether a threshold surely lies between two log-odds."""
    if not high - low > band:
        return False
    return low < CROWDED or 1 / (1 + math.exp(low)) - 1 / (1 + math.exp(min(high, 700.0))) > APART


@inner
def _best_threshold(p: Floats, n: Floats, a: Floats, cells: int, band: float) -> tuple[float, float]:
    """Return bounds of the loss under the best threshold (the paper's second algorithm).

    Instances whose log-odds are within the band stay together; what a cut among them could gain at most is told by the
    lower bound.
    """
    odds, gain = np.empty(cells), np.empty(cells)
    seen, agreement = 0, 0.0
    for i in range(cells):
        mass = p[i] + n[i]
        if mass > 0:
            odds[seen] = math.log(p[i] / n[i]) if p[i] > 0 and n[i] > 0 else math.inf if p[i] > 0 else -math.inf
            gain[seen] = mass - 2 * a[i]
            agreement += a[i]
            seen += 1
    order = np.argsort(odds[:seen])
    best = inside = agreement
    i = 0
    while i < seen:
        first, possible, last = i, agreement, odds[order[i]]
        while True:
            change = gain[order[i]]
            agreement += change
            possible += max(change, 0.0)
            i += 1
            if i == seen or _separable(last, odds[order[i]], band):
                break
            last = odds[order[i]]
        best = max(best, agreement)
        if i - first > 1:
            inside = max(inside, possible)
    return 1 - max(best, inside), 1 - best


@inner
def _given_threshold(p: Floats, n: Floats, a: Floats, cells: int, rule: Rule) -> tuple[float, float]:
    """Return bounds of the loss under a given threshold, apart only by instances in the band."""
    low = high = 0.0
    for i in range(cells):
        mass = p[i] + n[i]
        speaks, against = p[i] * rule.odds_for, n[i] * rule.odds_against
        positive, negative = a[i], mass - a[i]
        if rule.kind in (ALWAYS, NEVER):
            chosen = positive if rule.kind == ALWAYS else negative
            low, high = low + chosen, high + chosen
        elif abs(speaks - against) <= rule.band * max(speaks, against):
            low, high = low + min(positive, negative), high + max(positive, negative)
        else:
            chosen = positive if speaks >= against and p[i] > 0 else negative
            low, high = low + chosen, high + chosen
    return 1 - high, 1 - low


@inner
def _price(axis: int, paid: int, prices: Prices) -> int:
    """Return what keeping one more feature costs, with the set-ups that are not yet paid."""
    price = int(prices.cost[axis])
    missing = prices.needs[axis] & ~paid
    for s in range(len(prices.setup)):
        if missing >> s & 1:
            price += prices.setup[s]
    return price


@kernel
def explore(
    table: Table,
    prices: Prices,
    rule: Rule,
    order: Integers,
    kept: Masks,
    position: int,
    bound: float,
    limit: Limit,
    most: int,
    most_cells: int,
    space: Space,
    found: Found,
    left: Open,
) -> tuple[int, int, int, int]:
    """Search below one node; return the numbers of evaluations, of nodes, of subsets found and of nodes left open.

    Parameters
    ----------
    table
        All features that may be kept.
    prices, rule
        What may be bought, and how subsets are judged.
    order
        The axes in the order in which they are decided.
    kept
        What the node keeps of the first `position` axes; modified, and put back.
    position, bound
        Where the node stands, and a lower bound of all losses below it.
    limit
        Which subsets are of interest.
    most, most_cells
        So many evaluations are made at most, and tables of so many cells; at least one node is gone through.
    space
        Work space.
    found, left
        Filled in.
    """
    least = limit.loss - limit.enough
    count = len(order)
    evaluations = nodes = finds = work = 0
    # Tables on the path, by level: where each begins, its cells, and which axes the last one has.
    start, cells, has = np.zeros(count + 2, np.int64), np.zeros(count + 2, np.int64), np.ones(count, np.bool_)
    cells[0] = len(table.p)
    # Nodes on the path, by position: what is being done there, the level of the table, and the bound.
    phase, levels, bounds = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64), np.zeros(count + 1)
    levels[position] = _only_present(table, space, start, cells, has, kept, order[position:])
    bounds[position] = bound
    before_paid, before_spent = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    spent, paid, number = _paid(kept, prices)
    at = position
    while at >= position:
        axis = order[at] if at < count else 0
        hopeless = bounds[at] >= least
        if phase[at] == INCLUDING:
            nodes += 1
            phase[at] = EXCLUDING
            price = _price(axis, paid, prices) if at < count else 0
            if hopeless:
                phase[at] = DONE
            elif not (number < prices.most and _reach(order[at:], spent, paid, prices)):
                if finds == len(found.lower):
                    phase[at] = INCLUDING
                    break
                found.lower[finds], found.upper[finds] = _leaf(table, space, start, cells, levels[at], has, kept, rule)
                found.kept[finds] = kept
                evaluations += 1
                work += cells[levels[at]]
                if found.lower[finds] < least:
                    least = min(least, found.upper[finds] + limit.rise - limit.enough) if limit.alone else least
                    finds += 1
                phase[at] = DONE
            elif nodes > 1 and (evaluations >= most or work >= most_cells):
                phase[at] = INCLUDING
                break
            elif spent + price <= prices.budget:
                before_paid[at], before_spent[at] = paid, spent
                kept[axis] = True
                spent, paid, number = spent + price, paid | prices.needs[axis], number + 1
                at += 1
                phase[at], levels[at], bounds[at] = INCLUDING, levels[at - 1], bounds[at - 1]
        elif phase[at] == EXCLUDING:
            phase[at] = DONE
            if kept[axis]:
                kept[axis] = False
                spent, paid, number = before_spent[at], before_paid[at], number - 1
            if not hopeless:
                loss = 1 - _sum_out(table, space, start, cells, levels[at], has, axis)
                evaluations += 1
                work += cells[levels[at]]
                if loss < least:
                    at += 1
                    phase[at], levels[at], bounds[at] = INCLUDING, levels[at - 1] + 1, max(loss, bounds[at - 1])
                else:
                    has[axis] = True
        else:
            at -= 1
            if at >= position and phase[at] == DONE:
                has[order[at]] = True
    return evaluations, nodes, finds, _leave(order, kept, position, at, phase, bounds, left)


@inner
def _leave(order: Integers, kept: Masks, position: int, at: int, phase: Integers, bounds: Floats, left: Open) -> int:
    """Write out what is open when a search stops: its node, and the siblings of all nodes above."""
    opens = 0
    for place in range(at, position - 1, -1):
        if phase[place] == EXCLUDING:
            kept[order[place]] = False
        if phase[place] != DONE:
            left.kept[opens], left.bound[opens] = kept, bounds[place]
            left.position[opens] = place if phase[place] == INCLUDING else place + 1
            opens += 1
    return opens


@inner
def _only_present(
    table: Table, space: Space, start: Integers, cells: Integers, has: Masks, kept: Masks, undecided: Integers
) -> int:
    """Drop what a node has excluded; return the level of its table."""
    level = 0
    present = kept.copy()
    present[undecided] = True
    for axis in range(len(present)):
        if not present[axis]:
            _sum_out(table, space, start, cells, level, has, axis)
            level += 1
    return level


@inner
def _paid(kept: Masks, prices: Prices) -> tuple[int, int, int]:
    """Return what is spent on kept features, the set-ups that are paid, and how many features these are."""
    spent = paid = number = 0
    for axis in range(len(kept)):
        if kept[axis]:
            spent += _price(axis, paid, prices)
            paid |= prices.needs[axis]
            number += 1
    return spent, paid, number


@inner
def _reach(undecided: Integers, spent: int, paid: int, prices: Prices) -> bool:
    """Tell whether any more feature can be paid."""
    for axis in undecided:
        if spent + _price(axis, paid, prices) <= prices.budget:
            return True
    return False


@inner
def _sum_out(table: Table, space: Space, start: Integers, cells: Integers, level: int, has: Masks, axis: int) -> float:
    """Drop an axis from the table of a level into the next level's; return the agreement of the best decisions."""
    before = after = 1
    for other in range(len(table.size)):
        if has[other]:
            if other < axis:
                before *= table.size[other]
            elif other > axis:
                after *= table.size[other]
    states = table.size[axis]
    begin = 0 if level == 0 else start[level] + cells[level]
    end = begin + before * after
    start[level + 1], cells[level + 1] = begin, before * after
    has[axis] = False
    p, n, a = table.p, table.n, table.a
    if level > 0:
        here = start[level]
        p, n, a = space.p[here:], space.n[here:], space.a[here:]
    agreement = drop(p, n, a, space.p[begin:end], space.n[begin:end], space.a[begin:end], before, states, after)
    return agreement


@inner
def _leaf(
    table: Table, space: Space, start: Integers, cells: Integers, level: int, has: Masks, kept: Masks, rule: Rule
) -> tuple[float, float]:
    """Drop all that is not kept from the table of a level, and return bounds of the loss of what is left."""
    before = has.copy()
    for axis in range(len(has)):
        if has[axis] and not kept[axis]:
            _sum_out(table, space, start, cells, level, has, axis)
            level += 1
    here, size = start[level], cells[level]
    p, n, a = table.p, table.n, table.a
    if level > 0:
        p, n, a = space.p[here:], space.n[here:], space.a[here:]
    for axis in range(len(has)):
        has[axis] = before[axis]
    if rule.kind == OPTIMAL:
        return _best_threshold(p, n, a, size, rule.band)
    return _given_threshold(p, n, a, size, rule)
