"""Fitted scikit-learn estimators as classifiers, and how their rows are written for these."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB

from bayestrim.classifier import Classifier
from bayestrim.errors import ClassifierError
from bayestrim.formats.objects import from_pyagrum, from_sklearn

MOST_CATEGORIES = 32
"""Whole numbers below this are taken as categories where no estimator is given."""
BINARY = 2
"""The number of classes between which a decision lies."""

_REASONS = {
    "MultinomialNB": "its features are counts, whose number is not bounded; use BernoulliNB on their presence",
    "ComplementNB": "its scores are no posterior of any model",
    "Pipeline": "make the trimmed estimator the pipeline's last step instead",
    "BaseSearchCV": "search over the trimmed estimator instead: GridSearchCV(TrimmedClassifier(...), ...)",
    "BaseThresholdClassifier": "give its own estimator, and its threshold as threshold=",
}


class Model(NamedTuple):
    """A fitted model as a classifier, and how rows are written for it.

    Attributes
    ----------
    classifier
        The classifier.
    rows
        From an estimator's rows to the classifier's.
    """

    classifier: Classifier
    rows: Callable[[Any], Any]


def refusal(estimator: Any) -> ClassifierError:
    """Return an error that says why an estimator cannot be trimmed, and which can."""
    kinds = {kind.__name__ for kind in type(estimator).__mro__}
    why = next((reason for name, reason in _REASONS.items() if name in kinds), "")
    why = why or "its posterior is not that of a Bayesian network, in which alone agreement can be computed"
    return ClassifierError(
        f"{type(estimator).__name__} cannot be trimmed: {why}. Estimators that can: BernoulliNB, CategoricalNB, "
        "GaussianNB, pyAgrum's BNClassifier, a bayestrim Classifier; fitted ones in a FrozenEstimator"
    )


def is_pyagrum(estimator: Any) -> bool:
    """Tell whether an estimator is pyAgrum's."""
    return type(estimator).__name__ == "BNClassifier" and type(estimator).__module__.lower().startswith("pyagrum")


def suitable(table: Any) -> Any:
    """Return the naive Bayes that suits the data: for yes and no, for a few categories, or for measurements."""
    values = np.asarray(table)
    if values.dtype.kind == "b" or (values.size and np.isin(values, (0, 1)).all()):
        return BernoulliNB()
    whole = values.dtype.kind in "iu" and values.size and values.min() >= 0 and values.max() < MOST_CATEGORIES
    return CategoricalNB() if whole else GaussianNB()


def of_naive_bayes(model: Any, names: tuple[str, ...], positive: Any, threshold: float) -> Model:
    """Return a fitted naive Bayes as a classifier.

    Parameters
    ----------
    model
        The fitted estimator.
    names
        A name for each column.
    positive
        The positive class.
    threshold
        The threshold.
    """
    classifier = from_sklearn(
        model, positive=positive, threshold=threshold, target=_free("class", names), feature_names=names
    )
    if isinstance(model, GaussianNB):
        return Model(classifier, _measurements)
    if isinstance(model, BernoulliNB):
        return Model(classifier, partial(_zeros_and_ones, limit=model.binarize))
    return Model(classifier, partial(_categories, sizes=[len(variable) for variable in classifier.feature_variables]))


def _measurements(table: Any) -> Any:
    return np.asarray(table, dtype=np.float64)


def _zeros_and_ones(table: Any, limit: float | None) -> Any:
    return np.asarray(table if limit is None else np.asarray(table) > limit).astype(np.int64)


def _categories(table: Any, sizes: list[int]) -> Any:
    codes = np.asarray(table).astype(np.int64)
    return np.where(codes < np.array(sizes), codes, -1)  # a category that was never seen says nothing


def as_it_is(table: Any) -> Any:
    """Return rows for a classifier that takes them as they are."""
    return table if hasattr(table, "columns") or isinstance(table, list) else np.asarray(table)


def of_pyagrum(model: Any, positive: Any, threshold: float) -> Model:
    """Return pyAgrum's fitted classifier as one of ours, with a positive class and threshold of the caller's."""
    network = from_pyagrum(model.bn_)
    state = str(positive)
    if state not in network.states(model.target_):
        raise ClassifierError(f"pos_label={positive!r} is no class of the network: {network.states(model.target_)}")
    classifier = Classifier(network, model.target_, state, threshold=threshold)
    places = tuple(model.variableNameIndexDictionary_[name] for name in classifier.features)
    return Model(classifier, partial(_labels, network=model.bn_, names=classifier.features, places=places))


def _labels(table: Any, network: Any, names: tuple[str, ...], places: tuple[int, ...]) -> Any:
    """Return the state numbers that pyAgrum's variables give to values, intervals of numbers included."""
    columns = []
    for name, place in zip(names, places, strict=True):
        variable = network.variable(name)
        column = table[name] if hasattr(table, "columns") else np.asarray(table)[:, place]
        columns.append([variable[str(value)] for value in np.asarray(column).tolist()])
    return np.array(columns, dtype=np.int64).T.reshape(-1, len(names))


def _free(word: str, names: Iterable[str]) -> str:
    """Return a word that is none of some names."""
    taken = set(names)
    while word in taken:
        word += "_"
    return word
