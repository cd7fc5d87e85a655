"""What is asked: a classifier, what its features cost, a budget, and how long the answer may take."""

from __future__ import annotations

import math
import numbers
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal, get_args

from bayestrim.classifier import Classifier
from bayestrim.errors import NetworkError, ProblemError, UnknownNameError, suggestion
from bayestrim.network import check_word
from bayestrim.purse import Purse, scaled
from bayestrim.ties import as_written

ThresholdRule = Literal["optimal", "keep"]
SetupCosts = Mapping[str, tuple[float, Sequence[str]]]
"""From a name to a cost, and to the features that share it."""

MOST_SETUPS = 62
"""So many set-up costs fit in the bits of a whole number."""


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
    memory
        The most bytes that large tables may take; by default half of what is free.
    samples
        How many instances are drawn or listed, or how many classes of them told apart, where instances are too many to
        go through them all.

    Examples
    --------
    >>> Limits(seconds=60, gap=1e-3)
    Limits(seconds=60, evaluations=None, gap=0.001, memory=None, samples=None)
    """

    seconds: float | None = None
    evaluations: int | None = None
    gap: float = 0.0
    memory: int | None = None
    samples: int | None = None

    def __post_init__(self) -> None:
        fields: list[tuple[str, Any, str]] = [
            ("seconds", self.seconds, "a number of seconds, 0 or more"),
            ("evaluations", self.evaluations, "a whole number, 0 or more"),
            ("gap", self.gap, "a share of decisions, from 0 to 1"),
            ("memory", self.memory, "a whole number of bytes, 1 or more"),
            ("samples", self.samples, "a whole number, 1 or more"),
        ]
        for name, value, what in fields:
            if value is None and name != "gap":
                continue
            kind: Any = numbers.Real if name in ("seconds", "gap") else numbers.Integral  # Any: mypy cannot compare
            least = 1 if name in ("memory", "samples") else 0
            right = isinstance(value, kind) and not isinstance(value, bool) and value >= least
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
    setup_costs
        What features share, by any name: its cost, paid once if any of the features is kept, and the features.
    required
        Features that must be kept.
    forbidden
        Features that must not be kept.
    max_features
        How many features may be kept; by default all.

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
    >>> printed = TrimProblem(quiz, budget=4, setup_costs={"paper": (2, ["Q1", "Q2"])}, required=["Q3"])
    >>> printed.cost(["Q1"]), printed.cost(["Q1", "Q2"]), printed.affordable(["Q1", "Q2"])
    (3.0, 4.0, False)
    """

    classifier: Classifier
    budget: float
    costs: Mapping[str, float] = field(default_factory=dict, hash=False)
    threshold: ThresholdRule = "optimal"
    setup_costs: SetupCosts = field(default_factory=dict, hash=False)
    required: Sequence[str] = ()
    forbidden: Sequence[str] = ()
    max_features: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.classifier, Classifier):
            raise ProblemError(
                f"a Classifier is needed, not {type(self.classifier).__name__}; make one with "
                "Classifier(network, target, …)"
            )
        if self.threshold not in get_args(ThresholdRule):
            raise ProblemError(f"threshold={self.threshold!r}; it is 'optimal' or 'keep'")
        values = {
            "budget": _checked_amount(self.budget, "the budget"),
            "costs": MappingProxyType(_checked_costs(self.classifier, self.costs)),
            "setup_costs": MappingProxyType(_checked_setups(self.classifier, self.setup_costs)),
            "required": _checked_members(self.classifier, self.required, "required"),
            "forbidden": _checked_members(self.classifier, self.forbidden, "forbidden"),
            "max_features": _checked_count(self.max_features),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._refuse_contradictions()

    def _refuse_contradictions(self) -> None:
        both = [name for name in self.required if name in self.forbidden]
        if both:
            raise ProblemError(f"{both[0]!r} is both required and forbidden")
        if self.max_features is not None and len(self.required) > self.max_features:
            raise ProblemError(
                f"{len(self.required)} features are required, more than max_features={self.max_features}"
            )

    def cost(self, features: Iterable[str]) -> float:
        """Return what some features cost together, set-up costs included."""
        return float(self._spent(self.classifier.checked_subset(features)))

    def affordable(self, features: Iterable[str]) -> bool:
        """Tell whether some features fit in the budget, in decimal arithmetic, and in all constraints."""
        kept = self.classifier.checked_subset(features)
        within = set(kept).issuperset(self.required) and set(kept).isdisjoint(self.forbidden)
        if not within or (self.max_features is not None and len(kept) > self.max_features):
            return False
        return math.isinf(self.budget) or self._spent(kept) <= as_written(self.budget)

    def _spent(self, kept: tuple[str, ...]) -> Fraction:
        amounts = [self.costs[name] for name in kept]
        amounts += [price for price, members in self.setup_costs.values() if not set(kept).isdisjoint(members)]
        return sum(map(as_written, amounts), Fraction(0))

    def purse(self) -> Purse:
        """Return prices, budget and constraints as whole numbers in proportion, features by their places."""
        names = self.classifier.features
        place = {name: i for i, name in enumerate(names)}
        amounts = [*self.costs.values(), *(price for price, _ in self.setup_costs.values())]
        limit = None if math.isinf(self.budget) else as_written(self.budget)
        whole, budget = scaled([as_written(amount) for amount in amounts], limit)
        needs = [0] * len(names)
        for s, (_, members) in enumerate(self.setup_costs.values()):
            for name in members:
                needs[place[name]] |= 1 << s
        return Purse(
            whole[: len(names)],
            tuple(needs),
            whole[len(names) :],
            budget,
            len(names) if self.max_features is None else min(self.max_features, len(names)),
            tuple(place[name] for name in self.required),
            tuple(place[name] for name in self.forbidden),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return TrimProblem, (
            self.classifier,
            self.budget,
            dict(self.costs),
            self.threshold,
            dict(self.setup_costs),
            self.required,
            self.forbidden,
            self.max_features,
        )


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


def _checked_setups(classifier: Classifier, given: Any) -> dict[str, tuple[float, tuple[str, ...]]]:
    """Return set-up costs with their members in the classifier's order."""
    if not isinstance(given, Mapping | None):
        raise ProblemError(
            f"setup_costs must map names to a cost and the features that share it, not be a {type(given).__name__}"
        )
    given = given or {}
    if len(given) > MOST_SETUPS:
        raise ProblemError(f"there are {len(given)} set-up costs; {MOST_SETUPS} are allowed")
    setups: dict[str, tuple[float, tuple[str, ...]]] = {}
    for name, entry in given.items():
        what = f"the set-up cost {name!r}"
        if not isinstance(entry, tuple | list) or len(entry) != 2:
            raise ProblemError(f"{what} is {entry!r}; it must be a cost and the features that share it")
        price = _checked_amount(entry[0], what)
        if math.isinf(price):
            raise ProblemError(f"{what} is infinite; forbid the features that share it")
        setups[_checked_name(name, setups)] = price, _checked_members(classifier, entry[1], f"setup_costs: {name}")
    return setups


def _checked_name(given: object, others: Container[str]) -> str:
    """Return the name of a set-up cost, refusing one that files could not hold or that another has."""
    name = str(given)
    try:
        check_word(name, "the name of a set-up cost")
    except NetworkError as error:
        raise ProblemError(f"setup_costs: {error}") from None
    if name in others:
        raise ProblemError(f"setup_costs: two have the name {name!r}")
    return name


def _checked_members(classifier: Classifier, given: Any, what: str) -> tuple[str, ...]:
    """Return features in the classifier's order, refusing what is none."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ProblemError(f"{what}: a list of features is needed, not {given!r}")
    wanted = set(given)
    for name in given if isinstance(given, tuple | list) else wanted:
        if name not in classifier.features:
            raise UnknownNameError(
                f"{what}: {name!r} is not a feature of the classifier{suggestion(str(name), classifier.features)}"
            )
    return tuple(name for name in classifier.features if name in wanted)


def _checked_count(given: Any) -> int | None:
    whole: Any = numbers.Integral
    if given is not None and not (isinstance(given, whole) and not isinstance(given, bool) and given >= 0):
        raise ProblemError(f"max_features={given!r}; it must be a whole number, 0 or more")
    return None if given is None else int(given)
