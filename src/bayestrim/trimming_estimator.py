"""What the scikit-learn estimators share: fit an estimator, trim it, and look how it does on rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from bayestrim.classifier import Classifier
from bayestrim.errors import ProblemError
from bayestrim.fitted import BINARY, Model, as_it_is, is_pyagrum, of_naive_bayes, of_pyagrum, refusal, suitable
from bayestrim.problem import Limits, SetupCosts
from bayestrim.search import trim
from bayestrim.search.events import Event
from bayestrim.trimming import Choice

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

ALTERNATIVES = 4
"""So many next best subsets are compared on rows, where the data choose."""
NEAR = 0.01
"""Subsets whose agreement in the model is so near the best are compared on rows."""

try:  # from scikit-learn 1.9 on
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: there are no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method as it is."""
        return method


class TrimmingEstimator(CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """What both estimators share: fit, convert, trim."""

    @with_callbacks  # type: ignore[untyped-decorator, unused-ignore]
    def _trim(self, X: Any, y: Any, sample_weight: Any, params: Mapping[str, Any]) -> None:  # noqa: N803
        context = self._begin()
        limits = Limits(self.time_limit, self.evaluation_limit, self.gap)
        if self.budget is None:
            raise ProblemError(
                "a budget is needed: the most that the kept features may cost (each costs 1 if not said)"
            )
        table = self._checked(X, y)
        y = np.asarray(y) if y is not None else None
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, table, dtype=np.float64)
        self._set_classes(y)
        routed = self._routed(weights, params)
        self.estimator_, refit = self._fitted(self.estimator, table, y, routed)
        self._model = self._converted(self.estimator_)
        classifier = self._model.classifier
        names = dict(zip(self._names(), classifier.features, strict=True))
        self.result_ = trim(
            classifier,
            self.budget,
            self._costs(names),
            setup_costs=self._setup_costs(names),
            required=self._listed(self.required, names),
            forbidden=self._listed(self.forbidden, names),
            max_features=self.max_features,
            alternatives=ALTERNATIVES if self.evaluate_on == "data" else 0,
            limits=limits,
            n_jobs=self.n_jobs,
            on_event=self._listener(context),
        )
        if not self.result_.problem.affordable(self.result_.features):
            raise ProblemError(f"what is required costs more than the budget of {self.budget}")
        self._judge(table, y, weights, refit)
        if context is not None:
            context.call_on_fit_task_end(estimator=self)

    def _begin(self) -> Any:
        """Return the context of scikit-learn's callbacks, None where there are none."""
        if not hasattr(self, "_init_callback_context"):
            return None
        context = self._init_callback_context(max_subtasks=None)
        return context.call_on_fit_task_begin(estimator=self)

    def _listener(self, context: Any) -> Callable[[Event], None] | None:
        """Return what listens to the search: it prints, and tells callbacks, which may stop it."""
        heard = context is not None and hasattr(self, "_skl_callbacks")
        if not (self.verbose or heard):
            return None

        def listen(event: Event) -> None:
            if self.verbose:
                print(event)
            if heard:
                task = context.subcontext(task_name=event.kind).call_on_fit_task_begin(estimator=self)
                if task.call_on_fit_task_end(estimator=self):
                    raise KeyboardInterrupt

        return listen

    def _checked(self, X: Any, y: Any) -> Any:  # noqa: N803
        """Return the rows, checked as the estimator would."""
        inner = self.estimator.estimator if isinstance(self.estimator, FrozenEstimator) else self.estimator
        if isinstance(inner, Classifier) or is_pyagrum(inner):
            validate_data(self, X, skip_check_array=True)
            return X
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        table, _ = validate_data(self, X, y, dtype=kind_of_values(X))
        return table

    def _set_classes(self, y: Any) -> None:
        """Find the classes, and the positive one."""
        if y is None:
            self.classes_: npt.NDArray[Any] = np.array([False, True])
            self._positive: Any = self.pos_label
            self._of_several = True
            return
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < BINARY:
            raise ValueError(f"y has only one class, {classes[0]!r}; two are needed, as a decision lies between them")
        if len(classes) > BINARY and self.pos_label is None:
            raise ValueError(
                f"Only binary classification is supported. Unknown label type: {type_of_target(y)}. To tell one class "
                "from all others, name it as pos_label"
            )
        if self.pos_label is not None and self.pos_label not in classes:
            raise ValueError(f"pos_label={self.pos_label!r} is no class of y: {classes.tolist()}")
        self._positive = classes[1] if self.pos_label is None else self.pos_label
        given = self.estimator.estimator if isinstance(self.estimator, FrozenEstimator) else self.estimator
        if isinstance(given, Classifier):  # which says itself what is positive
            named = [label for label in classes.tolist() if str(label) in given.positive]
            if len(named) != 1:
                raise ValueError(f"the classifier's positive states {given.positive} are not one class of y: {classes}")
            self._positive = named[0]
        self._of_several = len(classes) > BINARY
        self.classes_ = np.array([False, True]) if self._of_several else classes

    def _routed(self, weights: Any, params: Mapping[str, Any]) -> dict[str, Any]:
        if params:
            given = {**params} if weights is None else {**params, "sample_weight": weights}
            return dict(process_routing(self, "fit", **given).estimator.fit)
        return {} if weights is None else {"sample_weight": weights}

    def _fitted(self, estimator: Any, table: Any, y: Any, routed: dict[str, Any]) -> tuple[Any, Any]:
        """Return the fitted estimator, and the one to fit again on parts of the rows (None if it is given)."""
        if isinstance(estimator, FrozenEstimator):
            inner = estimator.estimator
            if not isinstance(inner, Classifier):
                check_is_fitted(inner)
            return inner, None
        if isinstance(estimator, Classifier):
            return estimator, None
        estimator = suitable(table) if estimator is None else estimator
        if not (isinstance(estimator, BernoulliNB | CategoricalNB | GaussianNB) or is_pyagrum(estimator)):
            raise refusal(estimator)
        y = self._target(estimator, y)
        return clone(estimator).fit(table, y, **routed), estimator

    def _target(self, estimator: Any, y: Any) -> Any:
        """Return what the estimator is fitted to: for GaussianNB whether the class is the positive one."""
        return y == self._positive if isinstance(estimator, GaussianNB) and self._of_several else y

    def _converted(self, model: Any) -> Model:
        if isinstance(model, Classifier):
            return Model(model, as_it_is)
        if is_pyagrum(model):
            return of_pyagrum(model, self._positive, self.threshold)
        if not isinstance(model, BernoulliNB | CategoricalNB | GaussianNB):
            raise refusal(model)
        positive = True if self._of_several and isinstance(model, GaussianNB) else self._positive
        return of_naive_bayes(model, self._names(), positive, self.threshold)

    def _columns(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(str(name) for name in names)

    def _names(self) -> tuple[str, ...]:
        """Return a name for each column that is a feature."""
        model = getattr(self, "estimator_", None)
        if isinstance(model, Classifier):
            return model.features
        if is_pyagrum(model):
            return self._model.classifier.features
        return self._columns() or tuple(f"x{i}" for i in range(self.n_features_in_))

    def _costs(self, names: Mapping[str, str]) -> dict[str, float]:
        if self.costs is None:
            return {}
        if isinstance(self.costs, Mapping):
            return {names.get(str(name), str(name)): cost for name, cost in self.costs.items()}
        costs = np.asarray(self.costs, dtype=np.float64)
        if costs.shape != (len(names),):
            raise ProblemError(
                f"costs has the shape {costs.shape}; one cost for each of {len(names)} columns is needed"
            )
        return dict(zip(names.values(), costs.tolist(), strict=True))

    def _setup_costs(self, names: Mapping[str, str]) -> SetupCosts:
        groups = self.setup_costs or {}
        return {group: (price, self._listed(members, names)) for group, (price, members) in groups.items()}

    @staticmethod
    def _listed(given: Iterable[Any], names: Mapping[str, str]) -> list[str]:
        """Return features by name; whole numbers are columns."""
        listed = list(names.values())
        return [
            listed[name] if isinstance(name, int | np.integer) else names.get(str(name), str(name)) for name in given
        ]

    def _judge(self, table: Any, y: Any, weights: Any, refit: Any) -> None:
        """Observe how often the near-optimal subsets agree on rows that were held out; choose by that if asked."""
        if self.evaluate_on not in ("model", "data"):
            raise ValueError(f"evaluate_on={self.evaluate_on!r}; it is 'model' or 'data'")
        best = self.result_.choice
        rivals = [best]
        if self.evaluate_on == "data":
            enough = best.agreement.lower - NEAR
            rivals += [choice for choice in self.result_.alternatives if choice.agreement.upper >= enough]
        observed = self._observed(rivals, table, y, weights, refit)
        chosen = int(np.argmax(observed))
        choice = rivals[chosen]
        self.observed_agreement_ = float(observed[chosen])
        self.classifier_ = self._model.classifier.restricted(choice.features, choice.threshold)
        self.threshold_ = choice.threshold
        self.agreement_, self.cost_ = float(choice.agreement), choice.cost
        self.bound_, self.status_ = self.result_.bound, self.result_.status
        self.gap_ = max(0.0, self.bound_ - choice.agreement.lower)
        kept = set(choice.features)
        of_column = dict(zip(self._names(), self._model.classifier.features, strict=True))
        columns = self._columns() or self._names()
        if is_pyagrum(self.estimator_):
            places = self.estimator_.variableNameIndexDictionary_
            columns = tuple(sorted(of_column, key=lambda name: places[name]))
        self.support_ = np.array([of_column.get(name) in kept for name in columns], dtype=bool)

    def _observed(self, rivals: list[Choice], table: Any, y: Any, weights: Any, refit: Any) -> FloatArray:
        """Return the share of held-out rows on which each subset decides like the original."""
        if refit is None or is_pyagrum(refit):  # nothing was learnt from these rows, or learning takes too long
            return np.array([agreeing(self._model, choice, table, weights) for choice in rivals])
        fewest = int(np.unique(y, return_counts=True)[1].min())
        if isinstance(self.cv, int) and fewest < BINARY:  # a class of one row cannot be held out
            return np.array([agreeing(self._model, choice, table, weights) for choice in rivals])
        folds = check_cv(min(self.cv, fewest) if isinstance(self.cv, int) else self.cv, y, classifier=True)
        sums, total = np.zeros(len(rivals)), 0.0
        for train, held in folds.split(table, y):
            part = None if weights is None else weights[train]
            inner = clone(self.estimator_)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                inner.fit(
                    table[train], self._target(inner, y[train]), **({} if part is None else {"sample_weight": part})
                )
                model = self._converted(inner)
            out = None if weights is None else weights[held]
            size = len(held) if out is None else float(out.sum())
            total += size
            sums += [size * agreeing(model, choice, table[held], out) for choice in rivals]
        return sums / total

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what `fit` passes on to the estimator."""
        return MetadataRouter(owner=type(self).__name__).add(
            estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit")
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = False
        tags.input_tags.positive_only = _wants_positive(self.estimator)
        return tags


def _wants_positive(estimator: Any) -> bool:
    return hasattr(estimator, "__sklearn_tags__") and bool(get_tags(estimator).input_tags.positive_only)


def kind_of_values(table: Any) -> str | None:
    """Return the type that rows are checked to have: numbers, or as they are where they say yes and no."""
    return None if getattr(getattr(table, "dtype", None), "kind", "") == "b" else "numeric"


def agreeing(model: Model, choice: Choice, table: Any, weights: Any) -> float:
    """Return the share of rows on which a subset decides like the original."""
    rows = model.rows(table)
    full = model.classifier.decide(rows)
    trimmed = model.classifier.restricted(choice.features, choice.threshold)
    return float(np.average(trimmed.decide(kept_columns(model.classifier, trimmed, rows)) == full, weights=weights))


def kept_columns(full: Classifier, trimmed: Classifier, rows: Any) -> Any:
    """Return the columns that a trimmed classifier reads, where they go by place."""
    if not isinstance(rows, np.ndarray):
        return rows
    return rows[:, [full.features.index(name) for name in trimmed.features]]
