"""scikit-learn estimators: a classifier that reads only what its budget pays for, and the same as a feature selector.

Both are thin: a fitted naive Bayes (or network) becomes a `Classifier`, `trim` decides what to keep, and predicting is
that of the trimmed classifier.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted, validate_data

from bayestrim.classifier import Classifier
from bayestrim.fitted import is_pyagrum
from bayestrim.problem import SetupCosts
from bayestrim.trimming_estimator import TrimmingEstimator, kept_columns, kind_of_values

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


class TrimmedClassifier(ClassifierMixin, TrimmingEstimator):  # type: ignore[misc]
    """A naive Bayes or network classifier that reads only the columns its budget pays for.

    Parameters
    ----------
    estimator
        A `BernoulliNB`, `CategoricalNB` or `GaussianNB`, pyAgrum's `BNClassifier`, or a bayestrim `Classifier`, which
        is used as it is; fitted estimators in a `FrozenEstimator`. By default the naive Bayes that suits the data:
        Bernoulli for zeros and ones, categorical for small whole numbers, else Gaussian.
    budget
        The most that the kept columns may cost together.
    costs
        What columns cost, by name, or one number for each; those not named cost 1.
    setup_costs
        What columns share: from any name to a cost, paid once if any of them is kept, and the columns.
    threshold
        Where the original's posterior of `pos_label` starts to mean "positive"; the trimmed one's is `threshold_`.
    pos_label
        The positive class; by default the second of two. With more than two classes it is told from all others.
    required, forbidden
        Columns that must be kept, and those that must not, by name or place.
    max_features
        How many columns may be kept.
    time_limit, evaluation_limit, gap
        When the search may stop before all is proved: seconds, evaluations, the agreement that may be missed.
    evaluate_on
        ``"model"`` takes the subset whose agreement is best by the model's own probabilities; ``"data"`` takes, of
        those that are nearly as good, the one that agrees most often on held-out rows.
    cv
        Folds for that, as in scikit-learn.
    n_jobs
        How many processes search.
    verbose
        Whether to print how far the search is.

    Attributes
    ----------
    classes_
        The two classes; `[False, True]` where `pos_label` is told from several others.
    support_
        Which columns are kept; [columns].
    threshold_
        The new threshold.
    agreement_, bound_, gap_, status_
        How often decisions stay the same by the model, the most that any affordable subset can reach, how much that is
        more, and what is proved.
    observed_agreement_
        The share of held-out rows on which the trimmed classifier decides like the original. Naive Bayes is
        over-confident where features are correlated: this is what the data say.
    cost_
        What the kept columns cost.
    result_
        The `Trimming`.
    classifier_
        The trimmed bayestrim `Classifier`, which can be saved and predicts with NumPy alone.
    estimator_
        The fitted original.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> table, malignant = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = TrimmedClassifier(budget=3, gap=1e-3).fit(table, malignant)
    >>> list(table.columns[model.support_])
    ['area error', 'worst perimeter', 'worst area']
    >>> model.agreement_ > 0.99
    True
    """

    def __init__(  # noqa: PLR0913
        self,
        estimator: Any = None,
        *,
        budget: float | None = None,
        costs: Any = None,
        setup_costs: SetupCosts | None = None,
        threshold: float = 0.5,
        pos_label: Any = None,
        required: Iterable[Any] = (),
        forbidden: Iterable[Any] = (),
        max_features: int | None = None,
        time_limit: float | None = None,
        evaluation_limit: int | None = None,
        gap: float = 0.0,
        evaluate_on: str = "model",
        cv: Any = 5,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.budget = budget
        self.costs = costs
        self.setup_costs = setup_costs
        self.threshold = threshold
        self.pos_label = pos_label
        self.required = required
        self.forbidden = forbidden
        self.max_features = max_features
        self.time_limit = time_limit
        self.evaluation_limit = evaluation_limit
        self.gap = gap
        self.evaluate_on = evaluate_on
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> TrimmedClassifier:  # noqa: N803
        """Fit the estimator and trim it.

        Parameters
        ----------
        X
            Rows, [rows, columns].
        y
            Classes; may be left out where the estimator needs no fitting.
        sample_weight
            What rows count; for estimators whose `fit` takes it.
        **params
            Passed on to the estimator, where metadata routing is enabled.
        """
        self._trim(X, y, sample_weight, params)
        return self

    def _rows(self, X: Any) -> Any:  # noqa: N803
        """Return the kept columns of rows, as the trimmed classifier reads them."""
        check_is_fitted(self)
        full, trimmed = self._model.classifier, self.classifier_
        known = self._columns()
        kept = None if known is None else [name for name, keep in zip(known, self.support_, strict=True) if keep]
        partial = hasattr(X, "columns") and kept is not None and not set(known or ()) <= set(map(str, X.columns))
        if isinstance(self.estimator_, Classifier) or is_pyagrum(self.estimator_):
            if hasattr(X, "columns") and not is_pyagrum(self.estimator_):
                return X
            validate_data(self, X, reset=False, skip_check_array=True)
            return kept_columns(full, trimmed, self._model.rows(X))
        if partial and kept and set(kept) <= set(map(str, X.columns)):  # what was dropped need not be there
            table = np.full((len(X), len(known or ())), 0.0)
            table[:, self.support_] = np.asarray(X[kept])
        else:
            table = validate_data(self, X, reset=False, dtype=kind_of_values(X))
        return kept_columns(full, trimmed, self._model.rows(table))

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803
        """Return the class of each row; frames need hold no more than the kept columns."""
        positive = np.asarray(self.classifier_decide(X))
        other = self._negative()
        predicted: npt.NDArray[Any] = np.where(positive, self._shown(), other)
        return predicted

    def classifier_decide(self, X: Any) -> BoolArray:  # noqa: N803
        """Tell for each row whether its posterior reaches the new threshold."""
        rows = self._rows(X)
        return np.asarray(self.classifier_.decide(rows), dtype=bool)

    def _shown(self) -> Any:
        """Return how the positive class is called in `classes_`."""
        return True if self._of_several else self._positive

    def _negative(self) -> Any:
        return self.classes_[0] if self._shown() == self.classes_[1] else self.classes_[1]

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803
        """Return the posterior of each class, from the kept columns; it is not stretched to meet 0.5 anywhere."""
        rows = self._rows(X)
        positive = np.asarray(self.classifier_.posterior(rows))
        both = np.stack([1 - positive, positive], axis=1)
        return both if self._shown() == self.classes_[1] else both[:, ::-1]

    def decision_function(self, X: Any) -> FloatArray:  # noqa: N803
        """Return how far the log-odds of `classes_[1]` lie above the threshold's."""
        rows = self._rows(X)
        positive = np.asarray(self.classifier_.posterior(rows))
        with np.errstate(divide="ignore"):
            odds = np.log(positive) - np.log1p(-positive)
            border = np.log(min(self.threshold_, 1.0)) - np.log1p(-min(self.threshold_, 1.0))
        if not np.isfinite(border):
            distance = np.where(np.full(len(odds), border < 0), np.maximum(odds, 0) + 1, np.minimum(odds, 0) - 1)
        else:
            distance = odds - border
        distance = np.nan_to_num(distance, posinf=1e300, neginf=-1e300)
        away: FloatArray = distance if self._shown() == self.classes_[1] else -distance
        return away

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """Return the accuracy; of several classes, `pos_label` is told from all others."""
        y = np.asarray(y)
        if self._of_several:
            y = y == self._positive
        return float(super().score(X, y, sample_weight))

    def agreement_score(self, X: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """Return the share of rows on which this decides like the original.

        Parameters
        ----------
        X
            Rows, with all columns.
        sample_weight
            What rows count.
        """
        check_is_fitted(self)
        given = isinstance(self.estimator_, Classifier) or is_pyagrum(self.estimator_)
        table = X if given else validate_data(self, X, reset=False, dtype=kind_of_values(X))
        full = np.asarray(self._model.classifier.decide(self._model.rows(table)))
        return float(np.average(self.classifier_decide(X) == full, weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class BudgetSelector(SelectorMixin, TrimmingEstimator):  # type: ignore[misc]
    """The columns that a budget pays for and that change the fewest of a classifier's decisions.

    Parameters and attributes are those of `TrimmedClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> table, malignant = load_breast_cancer(return_X_y=True)
    >>> pipeline = make_pipeline(BudgetSelector(budget=3, gap=1e-3), StandardScaler(), LogisticRegression())
    >>> pipeline.fit(table, malignant).score(table, malignant) > 0.9
    True
    """

    __init__ = TrimmedClassifier.__init__

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> BudgetSelector:  # noqa: N803
        """Fit the estimator, trim it, and remember what it keeps (parameters as in `TrimmedClassifier`)."""
        self._trim(X, y, sample_weight, params)
        return self

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        support: BoolArray = self.support_
        return support

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)  # a decision lies between two classes
        return tags
