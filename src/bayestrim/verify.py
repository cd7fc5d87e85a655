"""An independent check of an answer: every statement of a `Trimming` is held against the definitions.

Where instances are few, they are counted by brute force, in integers made from `reference.Table`. Elsewhere instances
are drawn from the network, the classifier and its trimmed version decide them, and a statement is refused only where
chance would look so bad once in 10^9 times. Nothing of what searches, bounds or computes agreements is used here.
"""

from __future__ import annotations

import math
import numbers
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from random import Random
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from bayestrim import inference, reference
from bayestrim.allowance import ROUNDED_COSTS, Allowance
from bayestrim.classifier import Classifier
from bayestrim.continuous import GaussianNaiveBayes
from bayestrim.curve import BudgetCurve
from bayestrim.errors import ProblemError, TooLargeError, VerificationError
from bayestrim.problem import TrimProblem
from bayestrim.result import NEVER_POSITIVE, Interval
from bayestrim.trimming import Choice, Status, Trimming

BoolArray = npt.NDArray[np.bool_]
Features = tuple[str, ...]

TOLERANCE = 1e-9
"""How far a stated share of decisions may be off."""
FALSE_ALARM = 1e-9
"""The chance that one statement that is true is refused for what a sample happened to show."""
MOST_WORLDS = 2**15
"""The most joint instances that are written out: a second's work."""
MOST_BITS = 2**28
"""The most memory, in bits, for the probabilities of all instances as exact integers."""
MOST_ADDITIONS = 3_000_000
"""The most work, in instances times subsets, for trying all affordable subsets."""
MOST_SUBSETS = 50_000
"""The most affordable subsets that are all tried."""
MOST_RIVALS = 100
"""How many affordable subsets are tried where there are too many to try all."""
FEWEST_RIVALS = 5
"""So many are tried even where each takes long."""
MOST_LOOKUPS = 100_000_000
"""The most work, in sampled states times subsets, for trying affordable subsets on a sample."""
FEWEST_SAMPLES = 1000
"""With fewer instances than this a sample says too little."""
MOST_DRAWS = 20
"""How many instances are drawn for each that is asked for, where most disagree with the evidence."""
CELLS = 2**22
"""How many state numbers are handled at once."""
HARDLY = 10**6
"""Posteriors this many times nearer to the threshold than 0 and 1 are hardly beside it."""
COUNT_TIES = ("additive", "table", "circuit")
"""Engines that find all instances near the threshold, where instances are few."""
CLEAR_GAP = 1e-9
"""Posteriors further apart than this surely differ, whatever rounding did to them."""


class Verdict(Enum):
    """What came of a check; each value is its own word in a summary."""

    PASSED = "right"
    FAILED = "WRONG"
    UNCHECKED = "unchecked"


@dataclass(frozen=True)
class Check:
    """One statement that was held against the definitions.

    Attributes
    ----------
    name
        What was checked.
    verdict
        Whether it is right, wrong, or could not be checked.
    detail
        What was found and how, or why nothing was.
    """

    name: str
    verdict: Verdict
    detail: str

    @property
    def passed(self) -> bool:
        """Whether it was checked and found right."""
        return self.verdict is Verdict.PASSED

    def __str__(self) -> str:
        return f"{self.verdict.value:<10} {self.name:<19} {self.detail}"


@dataclass(frozen=True)
class Verification:
    """What came of checking an answer.

    Attributes
    ----------
    checks
        Every check that the answer called for.
    """

    checks: tuple[Check, ...]

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that found something wrong."""
        return tuple(check for check in self.checks if check.verdict is Verdict.FAILED)

    @property
    def unchecked(self) -> tuple[Check, ...]:
        """The checks that could not be made."""
        return tuple(check for check in self.checks if check.verdict is Verdict.UNCHECKED)

    @property
    def ok(self) -> bool:
        """Whether nothing wrong was found; what could not be checked is in `unchecked`."""
        return not self.failed

    def __getitem__(self, name: str) -> Check:
        """Return the check of a name."""
        return next(check for check in self.checks if check.name == name)

    def summary(self) -> str:
        """Return one line for each check."""
        return "\n".join(str(check) for check in self.checks)

    def raise_if_failed(self) -> None:
        """Raise a `VerificationError` that lists the checks, if any found something wrong."""
        if self.failed:
            wrong = ", ".join(check.name for check in self.failed)
            raise VerificationError(f"the result is wrong about: {wrong}\n{self.summary()}")


def verify(result: Trimming | BudgetCurve, *, samples: int = 100_000, seed: int = 0) -> Verification:
    """Check what a result says, sharing no computation with what produced it.

    Parameters
    ----------
    result
        The result, or a budget curve: then each of its points, and that no point is missing.
    samples
        How many instances to draw where there are too many to go through them all.
    seed
        A seed for drawing; the same seed draws the same.

    Returns
    -------
    Verification
        Checks of the kept features, the budget, the cost, the threshold and the interval it lies in, the agreement
        and the bound on the best; and of optimality, alternatives and irrelevant features where the result claims any.

    Examples
    --------
    >>> import bayestrim as bt
    >>> quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+", threshold=0.07)
    >>> bt.verify(bt.trim(quiz, budget=2)).ok
    True
    """
    if isinstance(result, BudgetCurve):
        return _verify_curve(result, samples, seed)
    if not isinstance(samples, numbers.Integral) or isinstance(samples, bool) or samples < FEWEST_SAMPLES:
        raise ProblemError(f"samples={samples!r}; it must be a whole number, {FEWEST_SAMPLES} or more")
    if result.status is Status.INFEASIBLE:
        return Verification(tuple(_check_infeasible(result, samples, seed)))
    stated = _check_statements(result)
    if _misnamed(result.problem, result.choice) or _misplaced(result.problem, result.choice):
        return Verification((*stated, *_unchecked(result, "the features or the threshold make no sense")))
    judge = _count_all(result) or _draw_some(result, samples, seed)
    if isinstance(judge, str):
        return Verification((*stated, *_unchecked(result, judge)))
    return Verification((*stated, *_check_by(judge, result, seed)))


def _check_statements(result: Trimming) -> Iterator[Check]:
    """Yield the checks that need no probabilities."""
    problem, choice = result.problem, result.choice
    yield _check("features", _misnamed(problem, choice), "features of the classifier, in its order, none twice")
    yield _check("budget", _unaffordable(problem, choice), f"the kept features cost at most {problem.budget:g}")
    if problem.required or problem.forbidden or problem.max_features is not None:
        yield _check("constraints", _unconstrained(problem, choice), "what is required and forbidden, and how many")
    yield _check("cost", _miscounted(problem, choice), f"the kept features cost {choice.cost:g} together")
    fault = _misplaced(problem, choice) or _needless(problem, choice)
    yield _check("threshold", fault, f"{choice.threshold:.6g} lies in {choice.thresholds}")


def _check_by(judge: _Judge, result: Trimming, seed: int) -> Iterator[Check]:
    """Yield the checks that need probabilities."""
    choice, rivals = result.choice, _find_rivals(result, judge, seed)
    leads = {features: judge.lead(features) for features in rivals.subsets}
    winner = max(leads, key=lambda features: leads[features])
    tried = f"all affordable subsets ({len(leads):,})" if rivals.complete else f"{len(leads):,} affordable subsets"
    yield _check("agreement", judge.misstated(choice), f"it is {choice.agreement} {judge.basis}")
    yield _check(
        "threshold interval", judge.uneven(choice), f"all in {choice.thresholds} do equally well {judge.basis}"
    )
    fault = _loose(result) or _exceeded(result, winner, judge.own + leads[winner], judge)
    yield _check("bound", fault, f"none of {tried} agrees more often than {result.bound:.9g} {judge.basis}")
    if result.status is Status.OPTIMAL:
        fault = f"{_listed(winner)} agrees more often {judge.basis}" if leads[winner] > TOLERANCE else ""
        yield _check("optimality", fault, f"none of {tried} agrees more often than the chosen one {judge.basis}")
    if result.target is not None:
        fault = _missed(result) or _cheaper(result, leads, judge)
        yield _check("cheapest", fault, f"none of {tried} is cheaper and agrees {result.target:g} {judge.basis}")
    if result.alternatives:
        faults = (judge.misstated(other) or judge.uneven(other) for other in result.alternatives)
        fault = _disordered(result) or next(filter(None, faults), "")
        if result.status is Status.OPTIMAL and rivals.complete and judge.exact:
            fault = fault or _outranked(result, leads)
        yield _check("alternatives", fault, f"distinct, affordable, in order, as good as stated {judge.basis}")
    if judge.exact and result.engine in COUNT_TIES and 0 < result.problem.classifier.threshold < 1:
        finding = f"instances of probability {result.tie_mass:.3g} lie at the old threshold {judge.basis}"
        yield _check("ties", judge.untied(result.tie_mass), finding)
    if result.irrelevant:
        yield _check("irrelevant features", judge.mattering(result.irrelevant), f"they change nothing {judge.basis}")


def _check_infeasible(result: Trimming, samples: int, seed: int) -> Iterator[Check]:
    """Yield the checks of a result that says that nothing is allowed, or nothing agrees as often as was asked."""
    allowance = Allowance(result.problem)
    required = tuple(result.problem.required)
    if not allowance.affords(required):
        yield _check("infeasibility", "", f"what is required costs {float(allowance.spent(required)):g}")
        return
    if result.target is None:
        yield _check("infeasibility", f"{_listed(required)} is allowed", "")
        return
    judge = _count_all(result) or _draw_some(result, samples, seed)
    if isinstance(judge, str):
        yield Check("infeasibility", Verdict.UNCHECKED, judge)
        return
    rivals = _find_rivals(result, judge, seed)
    best = max(rivals.subsets, key=judge.lead)
    reached = judge.own + judge.lead(best)
    fault = f"{_listed(best)} agrees {reached:.9g} {judge.basis}" if reached >= result.target - TOLERANCE else ""
    yield _check("infeasibility", fault, f"none of {len(rivals.subsets):,} subsets agrees {result.target:g}")


def _verify_curve(curve: BudgetCurve, samples: int, seed: int) -> Verification:
    """Check each point of a curve, that each improves on the one before, and that none is missing."""
    checks = []
    for number, point in enumerate(curve):
        found = verify(point.result, samples=samples, seed=seed)
        wrong = "; ".join(str(check) for check in found.failed)
        stated = (point.cost, point.features, point.agreement, point.threshold, point.bound)
        result = point.result
        if stated != (result.cost, result.features, result.agreement, result.threshold, result.bound):
            wrong = wrong or "it is not what its result says"
        before = curve[number - 1] if number else None
        if before is not None and not (before.cost < point.cost and before.agreement.lower <= point.agreement.upper):
            wrong = wrong or f"it costs {point.cost:g} and does not improve on {before.cost:g}"
        verdict = Verdict.PASSED if found.checks and not found.unchecked else Verdict.UNCHECKED
        detail = wrong or f"{len(found.checks) - len(found.unchecked)} of {len(found.checks)} checks made, all right"
        checks.append(Check(f"point {number + 1}", Verdict.FAILED if wrong else verdict, detail))
    return Verification((*checks, _check_complete(curve, samples, seed)))


def _check_complete(curve: BudgetCurve, samples: int, seed: int) -> Check:
    """Check by brute force that no subset is better than all points that cost no more."""
    if not len(curve):
        return Check("completeness", Verdict.UNCHECKED, "there are no points")
    whole = replace(curve[-1].result, problem=curve.problem)
    judge = _count_all(whole) or _draw_some(whole, samples, seed)
    if isinstance(judge, str) or not judge.exact:
        return Check("completeness", Verdict.UNCHECKED, "there are too many instances to go through them all")
    allowance = Allowance(curve.problem)
    subsets = allowance.subsets(judge.most_subsets())
    if subsets is None:
        return Check("completeness", Verdict.UNCHECKED, "there are too many subsets to go through them all")
    for features in subsets:
        spent, value = allowance.spent(features), judge.own + judge.lead(features)
        below = [p for p in curve if reference.rational(p.cost) <= spent * (1 + ROUNDED_COSTS)]
        bound = max((p.bound for p in below), default=0.0)
        if value > bound + TOLERANCE:
            fault = f"{_listed(features)} costs {float(spent):g} and agrees {value:.9g}, more than the points below"
            return Check("completeness", Verdict.FAILED, fault)
    return Check("completeness", Verdict.PASSED, f"no subset of {len(subsets):,} beats the points below it")


def _unchecked(result: Trimming, reason: str) -> Iterator[Check]:
    """Yield the checks that need probabilities where there are none, with faults that show even so."""
    faults = {
        "agreement": "",
        "threshold interval": "",
        "bound": _loose(result),
        "optimality": "" if result.status is Status.OPTIMAL else None,
        "alternatives": _disordered(result) if result.alternatives else None,
        "irrelevant features": "" if result.irrelevant else None,
    }
    for name, fault in faults.items():
        if fault is not None:
            yield Check(name, Verdict.FAILED if fault else Verdict.UNCHECKED, fault or reason)


def _check(name: str, fault: str, finding: str) -> Check:
    return Check(name, Verdict.FAILED if fault else Verdict.PASSED, fault or finding)


def _listed(features: Features) -> str:
    return ", ".join(features) or "the empty set"


# Each of the following functions returns what is wrong in a sentence, or an empty string.


def _misnamed(problem: TrimProblem, choice: Choice) -> str:
    known = problem.classifier.features
    strange = [name for name in choice.features if name not in known]
    if strange:
        return f"{', '.join(map(repr, strange))}: no feature of the classifier"
    in_order = tuple(name for name in known if name in choice.features)
    return "" if in_order == choice.features else f"{_listed(choice.features)}: twice or not in the classifier's order"


def _unaffordable(problem: TrimProblem, choice: Choice) -> str:
    allowance = Allowance(problem)
    if math.isinf(problem.budget) or allowance.affords(choice.features):
        return ""
    spent = float(allowance.spent(choice.features))
    return f"{_listed(choice.features)} cost {spent!r}; the budget is {problem.budget!r}"


def _unconstrained(problem: TrimProblem, choice: Choice) -> str:
    return Allowance(problem).breach(choice.features)


def _miscounted(problem: TrimProblem, choice: Choice) -> str:
    spent = Allowance(problem).spent(choice.features)
    if math.isfinite(choice.cost) and abs(reference.rational(choice.cost) - spent) <= spent * ROUNDED_COSTS:
        return ""
    return f"{_listed(choice.features)} cost {float(spent)!r}, not {choice.cost!r}"


def _misplaced(_: TrimProblem, choice: Choice) -> str:
    new, (low, high) = choice.threshold, _ends(choice)
    if not 0 <= new <= NEVER_POSITIVE:
        return f"{new!r} is no threshold"
    # Floats and the shortest decimals that print them are in the same order.
    return "" if low < new <= high else f"{new!r} does not lie in {choice.thresholds}"


def _needless(problem: TrimProblem, choice: Choice) -> str:
    """Find a new threshold where the old one was to be kept, or would do as well."""
    old, new, (low, high) = problem.classifier.threshold, choice.threshold, _ends(choice)
    if new != old and problem.threshold == "keep":
        return f"{new!r} is not the old threshold {old!r}, which was to be kept"
    if new != old and low < old <= high:
        return f"{new!r} replaces the old threshold {old!r}, which does as well"
    return ""


def _loose(result: Trimming) -> str:
    """Find a bound that contradicts the agreement of the choice itself."""
    lower, upper = result.agreement.lower, result.agreement.upper
    if not result.bound >= lower - TOLERANCE:
        return f"the choice itself agrees more often: {lower:.9g} is above {result.bound:.9g}"
    if result.status is Status.OPTIMAL and result.bound > upper + TOLERANCE:
        return f"the choice is called optimal, but {result.bound:.9g} is above its own agreement {upper:.9g}"
    return ""


def _exceeded(result: Trimming, winner: Features, value: float, judge: _Judge) -> str:
    if value <= result.bound + TOLERANCE:
        return ""
    return f"{_listed(winner)} agrees at least {value:.9g} {judge.basis}, above {result.bound:.9g}"


def _missed(result: Trimming) -> str:
    assert result.target is not None
    if result.agreement.lower >= result.target - TOLERANCE:
        return ""
    return f"it agrees {result.agreement.lower:.9g}, and {result.target:.9g} was asked for"


def _cheaper(result: Trimming, leads: dict[Features, float], judge: _Judge) -> str:
    """Find a cheaper subset that agrees as often as was asked for, where the choice is called the cheapest."""
    if result.status is not Status.OPTIMAL or result.target is None:
        return ""
    allowance = Allowance(result.problem)
    spent = allowance.spent(result.features) * (1 - ROUNDED_COSTS)
    for features, lead in leads.items():
        if allowance.spent(features) < spent and judge.own + lead >= result.target:
            return f"{_listed(features)} costs {float(allowance.spent(features)):g} and agrees {judge.own + lead:.9g}"
    return ""


def _disordered(result: Trimming) -> str:
    """Find alternatives that are impossible, repeated, or better than those before them."""
    problem, seen = result.problem, {result.features}
    before = result.choice
    for other in result.alternatives:
        statements = (_misnamed, _unaffordable, _unconstrained, _miscounted, _misplaced, _needless)
        fault = next(filter(None, (find(problem, other) for find in statements)), "")
        if not fault and other.features in seen:
            fault = f"{_listed(other.features)}: listed twice"
        if not fault and not other.agreement.lower <= before.agreement.upper + TOLERANCE:
            fault = f"{_listed(other.features)} agrees more often than {_listed(before.features)}, listed before it"
        if fault:
            return fault
        seen.add(other.features)
        before = other
    return ""


def _outranked(result: Trimming, leads: dict[Features, float]) -> str:
    """Find alternatives that are not the next best of all affordable subsets.

    Equally good ones may be listed in any order, and what only adds irrelevant features to another is none.
    """
    listed = [other.features for other in result.alternatives]
    idle = set(result.irrelevant)

    def counts(features: Features) -> bool:
        without = tuple(name for name in features if name not in idle)
        return features in listed or features == without or leads[features] > leads[without] + TOLERANCE

    others = [features for features in leads if features != result.features and counts(features)]
    ranked = sorted(others, key=lambda features: -leads[features])
    by_lead = sorted(listed, key=lambda features: -leads.get(features, 0.0))
    for best, given in zip(ranked, by_lead, strict=False):
        if leads[best] > leads.get(given, 0.0) + TOLERANCE:
            return f"{_listed(best)} is better than {_listed(given)}"
    return ""


class _Judge(Protocol):
    """Finds how often decisions agree, exactly or from a sample."""

    basis: str
    exact: bool
    own: float
    """How often the chosen subset agrees, at least."""

    def misstated(self, choice: Choice) -> str:
        """Find an agreement that is not what it is said to be."""

    def uneven(self, choice: Choice) -> str:
        """Find thresholds in the stated interval that do better or worse than the new one."""

    def mattering(self, names: Features) -> str:
        """Find decisions that change with features that are called irrelevant."""

    def untied(self, mass: float) -> str:
        """Find that instances at the old threshold, or hardly beside it, have another mass."""

    def lead(self, features: Features) -> float:
        """Return how much more often some features agree than the chosen ones, at least."""

    def most_subsets(self) -> int:
        """Return how many subsets may be tried."""


class _Behaviours(NamedTuple):
    """What thresholds do to some features: those with limits[i-1] < T ≤ limits[i] agree in agreeing[i] of the mass."""

    limits: list[float]
    agreeing: list[int]

    def at(self, threshold: float) -> int:
        """Return the mass that agrees at a threshold."""
        return self.agreeing[bisect_left(self.limits, threshold)]

    def within(self, low: float, high: float) -> list[int]:
        """Return the masses that agree at the thresholds of an interval."""
        return self.agreeing[bisect_right(self.limits, low) : bisect_left(self.limits, high) + 1]


class _Enumeration:
    """Judges by the probabilities of all instances, as integers [states of each feature…] on a common scale."""

    exact = True

    def __init__(self, result: Trimming, table: reference.Table, scale: int) -> None:
        self._problem = result.problem
        variables = [v for v in table.classifier.feature_variables if len(v) > 1]
        self._axes = [variable.name for variable in variables]
        shape = [len(variable) for variable in variables]
        self._positive, self._mass, self._decided = (np.zeros(shape, dtype=object) for _ in range(3))
        places = [table.classifier.features.index(name) for name in self._axes]
        for instance, mass in table.mass.items():
            cell = tuple(v.index(instance[place]) for v, place in zip(variables, places, strict=True))
            self._mass[cell] = int(mass * scale)
            self._positive[cell] = int(table.positive[instance] * scale)
            self._decided[cell] = self._mass[cell] * table.decided[instance]
        self._whole = int(table.total * scale)
        self.basis = f"by brute force over all instances ({len(table.mass):,})"
        self.own = self._behaviours(result.features).at(result.threshold) / self._whole

    def most_subsets(self) -> int:
        return min(MOST_SUBSETS, MOST_ADDITIONS // self._mass.size)

    def misstated(self, choice: Choice) -> str:
        value = self._behaviours(choice.features).at(choice.threshold) / self._whole
        low, high = _allowed(choice.agreement)
        if low <= value <= high:
            return ""
        return f"{_listed(choice.features)}: said to agree {choice.agreement}, but it is {value:.9g} {self.basis}"

    def uneven(self, choice: Choice) -> str:
        behaviours = self._behaviours(choice.features)
        value = behaviours.at(choice.threshold)
        worst = max((abs(other - value) for other in behaviours.within(*_ends(choice))), default=0) / self._whole
        return f"agreement varies by {worst:.2g} in {choice.thresholds} {self.basis}" if worst > TOLERANCE else ""

    def mattering(self, names: Features) -> str:
        classifier = self._problem.classifier
        rest = tuple(name for name in classifier.features if name not in names)
        changed = self._whole - self._behaviours(rest).at(classifier.threshold)
        return f"without them {changed / self._whole:.2g} of decisions change {self.basis}" if changed else ""

    def untied(self, mass: float) -> str:
        threshold = reference.rational(self._problem.classifier.threshold)
        apart = abs(self._positive * threshold.denominator - self._mass * threshold.numerator) * HARDLY
        hardly = self._mass * min(threshold.numerator, threshold.denominator - threshold.numerator)
        least, most = (int(self._mass[near].sum()) / self._whole for near in (apart == 0, apart <= hardly))
        if least - TOLERANCE <= mass <= most + TOLERANCE:
            return ""
        return f"said to be {mass:.9g}, but instances of {least:.9g} lie there and of {most:.9g} near {self.basis}"

    def lead(self, features: Features) -> float:
        behaviours = self._behaviours(features)
        if self._problem.threshold == "keep":
            return behaviours.at(self._problem.classifier.threshold) / self._whole - self.own
        return max(behaviours.agreeing) / self._whole - self.own

    def _behaviours(self, features: Features) -> _Behaviours:
        dropped = tuple(axis for axis, name in enumerate(self._axes) if name not in features)
        sums = (np.asarray(array.sum(axis=dropped)) for array in (self._positive, self._mass, self._decided))
        cells = zip(*(array.ravel().tolist() for array in sums), strict=True)
        gains: dict[float, int] = {}  # of turning the instances with a posterior from positive to negative
        for positive, mass, decided in cells:
            if mass:
                limit = _limit(positive, mass)
                gains[limit] = gains.get(limit, 0) + mass - 2 * decided
        limits, agreeing = sorted(gains), [int(self._decided.sum())]
        for limit in limits:
            agreeing.append(agreeing[-1] + gains[limit])
        return _Behaviours(limits, agreeing)


def _limit(positive: int, mass: int) -> float:
    """Return the largest threshold that a posterior reaches: the last whose shortest decimal it does not fall below."""
    near = positive / mass
    while (written := reference.rational(near)).numerator * mass > positive * written.denominator:
        near = math.nextafter(near, -1.0)
    return near


def _count_all(result: Trimming) -> _Enumeration | None:
    """Return a judge by brute force, or None where instances are too many or their probabilities too long."""
    classifier = result.problem.classifier
    if isinstance(classifier, GaussianNaiveBayes):
        return None
    needed = classifier.network.ancestral([classifier.target, *classifier.features, *classifier.evidence])
    if math.prod(len(variable) for variable in needed.variables) > MOST_WORLDS:
        return None
    table = reference.Table(classifier)
    scale = 1
    for probability in (*table.mass.values(), *table.positive.values()):
        scale = math.lcm(scale, probability.denominator)
        if scale.bit_length() * len(table.mass) > MOST_BITS:
            return None
    return _Enumeration(result, table, scale)


class _Sampling:
    """Judges by instances drawn from the network, as state numbers [instances, features]."""

    exact = False

    def __init__(self, result: Trimming, rows: npt.NDArray[Any]) -> None:
        self._problem = result.problem
        self._classifier = result.problem.classifier
        self._rows = rows
        self._decided = self._decide(self._classifier)
        self._same = self._decide(result.classifier) == self._decided
        # Thresholds of rivals are chosen on other instances than they are judged by.
        self._practice = slice(0, len(rows) // 5)
        self._trial = slice(len(rows) // 5, len(rows))
        self.basis = f"on a sample of {len(rows):,} instances"
        # What is overstated must not make subsets seem better than they are: they are compared with it.
        self.own = min(result.agreement.lower, float(self._same.mean()))
        self._kept = len(result.features)

    def most_subsets(self) -> int:
        return max(FEWEST_RIVALS, min(MOST_RIVALS, MOST_LOOKUPS // (len(self._rows) * (1 + self._kept))))

    def misstated(self, choice: Choice) -> str:
        share = float(np.mean(self._agreeing(choice.features, choice.threshold)))
        low, high = _allowed(choice.agreement)
        # Chernoff: a share as far off as this has at most the probability exp(-n·divergence), on either side.
        divergence = _divergence(share, low if share < low else high) if not low <= share <= high else 0.0
        if len(self._rows) * divergence <= math.log(2 / FALSE_ALARM):
            return ""
        return f"{_listed(choice.features)}: said to agree {choice.agreement}, but it is {share:.4f} {self.basis}"

    def uneven(self, choice: Choice) -> str:
        new, (low, high) = choice.threshold, _ends(choice)
        # A hair inside, where posteriors that equal the lower end are surely below.
        ends = (0.0 if low < 0 else low + 1e-4 * (new - low), NEVER_POSITIVE if high > 1 else high)
        same = self._agreeing(choice.features, new).astype(float)
        for end in ends:
            difference = self._agreeing(choice.features, end) - same
            if abs(difference.mean()) > 2 * TOLERANCE + _radius(difference, FALSE_ALARM):
                return f"{end:.6g} in {choice.thresholds} does not agree as often as {new:.6g} {self.basis}"
        return ""

    def mattering(self, names: Features) -> str:
        rest = [name for name in self._classifier.features if name not in names]
        changed = self._decide(self._classifier.restricted(rest)) != self._decided
        limit = self._classifier.threshold
        # Ties may be out of reach of exact arithmetic with some features and within reach without them.
        posteriors = self._posteriors(self._classifier, slice(None))
        changed &= np.abs(posteriors - limit) > 1e-6 * limit * (1 - limit) + 1e-15
        return f"without them {changed.mean():.2g} of decisions change {self.basis}" if changed.any() else ""

    def untied(self, mass: float) -> str:
        return ""  # a sample can tell nothing of what is so rare

    def lead(self, features: Features) -> float:
        threshold = self._classifier.threshold
        if self._problem.threshold == "optimal":
            posteriors = self._posteriors(self._classifier.restricted(features), self._practice)
            threshold = _best_cut(posteriors, self._decided[self._practice])
        same = self._agreeing(features, threshold, self._trial)
        difference = same.astype(float) - self._same[self._trial]
        return float(difference.mean()) - _radius(difference, FALSE_ALARM / MOST_RIVALS)

    def _agreeing(self, features: Features, threshold: float, part: slice = slice(None)) -> BoolArray:
        same: BoolArray = self._decide(self._classifier.restricted(features, threshold), part) == self._decided[part]
        return same

    def _decide(self, classifier: Classifier, part: slice = slice(None)) -> BoolArray:
        return np.concatenate([classifier.decide(rows) for rows in self._batches(classifier, part)])

    def _posteriors(self, classifier: Classifier, part: slice) -> npt.NDArray[np.float64]:
        return np.concatenate([classifier.posterior(rows) for rows in self._batches(classifier, part)])

    def _batches(self, classifier: Classifier, part: slice) -> Iterator[npt.NDArray[np.int64]]:
        places = [self._classifier.features.index(name) for name in classifier.features]
        size = max(1, CELLS // max(1, len(places)))
        rows = self._rows[part]
        for start in range(0, len(rows), size):
            batch = rows[start : start + size, places]
            yield batch if batch.dtype.kind == "f" else batch.astype(np.int64)


def _draw_some(result: Trimming, samples: int, seed: int) -> _Sampling | str:
    """Return a judge by sampling, or why there is none."""
    try:
        rows = _draw(result.problem.classifier, samples, seed)
        if len(rows) < FEWEST_SAMPLES:
            return f"only {len(rows):,} of {MOST_DRAWS * samples:,} instances drawn agree with the evidence"
        return _Sampling(result, rows)
    except TooLargeError as error:
        return f"sampled instances cannot be decided: {error}"


def _draw(classifier: Classifier, samples: int, seed: int) -> npt.NDArray[Any]:
    """Return instances of the features that agree with the evidence, as state numbers [instances, features]."""
    generator = np.random.default_rng(seed)
    if isinstance(classifier, GaussianNaiveBayes):
        return classifier.sample(samples, generator)
    network = classifier.network.ancestral([classifier.target, *classifier.features, *classifier.evidence])
    smallest = np.min_scalar_type(max(len(variable) for variable in network.variables))
    size = min(samples, max(1, CELLS // len(network.variables)))
    found: list[npt.NDArray[Any]] = []
    drawn = accepted = 0
    while accepted < samples and drawn < MOST_DRAWS * samples:
        codes = inference.sample(network, size, generator)
        fitting = np.ones(size, dtype=bool)
        for name, code in classifier.evidence_codes.items():
            fitting &= codes[name] == code
        rows = np.empty((int(fitting.sum()), len(classifier.features)), dtype=smallest)
        for place, name in enumerate(classifier.features):
            rows[:, place] = codes[name][fitting]
        found.append(rows)
        drawn, accepted = drawn + size, accepted + len(rows)
    return np.concatenate(found)[:samples]


def _best_cut(posteriors: npt.NDArray[np.float64], decided: BoolArray) -> float:
    """Return the threshold that agrees most often with decisions, well between posteriors that surely differ."""
    order = np.argsort(posteriors)
    ranked = posteriors[order]
    agreeing = decided.sum() + np.concatenate([[0], np.cumsum(1 - 2 * decided[order].astype(np.int64))])
    clear = np.concatenate([[True], np.diff(ranked) > CLEAR_GAP, [True]])
    best = int(np.argmax(np.where(clear, agreeing, -1)))
    if best == 0:
        return 0.0
    return NEVER_POSITIVE if best == len(ranked) else float(ranked[best - 1] + ranked[best]) / 2


def _radius(differences: npt.NDArray[np.float64], chance: float) -> float:
    """Return how far a mean of numbers from -1 to 1 may be off, by the empirical Bernstein bound of Maurer and Pontil.

    Unlike Hoeffding's it profits from instances on which both classifiers do the same, which most are.
    """
    logarithm, count = math.log(4 / chance), len(differences)
    return math.sqrt(2 * float(differences.var(ddof=1)) * logarithm / count) + 14 * logarithm / (3 * (count - 1))


def _divergence(share: float, chance: float) -> float:
    """Return the relative entropy of a coin that shows a share from one that shows a chance."""
    pairs = ((share, chance), (1 - share, 1 - chance))
    return sum(p * math.log(p / q) if q > 0 else math.inf for p, q in pairs if p > 0)


def _allowed(agreement: Interval) -> tuple[float, float]:
    """Return where an agreement must lie; a statistical interval is widened to what a false alarm would need."""
    slack = TOLERANCE
    if agreement.kind == "statistical":
        doubt = 1 - (agreement.confidence or 0.0)
        slack += agreement.width * (math.log(2 / FALSE_ALARM) / math.log(2 / max(doubt, FALSE_ALARM)) - 1)
    return agreement.lower - slack, agreement.upper + slack


def _ends(choice: Choice) -> tuple[float, float]:
    return choice.thresholds.low, choice.thresholds.high


class _Rivals(NamedTuple):
    """Affordable subsets to compare with the chosen one; complete if there are no others."""

    subsets: Sequence[Features]
    complete: bool


def _find_rivals(result: Trimming, judge: _Judge, seed: int) -> _Rivals:
    """Return all affordable subsets, or if they are too many the neighbours of the chosen one and random ones."""
    problem, most = result.problem, judge.most_subsets()
    allowance = Allowance(problem)
    everything = allowance.subsets(most)
    if everything is not None:
        return _Rivals(everything or [result.features], True)
    random, count = Random(seed), min(most, MOST_RIVALS)
    near = list(islice(allowance.neighbours(result.features, random), count - count // 5))
    far = [allowance.some(random) for _ in range(count - len(near))]
    return _Rivals(list(dict.fromkeys([result.features, *near, *far])), False)
