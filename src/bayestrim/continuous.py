"""Naive Bayes with Gaussian features: a decision from measurements, beside features that have states.

Given whether the class is positive, every feature is independent of the others, and either normally distributed
(`GaussianFeature`) or one of a few states (`DiscreteFeature`). What a value says is its log-odds; the posterior comes
from their sum.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, Literal, NoReturn, cast

import numpy as np
import numpy.typing as npt

from bayestrim import documents
from bayestrim.classifier import BoolArray, Classifier, checked_threshold
from bayestrim.errors import ClassifierError, EvidenceError, ImpossibleEvidenceError, suggestion
from bayestrim.files import PathOrFile, origin_of, read_text, write_file
from bayestrim.network import FloatArray, Variable, check_word
from bayestrim.rows import UnknownStates, encode, is_missing, is_one_row

FORMAT = "bayestrim naive Bayes"
VERSION = 1
FARTHEST = 1e150
"""Standard deviations beyond which a value says no more than at this distance (its square still is a number)."""
TABLE_SUM = 1e-6
"""How far the probabilities of a feature's states may miss 1; they are divided by their sum."""


@dataclass(frozen=True)
class GaussianFeature:
    """A measurement that is normally distributed under each class.

    Parameters
    ----------
    name
        Its name.
    positive, negative
        Its mean and variance under the positive and the negative class.

    Examples
    --------
    >>> fever = GaussianFeature("temperature", positive=(38.5, 0.6), negative=(36.8, 0.2))
    >>> round(float(fever.log_odds(np.array([37.5]))[0]), 3)
    -0.158
    """

    name: str
    positive: tuple[float, float]
    negative: tuple[float, float]

    def __post_init__(self) -> None:
        check_word(self.name, "the name of a feature")
        for side in ("positive", "negative"):
            object.__setattr__(self, side, _checked_moments(self.name, side, getattr(self, side)))

    @property
    def matters(self) -> bool:
        """Whether any value says anything: not if the two distributions are the same."""
        return self.positive != self.negative

    def log_odds(self, values: FloatArray) -> FloatArray:
        """Return log Pr(value | positive) - log Pr(value | negative); 0 for NaN, which is not observed."""
        (mean, variance), (other_mean, other_variance) = self.positive, self.negative
        z = np.clip((values - mean) / math.sqrt(variance), -FARTHEST, FARTHEST)
        other = np.clip((values - other_mean) / math.sqrt(other_variance), -FARTHEST, FARTHEST)
        # (x + y)(x - y) instead of two squares, which lose digits where the distributions are nearly the same
        odds = (other - z) * (other + z) / 2 + (math.log(other_variance) - math.log(variance)) / 2
        return np.where(np.isnan(values), 0.0, odds)

    def draw(self, positive: BoolArray, generator: np.random.Generator) -> FloatArray:
        """Return a random value for each of some classes."""
        means, variances = (np.where(positive, p, q) for p, q in zip(self.positive, self.negative, strict=True))
        drawn: FloatArray = generator.normal(means, np.sqrt(variances))
        return drawn


@dataclass(frozen=True)
class DiscreteFeature:
    """A feature with states.

    Parameters
    ----------
    name
        Its name.
    states
        The names of its states.
    positive, negative
        The probability of each state under the positive and the negative class.
    """

    name: str
    states: tuple[str, ...]
    positive: tuple[float, ...]
    negative: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", self.variable.states)
        for side in ("positive", "negative"):
            object.__setattr__(self, side, _checked_row(self.name, side, getattr(self, side), len(self.states)))

    @cached_property
    def variable(self) -> Variable:
        """The feature as a variable."""
        return Variable(self.name, tuple(self.states))

    @property
    def matters(self) -> bool:
        """Whether any state says anything."""
        return self.positive != self.negative

    @property
    def state_odds(self) -> FloatArray:
        """The log-odds of each state: infinite where one class never shows it, NaN where neither does."""
        with np.errstate(divide="ignore", invalid="ignore"):
            odds: FloatArray = np.log(np.array(self.positive)) - np.log(np.array(self.negative))
        return odds

    def log_odds(self, values: FloatArray) -> FloatArray:
        """Return the log-odds of state numbers; 0 for NaN, which is not observed."""
        seen = ~np.isnan(values)
        odds = np.zeros(len(values))
        odds[seen] = self.state_odds[values[seen].astype(np.int64)]
        return odds

    def draw(self, positive: BoolArray, generator: np.random.Generator) -> FloatArray:
        """Return a random state number for each of some classes."""
        sums = np.cumsum([self.positive, self.negative], axis=1)
        sums /= sums[:, -1:]
        chance = generator.random(len(positive))
        codes = np.where(positive, *(np.searchsorted(row, chance, side="right") for row in sums))
        return codes.astype(np.float64)


Feature = GaussianFeature | DiscreteFeature


class GaussianNaiveBayes(Classifier):
    """A naive Bayes classifier of two classes, with Gaussian features and features that have states.

    It can be used wherever a `Classifier` can, except that it has no network: a density fits in no table.

    Parameters
    ----------
    features
        The features, `GaussianFeature` or `DiscreteFeature`.
    prior
        The probability of the positive class, between 0 and 1.
    threshold
        Where the posterior starts to mean "positive": from 0 (always) to 1, or `NEVER_POSITIVE`.
    target
        The name of the class.
    classes
        The names of the negative and of the positive class.
    ignored
        Names that rows may hold although this classifier does not read them (see `restricted`).

    Examples
    --------
    >>> flu = GaussianNaiveBayes(
    ...     [
    ...         GaussianFeature("temperature", positive=(38.5, 0.6), negative=(36.8, 0.2)),
    ...         DiscreteFeature("cough", ("no", "yes"), positive=(0.2, 0.8), negative=(0.9, 0.1)),
    ...     ],
    ...     prior=0.1,
    ... )
    >>> round(flu.posterior({"temperature": 38.0, "cough": "yes"}), 3)
    0.938
    >>> flu.decide([{"temperature": 36.5}, {"temperature": 39.0}]).tolist()
    [False, True]
    """

    parts: tuple[Feature, ...]
    prior: float
    _classes: tuple[str, str]

    def __init__(
        self,
        features: Iterable[Feature],
        prior: float,
        threshold: float = 0.5,
        *,
        target: str = "class",
        classes: tuple[str, str] = ("negative", "positive"),
        ignored: Collection[str] = (),
    ) -> None:
        given = tuple(features)
        variable = Variable(target, tuple(classes))
        if len(variable) != 2:
            raise ClassifierError(f"the classes are {classes!r}; two are needed: the negative and the positive one")
        values: dict[str, Any] = {
            "parts": _checked_features(given, target),
            "prior": _checked_prior(prior),
            "_classes": variable.states,
            "target": target,
            "positive": variable.states[1:],
            "features": tuple(feature.name for feature in given),
            "threshold": checked_threshold(threshold),
            "evidence": {},
            "ignored": frozenset(ignored),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def network(self) -> NoReturn:
        """There is none."""
        raise ClassifierError(
            "a GaussianNaiveBayes has no network: its features are numbers. What needs tables, such as engines other "
            "than the additive one, takes a Classifier of binned features (KBinsDiscretizer and a CategoricalNB, say)"
        )

    @property
    def negative(self) -> tuple[str, ...]:
        """The name of the negative class."""
        return (self._classes[0],)

    @property
    def feature_variables(self) -> NoReturn:
        """There are none: numbers are no states."""
        _ = self.network
        raise AssertionError

    def log_odds(self, rows: Any, *, unknown: UnknownStates = "error") -> FloatArray:
        """Return the log-odds of the positive class for each row.

        Parameters
        ----------
        rows, unknown
            As in `posterior`, but always many rows.
        """
        values = self.encode(rows, unknown=unknown)
        total = np.full(len(values), math.log(self.prior) - math.log1p(-self.prior))
        with np.errstate(invalid="ignore"):
            for feature, column in zip(self.parts, values.T, strict=True):
                total += feature.log_odds(column)
        return total

    def posterior(  # type: ignore[override]
        self, rows: Any, *, unknown: UnknownStates = "error", impossible: Literal["error", "nan"] = "error"
    ) -> float | FloatArray:
        """Return Pr(positive | row), for one row or for many.

        Parameters
        ----------
        rows
            One mapping from names to numbers and states; or a list of mappings, a pandas or polars frame, or an array
            with one column per feature that holds numbers, and the state numbers of features with states. What is
            missing (None, NaN, an absent name) is marginalised.
        unknown
            ``"missing"`` takes a value that is no state of its feature as not observed, instead of raising.
        impossible
            ``"nan"`` gives NaN for a row that neither class shows, instead of raising.
        """
        if impossible not in ("error", "nan"):
            raise EvidenceError(f"impossible={impossible!r}; it is 'error' or 'nan'")
        if is_one_row(rows):
            return float(self.posterior([dict(rows)], unknown=unknown, impossible=impossible)[0])  # type: ignore[index]
        odds = self.log_odds(rows, unknown=unknown)
        if impossible == "error":
            _refuse_impossible(odds)
        small = np.exp(-np.abs(odds))
        posteriors: FloatArray = np.where(odds > 0, 1.0, small) / (1 + small)
        return posteriors

    def decide(self, rows: Any, *, unknown: UnknownStates = "error") -> bool | BoolArray:  # type: ignore[override]
        """Tell whether Pr(positive | row) ≥ threshold, for one row or for many (parameters as in `posterior`).

        Exact arithmetic has no say here: numbers tie with probability zero.
        """
        if is_one_row(rows):
            return bool(self.decide([dict(rows)], unknown=unknown)[0])  # type: ignore[index]
        odds = self.log_odds(rows, unknown=unknown)
        _refuse_impossible(odds)
        decided: BoolArray = odds >= self.threshold_odds
        return decided

    @property
    def threshold_odds(self) -> float:
        """The threshold in log-odds: infinite where it is 0 or 1, NaN, which nothing reaches, where it is more."""
        if self.threshold > 1:
            return math.nan
        if self.threshold in (0, 1):
            return math.inf if self.threshold else -math.inf
        return math.log(self.threshold) - math.log1p(-self.threshold)

    def encode(self, rows: Any, *, unknown: UnknownStates = "error") -> FloatArray:  # type: ignore[override]
        """Return rows as numbers [rows, features]: measurements and state numbers, NaN for what was not observed."""
        if isinstance(rows, np.ndarray):
            return self._encode_array(rows)
        numeric = [feature.name for feature in self.parts if isinstance(feature, GaussianFeature)]
        variables = [feature.variable for feature in self.parts if isinstance(feature, DiscreteFeature)]
        codes = encode(rows, variables, {self.target, *self.ignored, *numeric}, unknown).astype(np.float64)
        codes[codes < 0] = np.nan
        columns = {variable.name: column for variable, column in zip(variables, codes.T, strict=True)}
        columns |= {name: _numbers(rows, name, len(codes)) for name in numeric}
        return np.stack([columns[name] for name in self.features], axis=1) if columns else np.empty((len(codes), 0))

    def _encode_array(self, rows: npt.NDArray[Any]) -> FloatArray:
        if rows.ndim != 2 or rows.shape[1] != len(self.features):
            raise EvidenceError(f"the array of rows has the shape {rows.shape}; (rows, {len(self.features)}) is needed")
        if rows.dtype.kind not in "iufb":
            raise EvidenceError(f"the array of rows holds {rows.dtype}; numbers are needed (names go in mappings)")
        values = np.where(np.ma.getmaskarray(rows), np.nan, rows) if isinstance(rows, np.ma.MaskedArray) else rows
        values = np.array(values, dtype=np.float64)
        for feature, column in zip(self.parts, values.T, strict=True):
            if isinstance(feature, DiscreteFeature):
                column[column < 0] = np.nan
                wrong = ~np.isnan(column) & ~np.isin(column, np.arange(len(feature.states)))
                if wrong.any():
                    raise EvidenceError(
                        f"row {int(np.argmax(wrong))} has {column[np.argmax(wrong)]:g} for {feature.name!r}, which has "
                        f"{len(feature.states)} states (numbered from 0)"
                    )
        _refuse_infinite(values, self.features)
        return values

    def given(self, evidence: Mapping[str, Any]) -> GaussianNaiveBayes:
        """Return this classifier after some features have been observed.

        Parameters
        ----------
        evidence
            From the names of features to the values they were seen to have. None means not observed.
        """
        if not is_one_row(evidence):
            raise EvidenceError(f"evidence is a mapping from names to values, not {type(evidence).__name__}")
        seen = {name: value for name, value in dict(evidence).items() if not is_missing(value)}
        self.checked_subset(seen)
        posterior = cast(float, self.posterior(seen))
        left = [feature for feature in self.parts if feature.name not in seen]
        if not 0 < posterior < 1:
            raise ImpossibleEvidenceError(f"after {seen} the class is certain to 64 bits; nothing is left to decide")
        return self._with(left, self.threshold, posterior)

    def restricted(self, features: Iterable[str], threshold: float | None = None) -> GaussianNaiveBayes:
        """Return the classifier that reads only some of the features.

        Parameters
        ----------
        features
            The features to keep.
        threshold
            A new threshold; by default the same one.
        """
        kept = set(self.checked_subset(features))
        left = [feature for feature in self.parts if feature.name in kept]
        return self._with(left, self.threshold if threshold is None else threshold, self.prior)

    def checked_subset(self, features: Iterable[str]) -> tuple[str, ...]:
        """Return some of the features in the classifier's own order, refusing names that are none of them."""
        if isinstance(features, str):
            raise ClassifierError(f"features must be a list of names, not {features!r}")
        wanted = set(features)
        for name in sorted(wanted - set(self.features), key=str):
            raise ClassifierError(f"{name!r} is not a feature of this classifier{suggestion(str(name), self.features)}")
        return tuple(feature for feature in self.features if feature in wanted)

    def sample(self, count: int, generator: np.random.Generator) -> FloatArray:
        """Return random instances, as `encode` returns them.

        Parameters
        ----------
        count
            How many.
        generator
            Where chance comes from.
        """
        positive = generator.random(count) < self.prior
        drawn = [feature.draw(positive, generator) for feature in self.parts]
        return np.stack(drawn, axis=1) if drawn else np.empty((count, 0))

    def _with(self, parts: Sequence[Feature], threshold: float, prior: float) -> GaussianNaiveBayes:  # type: ignore[override]
        ignored = (self.ignored | set(self.features)) - {part.name for part in parts}
        return GaussianNaiveBayes(parts, prior, threshold, target=self.target, classes=self._classes, ignored=ignored)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the classifier to one JSON file that a person can read and `load` restores bit by bit."""
        write_file(path, documents.dump(document(self)).encode())

    @classmethod
    def load(cls, source: PathOrFile) -> GaussianNaiveBayes:
        """Read a classifier that `save` wrote, from a path or an open file."""
        return documents.load(read_text(source), origin_of(source), FORMAT, VERSION, from_document)

    def _state(self) -> tuple[Any, ...]:
        return (self.parts, self.prior, self.threshold, self.target, self._classes, self.ignored)

    def __eq__(self, other: object) -> bool:
        return self._state() == other._state() if isinstance(other, GaussianNaiveBayes) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._state())

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, self._state()

    def __repr__(self) -> str:
        return (
            f"GaussianNaiveBayes({self.target}={self.positive[0]}, {len(self.features)} features, "
            f"threshold={self.threshold})"
        )


def _rebuild(
    parts: tuple[Feature, ...],
    prior: float,
    threshold: float,
    target: str,
    classes: tuple[str, str],
    ignored: frozenset[str],
) -> GaussianNaiveBayes:
    return GaussianNaiveBayes(parts, prior, threshold, target=target, classes=classes, ignored=ignored)


def _checked_moments(name: str, side: str, given: Any) -> tuple[float, float]:
    number: Any = numbers.Real
    moments = tuple(given) if isinstance(given, Sequence | np.ndarray) else ()
    right = len(moments) == 2 and all(isinstance(value, number) and math.isfinite(value) for value in moments)
    if not right or not moments[1] > 0:
        raise ClassifierError(f"{name!r}: {side}={given!r}; it must be a mean and a variance, finite and above 0")
    return float(moments[0]), float(moments[1])


def _checked_row(name: str, side: str, given: Any, states: int) -> tuple[float, ...]:
    row = np.asarray(given, dtype=np.float64)
    if row.shape != (states,) or not (row >= 0).all() or not abs(row.sum() - 1) <= TABLE_SUM:
        raise ClassifierError(f"{name!r}: {side}={given!r}; it must be {states} probabilities that sum to 1")
    return tuple((row / row.sum()).tolist())


def _checked_features(features: tuple[Feature, ...], target: str) -> tuple[Feature, ...]:
    for feature in features:
        if not isinstance(feature, GaussianFeature | DiscreteFeature):
            raise ClassifierError(f"a feature is a GaussianFeature or a DiscreteFeature, not {feature!r}")
    names = [target, *(feature.name for feature in features)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ClassifierError(f"the name {twice!r} is used twice; the class and all features must differ")
    return features


def _checked_prior(prior: Any) -> float:
    number: Any = numbers.Real
    if not (isinstance(prior, number) and not isinstance(prior, bool) and 0 < prior < 1):
        raise ClassifierError(f"the prior of the positive class is {prior!r}; it must lie between 0 and 1")
    return float(prior)


def _numbers(rows: Any, name: str, count: int) -> FloatArray:
    """Return a column of measurements; NaN where a row has none."""
    if hasattr(rows, "columns"):
        column = rows[name].to_numpy() if name in list(rows.columns) else np.full(count, np.nan)
    else:
        column = [row.get(name) for row in rows]
    try:
        values = np.array([np.nan if is_missing(x) else x for x in column], dtype=np.float64)
    except (TypeError, ValueError):
        bad = next(x for x in column if not isinstance(x, numbers.Real) and not is_missing(x))
        raise EvidenceError(f"{name!r} is a measurement; {bad!r} is not a number") from None
    _refuse_infinite(values[:, None], [name])
    return values


def _refuse_infinite(values: FloatArray, names: Sequence[str]) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        row, column = (int(i) for i in np.argwhere(infinite)[0])
        raise EvidenceError(f"row {row} has an infinite value for {names[column]!r}; measurements are finite numbers")


def _refuse_impossible(odds: FloatArray) -> None:
    if np.isnan(odds).any():
        raise ImpossibleEvidenceError(f"row {int(np.argmax(np.isnan(odds)))} has probability zero under both classes")


def document(classifier: GaussianNaiveBayes) -> dict[str, Any]:
    """Return a classifier as plain lists and dictionaries."""
    parts: list[dict[str, Any]] = []
    for part in classifier.parts:
        states = {"states": part.states} if isinstance(part, DiscreteFeature) else {}
        parts.append({"name": part.name, **states, "positive": part.positive, "negative": part.negative})
    return {
        "format": FORMAT,
        "version": VERSION,
        "target": classifier.target,
        "classes": [*classifier.negative, *classifier.positive],
        "prior": classifier.prior,
        "threshold": classifier.threshold,
        "ignored": sorted(classifier.ignored),
        "features": parts,
    }


def from_document(saved: Mapping[str, Any]) -> GaussianNaiveBayes:
    """Return the classifier that `document` described."""
    parts = [
        DiscreteFeature(part["name"], tuple(part["states"]), part["positive"], part["negative"])
        if "states" in part
        else GaussianFeature(part["name"], part["positive"], part["negative"])
        for part in saved["features"]
    ]
    return GaussianNaiveBayes(
        parts,
        saved["prior"],
        saved["threshold"],
        target=saved["target"],
        classes=tuple(saved["classes"]),
        ignored=saved["ignored"],
    )
