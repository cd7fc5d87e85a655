"""Products of tables with variables summed out: against NumPy's own summation, in any order and any slices."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pytest

import bayestrim as bt
from bayestrim import contraction, inference

EINSUM: Any = np.einsum  # its types do not know lists of axes


def random_tables(random: Random) -> tuple[list[tuple[int, ...]], list[np.ndarray], dict[int, int], tuple[int, ...]]:
    """Return tables over up to seven variables of one to four states, and what is to be kept."""
    sizes = {v: random.choice([1, 2, 2, 3, 4]) for v in range(random.randint(1, 7))}
    scopes = [tuple(random.sample(list(sizes), random.randint(0, min(4, len(sizes))))) for _ in range(6)]
    scopes.append(tuple(sizes) if random.random() < 0.1 else tuple(random.sample(list(sizes), 1)))
    generator = np.random.default_rng(random.randrange(2**32))
    tables = [np.array(generator.random([sizes[v] for v in scope])) for scope in scopes]
    held = sorted({v for scope in scopes for v in scope})
    return scopes, tables, sizes, tuple(random.sample(held, random.randint(0, len(held))))


@pytest.mark.parametrize("most", [math.inf, 0], ids=["whole", "sliced"])
def test_products_are_those_of_numpy(most: float) -> None:
    """Whatever the scopes and however much memory there is, the result is the sum of the product."""
    sliced = 0
    for seed in range(300):
        scopes, tables, sizes, keep = random_tables(Random(seed))
        operands = [x for table, scope in zip(tables, scopes, strict=True) for x in (table, list(scope))]
        expected = EINSUM(*operands, list(keep))
        plan = contraction.plan_contraction(scopes, sizes, keep, most)
        found = contraction.contract(plan, tables, sizes, keep)
        assert found.shape == expected.shape
        assert found == pytest.approx(expected, rel=1e-12)
        sliced += bool(plan.sliced)
    assert sliced > 50 or most == math.inf


def test_every_way_to_multiply_a_pair_gives_the_same() -> None:
    """Matrix products and plain ones agree on all kinds of shared, summed and private variables."""
    for seed in range(200):
        random = Random(seed)
        sizes = [random.choice([1, 2, 3, 9]) for _ in range(5)]
        one, other = (tuple(random.sample(range(5), random.randint(0, 4))) for _ in range(2))
        wanted = tuple(random.sample(sorted({*one, *other}), random.randint(0, len({*one, *other}))))
        generator = np.random.default_rng(seed)
        a, b = (np.array(generator.random([sizes[v] for v in scope])) for scope in (one, other))
        expected = EINSUM(a, list(one), b, list(other), list(wanted))
        assert contraction.multiply_and_sum(a, one, b, other, wanted) == pytest.approx(expected, rel=1e-12)


def test_a_plan_holds_no_more_than_it_says() -> None:
    """Slicing lowers the peak, within what is allowed where that can be, and costs few multiplications more."""
    names = [f"F{i}" for i in range(12)]
    scopes = [(0, 1 + i) for i in range(12)] + [(0,)]
    sizes = {0: 30, **{1 + i: 2 for i in range(len(names))}}
    whole = contraction.plan_contraction(scopes, sizes, tuple(range(13)))
    most = 1.05 * 30 * 2**12
    less = contraction.plan_contraction(scopes, sizes, tuple(range(13)), most)
    assert not whole.sliced
    assert whole.peak > most >= less.peak
    assert less.sliced
    assert less.operations <= 2 * whole.operations


def test_merging_the_positive_states_is_summing_them() -> None:
    """The table of positive and negative is that of all class states, summed."""
    states = ("a", "b", "c", "d")
    rows = np.random.default_rng(3).dirichlet(np.ones(3), size=4)
    network = bt.BayesianNetwork(
        [bt.Variable("C", states), bt.Variable("F", ("x", "y", "z")), bt.Variable("O", ("only",))],
        {"F": ["C"], "O": ["C"]},
        {"C": [0.1, 0.2, 0.3, 0.4], "F": rows, "O": [[1.0]] * 4},
    )
    positive = np.array([True, False, True, False])
    whole = inference.joint_table(network, "C", ["F", "O"], {})
    sides = inference.joint_table(network, "C", ["F", "O"], {}, positive=positive)
    assert sides.shape == (2, 3, 1)
    assert sides[0] == pytest.approx(whole[positive].sum(axis=0), abs=1e-15)
    assert sides[1] == pytest.approx(whole[~positive].sum(axis=0), abs=1e-15)


def hard_product() -> tuple[list[tuple[int, ...]], dict[int, int], tuple[int, ...]]:
    """Return a product for which many orders are worth comparing: a grid, of which one row is kept."""
    side, wide = 12, 3
    scopes: list[tuple[int, ...]] = [(side * i + j, side * i + j + 1) for i in range(wide * 3) for j in range(side - 1)]
    scopes += [(side * i + j, side * (i + 1) + j) for i in range(wide * 3 - 1) for j in range(side)]
    return scopes, dict.fromkeys(range(side * wide * 3), 3), tuple(range(side))


def test_planning_ends_with_the_time() -> None:
    """Without time one order is made, which the next search does not take for the best; with it many are compared."""
    scopes, sizes, keep = hard_product()
    asked: list[float] = []

    def left() -> float:
        asked.append(2.0 - len(asked))
        return asked[-1]

    hurried = contraction.plan_contraction(scopes, sizes, keep, left=lambda: 0.0)
    longer = contraction.plan_contraction(scopes, sizes, keep, left=left)
    assert asked == [2, 1, 0]
    whole = contraction.plan_contraction(scopes, sizes, keep)
    assert hurried.operations >= longer.operations >= whole.operations
    assert hurried.operations > whole.operations
    assert contraction.plan_contraction(scopes, sizes, keep, left=lambda: 0.0) is whole


def test_plans_are_remembered_where_they_fit() -> None:
    """A plan is taken again where it fits, unless it slices and more is allowed, and where none would fit."""
    sizes = {0: 30, **{1 + i: 2 for i in range(11)}}
    scopes, keep = [(0, 1 + i) for i in range(11)], tuple(range(12))
    whole = contraction.plan_contraction(scopes, sizes, keep)
    assert contraction.plan_contraction(scopes, sizes, keep, whole.peak) is whole
    for share in (0.9, 0.6):
        sliced = contraction.plan_contraction(scopes, sizes, keep, whole.peak * share)
        assert sliced.sliced
        assert contraction.plan_contraction(scopes, sizes, keep, whole.peak * share) is sliced
    assert not contraction.plan_contraction(scopes, sizes, keep, whole.peak).sliced


def test_the_need_is_known_in_advance() -> None:
    """What a joint table will hold at once is what its plan says, or what elimination in logarithms needs."""
    network = bt.BayesianNetwork(
        [bt.Variable(name, ("x", "y", "z")) for name in "CHAB"],
        {"H": ["C"], "A": ["H"], "B": ["H", "C"]},
        {
            "C": [0.2, 0.3, 0.5],
            "H": np.full((3, 3), 1 / 3),
            "A": np.full((3, 3), 1 / 3),
            "B": np.full((3, 3, 3), 1 / 3),
        },
    )
    need = inference.joint_need(network, "C", ["A", "B"], {})
    assert need >= 2 * 9
    states = np.array([True, False, False])
    inference.joint_table(network, "C", ["A", "B"], {}, positive=states, memory=8 * need)
    with pytest.raises(bt.TooLargeError, match="the joint table of 2 features"):
        inference.joint_table(network, "C", ["A", "B"], {}, positive=states, memory=8 * need - 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inference, "SAFE_EXPONENT", 1)
        need = inference.joint_need(network, "C", ["A"], {"B": 0})
        inference.joint_table(network, "C", ["A"], {"B": 0}, positive=states, memory=8 * need)
        with pytest.raises(bt.TooLargeError, match="the joint table of 1 features"):
            inference.joint_table(network, "C", ["A"], {"B": 0}, positive=states, memory=8 * need - 1)
