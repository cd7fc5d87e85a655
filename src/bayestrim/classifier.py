"""The Bayesian network classifier: a class, what counts as positive, the features it may read, and a threshold."""

from __future__ import annotations

import numbers
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from types import MappingProxyType
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from bayestrim import documents, inference, ties
from bayestrim.errors import ClassifierError, EvidenceError, ImpossibleEvidenceError, suggestion
from bayestrim.files import PathOrFile, origin_of, read_text, write_file
from bayestrim.network import BayesianNetwork, FloatArray, Variable, check_word
from bayestrim.result import NEVER_POSITIVE
from bayestrim.rows import IntArray, UnknownStates, distinct, encode, is_one_row

BoolArray = npt.NDArray[np.bool_]


AFFIRMATIVE = frozenset({"true", "yes", "positive", "present", "pos", "t", "y", "1", "+"})
"""States that are taken as positive where the caller does not say: exactly one state must be of these."""

FORMAT = "bayestrim classifier"
VERSION = 1


@dataclass(frozen=True, eq=True)
class Classifier:
    """A decision made by a Bayesian network: positive if Pr(positive | what was observed) ≥ threshold.

    Parameters
    ----------
    network
        The network.
    target
        The name of the class variable.
    positive
        The state of the target that counts as positive, or several of them; the rest count as negative. May be left
        out where exactly one state is called ``true``, ``yes``, ``positive``, ``present``, ``1`` or the like.
    features
        The names of the variables that may be observed; by default all but the target.
    threshold
        Where the posterior starts to mean "positive": from 0 (always) to 1, or `NEVER_POSITIVE`.
    evidence
        States of variables that are already known, for this classifier's every decision (see `given`).
    ignored
        Names that rows may hold although this classifier does not read them (see `restricted`).

    Examples
    --------
    >>> quiz = BayesianNetwork(
    ...     [Variable("Mastery", ("yes", "no")), Variable("Q1", ("right", "wrong"))],
    ...     parents={"Q1": ["Mastery"]},
    ...     tables={"Mastery": [0.1, 0.9], "Q1": [[0.9, 0.1], [0.3, 0.7]]},
    ... )
    >>> classifier = Classifier(quiz, target="Mastery", positive="yes", threshold=0.07)
    >>> classifier.posterior({"Q1": "right"})
    0.25
    >>> classifier.decide([{"Q1": "right"}, {"Q1": "wrong"}, {}]).tolist()
    [True, False, True]
    """

    network: BayesianNetwork
    target: str
    positive: tuple[str, ...]
    features: tuple[str, ...]
    threshold: float
    evidence: Mapping[str, str]
    ignored: frozenset[str]

    def __init__(
        self,
        network: BayesianNetwork,
        target: str,
        positive: str | Iterable[str] | None = None,
        features: Iterable[str] | None = None,
        threshold: float = 0.5,
        *,
        evidence: Mapping[str, str] | None = None,
        ignored: Collection[str] = (),
    ) -> None:
        if not isinstance(network, BayesianNetwork):
            raise ClassifierError(
                f"the first argument is a BayesianNetwork, not {type(network).__name__}; read_network reads one from a "
                "file, and from_pgmpy, from_pyagrum and from_sklearn convert other libraries' models"
            )
        variable = network.variable(target)
        known = {name: network.states(name)[network.variable(name).index(s)] for name, s in (evidence or {}).items()}
        if target in known:
            raise ClassifierError(f"the target {target!r} is given as evidence; only other variables may be")
        values: dict[str, Any] = {
            "network": network,
            "target": target,
            "positive": _checked_positive(variable, positive),
            "features": _checked_features(network, target, known, features),
            "threshold": checked_threshold(threshold),
            "evidence": MappingProxyType(known),
            "ignored": frozenset(_checked_names(ignored, "ignored")),
        }
        for name in values["ignored"]:
            check_word(name, "an ignored name")
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def feature_variables(self) -> tuple[Variable, ...]:
        """The features as variables, with their states."""
        return tuple(self.network.variable(name) for name in self.features)

    @property
    def negative(self) -> tuple[str, ...]:
        """The states of the target that count as negative."""
        return tuple(state for state in self.network.states(self.target) if state not in self.positive)

    @cached_property
    def positive_states(self) -> BoolArray:
        """Which states of the target count as positive, as a mask."""
        return np.array([state in self.positive for state in self.network.states(self.target)])

    @cached_property
    def evidence_codes(self) -> Mapping[str, int]:
        """The evidence, by state number."""
        return {name: self.network.variable(name).index(state) for name, state in self.evidence.items()}

    @cached_property
    def _masses(self) -> inference.ClassMasses:
        return inference.ClassMasses(self.network, self.target, self.features, self.evidence_codes)

    @cached_property
    def exact_posteriors(self) -> ties.ExactPosteriors:
        """Exact arithmetic for this classifier's features and evidence."""
        return ties.ExactPosteriors(self.network, self.target, self.positive_states, self.features, self.evidence_codes)

    @overload
    def posterior(
        self, rows: Mapping[str, Any], *, unknown: UnknownStates = ..., impossible: Literal["error", "nan"] = ...
    ) -> float: ...
    @overload
    def posterior(
        self, rows: Any, *, unknown: UnknownStates = ..., impossible: Literal["error", "nan"] = ...
    ) -> FloatArray: ...
    def posterior(
        self, rows: Any, *, unknown: UnknownStates = "error", impossible: Literal["error", "nan"] = "error"
    ) -> float | FloatArray:
        """Return Pr(positive | row), for one row or for many.

        Parameters
        ----------
        rows
            One mapping from names to states; or a list of mappings, a pandas or polars frame, or an array of state
            numbers with one column per feature. What is missing (None, NaN, -1, an absent name) is marginalised.
        unknown
            ``"missing"`` takes a value that is no state of its feature as not observed, instead of raising.
        impossible
            ``"nan"`` gives NaN for a row of probability zero, instead of raising.

        Returns
        -------
        float or array
            A float for one mapping, an array [rows] otherwise.
        """
        if impossible not in ("error", "nan"):
            raise EvidenceError(f"impossible={impossible!r}; it is 'error' or 'nan'")
        if is_one_row(rows):
            return float(self.posterior([dict(rows)], unknown=unknown, impossible=impossible)[0])
        codes, inverse = distinct(self.encode(rows, unknown=unknown))
        positive, negative = self._float_masses(codes)
        total = positive + negative
        if impossible == "error":
            self._refuse_impossible(codes, total, inverse)
        with np.errstate(invalid="ignore"):
            return (positive / total)[inverse]

    @overload
    def decide(self, rows: Mapping[str, Any], *, unknown: UnknownStates = ...) -> bool: ...
    @overload
    def decide(self, rows: Any, *, unknown: UnknownStates = ...) -> BoolArray: ...
    def decide(self, rows: Any, *, unknown: UnknownStates = "error") -> bool | BoolArray:
        """Tell whether Pr(positive | row) ≥ threshold, for one row or for many.

        Rows whose posterior is so near the threshold that rounding could decide are settled in exact arithmetic
        (module `ties`). Parameters are those of `posterior`; a row of probability zero is always an error.
        """
        if is_one_row(rows):
            return bool(self.decide([dict(rows)], unknown=unknown)[0])
        codes, inverse = distinct(self.encode(rows, unknown=unknown))
        positive, negative = self._float_masses(codes)
        self._refuse_impossible(codes, positive + negative, inverse)
        return self.exact_posteriors.decide(positive, negative, codes, self.threshold)[inverse]

    def encode(self, rows: Any, *, unknown: UnknownStates = "error") -> IntArray:
        """Return rows as state numbers [rows, features], with -1 for what was not observed.

        Rows may also hold the target, variables that a restriction dropped, and evidence that is already known; these
        are passed over. Any other name is an error.
        """
        known = {self.network.variable(name): code for name, code in self.evidence_codes.items()}
        return encode(rows, self.feature_variables, {self.target, *self.ignored}, unknown, known)

    def _float_masses(self, codes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return Pr(positive, row) and Pr(negative, row), up to a factor for each row."""
        masses = self._masses(codes)
        return masses[self.positive_states].sum(axis=0), masses[~self.positive_states].sum(axis=0)

    def _refuse_impossible(self, codes: IntArray, total: FloatArray, inverse: IntArray) -> None:
        if total.all():
            return
        bad = int(np.argmin(total != 0))
        variables = zip(self.feature_variables, codes[bad], strict=True)
        seen = {**self.evidence, **{v.name: v.states[code] for v, code in variables if code >= 0}}
        words = [f"{name}={state}" for name, state in seen.items()]
        more = f" and {len(words) - 8} more" if len(words) > 8 else ""
        which = f"row {int(np.argmax(inverse == bad))}" if len(inverse) > 1 else "what was observed"
        raise ImpossibleEvidenceError(f"{which} has probability zero in the network: {', '.join(words[:8])}{more}")

    def given(self, evidence: Mapping[str, Any]) -> Classifier:
        """Return this classifier after some variables have been observed.

        Parameters
        ----------
        evidence
            From the names of variables, features or not, to the states they were seen in. None means not observed.

        Returns
        -------
        Classifier
            One whose features are those not yet seen, and whose posteriors take the evidence into account.
        """
        if not is_one_row(evidence):
            raise EvidenceError(f"evidence is a mapping from names to states, not {type(evidence).__name__}")
        evidence = dict(evidence)
        for name in evidence:
            self.network.variable(name)
        seen = [self.network.variable(name) for name in evidence]
        codes = encode([evidence], seen, ())[0]
        new = {v.name: v.states[code] for v, code in zip(seen, codes, strict=True) if code >= 0}
        for name, state in new.items():
            if self.evidence.get(name, state) != state:
                raise EvidenceError(f"{name!r} is already known to be {self.evidence[name]!r}, not {state!r}")
        left = [feature for feature in self.features if feature not in new]
        conditioned = self._with(self.network, left, self.threshold, {**self.evidence, **new})
        conditioned.posterior({})  # refuses evidence of probability zero
        return conditioned

    def restricted(self, features: Iterable[str], threshold: float | None = None) -> Classifier:
        """Return the classifier that reads only some of the features, and needs only its part of the network.

        Parameters
        ----------
        features
            The features to keep.
        threshold
            A new threshold; by default the same one.
        """
        kept = self.checked_subset(features)
        network = self.network.ancestral([self.target, *kept, *self.evidence])
        return self._with(network, kept, self.threshold if threshold is None else threshold, self.evidence)

    def checked_subset(self, features: Iterable[str]) -> tuple[str, ...]:
        """Return some of the features in the classifier's own order, refusing names that are none of them."""
        wanted = set(_checked_names(features, "features"))
        for name in sorted(wanted - set(self.features)):
            if name in self.evidence:
                raise ClassifierError(
                    f"{name!r} is already known to be {self.evidence[name]!r}; it is no feature any more"
                )
            where = " (it is another variable of the network)" if name in self.network else ""
            raise ClassifierError(
                f"{name!r} is not a feature of this classifier{where}{suggestion(name, self.features)}"
            )
        return tuple(feature for feature in self.features if feature in wanted)

    def _with(
        self, network: BayesianNetwork, features: Sequence[str], threshold: float, evidence: Mapping[str, str]
    ) -> Classifier:
        ignored = (self.ignored | set(self.features)) - {*features, *evidence}
        return Classifier(network, self.target, self.positive, features, threshold, evidence=evidence, ignored=ignored)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the classifier to one JSON file that a person can read and `load` restores bit by bit."""
        write_file(path, documents.dump(document(self)).encode())

    @classmethod
    def load(cls, source: PathOrFile) -> Classifier:
        """Read a classifier that `save` wrote, from a path or an open file."""
        return documents.load(read_text(source), origin_of(source), FORMAT, VERSION, from_document)

    def __hash__(self) -> int:
        return hash((self.network, self.target, self.positive, self.features, self.threshold))

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self.network, self.target, self.positive, self.features, self.threshold)
        return _rebuild, (state, dict(self.evidence), self.ignored)

    def __repr__(self) -> str:
        states = ", ".join(self.positive)
        decision = f"{self.target} in {{{states}}}" if len(self.positive) > 1 else f"{self.target}={states}"
        known = f", given {dict(self.evidence)}" if self.evidence else ""
        return f"Classifier({decision}, {len(self.features)} features, threshold={self.threshold}{known})"


def _rebuild(state: tuple[Any, ...], evidence: dict[str, str], ignored: frozenset[str]) -> Classifier:
    return Classifier(*state, evidence=evidence, ignored=ignored)


def _checked_positive(target: Variable, given: str | Iterable[str] | None) -> tuple[str, ...]:
    if given is None:
        likely = [state for state in target.states if state.casefold() in AFFIRMATIVE]
        if len(likely) != 1:
            raise ClassifierError(
                f"which state of {target.name!r} is positive? Name one or several of {', '.join(target.states)}"
            )
        given = likely
    wanted = {given} if isinstance(given, str) else set(_checked_names(given, "positive, where it is not one state,"))
    for state in wanted:
        target.index(state)
    if not wanted or len(wanted) == len(target):
        raise ClassifierError(
            f"positive names {len(wanted)} of the {len(target)} states of {target.name!r}; "
            "at least one must be positive and at least one negative"
        )
    return tuple(state for state in target.states if state in wanted)


def _checked_names(given: Iterable[str], what: str) -> tuple[str, ...]:
    """Return names as a tuple, refusing a single string and what is no list of strings."""
    names = () if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    if isinstance(given, str) or not isinstance(given, Iterable) or not all(isinstance(name, str) for name in names):
        raise ClassifierError(f"{what} must be a list of names, not {given!r}")
    return names


def _checked_features(
    network: BayesianNetwork, target: str, known: Mapping[str, str], given: Iterable[str] | None
) -> tuple[str, ...]:
    if given is None:
        return tuple(name for name in network.names if name != target and name not in known)
    features = _checked_names(given, "features")
    for name in features:
        network.variable(name)
    if isinstance(given, Set):  # whose order changes from one process to the next
        features = tuple(name for name in network.names if name in given)
    for name in features:
        if name == target or name in known:
            role = "the target" if name == target else "already known"
            raise ClassifierError(f"{name!r} is {role} and cannot be a feature")
    if len(set(features)) < len(features):
        raise ClassifierError("a feature is named twice; features must differ")
    return features


def checked_threshold(threshold: float) -> float:
    """Return a threshold as a float, refusing what lies outside 0 to 1 (`NEVER_POSITIVE` is allowed)."""
    number = isinstance(threshold, numbers.Real) and not isinstance(threshold, bool)
    if not (number and 0 <= threshold <= NEVER_POSITIVE):
        hint = " (50 % is 0.5)" if number and threshold > 1 else ""
        raise ClassifierError(f"the threshold is {threshold!r}; it is a number from 0 to 1{hint}")
    return abs(float(threshold))


def document(classifier: Classifier) -> dict[str, Any]:
    """Return a classifier as plain lists and dictionaries."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "target": classifier.target,
        "positive": classifier.positive,
        "threshold": classifier.threshold,
        "features": classifier.features,
        "evidence": dict(classifier.evidence),
        "ignored": sorted(classifier.ignored),
        "network": documents.of_network(classifier.network),
    }


def from_document(saved: Mapping[str, Any]) -> Classifier:
    """Return the classifier that `document` described."""
    fields = (saved[key] for key in ("target", "positive", "features", "threshold"))
    network = documents.to_network(saved["network"])
    return Classifier(network, *fields, evidence=saved["evidence"], ignored=saved["ignored"])
