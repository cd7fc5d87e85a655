"""Over-tight versions of what prunes by prices, ties and limits: the tests against brute force must catch each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import generators
import numpy as np
import pytest
from test_lattice import naive_bayes
from test_prices import check, constrained

import bayestrim as bt
from bayestrim.engines.independent import Feature
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


# The rule of equal features: where one is excluded, so are those after it that say and cost the same.

GROUPS = branch._groups


def twins(seed: int) -> bt.TrimProblem:
    """Return a problem of two kinds of features, three of each: at other prices, with other set-ups, or fixed."""
    random = Random(seed)
    tables = [[[p, 1 - p], [q, 1 - q]] for p, q in ((0.9, 0.3), (0.2, 0.7))]
    classifier = naive_bayes([tables[i % 2] for i in range(6)], prior=random.choice([0.3, 0.5]))
    names = classifier.features
    costs = {name: random.choice([1.0, 2.0, 3.0]) if seed % 3 == 0 else 1.0 for name in names}
    setups = {"one": (2.0, random.sample(names, 3))} if seed % 3 == 1 else {}
    fixed = random.sample(names, 2) if seed % 3 == 2 else []
    return bt.TrimProblem(classifier, random.randint(1, 4), costs, "optimal", setups, fixed[:1], fixed[1:])


TWINS = 90


def blind_to_costs(features: Sequence[Feature], purse: Purse) -> list[int]:
    """Take features for equal that only say the same, whatever they cost."""
    return GROUPS(features, replace(purse, costs=(0,) * len(purse.costs)))


def blind_to_set_ups(features: Sequence[Feature], purse: Purse) -> list[int]:
    """Take features for equal that need other set-ups."""
    return GROUPS(features, replace(purse, needs=(0,) * len(purse.needs)))


def faults_with_twins() -> Iterator[int]:
    """Yield which of the problems with equal features are answered wrongly."""
    for seed in range(TWINS):
        try:
            check(twins(seed))
        except AssertionError:
            yield seed


def test_equal_features_at_other_prices_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real rule answers all problems rightly; and it is at work: with it, there are fewer nodes."""
    monkeypatch.setattr(branch, "greedy", no_start)
    assert not list(faults_with_twins())
    with_rule = sum(bt.trim(twins(seed)).stats.nodes for seed in range(TWINS))
    monkeypatch.setattr(branch, "_groups", lambda features, _: list(range(len(features))))
    assert with_rule < sum(bt.trim(twins(seed)).stats.nodes for seed in range(TWINS))


@pytest.mark.parametrize("blind", [blind_to_costs, blind_to_set_ups])
def test_saboteurs_of_equal_features_are_caught(
    blind: Callable[[Sequence[Feature], Purse], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes features for equal that are not, and misses some problem's best choice."""
    monkeypatch.setattr(branch, "greedy", no_start)
    monkeypatch.setattr(branch, "_groups", blind)
    assert next(faults_with_twins(), None) is not None


def no_start(purse: Purse, *_: Any) -> np.typing.NDArray[np.bool_]:
    """Begin with what is required alone: a good start would hide what the search misses."""
    kept = np.zeros(len(purse.costs), dtype=bool)
    kept[list(purse.required)] = True
    return kept
