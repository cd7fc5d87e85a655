"""The scikit-learn estimators: its own checks, and everything else that people do with estimators."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayestrim as bt
from bayestrim import BudgetSelector, TrimmedClassifier
from bayestrim.verify import verify

LIMITED: dict[str, Any] = {"budget": 2, "gap": 0.05, "evaluation_limit": 300}


@parametrize_with_checks([TrimmedClassifier(**LIMITED), BudgetSelector(**LIMITED)])  # type: ignore[untyped-decorator]
def test_scikit_learn_finds_nothing_wrong(estimator: Any, check: Any) -> None:
    """Every check of scikit-learn passes; none is expected to fail."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's own, about the data it makes up
        check(estimator)


@pytest.fixture(scope="module")
def cancer() -> Any:
    """Eight measurements of breast-cancer Wisconsin, and the classes."""
    table, classes = load_breast_cancer(return_X_y=True, as_frame=True)
    return table.iloc[:, [0, 1, 4, 6, 20, 22, 23, 27]], classes


def questionnaire(rows: int = 400) -> tuple[pd.DataFrame, npt.NDArray[Any]]:
    """Return answers to twelve questions, yes or no, and who is ill."""
    generator = np.random.default_rng(3)
    ill = generator.random(rows) < 0.4
    chances = np.where(ill[:, None], np.linspace(0.9, 0.5, 12), np.linspace(0.2, 0.45, 12))
    answers = (generator.random((rows, 12)) < chances).astype(int)
    return pd.DataFrame(answers, columns=[f"Q{i}" for i in range(12)]), np.where(ill, "ill", "well")


def colours(rows: int = 300) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return categories and one of three classes."""
    generator = np.random.default_rng(4)
    kind = generator.integers(0, 3, rows)
    table = np.stack([(kind + generator.integers(0, 2, rows)) % 3, generator.integers(0, 4, rows), kind % 2], axis=1)
    return table, np.array(["red", "green", "blue"])[kind]


def test_a_trimmed_classifier_predicts_from_what_it_keeps(cancer: Any) -> None:
    """Dropped columns may hold anything, or be missing from a frame; the answer is verified."""
    table, classes = cancer
    model = TrimmedClassifier(budget=3).fit(table, classes)
    assert model.support_.sum() <= 3
    assert model.cost_ == model.support_.sum()
    spoilt = table.copy()
    spoilt.loc[:, ~model.support_] = 1e3
    assert np.array_equal(model.predict(table), model.predict(spoilt))
    assert np.array_equal(model.predict(table), model.predict(table.loc[:, model.support_]))
    assert set(model.predict(table)) == set(model.classes_)
    assert model.agreement_score(table) == pytest.approx(model.observed_agreement_, abs=0.05)
    full = GaussianNB().fit(table, classes).predict(table)
    assert model.agreement_score(table) == pytest.approx((model.predict(table) == full).mean())
    assert model.agreement_ <= model.bound_ + 1e-12
    assert model.gap_ < 1e-3
    assert model.status_ is bt.Status.OPTIMAL
    verify(model.result_, samples=20_000).raise_if_failed()


def test_probabilities_are_posteriors_and_decisions_follow_the_new_threshold(cancer: Any) -> None:
    """Nothing is stretched: predict_proba is the posterior, and the decision function has its zero at the threshold."""
    table, classes = cancer
    model = TrimmedClassifier(budget=2, threshold=0.9).fit(table, classes)
    positive = model.predict_proba(table)[:, 1]
    part = GaussianNB().fit(table.loc[:, model.support_], classes)
    assert positive == pytest.approx(part.predict_proba(table.loc[:, model.support_])[:, 1], rel=1e-6, abs=1e-12)
    assert np.array_equal(model.predict(table) == 1, positive >= model.threshold_)
    assert np.array_equal(model.predict(table) == 1, model.decision_function(table) >= 0)
    assert np.array_equal(model.classifier_.decide(table.loc[:, model.support_].to_numpy()), model.predict(table) == 1)
    other = TrimmedClassifier(budget=2, threshold=0.1, pos_label=0).fit(table, classes)
    assert other.predict_proba(table).sum(axis=1) == pytest.approx(1)
    assert np.array_equal(other.predict(table) == 0, other.predict_proba(table)[:, 0] >= other.threshold_)
    assert np.array_equal(other.predict(table) == 1, other.decision_function(table) > 0)


@pytest.mark.parametrize("estimator", [None, BernoulliNB(), CategoricalNB()])
def test_questionnaires_are_shortened(estimator: Any) -> None:
    """Zeros and ones are Bernoulli by default, agreements are exact, and prices go by column."""
    table, classes = questionnaire()
    model = TrimmedClassifier(estimator, budget=4, costs={"Q0": 3.0}, forbidden=["Q1"], required=["Q5"])
    model.fit(table, classes)
    assert model.result_.agreement.kind == "exact"
    assert model.support_[5]
    assert not model.support_[1]
    assert model.cost_ <= 4
    assert model.score(table, classes) > 0.7
    expected = BernoulliNB() if estimator is None else estimator
    assert type(model.estimator_) is type(expected)
    full = clone(expected).fit(table, classes).predict(table)
    assert model.agreement_score(table) >= (model.predict(table) == full).mean() - 0.02  # ties go to the other class
    by_place = TrimmedClassifier(estimator, budget=4, costs=[3.0, *[1.0] * 11], forbidden=[1], required=[5])
    assert np.array_equal(by_place.fit(table, classes).support_, model.support_)


def test_one_of_several_classes_is_told_from_all_others() -> None:
    """A network with a class of three states, two of which are negative; y is compared with pos_label."""
    table, classes = colours()
    model = TrimmedClassifier(CategoricalNB(), budget=2, pos_label="blue").fit(table, classes)
    assert model.classes_.tolist() == [False, True]
    assert model.classifier_.network.states(model.classifier_.target) == ("blue", "green", "red")
    posterior = CategoricalNB().fit(table, classes).predict_proba(table)[:, 0]
    whole = TrimmedClassifier(CategoricalNB(), budget=9, pos_label="blue").fit(table, classes)
    assert whole.predict_proba(table)[:, 1] == pytest.approx(posterior)
    assert whole.score(table, classes) == (whole.predict(table) == (classes == "blue")).mean()
    numbered = TrimmedClassifier(CategoricalNB(), budget=2, pos_label=0).fit(
        table, np.unique(classes, return_inverse=True)[1]
    )
    assert np.array_equal(numbered.predict(table), model.predict(table))
    gauss = TrimmedClassifier(GaussianNB(), budget=2, pos_label="blue").fit(table + 0.5, classes)
    assert gauss.estimator_.classes_.tolist() == [False, True]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (TrimmedClassifier(MultinomialNB(), budget=1), "counts, whose number is not bounded"),
        (TrimmedClassifier(ComplementNB(), budget=1), "no posterior"),
        (TrimmedClassifier(LogisticRegression(), budget=1), "not that of a Bayesian network"),
        (TrimmedClassifier(make_pipeline(StandardScaler(), GaussianNB()), budget=1), "pipeline's last step"),
        (TrimmedClassifier(), "a budget is needed"),
        (TrimmedClassifier(budget=-1), "the budget"),
        (TrimmedClassifier(budget=1, costs={"Q99": 1}), "is not a feature"),
        (TrimmedClassifier(budget=1, costs=[1, 2]), "one cost for each of 12"),
        (TrimmedClassifier(budget=1, pos_label="tired"), "is no class of y"),
        (TrimmedClassifier(budget=1, required=["Q0", "Q1"]), "costs more than the budget"),
        (TrimmedClassifier(budget=1, evaluate_on="rows"), "'model' or 'data'"),
        (TrimmedClassifier(FrozenEstimator(LogisticRegression()), budget=1), "not fitted"),
    ],
)
def test_refusals_say_why(model: Any, message: str) -> None:
    """What cannot be trimmed, or makes no sense, is refused in a sentence."""
    with pytest.raises((ValueError, LookupError), match=message):
        model.fit(*questionnaire(60))
    with pytest.raises(ValueError, match="pos_label"):
        TrimmedClassifier(budget=1).fit(*colours())


def test_fitted_estimators_and_classifiers_are_taken_as_they_are(cancer: Any) -> None:
    """A FrozenEstimator is not fitted again; a bayestrim Classifier needs no classes, and reads its own states."""
    table, classes = cancer
    fitted = GaussianNB().fit(table[::2], classes[::2])
    model = TrimmedClassifier(FrozenEstimator(fitted), budget=2).fit(table, classes)
    assert model.estimator_ is fitted
    assert clone(model).estimator.estimator is fitted
    quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+", threshold=0.07)
    rows = pd.DataFrame({"Q1": ["+", "-", "+"], "Q2": ["+", "+", "-"], "Q3": ["-", "-", "-"]})
    short = TrimmedClassifier(quiz, budget=2).fit(rows)
    assert short.result_.features == ("Q1", "Q2")
    assert short.predict(rows).tolist() == short.result_.classifier.decide(rows).tolist()
    assert short.predict(rows[["Q1", "Q2"]]).tolist() == short.predict(rows).tolist()
    numbers = np.array([[0, 0, 1], [1, 1, 1]])
    assert TrimmedClassifier(quiz, budget=2).fit(numbers).predict(numbers).shape == (2,)
    told = TrimmedClassifier(quiz, budget=2).fit(rows, ["+", "-", "-"])
    assert set(told.predict(rows)) <= {"+", "-"}
    assert (told.predict(rows) == "+").tolist() == short.predict(rows).tolist()
    assert BudgetSelector(quiz, budget=2).fit(rows).transform(rows).shape == (3, 2)


@pytest.mark.filterwarnings("ignore")
def test_classifiers_of_pyagrum_are_trimmed() -> None:
    """A BNClassifier is fitted and trimmed; with everything affordable it decides as before."""
    skbn = pytest.importorskip("pyagrum.skbn")
    table, classes = questionnaire()
    model = skbn.createBNClassifier(learningMethod="NaiveBayes")
    trimmed = TrimmedClassifier(model, budget=4, pos_label="ill").fit(table, classes)
    assert trimmed.support_.sum() == 4
    assert trimmed.score(table, classes) > 0.7
    whole = TrimmedClassifier(model, budget=12, pos_label="ill").fit(table, classes)
    fitted = skbn.createBNClassifier(learningMethod="NaiveBayes").fit(table, classes)
    assert (whole.predict(table) == fitted.predict(table)).mean() > 0.98  # ties go either way
    measured, ill = load_breast_cancer(return_X_y=True)
    binned = skbn.createBNClassifier(learningMethod="NaiveBayes", discretizationNbBins=3)
    numbers = TrimmedClassifier(binned, budget=2).fit(measured[:, :6], ill)
    assert numbers.support_.sum() == 2
    assert numbers.agreement_score(measured[:, :6]) > 0.8


def test_a_selector_takes_its_place_in_pipelines(cancer: Any) -> None:
    """Transform, back, names and frames, beside other transformers; it behaves like SelectFromModel."""
    table, classes = cancer
    selector = BudgetSelector(budget=3, gap=1e-2).fit(table, classes)
    kept = list(table.columns[selector.get_support()])
    assert list(selector.get_feature_names_out()) == kept
    assert np.array_equal(selector.transform(table), table[kept].to_numpy())
    back = selector.inverse_transform(selector.transform(table))
    assert back.shape == table.shape
    assert (back[:, ~selector.support_] == 0).all()
    for kind, frame in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        out = clone(selector).set_output(transform=kind).fit(table, classes).transform(table)
        assert isinstance(out, frame)
        assert list(out.columns) == kept
    like = SelectFromModel(GaussianNB())
    assert {"fit", "transform", "get_support", "inverse_transform"} <= set(dir(like)) & set(dir(selector))
    columns = ColumnTransformer([("few", BudgetSelector(budget=2, gap=1e-2), list(table.columns[:5]))])
    pipeline = make_pipeline(columns, StandardScaler(), LogisticRegression())
    assert pipeline.fit(table, classes).score(table, classes) > 0.8


def test_grids_are_searched_over_budgets(cancer: Any) -> None:
    """GridSearchCV, cross-validation, clone and pickle work as with any classifier."""
    table, classes = cancer
    search = GridSearchCV(TrimmedClassifier(budget=1, gap=1e-2, cv=2), {"budget": [1, 3]}, cv=2)
    search.fit(table, classes)
    assert search.best_params_["budget"] in (1, 3)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert np.array_equal(again.predict(table), search.predict(table))
    scores = cross_validate(
        make_pipeline(StandardScaler(), TrimmedClassifier(budget=2, gap=1e-2)), table, classes, cv=2
    )
    assert scores["test_score"].min() > 0.8
    fresh = clone(search.best_estimator_)
    assert not hasattr(fresh, "result_")


def test_frames_of_polars_and_arrays_give_the_same(cancer: Any) -> None:
    """What holds the rows does not matter."""
    table, classes = cancer
    models = [
        TrimmedClassifier(budget=2, gap=1e-2).fit(rows, classes.to_numpy())
        for rows in (table, pl.from_pandas(table), table.to_numpy())
    ]
    for model in models[1:]:
        assert np.array_equal(model.support_, models[0].support_)
        assert model.threshold_ == models[0].threshold_
    assert models[0].feature_names_in_.tolist() == list(table.columns)
    if hasattr(models[1], "feature_names_in_"):  # scikit-learn before 1.9 does not read the names of polars 2
        assert models[1].feature_names_in_.tolist() == list(table.columns)


def test_weights_count_and_metadata_are_routed(cancer: Any) -> None:
    """Whole weights are repeated rows; routing passes them on when it is enabled."""
    table, classes = questionnaire(200)
    weights = np.random.default_rng(0).integers(1, 4, len(table))
    repeated = np.repeat(np.arange(len(table)), weights)
    weighted = TrimmedClassifier(budget=3).fit(table, classes, sample_weight=weights)
    doubled = TrimmedClassifier(budget=3).fit(table.iloc[repeated], classes[repeated])
    assert np.array_equal(weighted.support_, doubled.support_)
    assert weighted.agreement_ == pytest.approx(doubled.agreement_)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = TrimmedClassifier(BernoulliNB().set_fit_request(sample_weight=True), budget=3)
        pipeline = make_pipeline(routed.set_fit_request(sample_weight=True))
        pipeline.fit(table, classes, sample_weight=weights)
        assert pipeline[-1].agreement_ == pytest.approx(weighted.agreement_)
        assert "sample_weight" in str(routed.get_metadata_routing())


def test_the_data_may_choose_among_the_nearly_best(cancer: Any) -> None:
    """With evaluate_on="data" held-out rows decide, and both figures are there."""
    table, classes = questionnaire()
    by_model = TrimmedClassifier(budget=3).fit(table, classes)
    by_data = TrimmedClassifier(budget=3, evaluate_on="data").fit(table, classes)
    assert by_data.observed_agreement_ >= by_model.observed_agreement_
    assert by_data.agreement_ >= by_model.agreement_ - 0.011
    assert by_data.bound_ == pytest.approx(by_model.bound_)
    assert by_data.gap_ >= by_model.gap_ - 1e-12


def test_set_up_costs_and_limits_are_passed_on(cancer: Any) -> None:
    """Columns that share a price, at most so many columns, and an end to searching."""
    table, classes = questionnaire()
    shared = TrimmedClassifier(budget=4, setup_costs={"interview": (2.0, ["Q0", "Q1", "Q2"])}).fit(table, classes)
    assert shared.cost_ <= 4
    few = TrimmedClassifier(budget=9, max_features=2).fit(table, classes)
    assert few.support_.sum() == 2
    measured, ill = cancer
    hasty = TrimmedClassifier(budget=3, time_limit=0.0).fit(measured, ill)
    assert hasty.status_ is bt.Status.FEASIBLE
    assert hasty.gap_ > 0


def test_verbose_prints_how_far_the_search_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Events go to standard output, and only if asked for."""
    TrimmedClassifier(budget=3).fit(*questionnaire(100))
    assert not capsys.readouterr().out
    TrimmedClassifier(budget=3, verbose=1).fit(*questionnaire(100))
    assert "finished" in capsys.readouterr().out


def test_callbacks_follow_the_search() -> None:
    """scikit-learn's callbacks see the fit and the search's progress, and are taken down."""
    pytest.importorskip("sklearn.callback")
    seen: list[str] = []

    class Watching:
        def setup(self, estimator: Any, context: Any) -> None:
            seen.append("setup")

        def teardown(self, estimator: Any, context: Any) -> None:
            seen.append("teardown")

        def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None:
            seen.append(context.task_name)

        def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> None:
            pass

    TrimmedClassifier(budget=3).set_callbacks(Watching()).fit(*questionnaire(100))
    assert seen[0] == "setup"
    assert {"fit", "finished"} <= set(seen)
    assert seen[-1] == "teardown"
