"""An independent check of an answer: every statement of a `Trimming` is held against the definitions.

Where instances are few, they are counted by brute force, in integers made from `reference.Table`. Elsewhere instances
are drawn from the network, the classifier and its trimmed version decide them, and a statement is refused only where
chance would look so bad once in 10^9 times. Nothing of what searches, bounds or computes agreements is used here.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from random import Random
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayestrim import reference
from bayestrim.allowance import ROUNDED_COSTS, Allowance
from bayestrim.curve import BudgetCurve
from bayestrim.errors import ProblemError, VerificationError
from bayestrim.judges import (
    FEWEST_SAMPLES,
    MOST_RIVALS,
    TOLERANCE,
    Judge,
    count_all,
    draw_some,
    in_words,
    interval_ends,
)
from bayestrim.problem import TrimProblem
from bayestrim.result import NEVER_POSITIVE
from bayestrim.trimming import Choice, Status, Trimming

BoolArray = npt.NDArray[np.bool_]
Features = tuple[str, ...]

COUNT_TIES = ("additive", "table", "circuit")
"""Engines that find all instances near the threshold, where instances are few."""


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
    judge = count_all(result) or draw_some(result, samples, seed)
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


def _check_by(judge: Judge, result: Trimming, seed: int) -> Iterator[Check]:
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
        fault = f"{in_words(winner)} agrees more often {judge.basis}" if leads[winner] > TOLERANCE else ""
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
        yield _check("infeasibility", f"{in_words(required)} is allowed", "")
        return
    judge = count_all(result) or draw_some(result, samples, seed)
    if isinstance(judge, str):
        yield Check("infeasibility", Verdict.UNCHECKED, judge)
        return
    rivals = _find_rivals(result, judge, seed)
    best = max(rivals.subsets, key=judge.lead)
    reached = judge.own + judge.lead(best)
    fault = f"{in_words(best)} agrees {reached:.9g} {judge.basis}" if reached >= result.target - TOLERANCE else ""
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
    judge = count_all(whole) or draw_some(whole, samples, seed)
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
            fault = f"{in_words(features)} costs {float(spent):g} and agrees {value:.9g}, more than the points below"
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


# Each of the following functions returns what is wrong in a sentence, or an empty string.


def _misnamed(problem: TrimProblem, choice: Choice) -> str:
    known = problem.classifier.features
    strange = [name for name in choice.features if name not in known]
    if strange:
        return f"{', '.join(map(repr, strange))}: no feature of the classifier"
    in_order = tuple(name for name in known if name in choice.features)
    return "" if in_order == choice.features else f"{in_words(choice.features)}: twice or not in the classifier's order"


def _unaffordable(problem: TrimProblem, choice: Choice) -> str:
    allowance = Allowance(problem)
    if math.isinf(problem.budget) or allowance.affords(choice.features):
        return ""
    spent = float(allowance.spent(choice.features))
    return f"{in_words(choice.features)} cost {spent!r}; the budget is {problem.budget!r}"


def _unconstrained(problem: TrimProblem, choice: Choice) -> str:
    return Allowance(problem).breach(choice.features)


def _miscounted(problem: TrimProblem, choice: Choice) -> str:
    spent = Allowance(problem).spent(choice.features)
    if math.isfinite(choice.cost) and abs(reference.rational(choice.cost) - spent) <= spent * ROUNDED_COSTS:
        return ""
    return f"{in_words(choice.features)} cost {float(spent)!r}, not {choice.cost!r}"


def _misplaced(_: TrimProblem, choice: Choice) -> str:
    new, (low, high) = choice.threshold, interval_ends(choice)
    if not 0 <= new <= NEVER_POSITIVE:
        return f"{new!r} is no threshold"
    # Floats and the shortest decimals that print them are in the same order.
    return "" if low < new <= high else f"{new!r} does not lie in {choice.thresholds}"


def _needless(problem: TrimProblem, choice: Choice) -> str:
    """Find a new threshold where the old one was to be kept, or would do as well."""
    old, new, (low, high) = problem.classifier.threshold, choice.threshold, interval_ends(choice)
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


def _exceeded(result: Trimming, winner: Features, value: float, judge: Judge) -> str:
    if value <= result.bound + TOLERANCE:
        return ""
    return f"{in_words(winner)} agrees at least {value:.9g} {judge.basis}, above {result.bound:.9g}"


def _missed(result: Trimming) -> str:
    assert result.target is not None
    if result.agreement.lower >= result.target - TOLERANCE:
        return ""
    return f"it agrees {result.agreement.lower:.9g}, and {result.target:.9g} was asked for"


def _cheaper(result: Trimming, leads: dict[Features, float], judge: Judge) -> str:
    """Find a cheaper subset that agrees as often as was asked for, where the choice is called the cheapest."""
    if result.status is not Status.OPTIMAL or result.target is None:
        return ""
    allowance = Allowance(result.problem)
    spent = allowance.spent(result.features) * (1 - ROUNDED_COSTS)
    for features, lead in leads.items():
        if allowance.spent(features) < spent and judge.own + lead >= result.target:
            return f"{in_words(features)} costs {float(allowance.spent(features)):g} and agrees {judge.own + lead:.9g}"
    return ""


def _disordered(result: Trimming) -> str:
    """Find alternatives that are impossible, repeated, or better than those before them."""
    problem, seen = result.problem, {result.features}
    before = result.choice
    for other in result.alternatives:
        statements = (_misnamed, _unaffordable, _unconstrained, _miscounted, _misplaced, _needless)
        fault = next(filter(None, (find(problem, other) for find in statements)), "")
        if not fault and other.features in seen:
            fault = f"{in_words(other.features)}: listed twice"
        if not fault and not other.agreement.lower <= before.agreement.upper + TOLERANCE:
            fault = f"{in_words(other.features)} agrees more often than {in_words(before.features)}, listed before it"
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
            return f"{in_words(best)} is better than {in_words(given)}"
    return ""


class _Rivals(NamedTuple):
    """Affordable subsets to compare with the chosen one; complete if there are no others."""

    subsets: Sequence[Features]
    complete: bool


def _find_rivals(result: Trimming, judge: Judge, seed: int) -> _Rivals:
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
