"""Over-tight versions of what prunes by prices, ties and limits: the tests against brute force must catch each."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import generators
import numpy as np
import pytest
from test_prices import check, constrained

from bayestrim.kernels.lattice import Order
from bayestrim.purse import Purse
from bayestrim.search import branch, coordinator
from bayestrim.search.plan import Node

Patch = Callable[[pytest.MonkeyPatch], None]


def order_with(change: Callable[[Order], Order]) -> Patch:
    """Give the kernels other prices than there are."""
    right = branch.prices_in_order

    def apply(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(branch, "prices_in_order", lambda purse, until: change(right(purse, until)))

    return apply


def settled_too_soon(patch: pytest.MonkeyPatch) -> None:
    """Drop nodes that could be better by a twentieth."""
    right = coordinator.Coordinator._is_settled

    def hasty(self: coordinator.Coordinator, node: Node) -> bool:
        return right(self, node._replace(bound=node.bound + 0.05))

    patch.setattr(coordinator.Coordinator, "_is_settled", hasty)
    for name in ("FIRST_SLICE", "LEAST", "MOST"):
        patch.setattr(coordinator, name, 1)


SABOTEURS: dict[str, Patch] = {
    "a set-up is paid by each feature that needs it": order_with(
        lambda order: order._replace(
            cost=order.cost + np.array([sum(f for s, f in enumerate(order.fee) if n >> s & 1) for n in order.needs]),
            needs=np.zeros_like(order.needs),
        )
    ),
    "set-ups cost more than they do": order_with(lambda order: order._replace(fee=2 * order.fee + 1)),
    "one feature less may be kept": order_with(lambda order: order._replace(most=max(0, order.most - 1))),
    "the budget is one unit smaller": order_with(lambda order: order._replace(budget=order.budget - 1)),
    "nodes are dropped that could be better": settled_too_soon,
}


def caught() -> bool:
    """Tell whether any of many problems is answered wrongly."""
    for seed in range(150):
        random = Random(seed)
        problem = constrained(random, generators.random_naive_bayes(random, 7))
        try:
            check(problem)
        except AssertionError:
            return True
    return False


@pytest.mark.parametrize("sabotage", SABOTEURS.values(), ids=list(SABOTEURS))
def test_saboteurs_are_caught(sabotage: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each makes some problem's answer worse than brute force's."""
    monkeypatch.setattr(branch, "greedy", no_start)
    sabotage(monkeypatch)
    assert caught()


def no_start(purse: Purse, *_: Any) -> np.typing.NDArray[np.bool_]:
    """Begin with what is required alone: a good start would hide what the search misses."""
    kept = np.zeros(len(purse.costs), dtype=bool)
    kept[list(purse.required)] = True
    return kept
