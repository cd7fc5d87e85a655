"""What may be bought, in whole numbers: what every search counts with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

LARGEST_INTEGER = 2**61
"""Scaled amounts sum to at most this, which fits in 64 bits."""

Places = tuple[int, ...]


@dataclass(frozen=True)
class Purse:
    """Prices, budget and constraints of a problem, for searches; features go by their places.

    Attributes
    ----------
    costs
        What each feature costs.
    needs
        The set-ups that each feature needs, as bits: set-up s is the bit ``1 << s``.
    setups
        What each set-up costs, once, if any feature that needs it is kept.
    budget
        The most that may be spent; negative where what is required already costs too much.
    most
        How many features may be kept.
    required, forbidden
        The places of features that must be kept, and of those that must not.

    Examples
    --------
    >>> purse = Purse((1, 2, 3), (0b1, 0b1, 0b0), (10,), budget=13, most=3, required=(), forbidden=())
    >>> purse.price([0, 1]), purse.affords([0, 1]), purse.affords([0, 2])
    (13, True, False)
    """

    costs: tuple[int, ...]
    needs: tuple[int, ...]
    setups: tuple[int, ...]
    budget: int
    most: int
    required: Places
    forbidden: Places

    @property
    def plain(self) -> bool:
        """Whether there is nothing but costs and a budget."""
        return not (self.setups or self.required or self.forbidden) and self.most >= len(self.costs)

    def price(self, kept: Sequence[int]) -> int:
        """Return what the features at some places cost together."""
        return sum(self.costs[i] for i in kept) + self.fee(self.needed(kept))

    def needed(self, kept: Sequence[int]) -> int:
        """Return the set-ups that features need, as bits."""
        needed = 0
        for i in kept:
            needed |= self.needs[i]
        return needed

    def fee(self, setups: int) -> int:
        """Return what some set-ups, given as bits, cost."""
        return sum(price for s, price in enumerate(self.setups) if setups >> s & 1)

    def affords(self, kept: Sequence[int]) -> bool:
        """Tell whether features fit in the budget and in what else is asked."""
        chosen = set(kept)
        within = len(chosen) <= self.most and chosen.issuperset(self.required) and chosen.isdisjoint(self.forbidden)
        return within and self.price(tuple(chosen)) <= self.budget

    def spent(self, kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return what each of many subsets [subsets, features] costs."""
        amounts = kept.astype(np.int64) @ np.array(self.costs, dtype=np.int64)
        for s, price in enumerate(self.setups):
            members = np.array([need >> s & 1 == 1 for need in self.needs], dtype=bool)
            amounts += price * kept[:, members].any(axis=1)
        return np.asarray(amounts, dtype=np.int64)

    def fits(self, kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Tell of each of many subsets [subsets, features] whether it is allowed and affordable."""
        within = (self.spent(kept) <= self.budget) & (kept.sum(axis=1) <= self.most)
        right = kept[:, list(self.required)].all(axis=1) & ~kept[:, list(self.forbidden)].any(axis=1)
        return np.asarray(within & right, dtype=bool)

    def narrowed(self, places: Sequence[int]) -> Purse:
        """Return the purse for the features at some places, in that order, when no other is kept unless it must be.

        What the others cost that are required has been paid.
        """
        others = [i for i in self.required if i not in set(places)]
        paid = self.needed(others)
        position = {place: i for i, place in enumerate(places)}
        return Purse(
            tuple(self.costs[i] for i in places),
            tuple(self.needs[i] for i in places),
            tuple(0 if paid >> s & 1 else price for s, price in enumerate(self.setups)),
            self.budget - self.price(others),
            min(self.most - len(others), len(places)),
            tuple(sorted(position[i] for i in self.required if i in position)),
            tuple(sorted(position[i] for i in self.forbidden if i in position)),
        )


def scaled(amounts: Sequence[Fraction], limit: Fraction | None) -> tuple[tuple[int, ...], int]:
    """Return amounts, and the most that may be spent on them, as integers in proportion.

    Decimals stay exact as long as they have at most about 18 digits between them. Finer ones are rounded, and the
    limit is raised by as much as that can matter: some 10^-18 of all amounts. Without a limit, all can be had.
    """
    limit = sum(amounts, Fraction(0)) if limit is None else limit
    capped = [min(amount, limit) for amount in amounts]
    everything = sum(capped, Fraction(0))
    budget = min(limit, everything)
    scale = Fraction(math.lcm(*(amount.denominator for amount in (*capped, budget))))
    if everything * scale > LARGEST_INTEGER // 2:
        scale = LARGEST_INTEGER // 2 / everything
        budget += len(amounts) / scale
    most = round(budget * scale)
    return tuple(most + 1 if amount > limit else round(amount * scale) for amount in amounts), most
