"""What a problem allows, by the definition: prices as exact decimals, for the independent check of answers.

Nothing of this is shared with what searches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from random import Random

from bayestrim import reference
from bayestrim.problem import TrimProblem

Features = tuple[str, ...]

ROUNDED_COSTS = Fraction(1, 10**12)
"""The share by which costs may be off, or a budget exceeded, where costs had too many digits and were rounded."""


class Allowance:
    """Tells what features cost and which subsets a problem allows.

    Parameters
    ----------
    problem
        The problem.
    """

    def __init__(self, problem: TrimProblem) -> None:
        self.problem = problem
        self._names = problem.classifier.features
        self._prices = {name: reference.rational(problem.costs[name]) for name in self._names}
        self._shared = [(reference.rational(price), frozenset(of)) for price, of in problem.setup_costs.values()]
        self._most = len(self._names) if problem.max_features is None else problem.max_features
        unlimited = math.isinf(problem.budget)
        self._budget = self.spent(self._names) if unlimited else reference.rational(problem.budget)

    def spent(self, features: Features) -> Fraction:
        """Return what features cost; names that are none cost nothing."""
        own = sum((self._prices.get(name, Fraction(0)) for name in features), Fraction(0))
        return own + sum((price for price, of in self._shared if not of.isdisjoint(features)), Fraction(0))

    def affords(self, features: Features) -> bool:
        """Tell whether features fit in the budget, as nearly as rounded prices do."""
        return self.spent(features) <= self._budget * (1 + ROUNDED_COSTS)

    def breach(self, features: Features) -> str:
        """Return which constraint features break, or an empty string."""
        missing = [name for name in self.problem.required if name not in features]
        if missing:
            return f"{missing[0]!r} is required, and not kept"
        wrong = [name for name in features if name in self.problem.forbidden]
        if wrong:
            return f"{wrong[0]!r} is forbidden, and kept"
        return f"{len(features)} features are kept; {self._most} are allowed" if len(features) > self._most else ""

    def allows(self, features: Features) -> bool:
        """Tell whether features keep to the budget and to all constraints."""
        return not self.breach(features) and self.spent(features) <= self._budget

    def subsets(self, most: int) -> list[Features] | None:
        """Return all subsets that are allowed, or None if there are too many."""
        root = tuple(self.problem.required)
        if not self.allows(root):
            return []
        found = [root]
        for name in self._names:
            if name not in self.problem.forbidden and name not in root:
                found += [larger for kept in found if self.allows(larger := (*kept, name))]
                if len(found) > most:
                    return None
        return [self._in_order(set(kept)) for kept in found]

    def _in_order(self, wanted: set[str]) -> Features:
        return tuple(name for name in self._names if name in wanted)

    def neighbours(self, kept: Features, random: Random) -> Iterator[Features]:
        """Yield the allowed subsets that differ by at most one feature added, removed or swapped, in random order."""
        others = [name for name in self._names if name not in kept]
        pairs = [*product(("", *kept), ("", *others))]  # a feature's name is never empty
        random.shuffle(pairs)
        for old, new in pairs:
            near = self._in_order({*kept, new} - {old})
            if self.allows(near):
                yield near

    def some(self, random: Random) -> Features:
        """Return a random allowed subset that has no room for another feature."""
        wanted = set(self.problem.required)
        for name in random.sample(self._names, len(self._names)):
            if self.allows(self._in_order({*wanted, name})):
                wanted.add(name)
        return self._in_order(wanted)
