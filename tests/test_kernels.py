"""Every kernel against a few plain lines that say the same; all of it compiled, and again as plain Python."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from random import Random

import generators
import numpy as np
import numpy.typing as npt
import pytest
from judge import Judge, engine_of

import bayestrim as bt
from bayestrim.engines.grid import make_grid
from bayestrim.kernels.exact import count_pairs, pairs_between
from bayestrim.kernels.lattice import Lattice
from bayestrim.kernels.sums import distributions, flipped, joint_errors, sums_of_both, sums_of_shifts

PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
CASES = 40 if PLAIN else 150


def random_values(random: Random, features: int) -> tuple[npt.NDArray[np.int64], ...]:
    """Return where the values of features start, their shifts, and errors in ticks: some far beyond any table."""
    counts = [random.randint(0, 4) for _ in range(features)]
    start = np.cumsum([0, *counts])
    shift = [sorted(random.randint(0, 5) for _ in range(count)) for count in counts]
    shifts = [s - group[0] for group in shift if group for s in group]
    ticks = [random.choice([0, 1, -1, 2, -3, 5, -9, 40, -40]) for _ in shifts]
    return start, np.array(shifts, dtype=np.int64), np.array(ticks, dtype=np.int64)


def convolved(
    start: npt.NDArray[np.int64],
    shift: npt.NDArray[np.int64],
    tick: npt.NDArray[np.int64],
    weight: npt.NDArray[np.float64],
    centre: int,
) -> tuple[dict[tuple[int, int], float], float]:
    """Return the mass of each pair of a shift and an error, and what ever leaves errors from -centre to centre."""
    mass, beyond = {(0, 0): 1.0}, 0.0
    for begin, end in itertools.pairwise(start.tolist()):
        after: dict[tuple[int, int], float] = defaultdict(float)
        for (k, e), here in mass.items():
            for v in range(begin, end):
                if abs(e + tick[v]) > centre:
                    beyond += here * weight[v]
                else:
                    after[k + int(shift[v]), e + int(tick[v])] += here * weight[v]
        mass = after
    return mass, beyond


def test_joint_errors_loses_and_doubles_nothing() -> None:
    """Every pair of a shift and an error has its mass; what leaves the table, however far, is counted as beyond."""
    for seed in range(CASES):
        random = Random(seed)
        start, shift, tick = random_values(random, 4)
        weight = np.array([random.random() for _ in shift])
        table, spare = (np.full((25, random.choice([7, 7, 11])), np.nan) for _ in range(2))
        spare = np.full_like(table, np.nan)
        last, beyond = joint_errors(start, shift, tick, weight, 0, 4, table, spare)
        centre = table.shape[1] // 2
        mass, lost = convolved(start, shift, tick, weight, centre)
        assert beyond == pytest.approx(lost)
        for k, e in itertools.product(range(last + 1), range(-centre, centre + 1)):
            assert table[k, e + centre] == pytest.approx(mass.get((k, e), 0.0))
        assert all(k <= last for k, _ in mass)


def test_sums_of_shifts_are_those_of_all_combinations() -> None:
    """Whatever the weights, each sum has what its combinations of values come to, whichever features come first."""
    for seed in range(CASES):
        random = Random(seed)
        start, shift, _ = random_values(random, 4)
        weight, other = (np.array([random.choice([0.0, random.random(), 3.0]) for _ in shift]) for _ in range(2))
        chosen = np.array(random.sample(range(4), random.randint(0, 4)), dtype=np.int64)
        cells = 1 + sum(int(shift[start[i] : start[i + 1]].max(initial=0)) for i in chosen)
        expected = np.zeros((2, cells))
        for values in itertools.product(*(range(start[i], start[i + 1]) for i in chosen)):
            for row, weights in zip(expected, (weight, other), strict=True):
                row[shift[list(values)].sum()] += math.prod(weights[list(values)])
        one, two = np.zeros(cells), np.zeros(cells)
        found = two if sums_of_shifts(start, shift, weight, chosen, one, two) else one
        assert found == pytest.approx(expected[0])
        groups = [shift[start[i] : start[i + 1]] for i in chosen]
        starts, shifts = np.cumsum([0, *map(len, groups)]), np.concatenate([shift[:0], *groups])
        p, q = (np.concatenate([w[:0], *(w[start[i] : start[i + 1]] for i in chosen)]) for w in (weight, other))
        negligible = random.choice([-1.0, 0.0, 0.01])
        rows, spare = np.full((2, cells), np.nan), np.full((2, cells), np.nan)
        low, high, cut, spared = distributions(starts, shifts, p, q, negligible, rows, spare)
        rows = spare if spared else rows
        assert cut >= low + cells - 1 - high
        if negligible <= 0:
            assert rows[:, low : high + 1] == pytest.approx(expected[:, low : high + 1])
            assert expected[:, :low].sum() + expected[:, high + 1 :].sum() == 0
        else:
            left_out = expected.sum(axis=1) - rows[:, low : high + 1].sum(axis=1)
            assert (left_out <= cut * negligible * np.prod([max(w.sum(), 1) for w in (p, q)]) + 1e-12).all()


def test_sums_of_both_are_those_of_all_pairs() -> None:
    """Two lists together have, at each sum of places, what their pairs come to; the second is read backwards."""
    for seed in range(CASES):
        random = Random(seed)
        one, two = (np.array([random.random() for _ in range(random.randint(1, 11))]) for _ in range(2))
        low = random.randint(0, len(one) + len(two) - 2)
        found = np.empty(random.randint(0, len(one) + len(two) - 1 - low))
        sums_of_both(one, np.ascontiguousarray(two[::-1]), low, found)
        assert found == pytest.approx(np.convolve(one, two)[low : low + len(found)])


def test_flipped_counts_every_wrong_decision() -> None:
    """An instance is wrong if rounding took it across the border, and at worst if doubt could have."""
    for seed in range(CASES):
        random = Random(seed)
        rows = [random.randint(1, 5), random.randint(1, 5)]
        ticks = [random.choice([3, 5, 9]), random.choice([3, 5, 9])]
        one, two = (
            np.array([[random.random() for _ in range(t)] for _ in range(r)]) for r, t in zip(rows, ticks, strict=True)
        )
        t, step, unit = random.randint(0, 8), 1.0, random.choice([0.25, 0.125])
        border, doubt = random.uniform(-2, 9), random.choice([0.0, 0.05, 0.3])
        wrong = 0.0
        for (k, e), (m, f) in itertools.product(np.ndindex(*one.shape), np.ndindex(*two.shape)):
            total = k + m
            value = step * total + unit * (e + f - ticks[0] // 2 - ticks[1] // 2) - border
            if (value - doubt < 0) if total >= t else (value + doubt >= 0):
                wrong += one[k, e] * two[m, f]
        found = flipped(one, rows[0] - 1, two.copy(), rows[1] - 1, t, step, unit, border, doubt)
        assert found == pytest.approx(wrong)


def test_pairs_are_counted_and_listed() -> None:
    """Two pointers find the pairs that a double loop finds, ties with the border and repeated odds included."""
    for seed in range(CASES):
        random = Random(seed)
        one, two, kept = (
            np.array(sorted(random.randint(-3, 3) / 2 for _ in range(random.randint(0, 7)))) for _ in range(3)
        )
        low, high = sorted((random.randint(-4, 4) / 2, random.randint(-4, 4) / 2))
        between = [(i, j) for i, j in np.ndindex(len(one), len(two)) if low <= one[i] + two[j] <= high]
        pairs = np.empty((100, 2), dtype=np.int64)
        count = pairs_between(one, two, low, high, pairs)
        assert sorted(map(tuple, pairs[:count].tolist())) == between
        if len(between) > 1:
            assert pairs_between(one, two, low, high, pairs[:1]) > 1
        p, q, r, s = (np.array([random.random() for _ in side]) for side in (one, one, two, two))
        sums = [np.append(np.cumsum(side[::-1])[::-1], 0.0) for side in (r, s)]
        positive = np.empty((2, len(kept)))
        count_pairs(kept, one, p, q, two, sums[0], sums[1], low, positive)
        for x, odds in enumerate(kept):
            wanted = [(i, j) for i, j in np.ndindex(len(one), len(two)) if odds + one[i] + two[j] >= low]
            assert positive[0, x] == pytest.approx(sum(p[i] * r[j] for i, j in wanted))
            assert positive[1, x] == pytest.approx(sum(q[i] * s[j] for i, j in wanted))


def lattice_losses(lattice: Lattice, kept: list[bool]) -> tuple[float, float]:
    """Return the loss by the lattice's decisions, read whole instances and read whole cells, by writing all out."""
    ways: list[list[tuple[int | None, float, float, float]]] = []
    for i, (begin, end) in enumerate(itertools.pairwise(lattice.start.tolist())):
        here = [(int(lattice.shift[v]), float(lattice.p[v]), float(lattice.q[v])) for v in range(begin, end)]
        plus, minus = float(lattice.plus[i]), 1 - sum(q for _, _, q in here)
        endless = [(None, plus, 0.0, 1.0), (None, 0.0, minus, -1.0)]
        ways.append([(k, p, q, 0.0) for k, p, q in here] + [way for way in endless if way[1] + way[2] > 1e-12])
    mine: dict[object, list[float]] = defaultdict(lambda: [0.0, 0.0])
    cells: dict[object, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for chosen in itertools.product(*(range(len(way)) for way in ways)):
        values = [way[v] for way, v in zip(ways, chosen, strict=True)]
        p, q = math.prod(value[1] for value in values), math.prod(value[2] for value in values)
        mass = lattice.prior * p + (1 - lattice.prior) * q
        shifts = [value[0] for value in values]
        sign = sum(value[3] for value in values)
        finite = sum(shift for shift in shifts if shift is not None)
        positive = sign > 0 if None in shifts else finite >= lattice.t
        instance = tuple(v for v, keep in zip(chosen, kept, strict=True) if keep)
        seen = [shift for shift, keep in zip(shifts, kept, strict=True) if keep]
        cell = instance if None in seen else sum(shift for shift in seen if shift is not None)
        mine[instance][positive] += mass
        cells[cell][positive] += mass
    return sum(map(min, mine.values())), sum(map(min, cells.values()))


def smooth(random: Random, features: int) -> bt.Classifier:
    """Return a naive Bayes classifier without zeros, whose decisions turn in the middle of its log-odds."""
    names = [f"F{i}" for i in range(features)]
    rows = {name: [[p, 1 - p] for p in (random.uniform(0.1, 0.9), random.uniform(0.1, 0.9))] for name in names}
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "not c")), *(bt.Variable(name, ("yes", "no")) for name in names)],
        {name: ["C"] for name in names},
        {"C": [0.5, 0.5], **rows},
    )
    return bt.Classifier(network, "C", "c", threshold=random.uniform(0.3, 0.7))


def test_losses_bracket_what_the_lattice_decides() -> None:
    """The upper bound is the loss read by whole cells; the lower one is never above the loss read by instances."""
    seen = 0
    for seed in range(CASES):
        random = Random(seed)
        classifier = generators.random_naive_bayes(random, 4) if seed % 4 == 0 else smooth(random, 5)
        engine = engine_of(classifier)
        if not engine.model.features or not engine.model.finite:
            continue
        grid = make_grid(engine.model, engine.model.features, random.choice([3, 5, 8, 20]))
        for kept in itertools.product([False, True], repeat=len(engine.model.features)):
            lower, upper = grid.losses(np.array([kept]))
            by_instance, by_cell = lattice_losses(grid.lattice, list(kept))
            assert upper[0] == pytest.approx(by_cell, abs=1e-12)
            assert lower[0] <= by_instance + 1e-12
            assert by_instance <= upper[0] + 1e-12
            seen += lower[0] < upper[0] - 1e-12
    assert seen > CASES / 10


def test_the_search_finds_the_best_subset() -> None:
    """The tree leaves out nothing that is better."""
    for seed in range(CASES // 4):
        random = Random(seed)
        classifier = generators.random_naive_bayes(random, 5)
        budget = random.randint(0, 3)
        result = bt.trim(classifier, budget, strategy="branch-and-bound")
        judge = Judge(classifier)
        every = itertools.combinations(classifier.features, min(budget, len(classifier.features)))
        best = min((judge.loss(features) for features in every), default=Fraction(0))
        assert float(result.agreement) == pytest.approx(1 - float(best), abs=1e-12)


@pytest.mark.skipif(PLAIN, reason="this is the plain run")
def test_the_same_holds_uncompiled() -> None:
    """As plain Python, where an index out of bounds is an error, every test of this file passes too."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", __file__]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[1], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
