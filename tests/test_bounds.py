"""Bounds that know the budget: never above what can still be bought, whatever is bought; and what catches bad ones."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import generators
import numpy as np
import numpy.typing as npt
import pytest
from judge import engine_of
from test_kernels import lattice_losses, smooth
from test_prices import check, constrained

import bayestrim as bt
from bayestrim.engines.grid import make_grid
from bayestrim.engines.independent import independent
from bayestrim.kernels import lattice as kernel
from bayestrim.kernels import outlook as kernels
from bayestrim.kernels.lattice import Lattice, Order, Outlook
from bayestrim.search import branch, descent
from bayestrim.search import outlook as outlooks
from bayestrim.search.outlook import outlook_of
from bayestrim.verify import verify
from benchmarks.instances import random_naive_bayes

PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
CASES = 25 if PLAIN else 100
ROUNDING = 1e-12

Bools = npt.NDArray[np.bool_]


class Case(NamedTuple):
    """A lattice with prices, and a node of its tree."""

    lattice: Lattice
    order: Order
    included: Bools
    position: int


def random_case(random: Random) -> Case | None:
    """Return a case: smooth or awkward features, prices in units or odd, set-ups, a largest number of features."""
    style = random.choice(["smooth", "smooth", "plain", "awkward"])
    if style == "smooth":
        classifier = smooth(random, 5)
    else:
        classifier = (generators.awkward_naive_bayes if style == "awkward" else generators.random_naive_bayes)(
            random, 5
        )
    if independent(classifier) is None:
        return None
    engine = engine_of(classifier)
    count = len(engine.model.features)
    if count == 0 or not engine.model.finite:
        return None
    lattice = make_grid(engine.model, engine.model.features, random.choice([8, 20, 60]), margin=False).lattice
    prices = [[1], [0, 1, 1, 2], [0, 997, 1500, 2001, 4000]][random.randrange(3)]
    cost = np.array([random.choice(prices) for _ in range(count)], dtype=np.int64)
    needs = np.array([random.choice([0, 0, 1, 2, 3]) for _ in range(count)], dtype=np.int64)
    fee = np.array([random.choice([0, max(prices)]), random.choice([0, 1])], dtype=np.int64)
    budget = random.randint(0, int(cost.sum()) + 1)
    order = Order(cost, np.arange(1, count + 1), needs, fee, budget, random.choice([count, count, 2]))
    position = random.randint(0, count)
    included = np.array([i < position and random.random() < 0.3 for i in range(count)], dtype=bool)
    return Case(lattice, order, included, position) if affords(order, included) else None


def spent(order: Order, kept: Bools) -> int:
    """Return what features cost, set-ups included."""
    setups = int(np.bitwise_or.reduce(order.needs[kept], initial=0))
    return int(order.cost[kept].sum()) + sum(int(fee) for s, fee in enumerate(order.fee) if setups >> s & 1)


def affords(order: Order, kept: Bools) -> bool:
    """Tell whether features can be kept."""
    return spent(order, kept) <= order.budget and int(kept.sum()) <= order.most


def below(order: Order, included: Bools, position: int) -> Iterator[Bools]:
    """Yield every affordable subset below a node."""
    for chosen in itertools.product([False, True], repeat=len(included) - position):
        kept = included.copy()
        kept[position:] = chosen
        if affords(order, kept):
            yield kept


def promise(outlook: Outlook, case: Case, included: Bools, position: int) -> float:
    """Return what an outlook says of a node, from the distribution of its features written out."""
    lattice, order = case.lattice, case.order
    masses: dict[int, tuple[float, float]] = {0: (lattice.prior, 1 - lattice.prior)}
    for i in np.flatnonzero(included):
        after: dict[int, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
        for (cell, (a, b)), v in itertools.product(masses.items(), range(lattice.start[i], lattice.start[i + 1])):
            to = cell + int(lattice.shift[v] + outlook.base[i])
            after[to] = after[to][0] + a * lattice.p[v], after[to][1] + b * lattice.q[v]
        masses = after
    left = order.most - int(included.sum())
    if outlook.unit > 0:
        left = (order.budget - spent(order, included)) // outlook.unit
    units, place, cells = min(left, outlook.alpha.shape[1] - 1), position - outlook.position, outlook.alpha.shape[2]
    total = 0.0
    for cell, (a, b) in masses.items():
        k = cell - outlook.first
        if 0 <= k < cells:
            total += outlook.alpha[place, units, k] * a + outlook.beta[place, units, k] * b
    return total


def faults(seeds: range, spoil: Callable[[Outlook], Outlook] = lambda outlook: outlook) -> Iterator[str]:
    """Yield nodes at or below that of an outlook, of which it says more than what some affordable subset loses."""
    for seed in seeds:
        case = random_case(Random(seed))
        if case is None:
            continue
        outlook = outlook_of(case.lattice, case.order, case.included, case.position)
        if outlook.unit < 0:
            continue
        outlook = spoil(outlook)
        subsets = list(below(case.order, case.included, case.position))
        losses = {kept.tobytes(): lattice_losses(case.lattice, kept.tolist())[0] for kept in subsets}
        for kept in subsets:
            for position in range(case.position, len(kept) + 1):
                node = kept & (np.arange(len(kept)) < position)
                least = min(losses[other.tobytes()] for other in below(case.order, node, position))
                said = promise(outlook, case, node, position)
                if said > least + ROUNDING:
                    yield f"seed {seed}, {np.flatnonzero(node)} at {position}: {said!r} > {least!r}"


def test_outlooks_never_promise_more_than_any_affordable_subset_loses() -> None:
    """For every node below, and every subset that can be paid there, the loss by the lattice's decisions is no less."""
    assert not list(faults(range(CASES)))


def test_outlooks_say_something() -> None:
    """They do rule things out: with nothing left to buy, they come close to the loss of what is included."""
    told = 0
    for seed in range(CASES):
        case = random_case(Random(seed))
        if case is None:
            continue
        outlook = outlook_of(case.lattice, case.order, case.included, case.position)
        told += outlook.unit >= 0 and promise(outlook, case, case.included, case.position) > 0
    assert told > CASES / 5


def narrow_cones(patch: pytest.MonkeyPatch) -> None:
    """Take all instances of a cell for equally likely, which is the bound that DESIGN calls invalid."""
    fill: Any = kernels.fill_outlook

    def spoilt(*args: Any) -> None:
        frame = args[-1]
        middle = np.sqrt(frame.low * frame.high)
        fill(*args[:-1], frame._replace(low=middle * (1 - 1e-7), high=middle * (1 + 1e-7)))

    patch.setattr(outlooks, "fill_outlook", spoilt)


def prices_rounded_up(patch: pytest.MonkeyPatch) -> None:
    """Round prices up to units, so that some that can be paid seem too dear."""
    in_units = outlooks._in_units

    def spoilt(cost: Any, left: int, slots: int, number: int) -> Any:
        unit, units, price = in_units(cost, left, slots, number)
        return unit, units, price if unit == 0 else -(-cost // unit)

    patch.setattr(outlooks, "_in_units", spoilt)
    patch.setattr(outlooks, "MOST_UNITS", 2)


def one_unit_short(patch: pytest.MonkeyPatch) -> None:
    """Forget the last unit."""
    in_units = outlooks._in_units

    def spoilt(*args: Any) -> Any:
        unit, units, price = in_units(*args)
        return unit, max(0, units - 1), price

    patch.setattr(outlooks, "_in_units", spoilt)


def next_cell(outlook: Outlook) -> Outlook:
    """Read the next cell."""
    return outlook._replace(first=outlook.first - 1)


def next_position(outlook: Outlook) -> Outlook:
    """Read the next position, from which a feature fewer can be bought."""
    spoilt = [np.concatenate([table[1:], table[-1:]]) for table in (outlook.alpha, outlook.beta)]
    return outlook._replace(alpha=spoilt[0], beta=spoilt[1])


def a_hundredth_more(outlook: Outlook) -> Outlook:
    """Say a hundredth more."""
    return outlook._replace(alpha=outlook.alpha * 1.01, beta=outlook.beta * 1.01)


@pytest.mark.parametrize("patched", [narrow_cones, prices_rounded_up, one_unit_short])
def test_outlooks_of_bad_layouts_are_caught(patched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these over-tight tables says too much of some node."""
    patched(monkeypatch)
    assert any(faults(range(2000)))


@pytest.mark.parametrize("spoil", [next_cell, next_position, a_hundredth_more])
def test_bad_readings_of_outlooks_are_caught(spoil: Callable[[Outlook], Outlook]) -> None:
    """So does each of these ways to misread a table."""
    assert any(faults(range(2000), spoil))


if PLAIN:  # compiled functions cannot be replaced by bad ones

    def lifts_of_everything(patch: pytest.MonkeyPatch) -> None:
        """Take lifts as though all that is undecided were dropped."""
        right = kernels.bound_lifts

        def spoilt(included: Any, position: int, units: int, *rest: Any) -> None:
            right(included, position, 0, *rest)
            rest[2][units] = rest[2][0]

        patch.setattr(kernels, "bound_lifts", spoilt)

    def wrong_ends(patch: pytest.MonkeyPatch) -> None:
        """Take upper bounds of lifts for lower ones."""
        right = kernels.bound_lifts
        patch.setattr(
            kernels, "bound_lifts", lambda i, p, u, positive, over, *rest: right(i, p, u, positive, not over, *rest)
        )

    def larger_forms(patch: pytest.MonkeyPatch) -> None:
        """Take the lesser form at one end of the cone for the lesser everywhere."""

        def spoilt(a: Any, b: Any, c: Any, d: Any, to_a: Any, to_b: Any, frame: Any) -> None:
            lesser = a * frame.high + b <= c * frame.high + d
            to_a[:], to_b[:] = frame.told * np.where(lesser, a, c), frame.told * np.where(lesser, b, d)

        patch.setattr(kernels, "lesser_forms", spoilt)

    def never_buys(patch: pytest.MonkeyPatch) -> None:
        """Leave out what buying a feature brings, where it brings more than not buying it."""

        def spoilt(a: Any, b: Any, c: Any, d: Any, to_a: Any, to_b: Any, frame: Any) -> None:
            to_a[:], to_b[:] = frame.told * (a + c) / 2, frame.told * (b + d) / 2

        patch.setattr(kernels, "lesser_forms", spoilt)

    @pytest.mark.parametrize("patched", [lifts_of_everything, wrong_ends, larger_forms, never_buys])
    def test_bad_kernels_are_caught(patched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each of these shortcuts in the table's making says too much of some node."""
        patched(monkeypatch)
        assert any(faults(range(2000)))


def agreements(result: bt.Trimming) -> list[float]:
    """Return the agreements of a result and its alternatives."""
    return [float(result.agreement), *(float(other.agreement) for other in result.alternatives)]


def always(patch: pytest.MonkeyPatch) -> None:
    """Have every node make an outlook, and renew it after a few bounds, as only long searches do."""
    patch.setattr(descent, "QUICK", 0)
    patch.setattr(descent, "RENEWED", 3)


@pytest.mark.parametrize("block", range(4))
def test_searches_that_rely_on_outlooks_agree_with_brute_force(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With constraints of every kind, old thresholds and alternatives, brute force finds no better."""
    always(monkeypatch)
    for seed in range(40 * block, 40 * (block + 1)):
        random = Random(seed)
        problem = constrained(random, generators.random_naive_bayes(random, 6))
        check(problem, alternatives=random.choice([0, 0, 2]))


@pytest.mark.parametrize("block", range(4))
def test_searches_with_and_without_rules_agree(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine features of equal and of odd prices: the exhaustive strategy finds the same agreements; `verify` agrees."""
    always(monkeypatch)
    for seed in range(8 * block, 8 * (block + 1)):
        random = Random(seed)
        classifier = smooth(random, 9)
        costs = {name: random.choice([1.0, 1.0, 0.7, 2.5, 1 / 3]) for name in classifier.features}
        budget = random.choice([2.0, 3.0, 4.5])
        result = bt.trim(classifier, budget, costs, alternatives=seed % 3)
        wanted = bt.trim(classifier, budget, costs, alternatives=seed % 3, strategy="exhaustive")
        assert result.status is bt.Status.OPTIMAL
        assert agreements(result) == pytest.approx(agreements(wanted), abs=ROUNDING)
        assert not verify(result).failed


def worse(seeds: range) -> Iterator[int]:
    """Yield seeds where the search misses the best: equal and unequal features, at unequal prices."""
    for seed in seeds:
        random = Random(seed)
        classifier = generators.random_naive_bayes(random, 6) if seed % 2 else smooth(random, 6)
        costs = {name: random.choice([1.0, 2.0, 0.5]) for name in classifier.features}
        wanted = bt.trim(classifier, 2.5, costs, strategy="exhaustive")
        if float(bt.trim(classifier, 2.5, costs).agreement) < float(wanted.agreement) - ROUNDING:
            yield seed


def forgets_a_node(patch: pytest.MonkeyPatch) -> None:
    """Lose one of the nodes that are left when outlooks are renewed."""
    right = descent._explore

    def spoilt(*args: Any) -> Any:
        piece = right(*args)
        return piece._replace(left=max(0, piece.left - 1))

    patch.setattr(descent, "_explore", spoilt)


def all_alike(patch: pytest.MonkeyPatch) -> None:
    """Take features for equal that are not."""
    patch.setattr(branch, "_groups", lambda features, purse: [0] * len(features))


def forgets_far_features(patch: pytest.MonkeyPatch) -> None:
    """Leave the features beyond the cut out of the sum that is kept ready."""

    def spoilt(stack: Any, level: int, cut: int, order: Any, lattice: Lattice) -> None:
        last, row, own = stack.number[level, 4], kernel.base_row(level, lattice), kernel.own_row(level, lattice)
        kernel.copy_pair(stack.memory, row, own, 0, last + 1, lattice.width)
        stack.number[level, 3], stack.number[level, 5] = cut, last

    patch.setattr(kernel, "rebuild_base", spoilt)
    patch.setattr(descent, "AHEAD", 1)


@pytest.mark.parametrize("patched", [forgets_a_node, all_alike, *([forgets_far_features] if PLAIN else [])])
def test_bad_searches_are_caught(patched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these searches misses the best of some small problem; the right one misses none."""
    always(monkeypatch)
    assert not list(worse(range(6 if PLAIN else 30)))
    patched(monkeypatch)
    assert any(True for _ in worse(range(400)))


@pytest.mark.parametrize("block", range(2))
def test_what_a_gap_leaves_is_within_it(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a gap to spare the bound holds and is as near as promised, for no more bounds than a proof takes."""
    always(monkeypatch)
    for seed in range(6 * block, 6 * (block + 1)):
        classifier = smooth(Random(seed), 9)
        best = bt.trim(classifier, 4)
        for gap in (1e-3, 1e-2, 0.1):
            result = bt.trim(classifier, 4, limits=bt.Limits(gap=gap))
            assert result.stop_reason is bt.StopReason.GAP
            assert result.gap <= gap + ROUNDING
            assert result.bound >= float(best.agreement) - ROUNDING
            assert result.stats.evaluations <= best.stats.evaluations
            assert not verify(result).failed


def test_a_hundred_features_are_proved_within_a_gap() -> None:
    """What no superset bound reaches: the outlook proves it before a thousand nodes are seen."""
    result = bt.trim(random_naive_bayes(100, 0), 8, limits=bt.Limits(gap=1e-2))
    assert result.stop_reason is bt.StopReason.GAP
    assert result.gap <= 1e-2 + ROUNDING
    assert result.stats.nodes < 1000


@pytest.mark.skipif(PLAIN, reason="this is the plain run")
def test_the_same_holds_uncompiled() -> None:
    """As plain Python, every test of this file passes too, and bad kernels are caught."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        __file__,
        "-k",
        "outlooks_ or kernels or bad_searches",
    ]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[1], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
