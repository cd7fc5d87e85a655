"""A hundred near-even features: what the search holds after thousands of steps against exact rational convolution.

Dividing a feature out of a distribution is stable only from the side of its larger probability, which near-even
features do not have. The search never does it: a level keeps what it was built from. Here its work space is read after
thousands of features were dropped and included in a row.
"""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import bayestrim as bt
from bayestrim.kernels import lattice as kernels
from bayestrim.search import coordinator, descent

FEATURES, STEPS = 100, 6000
SIDES = ("p", "q")


def near_even(count: int) -> bt.Classifier:
    """Return a classifier whose features are nearly fair coins under either class."""
    random = np.random.default_rng(1)
    names = [f"F{i}" for i in range(count)]
    tables = {name: [[p, 1 - p], [1 - p, p]] for name, p in zip(names, random.uniform(0.5, 0.52, count), strict=True)}
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "not c")), *(bt.Variable(name, ("yes", "no")) for name in names)],
        {name: ["C"] for name in names},
        {"C": [0.5, 0.5], **tables},
    )
    return bt.Classifier(network, "C", "c")


def convolved(lattice: kernels.Lattice, features: npt.NDArray[np.int64], side: str) -> list[int]:
    """Return the distribution of the shifts of some features, as integers: multiples of 2^-64 for each feature."""
    mass = [1]
    for i in features:
        begin, end = int(lattice.start[i]), int(lattice.start[i + 1])
        shifts = lattice.shift[begin:end].tolist()
        weights = [round(Fraction(w) * 2**64) for w in getattr(lattice, side)[begin:end].tolist()]
        wider = [0] * (len(mass) + max(shifts))
        for shift, weight in zip(shifts, weights, strict=True):
            for k, m in enumerate(mass):
                wider[k + shift] += m * weight
        mass = wider
    return mass


def as_floats(mass: list[int], features: int) -> npt.NDArray[np.float64]:
    """Return integers in units of 2^-64 for each feature as floats."""
    return np.array([float(Fraction(m, 2 ** (64 * features))) for m in mass])


@pytest.fixture(scope="module")
def slice_() -> tuple[kernels.Lattice, kernels.Order, kernels.Stack, int]:
    """Search a hundred near-even features for thousands of bounds in one slice, and return what that left behind."""
    seen: dict[type, Any] = {}
    counts: list[tuple[int, int]] = []

    def watched(*arguments: Any) -> Any:
        done = kernels.explore(*arguments)
        if not counts:
            seen.update({type(argument): copy.deepcopy(argument) for argument in arguments})
            counts.append((done[0], done[3]))
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(descent, "explore", watched)
        patch.setattr(descent, "QUICK", STEPS)
        patch.setattr(coordinator, "FIRST_SLICE", STEPS)
        bt.trim(near_even(FEATURES), 8, limits=bt.Limits(evaluations=30_000))
    evaluations, levels = counts[0]
    assert evaluations >= STEPS
    return seen[kernels.Lattice], seen[kernels.Order], seen[kernels.Stack], levels - 1  # the last may be half written


def test_included_features_have_the_exact_distribution(
    slice_: tuple[kernels.Lattice, kernels.Order, kernels.Stack, int],
) -> None:
    """At every open level, under each class, to a relative error of 10^-13."""
    lattice, _, stack, levels = slice_
    for level in range(levels):
        row = (kernels.SPARE_ROWS + kernels.LEVEL_ROWS * level) * lattice.width
        chosen = np.flatnonzero(stack.included[level])
        for place, side in enumerate(SIDES):
            exact = as_floats(convolved(lattice, chosen, side), len(chosen))[: lattice.cells]
            found = stack.memory[row + place * lattice.width :][: len(exact)]
            assert found == pytest.approx(exact, rel=1e-13, abs=0)


def test_dropped_features_have_the_exact_tails(
    slice_: tuple[kernels.Lattice, kernels.Order, kernels.Stack, int],
) -> None:
    """So does the chance that the dropped features turn a decision, at levels from the first to the deepest."""
    lattice, order, stack, levels = slice_
    for level in sorted({0, levels // 3, 2 * levels // 3, levels - 1}):
        row = (kernels.SPARE_ROWS + kernels.LEVEL_ROWS * level + 4) * lattice.width
        undecided = np.arange(FEATURES) >= stack.number[level, kernels.POSITION]
        undecided &= order.cost <= stack.number[level, kernels.LEFT]
        dropped = np.flatnonzero(~stack.included[level] & ~undecided)
        assert len(dropped) > 0 or level == 0
        first = int(stack.number[level, kernels.LIFT_FIRST])
        for place, side in enumerate(SIDES):
            mass = convolved(lattice, dropped, side)
            tails = as_floats([*np.cumsum(np.array(mass[::-1], dtype=object))[::-1].tolist(), 0], len(dropped))
            need = np.clip(lattice.t - np.arange(first, lattice.t), 0, len(tails) - 1)
            found = stack.memory[row + place * lattice.width + first : row + place * lattice.width + lattice.t]
            assert found == pytest.approx(tails[need], rel=1e-12, abs=0)


def test_dividing_features_out_would_be_caught() -> None:
    """The same comparison refuses deconvolution, which loses all digits within a few removals."""
    chances = np.random.default_rng(1).uniform(0.5, 0.52, FEATURES)
    shifts = np.random.default_rng(2).integers(5, 20, FEATURES)
    mass, exact = np.ones(1), np.ones(1)
    for i, (p, s) in enumerate(zip(chances, shifts, strict=True)):
        mass = p * np.append(mass, np.zeros(s)) + (1 - p) * np.append(np.zeros(s), mass)
        if i >= FEATURES // 2:
            exact = p * np.append(exact, np.zeros(s)) + (1 - p) * np.append(np.zeros(s), exact)
    for p, s in zip(chances[: FEATURES // 2], shifts[: FEATURES // 2], strict=True):
        for k in range(len(mass)):
            mass[k] = (mass[k] - ((1 - p) * mass[k - s] if k >= s else 0.0)) / p
        mass = mass[: len(mass) - s]
    assert mass != pytest.approx(exact, rel=1e-3, abs=1e-3)
