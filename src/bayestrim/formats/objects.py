"""Models already in memory: pgmpy, pyAgrum and scikit-learn objects become networks and classifiers.

None of the three libraries is imported here. An object is known by the name and package of its class, and everything
else is read from the object itself, so that an adapter works with whichever version made it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
import numpy.typing as npt

from bayestrim.classifier import Classifier
from bayestrim.continuous import GaussianFeature, GaussianNaiveBayes
from bayestrim.errors import ClassifierError, NetworkError
from bayestrim.network import BayesianNetwork, Variable

FloatArray = npt.NDArray[np.float64]

SAME_LOG = 1e-12
"""Counts are believed when their logarithms are this near to the ones a scikit-learn model predicts with."""
FAITHFUL_DIGITS = 10
"""Decimals to which a BNClassifier rounds a posterior unless told otherwise: too many to move its threshold for."""
BINARY = 2
"""The number of classes between which a single threshold decides."""
EVEN_ODDS = 0.5
"""The threshold that choosing the more probable of two classes amounts to."""


def _is_a(model: object, package: str, *names: str) -> bool:
    """Tell whether the object's class, or one it inherits from, is one of those of that package.

    The package is compared without case: pyAgrum renamed its module from ``pyAgrum`` to ``pyagrum``.
    """
    return any(
        kind.__name__ in names and kind.__module__.split(".")[0].lower() == package for kind in type(model).__mro__
    )


def _kind(model: object) -> str:
    """Return what an object is, for messages: ``"pandas DataFrame"``, or that it is a class and not an object."""
    if isinstance(model, type):
        return f"the class {model.__name__} itself"
    return f"{type(model).__module__.split('.')[0]} {type(model).__name__}".removeprefix("builtins ")


def _words(given: Iterable[Hashable], what: str) -> tuple[str, ...]:
    """Return names as strings; two that become the same string are refused."""
    first: dict[str, Hashable] = {}
    for name in given:
        if str(name) in first:
            raise NetworkError(
                f"{what} must differ when written as strings, but {first[str(name)]!r} and {name!r} are the same"
            )
        first[str(name)] = name
    return tuple(first)


def from_pgmpy(model: Any) -> BayesianNetwork:
    """Return the network of a pgmpy ``DiscreteBayesianNetwork`` (in older versions ``BayesianNetwork``).

    Variables keep the model's order and parents the order of each CPD's evidence; tables are copied bit for bit.
    Names of nodes and states that are not strings (pgmpy numbers unnamed states) become strings.

    Parameters
    ----------
    model
        A pgmpy model with a table (``TabularCPD``, or a kind of it) for every node.

    Raises
    ------
    NetworkError
        If the object is no discrete pgmpy network, or a node has no table or one that does not fit the others.
    """
    # The networks without tables are let in here, to be refused by the name of a node.
    accepted = ("DiscreteBayesianNetwork", "BayesianNetwork", "BayesianModel")
    if not _is_a(model, "pgmpy", *accepted, "LinearGaussianBayesianNetwork", "FunctionalBayesianNetwork"):
        raise NetworkError(f"from_pgmpy takes a pgmpy DiscreteBayesianNetwork, not {_kind(model)}")
    nodes = list(model.nodes())
    names = dict(zip(nodes, _words(nodes, "the names of pgmpy nodes"), strict=True))
    cpds = {node: _tabular(model, node) for node in nodes}
    states = {node: _pgmpy_states(cpds[node], node) for node in nodes}
    for node, cpd in cpds.items():
        _check_evidence(cpd, set(model.predecessors(node)), states)
    return BayesianNetwork(
        [Variable(names[node], states[node]) for node in nodes],
        {names[node]: [names[parent] for parent in cpd.variables[1:]] for node, cpd in cpds.items()},
        # A CPD's values are [child, evidence...]. Its get_evidence() lists the evidence backwards in some versions.
        {names[node]: np.moveaxis(np.asarray(cpd.values, dtype=np.float64), 0, -1) for node, cpd in cpds.items()},
        name=str(getattr(model, "name", "") or ""),
    )


def _tabular(model: Any, node: Hashable) -> Any:
    cpd = model.get_cpds(node)
    if cpd is None:
        raise NetworkError(f"the pgmpy node {node!r} has no CPD; every node needs a TabularCPD")
    if not (hasattr(cpd, "values") and hasattr(cpd, "variables")):
        raise NetworkError(
            f"the pgmpy node {node!r} has a {type(cpd).__name__}; only discrete nodes with a TabularCPD are supported"
        )
    return cpd


def _pgmpy_states(cpd: Any, node: Hashable) -> tuple[str, ...]:
    """Return the states a CPD knows a node by, whether its own or its evidence's; numbers where it names none."""
    named = (getattr(cpd, "state_names", None) or {}).get(node)
    size = np.shape(cpd.values)[list(cpd.variables).index(node)]
    return _words(range(size) if named is None else named, f"the states of the pgmpy node {node!r}")


def _check_evidence(cpd: Any, parents: set[Hashable], states: Mapping[Hashable, tuple[str, ...]]) -> None:
    child, *evidence = cpd.variables
    if set(evidence) != parents:
        raise NetworkError(
            f"the CPD of the pgmpy node {child!r} has the evidence {evidence}, but the graph gives it the parents "
            f"{sorted(parents, key=str)}; they must be the same"
        )
    for parent in evidence:
        seen = _pgmpy_states(cpd, parent)
        if seen != states[parent]:
            raise NetworkError(
                f"the CPD of the pgmpy node {child!r} gives {parent!r} the states {seen}, but its own CPD has "
                f"{states[parent]}; they must be the same, in the same order"
            )


class _BayesNet(Protocol):
    """What tells a ``pyagrum.BayesNet`` apart."""

    def cpt(self, node: Any, /) -> Any: ...


class _BNClassifier(Protocol):
    """What tells a fitted ``pyagrum.skbn.BNClassifier`` apart."""

    bn_: Any


@overload
def from_pyagrum(model: _BNClassifier) -> Classifier: ...
@overload
def from_pyagrum(model: _BayesNet) -> BayesianNetwork: ...
def from_pyagrum(model: Any) -> BayesianNetwork | Classifier:
    """Return the network of a pyAgrum ``BayesNet``, or the classifier of a fitted ``BNClassifier``.

    Variables keep the order of pyAgrum's node numbers, and states are the labels pyAgrum prints: ``"[0.5;1.25["`` for
    an interval of a discretized variable, ``"-1"`` for an integer. Tables are copied bit for bit from pyAgrum's
    64-bit numbers; but pyAgrum 3 reads BIF, NET, UAI and DSL files through 32-bit floats, so a network that came from
    such a file has lost its decimals already (0.1 has become 0.10000000149): read the file with `read_network`
    instead.

    A two-class ``BNClassifier`` gives a `Classifier` that decides as its ``predict`` does: positive when the
    posterior, rounded to ``significant_digit`` decimals, is at least ``threshold_``. Its ``predict_proba`` is
    something else: the posterior stretched so that the threshold comes to lie at 0.5.

    Parameters
    ----------
    model
        A ``pyagrum.BayesNet``, or a ``pyagrum.skbn.BNClassifier`` after ``fit`` or ``fromTrainedModel``.
        The rows of the latter's `Classifier` hold labels: an interval's, not a number that lies in it.

    Raises
    ------
    NetworkError
        If the object is neither.
    ClassifierError
        If the classifier is not fitted, or does not decide by comparing one class with a threshold.
    """
    if _is_a(model, "pyagrum", "BNClassifier"):
        return _from_bn_classifier(model)
    if _is_a(model, "pyagrum", "BayesNet"):
        return _from_bayes_net(model)
    raise NetworkError(f"from_pyagrum takes a pyAgrum BayesNet or a fitted BNClassifier, not {_kind(model)}")


def _from_bayes_net(model: Any) -> BayesianNetwork:
    variables, parents, tables = [], {}, {}
    for node in model.nodes():
        variable, cpt = model.variable(node), model.cpt(node)
        child = variable.name()
        variables.append(Variable(child, tuple(variable.labels())))
        parents[child] = [name for name in cpt.names if name != child]
        # The axes of toarray() are the names backwards. reorganize() also makes a plain copy: toarray() of a computed
        # table (noisy or, aggregators) reads memory that was never written.
        tables[child] = cpt.reorganize([child, *reversed(parents[child])]).toarray()
    return BayesianNetwork(variables, parents, tables, name=model.propertyWithDefault("name", ""))


def _from_bn_classifier(model: Any) -> Classifier:
    if getattr(model, "bn_", None) is None:
        raise ClassifierError("this pyAgrum BNClassifier is not fitted; call fit or fromTrainedModel first")
    network = _from_bayes_net(model.bn_)
    positive, threshold = _bn_rule(model, network.states(model.target_))
    # All other variables are features, in the network's order: that of fromTrainedModel's columns is a set's, which
    # changes from one process to the next.
    return Classifier(network, model.target_, positive, threshold=threshold)


def _bn_rule(model: Any, classes: tuple[str, ...]) -> tuple[str, float]:
    """Return the positive class and threshold by which ``predict`` decides; what has neither is refused."""
    if len(classes) != BINARY:
        raise ClassifierError(
            f"this pyAgrum BNClassifier has {len(classes)} classes and predicts the most probable one, without a "
            f"threshold; choose them yourself: Classifier(from_pyagrum(model.bn_), target={model.target_!r}, "
            "positive=..., threshold=...)"
        )
    if model.label_ != "":
        return str(model.label_), _unrounded(float(model.threshold_), model.significant_digit)
    if model.threshold_ != EVEN_ODDS:
        raise ClassifierError(
            f"this pyAgrum BNClassifier has the threshold {float(model.threshold_)} but no targetModality, without "
            "which its predict ignores the threshold; give fromTrainedModel a targetModality"
        )
    return classes[1], EVEN_ODDS


def _unrounded(threshold: float, digits: int) -> float:
    """Return the lowest posterior that reaches the threshold once rounded to so many decimals.

    From `FAITHFUL_DIGITS` decimals on, where that would move it by at most 5e-11, the threshold stays as it was given.
    """
    if digits >= FAITHFUL_DIGITS:
        return threshold
    unit = Fraction(1, 10**digits)
    lowest = (ceil(Fraction(repr(threshold)) / unit) - Fraction(1, 2)) * unit
    return float(max(lowest, Fraction(0)))


_SKLEARN_ADVICE = {
    "MultinomialNB": "its features are counts, not states; binarize them and fit a BernoulliNB",
    "ComplementNB": "its scores are not the posterior of any network; binarize the features and fit a BernoulliNB",
    "Pipeline": "take its last step, model[-1], and give rows as the steps before it make them",
    "BaseSearchCV": "take its best_estimator_",
}


def from_sklearn(
    model: Any,
    *,
    positive: object = None,
    threshold: float = EVEN_ODDS,
    target: str = "class",
    feature_names: Sequence[str] | None = None,
    categories: Sequence[Sequence[Hashable]] | None = None,
) -> Classifier:
    """Return the classifier of a fitted scikit-learn ``CategoricalNB``, ``BernoulliNB`` or ``GaussianNB``.

    A ``GaussianNB`` of two classes gives a `GaussianNaiveBayes` with the means and variances it has learnt.

    Probabilities are the smoothed counts, divided, wherever these are what the model predicts with; otherwise (a
    parameter was changed after fitting) the exponentials of its logarithms. Either way the posterior is the model's
    ``predict_proba``.

    With two classes and a threshold of 0.5, decisions equal ``predict`` except on exact ties, which ``predict`` gives
    to ``classes_[0]`` (up to rounding) and a `Classifier` to ``positive``.

    Parameters
    ----------
    model
        The fitted estimator.
    positive
        The positive class, or a list of several, as in ``classes_`` or as strings. With two classes, ``classes_[1]``.
    threshold
        Positive when the posterior is at least this.
    target
        A name for the class variable, since scikit-learn has none.
    feature_names
        One name per column. By default ``feature_names_in_``, or ``x0``, ``x1``, ... where the model saw no names.
    categories
        For each column, the names of its states, such as the ``categories_`` of an ``OrdinalEncoder``. By default
        the numbers the model was given. For a ``BernoulliNB`` the two states are ``"0"`` and ``"1"`` after
        comparing with ``binarize``, which is left to the caller.

    Raises
    ------
    ClassifierError
        If the estimator is of another kind or not fitted, or a name does not fit it.
    NetworkError
        If names clash.
    """
    if _is_a(model, "sklearn", "GaussianNB") and not isinstance(model, type):
        return _from_gaussian(model, positive, threshold, target, feature_names)
    parts = _fitted_parts(model)
    names = _feature_names(model, feature_names, len(parts.tables))
    if target in names:
        raise ClassifierError(f"the class and a feature are both called {target!r}; give target= another name")
    classes = _words(model.classes_, "the classes")
    states = _categories(names, [table.shape[1] for table in parts.tables], categories)
    for name, table in zip(names, parts.tables, strict=True):
        _check_probabilities(name, table, classes)
    network = BayesianNetwork(
        [Variable(target, classes), *map(Variable, names, states)],
        dict.fromkeys(names, (target,)),
        {target: parts.prior, **dict(zip(names, parts.tables, strict=True))},
    )
    chosen = _positive_classes(positive, classes)
    return Classifier(network, target=target, positive=chosen, features=names, threshold=threshold)


def _from_gaussian(
    model: Any, positive: object, threshold: float, target: str, feature_names: Sequence[str] | None
) -> GaussianNaiveBayes:
    if not hasattr(model, "theta_"):
        raise ClassifierError("this GaussianNB is not fitted; call fit(X, y) first")
    classes = _words(model.classes_, "the classes")
    if len(classes) != BINARY:
        raise ClassifierError(
            f"GaussianNB has {len(classes)} classes, and the features of several together are not Gaussian; fit it on "
            "y == pos_label, or bin the features (KBinsDiscretizer) and use CategoricalNB"
        )
    chosen = _positive_classes(positive, classes)
    if chosen not in classes:
        raise ClassifierError(f"positive={positive!r} is not one of the classes {classes}")
    yes = classes.index(str(chosen))
    names = _feature_names(model, feature_names, model.theta_.shape[1])
    columns = zip(names, model.theta_.T.tolist(), model.var_.T.tolist(), strict=True)
    features = [
        GaussianFeature(name, (mean[yes], variance[yes]), (mean[1 - yes], variance[1 - yes]))
        for name, mean, variance in columns
    ]
    return GaussianNaiveBayes(
        features, float(model.class_prior_[yes]), threshold, target=target, classes=(classes[1 - yes], classes[yes])
    )


class _NaiveBayes(NamedTuple):
    """Pr(class), and for each feature Pr(state | class) as an array [classes, states]."""

    prior: FloatArray
    tables: list[FloatArray]


def _fitted_parts(model: Any) -> _NaiveBayes:
    if not _is_a(model, "sklearn", "CategoricalNB", "BernoulliNB"):
        reason = next((why for name, why in _SKLEARN_ADVICE.items() if _is_a(model, "sklearn", name)), "")
        raise ClassifierError(
            "from_sklearn takes a fitted CategoricalNB, BernoulliNB or GaussianNB, not "
            f"{_kind(model)}{reason and ': ' + reason}"
        )
    if not hasattr(model, "feature_log_prob_"):
        raise ClassifierError(f"this {type(model).__name__} is not fitted; call fit(X, y) first")
    if len(model.classes_) < BINARY:
        raise ClassifierError(f"this {type(model).__name__} saw the class {model.classes_[0]!r} only; two are needed")
    with np.errstate(divide="ignore", invalid="ignore"):  # no counts at all give 0/0, refused later by name
        tables = _bernoulli_tables(model) if _is_a(model, "sklearn", "BernoulliNB") else _categorical_tables(model)
        return _NaiveBayes(_prior(model), tables)


def _is_log(probability: FloatArray, logarithm: FloatArray) -> bool:
    return probability.shape == logarithm.shape and np.allclose(
        np.log(probability), logarithm, rtol=SAME_LOG, atol=SAME_LOG, equal_nan=True
    )


def _prior(model: Any) -> FloatArray:
    counts = np.asarray(model.class_count_, dtype=np.float64)
    given = getattr(model, "class_prior", None)
    candidates = [counts / counts.sum(), np.full(len(counts), 1 / len(counts))]
    if given is not None:
        candidates.insert(0, np.asarray(given, dtype=np.float64))
    logarithm = np.asarray(model.class_log_prior_, dtype=np.float64)
    return next((prior for prior in candidates if _is_log(prior, logarithm)), np.exp(logarithm))


def _categorical_tables(model: Any) -> list[FloatArray]:
    tables = []
    for counts, logarithm in zip(model.category_count_, model.feature_log_prob_, strict=True):
        smoothed = counts + model.alpha
        table = smoothed / smoothed.sum(axis=1, keepdims=True)
        tables.append(table if _is_log(table, logarithm) else np.exp(logarithm))
    return tables


def _bernoulli_tables(model: Any) -> list[FloatArray]:
    alpha, ones = np.asarray(model.alpha, dtype=np.float64), model.feature_count_
    totals = model.class_count_[:, None] + 2 * alpha
    absent, present = (totals - alpha - ones) / totals, (ones + alpha) / totals
    if not _is_log(present, model.feature_log_prob_):
        present = np.exp(model.feature_log_prob_)
        absent = 1 - present
    # Sums of weights that should be equal may differ in their last digits, either way.
    absent = np.where(np.abs(absent) < SAME_LOG, np.maximum(absent, 0), absent)
    return [np.stack([absent[:, i], np.minimum(present[:, i], 1)], axis=1) for i in range(present.shape[1])]


def _check_probabilities(name: str, table: FloatArray, classes: tuple[str, ...]) -> None:
    if np.isnan(table).any():
        unseen = classes[int(np.argmax(np.isnan(table).any(axis=1)))]
        raise ClassifierError(f"without smoothing, {name!r} has no probabilities: the class {unseen!r} was never seen")
    if (table < 0).any():
        raise ClassifierError(f"{name!r} was fitted on values other than 0 and 1; use binarize, or a CategoricalNB")


def _feature_names(model: Any, given: Sequence[str] | None, count: int) -> tuple[str, ...]:
    if given is None:
        given = getattr(model, "feature_names_in_", [f"x{i}" for i in range(count)])
    if isinstance(given, str) or len(given) != count:
        raise ClassifierError(f"the model has {count} features: feature_names must list {count} names, not {given!r}")
    return _words(given, "feature names")


def _categories(
    names: tuple[str, ...], sizes: list[int], given: Sequence[Sequence[Hashable]] | None
) -> list[tuple[str, ...]]:
    if given is None:
        given = [range(size) for size in sizes]
    if len(given) != len(names):
        raise ClassifierError(f"the model has {len(names)} features, but categories has {len(given)} lists")
    for name, size, states in zip(names, sizes, given, strict=True):
        if len(states) != size:
            raise ClassifierError(f"the model has {size} categories for {name!r}, but categories lists {len(states)}")
    return [_words(states, f"the categories of {name!r}") for name, states in zip(names, given, strict=True)]


def _positive_classes(positive: Any, classes: tuple[str, ...]) -> str | list[str]:
    if positive is None:
        if len(classes) > BINARY:
            raise ClassifierError(f"the model has {len(classes)} classes; name one or more as positive: {classes}")
        return classes[1]
    if isinstance(positive, list | tuple | set | frozenset | np.ndarray):
        return [str(one) for one in positive]
    return str(positive)
