"""The answer of a search: what to keep, with which threshold, how good that is, and what is proved about it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from functools import cached_property
from os import PathLike
from typing import Any, get_args

from bayestrim import documents
from bayestrim.classifier import Classifier, checked_threshold
from bayestrim.files import PathOrFile, origin_of, read_text, write_file
from bayestrim.problem import TrimProblem
from bayestrim.result import Interval, Kind, ThresholdInterval
from bayestrim.saving import finite, of_problem, to_problem
from bayestrim.version import __version__

FORMAT = "bayestrim result"
VERSION = 1


class Status(Enum):
    """What is proved; each value is its own message."""

    OPTIMAL = "no affordable subset agrees more"
    FEASIBLE = "affordable, but perhaps not the best"
    INFEASIBLE = "no subset keeps to the budget and the constraints"


class StopReason(Enum):
    """Why a search ended; each value is its own message."""

    EXHAUSTED = "everything was searched"
    GAP = "the gap was small enough"
    TIME_LIMIT = "the time was up"
    EVALUATION_LIMIT = "the number of evaluations was reached"
    INTERRUPTED = "the search was interrupted"
    HEURISTIC = "the strategy looks for good subsets and proves nothing"


@dataclass(frozen=True)
class SearchStats:
    """What a search took.

    Attributes
    ----------
    evaluations
        How often the agreement of a subset, or a bound on it, was computed.
    nodes
        How many nodes of the search tree were visited.
    seconds
        How long it took.
    """

    evaluations: int = 0
    nodes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Choice:
    """Features to keep, and what comes of it.

    Attributes
    ----------
    features
        The kept features, in the classifier's order.
    cost
        What they cost together.
    threshold
        The new threshold.
    thresholds
        All thresholds of one interval that decide the same.
    agreement
        How often decisions stay the same (the ECA).
    """

    features: tuple[str, ...]
    cost: float
    threshold: float
    thresholds: ThresholdInterval
    agreement: Interval


@dataclass(frozen=True)
class Trimming:
    """The best choice that was found, and what is proved about it.

    Attributes
    ----------
    problem
        What was asked.
    choice
        What to keep.
    bound
        No affordable choice agrees more often than this.
    status
        Whether the choice is proved to be the best.
    stop_reason
        Why the search ended.
    alternatives
        The next best subsets, best first, if they were asked for.
    irrelevant
        Features that cannot change any decision.
    tie_mass
        The probability that an instance lies so near the threshold that rounding could decide it, or an upper bound
        of that where instances are too many to be looked at one by one.
    engine
        What computed the agreements.
    stats
        What the search took.
    target
        The agreement that was asked for, if one was: then nothing cheaper agrees as often, and `budget` is the cost.
    """

    problem: TrimProblem
    choice: Choice
    bound: float
    status: Status
    stop_reason: StopReason
    alternatives: tuple[Choice, ...] = ()
    irrelevant: tuple[str, ...] = ()
    tie_mass: float = 0.0
    engine: str = ""
    stats: SearchStats = SearchStats()
    target: float | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """The features to keep, in the classifier's order."""
        return self.choice.features

    @property
    def dropped(self) -> tuple[str, ...]:
        """The other features."""
        return tuple(name for name in self.problem.classifier.features if name not in self.choice.features)

    @property
    def cost(self) -> float:
        """What the kept features cost together."""
        return self.choice.cost

    @property
    def budget(self) -> float:
        """The most that they may cost."""
        return self.problem.budget

    @property
    def threshold(self) -> float:
        """The new threshold: the old one if it does equally well."""
        return self.choice.threshold

    @property
    def thresholds(self) -> ThresholdInterval:
        """Thresholds that decide the same as the new one."""
        return self.choice.thresholds

    @property
    def agreement(self) -> Interval:
        """How often decisions stay the same (the ECA)."""
        return self.choice.agreement

    @property
    def gap(self) -> float:
        """How much more often the best affordable choice could agree, at most."""
        return max(0.0, self.bound - self.agreement.lower)

    @cached_property
    def classifier(self) -> Classifier:
        """The trimmed classifier: it reads the kept features alone and uses the new threshold."""
        return self.problem.classifier.restricted(self.features, self.threshold)

    def to_dict(self, model: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer as plain lists and dictionaries, which JSON can hold; None stands for infinite numbers.

        Parameters
        ----------
        model
            What else is known of the model: the path of its file and the file's sha256.
        """
        classifier = self.problem.classifier
        return {
            **of_choice(self.choice),
            "dropped": list(self.dropped),
            "bound": self.bound,
            "gap": self.gap,
            "status": self.status.name,
            "stop_reason": self.stop_reason.name,
            "budget": finite(self.budget),
            "wanted_agreement": self.target,
            "tie_mass": self.tie_mass,
            "irrelevant": list(self.irrelevant),
            "alternatives": [of_choice(choice) for choice in self.alternatives],
            "engine": self.engine,
            "stats": asdict(self.stats),
            "model": {
                "path": None,
                "sha256": None,
                **(model or {}),
                "target": classifier.target,
                "positive": list(classifier.positive),
                "threshold": classifier.threshold,
            },
            "program": f"bayestrim {__version__}",
            "version": VERSION,
        }

    def save(self, path: str | PathLike[str], model: Mapping[str, Any] | None = None) -> None:
        """Write the answer, with all that was asked, to one JSON file that `load_result` reads.

        Parameters
        ----------
        path
            The file.
        model
            What else is known of the model: the path of its file and the file's sha256.
        """
        document = {"format": FORMAT, **self.to_dict(model), "problem": of_problem(self.problem)}
        write_file(path, documents.dump(document).encode())

    def summary(self) -> str:
        """Return the answer in a few lines."""
        if self.status is Status.INFEASIBLE:
            return f"keep       nothing: {self.status.value}"
        share = f"{self.agreement:.2%}" if self.agreement.kind == "exact" else f"at least {self.agreement.lower:.2%}"
        proof = f"{self.status.value}; {self.stop_reason.value}"
        if self.status is not Status.OPTIMAL:
            proof += f"; the best could agree at most {self.gap:.2g} more"
        lines = [
            f"keep       {', '.join(self.features) or 'nothing'}",
            f"drop       {', '.join(self.dropped) or 'nothing'}",
            f"cost       {self.cost:g} of a budget of {self.budget:g}",
            f"threshold  {self.threshold:.6g}, or any in {self.thresholds}",
            f"agreement  {share} of decisions stay the same",
            f"proof      {proof}",
        ]
        if self.irrelevant:
            lines.insert(2, f"no matter  {', '.join(self.irrelevant)}")
        lines += [
            f"or keep    {', '.join(other.features) or 'nothing'}: {other.agreement:.2%} at a cost of {other.cost:g}"
            for other in self.alternatives
        ]
        return "\n".join(lines)


def load_result(source: PathOrFile) -> Trimming:
    """Read an answer that `Trimming.save` wrote, from a path or an open file.

    It is believed as it stands: `verify` tells whether it is right.
    """
    return documents.load(read_text(source), origin_of(source), FORMAT, VERSION, _from_document)


def of_choice(choice: Choice) -> dict[str, Any]:
    """Return a choice as plain lists and dictionaries; None stands for infinite numbers."""
    agreement = {"lower": choice.agreement.lower, "upper": choice.agreement.upper, "kind": choice.agreement.kind}
    if choice.agreement.confidence is not None:
        agreement["confidence"] = choice.agreement.confidence
    return {
        "features": list(choice.features),
        "cost": choice.cost,
        "threshold": choice.threshold,
        "threshold_interval": [finite(choice.thresholds.low), finite(choice.thresholds.high)],
        "agreement": agreement,
    }


def to_choice(saved: Mapping[str, Any], problem: TrimProblem) -> Choice:
    """Return the choice that `of_choice` described."""
    low, high = saved["threshold_interval"]
    interval = ThresholdInterval(-math.inf if low is None else float(low), math.inf if high is None else float(high))
    return Choice(
        problem.classifier.checked_subset(documents.names(saved, "features")),
        documents.number(saved, "cost"),
        checked_threshold(saved["threshold"]),
        interval,
        _to_interval(saved["agreement"]),
    )


def _to_interval(saved: Mapping[str, Any]) -> Interval:
    kind, confidence = saved["kind"], saved.get("confidence")
    if kind not in get_args(Kind):
        raise ValueError(f"agreement of the kind {kind!r}")
    lower, upper = (documents.number(saved, name, 1) for name in ("lower", "upper"))
    if lower > upper or (kind == "exact" and lower < upper):
        raise ValueError(f"the agreement is {kind}, from {lower!r} to {upper!r}")
    if kind == "statistical":
        confidence = documents.number(saved, "confidence", 1)
    elif confidence is not None:
        raise ValueError(f"the agreement is {kind}, with a confidence of {confidence!r}")
    return Interval(lower, upper, kind, confidence)


def _to_stats(saved: Mapping[str, Any]) -> SearchStats:
    stats = SearchStats(**saved)
    for name in saved:
        documents.number(saved, name)
    if not (isinstance(stats.evaluations, int) and isinstance(stats.nodes, int)):
        raise ValueError(f"a search of {stats.evaluations!r} evaluations and {stats.nodes!r} nodes")
    return stats


def _from_document(saved: Mapping[str, Any]) -> Trimming:
    problem = to_problem(saved["problem"])
    alternatives = saved["alternatives"]
    if not isinstance(alternatives, list) or not isinstance(saved["engine"], str):
        raise ValueError("the alternatives are no list, or the engine's name is no text")
    result = Trimming(
        problem,
        to_choice(saved, problem),
        documents.number(saved, "bound", 1),
        Status[saved["status"]],
        StopReason[saved["stop_reason"]],
        tuple(to_choice(choice, problem) for choice in alternatives),
        problem.classifier.checked_subset(documents.names(saved, "irrelevant")),
        documents.number(saved, "tie_mass", 1),
        saved["engine"],
        _to_stats(saved["stats"]),
        None if saved["wanted_agreement"] is None else documents.number(saved, "wanted_agreement", 1),
    )
    _check_consistency(saved, result)
    return result


def _check_consistency(saved: Mapping[str, Any], result: Trimming) -> None:
    """Refuse an answer that contradicts itself."""
    derived = result.to_dict()
    pairs = [(name, saved[name], derived[name]) for name in DERIVED]
    pairs += [(name, saved["model"][name], derived["model"][name]) for name in DERIVED_OF_MODEL]
    for name, said, right in pairs:
        if said != right:
            raise ValueError(f"{name!r} is {said!r}, but from the rest follows {right!r}")
    if result.status is not Status.FEASIBLE and result.stop_reason is not StopReason.EXHAUSTED:
        raise ValueError(
            f"{result.status.name} is proved only where the search was not ended by {saved['stop_reason']}"
        )
    nothing = (result.features, result.cost, result.agreement.upper, result.bound) == ((), 0, 0, 0)
    if result.status is Status.INFEASIBLE and not nothing:
        raise ValueError("nothing is allowed, and yet something is kept or agrees")


DERIVED = ("dropped", "gap", "budget")
"""What a saved answer says twice; it must say the same."""
DERIVED_OF_MODEL = ("target", "positive", "threshold")
"""The same, of its model."""
