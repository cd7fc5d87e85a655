"""What is asked: a classifier, what its features cost, a budget, and how long the answer may take."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal, get_args

from bayestrim.classifier import Classifier
from bayestrim.errors import ProblemError, UnknownNameError, suggestion
from bayestrim.ties import as_written

ThresholdRule = Literal["optimal", "keep"]

LARGEST_INTEGER = 2**61
"""Scaled costs sum to at most this, which fits in 64 bits."""


@dataclass(frozen=True)
class Limits:
    """When a search may stop before it is done.

    Parameters
    ----------
    seconds
        Stop after so long. The answer so far is returned, with what is proved of it.
    evaluations
        Stop after computing the agreement of so many subsets or bounds on them.
    gap
        Be content with an answer that is at most so far below the best: 0.001 is a tenth of a percent of decisions.

    Examples
    --------
    >>> Limits(seconds=60, gap=1e-3)
    Limits(seconds=60, evaluations=None, gap=0.001)
    """

    seconds: float | None = None
    evaluations: int | None = None
    gap: float = 0.0

    def __post_init__(self) -> None:
        fields: list[tuple[str, Any, str]] = [
            ("seconds", self.seconds, "a number of seconds, 0 or more"),
            ("evaluations", self.evaluations, "a whole number, 0 or more"),
            ("gap", self.gap, "a share of decisions, from 0 to 1"),
        ]
        for name, value, what in fields:
            if value is None and name != "gap":
                continue
            kind: Any = numbers.Integral if name == "evaluations" else numbers.Real  # Any: mypy does not compare them
            right = isinstance(value, kind) and not isinstance(value, bool) and value >= 0
            if not right or (name == "gap" and value > 1):
                raise ProblemError(f"limits: {name}={value!r}; it must be {what}")


@dataclass(frozen=True)
class TrimProblem:
    """A classifier to trim, with prices and a budget.

    Parameters
    ----------
    classifier
        The classifier.
    budget
        The most that the kept features may cost together.
    costs
        What features cost, by name; a feature that is not named costs 1.
    threshold
        ``"optimal"`` looks for the best new threshold with each subset; ``"keep"`` uses the classifier's own.

    Attributes
    ----------
    costs
        The cost of every feature.

    Examples
    --------
    >>> import bayestrim as bt
    >>> quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+", threshold=0.07)
    >>> problem = TrimProblem(quiz, budget=0.3, costs={"Q1": 0.1, "Q2": 0.2})
    >>> dict(problem.costs)
    {'Q1': 0.1, 'Q2': 0.2, 'Q3': 1.0}
    >>> problem.affordable(["Q1", "Q2"])  # costs are decimals: 0.1 + 0.2 is 0.3
    True
    """

    classifier: Classifier
    budget: float
    costs: Mapping[str, float] = field(default_factory=dict, hash=False)
    threshold: ThresholdRule = "optimal"

    def __post_init__(self) -> None:
        if not isinstance(self.classifier, Classifier):
            raise ProblemError(
                f"a Classifier is needed, not {type(self.classifier).__name__}; make one with "
                "Classifier(network, target, …)"
            )
        object.__setattr__(self, "budget", _checked_amount(self.budget, "the budget"))
        if self.threshold not in get_args(ThresholdRule):
            raise ProblemError(f"threshold={self.threshold!r}; it is 'optimal' or 'keep'")
        object.__setattr__(self, "costs", MappingProxyType(_checked_costs(self.classifier, self.costs)))

    def cost(self, features: Iterable[str]) -> float:
        """Return what some features cost together."""
        return float(self._spent(features))

    def affordable(self, features: Iterable[str]) -> bool:
        """Tell whether some features fit in the budget, in decimal arithmetic."""
        spent = self._spent(features)
        return math.isinf(self.budget) or spent <= as_written(self.budget)

    def _spent(self, features: Iterable[str]) -> Fraction:
        kept = self.classifier.checked_subset(features)
        return sum((as_written(self.costs[name]) for name in kept), Fraction(0))

    def scaled(self) -> tuple[tuple[int, ...], int]:
        """Return the costs of all features, and the budget, as integers in proportion.

        Decimals stay exact as long as they have at most about 18 digits between them. Finer ones are rounded, and the
        budget is raised by as much as that can matter: some 10^-18 of all costs.
        """
        costs = [as_written(self.costs[name]) for name in self.classifier.features]
        limit = sum(costs, Fraction(0)) if math.isinf(self.budget) else as_written(self.budget)
        capped = [min(cost, limit) for cost in costs]
        everything = sum(capped, Fraction(0))
        budget = min(limit, everything)
        scale = Fraction(math.lcm(*(amount.denominator for amount in (*capped, budget))))
        if everything * scale > LARGEST_INTEGER // 2:
            scale = LARGEST_INTEGER // 2 / everything
            budget += len(costs) / scale
        most = round(budget * scale)
        return tuple(most + 1 if cost > limit else round(cost * scale) for cost in costs), most

    def __reduce__(self) -> tuple[type[TrimProblem], tuple[Classifier, float, dict[str, float], ThresholdRule]]:
        return TrimProblem, (self.classifier, self.budget, dict(self.costs), self.threshold)


def _checked_amount(amount: Any, what: str) -> float:
    number: Any = numbers.Real  # mypy does not compare numbers.Real
    if not (isinstance(amount, number) and not isinstance(amount, bool) and amount >= 0):
        raise ProblemError(f"{what} is {amount!r}; it must be a number, 0 or more")
    try:
        return abs(float(amount))  # -0.0 becomes 0.0
    except OverflowError:  # an integer of hundreds of digits
        return math.inf


def _checked_costs(classifier: Classifier, given: Mapping[str, float] | None) -> dict[str, float]:
    if not isinstance(given, Mapping | None):
        raise ProblemError(f"costs must map the names of features to numbers, not be a {type(given).__name__}")
    costs = dict.fromkeys(classifier.features, 1.0)
    for name, cost in (given or {}).items():
        if name not in costs:
            raise UnknownNameError(
                f"costs: {name!r} is not a feature of the classifier{suggestion(str(name), classifier.features)}"
            )
        costs[name] = _checked_amount(cost, f"the cost of {name!r}")
        if math.isinf(costs[name]):
            raise ProblemError(f"the cost of {name!r} is infinite; leave out of the classifier what cannot be had")
    return costs
