"""What pgmpy, pyAgrum and scikit-learn objects become: the same names, bit-equal tables, the same decisions."""

from __future__ import annotations

import gzip
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayestrim.classifier import Classifier
from bayestrim.errors import BayestrimError, ClassifierError, ImpossibleEvidenceError, NetworkError
from bayestrim.formats import objects
from bayestrim.formats.objects import from_pgmpy, from_pyagrum, from_sklearn
from bayestrim.network import BayesianNetwork, Variable

with warnings.catch_warnings():
    # The packages pgmpy brings along warn when they are imported, the compiled parts of pyAgrum also when they make
    # their first object of a kind: where warnings are errors, that ends the process.
    warnings.simplefilter("ignore")
    import pandas
    import pgmpy
    import pyagrum as gum
    from pyagrum import skbn
    from sklearn import datasets

    INFLUENCE_DIAGRAM, MARKOV_FIELD = gum.InfluenceDiagram(), gum.MarkovRandomField()
    gum.fastBN("a->b")
    from pgmpy.factors.continuous import LinearGaussianCPD
    from pgmpy.factors.discrete import NoisyORCPD, TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork, LinearGaussianBayesianNetwork
    from pgmpy.readwrite import BIFReader
    from sklearn.model_selection import GridSearchCV
    from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder

EXAMPLES = Path(pgmpy.__file__).parent / "utils" / "example_models"
FEW = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

# ------------------------------------------------------------------------------------------- random networks


@st.composite
def networks(draw: st.DrawFn) -> BayesianNetwork:
    """Networks of up to five variables of one to four states, with zeros, whose parents are in any order."""
    count = draw(st.integers(1, 5))
    shuffled = draw(st.permutations(range(count)))
    sizes = draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
    seed = draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    variables = [Variable(f"V{i}", tuple(f"s{k}" for k in range(size))) for i, size in enumerate(sizes)]
    parents, tables = {}, {}
    for position, i in enumerate(shuffled):
        chosen = draw(st.lists(st.sampled_from(shuffled[:position]), unique=True, max_size=3)) if position else []
        parents[f"V{i}"] = [f"V{p}" for p in chosen]
        weights = generator.random((*(sizes[p] for p in chosen), sizes[i])) * generator.integers(0, 2, sizes[i])
        weights[..., 0] += 0.01
        tables[f"V{i}"] = weights / weights.sum(axis=-1, keepdims=True)
    return BayesianNetwork(variables, parents, tables)


def to_pgmpy(network: BayesianNetwork) -> Any:
    """Build the pgmpy network of a network."""
    model = DiscreteBayesianNetwork()
    model.add_nodes_from(network.names)
    for name in network.names:
        model.add_edges_from((parent, name) for parent in network.parents(name))
    for variable in network.variables:
        parents = network.parents(variable.name)
        cpd = TabularCPD(
            variable.name,
            len(variable),
            network.table(variable.name).reshape(-1, len(variable)).T,
            evidence=list(parents),
            evidence_card=[len(network.variable(parent)) for parent in parents],
            state_names={name: list(network.states(name)) for name in (variable.name, *parents)},
        )
        model.add_cpds(cpd)
    return model


def to_pyagrum(network: BayesianNetwork) -> Any:
    """Fill a pyAgrum network cell by cell, so that nothing depends on the order of its axes."""
    model = gum.BayesNet("random")
    for variable in network.variables:
        model.add(gum.LabelizedVariable(variable.name, "", list(variable.states)))
    for name in network.names:
        for parent in network.parents(name):
            model.addArc(parent, name)
    for name in network.names:
        axes = (*network.parents(name), name)
        for index, probability in np.ndenumerate(network.table(name)):
            cell = gum.Instantiation(model.cpt(name))
            for axis, state in zip(axes, index, strict=True):
                cell.chgVal(axis, state)
            model.cpt(name).set(cell, float(probability))
    return model


@FEW
@given(networks())
def test_a_random_network_comes_back_from_pgmpy_bit_by_bit(network: BayesianNetwork) -> None:
    """Names, order, parents' order and every bit of every table survive the way through pgmpy."""
    model = to_pgmpy(network)
    assert model.check_model()
    assert from_pgmpy(model) == network


@FEW
@given(networks())
def test_a_random_network_comes_back_from_pyagrum_bit_by_bit(network: BayesianNetwork) -> None:
    """Names, order, parents' order and every bit of every table survive the way through pyAgrum."""
    back = from_pyagrum(to_pyagrum(network))
    assert back == network
    assert back.name == "random"


# ----------------------------------------------------------------------------------------------------- pgmpy


@pytest.mark.parametrize("name", ["asia", "alarm", "child", "sachs"])
def test_pgmpy_example_networks_keep_every_probability(name: str) -> None:
    """Each cell is the one that pgmpy itself returns for those states, by name."""
    with gzip.open(EXAMPLES / f"{name}.bif.gz", "rt") as file:
        model = BIFReader(string=file.read()).get_model()
    network = from_pgmpy(model)
    assert network.names == tuple(model.nodes())
    generator = np.random.default_rng(0)
    for cpd in model.get_cpds():
        for _ in range(5):
            states = {axis: str(generator.choice(network.states(axis))) for axis in cpd.variables}
            index = tuple(network.variable(axis).index(states[axis]) for axis in (*cpd.variables[1:], cpd.variable))
            assert network.parents(cpd.variable) == tuple(cpd.variables[1:])
            assert network.table(cpd.variable)[index] == cpd.get_value(**states)


def two_nodes(**changes: Any) -> Any:
    """Return the pgmpy network A → B, where some of the second CPD's arguments are changed."""
    model = DiscreteBayesianNetwork([("A", "B")])
    model.add_cpds(TabularCPD("A", 2, [[0.25], [0.75]], state_names={"A": ["x", "y"]}))
    arguments = {
        "variable": "B",
        "variable_card": 3,
        "values": [[0.1, 0.2], [0.3, 0.3], [0.6, 0.5]],
        "evidence": ["A"],
        "evidence_card": [2],
        "state_names": {"A": ["x", "y"], "B": ["p", "q", "r"]},
    }
    model.add_cpds(TabularCPD(**{**arguments, **changes}))
    return model


def test_pgmpy_names_that_are_no_strings_become_strings() -> None:
    """Integer nodes, numbered states and booleans are written as strings."""
    model = DiscreteBayesianNetwork([(1, 2)])
    model.add_cpds(
        TabularCPD(1, 2, [[0.5], [0.5]], state_names={1: [True, False]}),
        TabularCPD(2, 2, [[0.1, 0.2], [0.9, 0.8]], [1], [2], state_names={2: [0, 1], 1: [True, False]}),
    )
    network = from_pgmpy(model)
    assert network.variables == (Variable("1", ("True", "False")), Variable("2", ("0", "1")))
    assert network.table("2").tolist() == [[0.1, 0.9], [0.2, 0.8]]


def test_a_pgmpy_noisy_or_is_a_table() -> None:
    """A NoisyORCPD is read like the table it stands for."""
    model = DiscreteBayesianNetwork([("A", "B")])
    model.add_cpds(TabularCPD("A", 2, [[0.2], [0.8]], state_names={"A": ["True", "False"]}))
    model.add_cpds(NoisyORCPD("B", [0.75], ["A"]))
    assert from_pgmpy(model).table("B").tolist() == [[0.75, 0.25], [0.0, 1.0]]


@pytest.mark.parametrize("old_name", ["BayesianModel", "BayesianNetwork"])
def test_models_of_older_pgmpy_are_known_by_name(old_name: str) -> None:
    """A class of an older name is read the same way, also where CPDs carry no state names."""
    new = two_nodes()
    for cpd in new.get_cpds():
        cpd.state_names = {}
    methods = {"nodes": new.nodes, "predecessors": staticmethod(new.predecessors), "get_cpds": new.get_cpds}
    old = type(old_name, (), {**methods, "__module__": f"pgmpy.models.{old_name}"})()
    old.get_cpds = new.get_cpds
    old.nodes = new.nodes
    assert from_pgmpy(old) == from_pgmpy(new)
    assert from_pgmpy(old).states("B") == ("0", "1", "2")


def test_pgmpy_nodes_without_a_table_are_refused_by_name() -> None:
    """A missing CPD and a linear Gaussian one are refused, naming the node."""
    missing = DiscreteBayesianNetwork([("A", "B")])
    missing.add_cpds(TabularCPD("A", 2, [[0.5], [0.5]]))
    with pytest.raises(NetworkError, match="node 'B' has no CPD"):
        from_pgmpy(missing)
    gaussian = LinearGaussianBayesianNetwork([("A", "B")])
    gaussian.add_cpds(LinearGaussianCPD("A", [1], 1), LinearGaussianCPD("B", [1, 2], 1, ["A"]))
    with pytest.raises(NetworkError, match="node 'A' has a LinearGaussianCPD"):
        from_pgmpy(gaussian)


def test_pgmpy_cpds_that_contradict_each_other_are_refused() -> None:
    """States in another order, other parents than the graph's, and wrong sizes are refused with both sides named."""
    with pytest.raises(NetworkError, match=r"'B' gives 'A' the states \('y', 'x'\), but its own CPD has \('x', 'y'\)"):
        from_pgmpy(two_nodes(state_names={"A": ["y", "x"], "B": ["p", "q", "r"]}))
    with pytest.raises(NetworkError, match=r"'B' has the evidence \[\], but the graph gives it the parents \['A'\]"):
        from_pgmpy(two_nodes(values=[[0.1], [0.3], [0.6]], evidence=None, evidence_card=None, state_names={}))
    with pytest.raises(NetworkError, match="gives 'A' the states"):
        from_pgmpy(
            two_nodes(values=[[0.1] * 3, [0.3] * 3, [0.6] * 3], evidence_card=[3], state_names={"A": ["x", "y", "z"]})
        )


def test_pgmpy_names_that_clash_as_strings_are_refused() -> None:
    """The nodes 1 and "1" cannot both be kept, nor can the states 0 and "0"."""
    model = DiscreteBayesianNetwork()
    model.add_nodes_from([1, "1"])
    with pytest.raises(NetworkError, match="but 1 and '1' are the same"):
        from_pgmpy(model)
    with pytest.raises(NetworkError, match=r"states of the pgmpy node 'B'.*but 0 and '0' are the same"):
        from_pgmpy(two_nodes(state_names={"A": ["x", "y"], "B": [0, "0", 1]}))


@pytest.mark.parametrize("other", [DiscreteMarkovNetwork(), "asia.bif", None, DiscreteBayesianNetwork])
def test_what_is_no_pgmpy_network_is_refused(other: object) -> None:
    """Undirected models, file names, None and the class itself are refused, saying what is accepted."""
    with pytest.raises(NetworkError, match="from_pgmpy takes a pgmpy DiscreteBayesianNetwork, not"):
        from_pgmpy(other)


# --------------------------------------------------------------------------------------------------- pyAgrum


def test_every_kind_of_pyagrum_variable_gives_its_labels() -> None:
    """Labels, ranges, integers, intervals and numbers become states as pyAgrum prints them."""
    model = gum.BayesNet()
    model.add(gum.LabelizedVariable("label", "", ["x", "y z"]))
    model.add(gum.RangeVariable("range", "", -1, 1))
    model.add(gum.IntegerVariable("integer", "", [1, 5, 9]))
    model.add(gum.DiscretizedVariable("interval", "", [0.5, 1.25, 3]))
    model.add(gum.NumericalDiscreteVariable("number", "", [0.5, 2]))
    model.generateCPTs()
    assert {v.name: v.states for v in from_pyagrum(model).variables} == {
        "label": ("x", "y z"),
        "range": ("-1", "0", "1"),
        "integer": ("1", "5", "9"),
        "interval": ("[0.5;1.25[", "[1.25;3]"),
        "number": ("0.5", "2"),
    }


def test_computed_pyagrum_tables_are_worked_out() -> None:
    """Noisy or and aggregators, which pyAgrum never stores as a table, give the table they stand for."""
    model = gum.BayesNet()
    for name in ("x", "y"):
        model.add(name, 2)
    model.generateCPTs()
    model.addNoisyOR(gum.LabelizedVariable("or", "", 2), 0.125)
    model.addWeightedArc("x", "or", 0.25)
    model.addAND(gum.LabelizedVariable("and", "", 2))
    model.addArc("x", "and")
    model.addArc("y", "and")
    network = from_pyagrum(model)
    for name in ("or", "and"):
        axes = (*network.parents(name), name)
        for index, probability in np.ndenumerate(network.table(name)):
            assert probability == model.cpt(name)[dict(zip(axes, index, strict=True))]
    assert network.table("and")[1, 1].tolist() == [0, 1]


def test_networks_of_older_pyagrum_are_known_by_name() -> None:
    """A BayesNet of the package's older name, pyAgrum, is read the same way."""
    new = gum.fastBN("A->B{x|y|z}")
    old = type("BayesNet", (), {"__module__": "pyAgrum.pyAgrum"})()
    for method in ("nodes", "variable", "cpt", "propertyWithDefault"):
        setattr(old, method, getattr(new, method))
    assert from_pyagrum(old) == from_pyagrum(new)


@pytest.mark.parametrize("ending", ["bif", "net", "uai", "dsl"])
def test_pyagrum_files_have_lost_their_decimals(ending: str, tmp_path: Path) -> None:
    """A network that pyAgrum read from a file holds 32-bit numbers, one made in memory does not."""
    model = gum.fastBN("A{x|y}")
    model.cpt("A")[:] = [0.1, 0.9]
    assert from_pyagrum(model).table("A").tolist() == [0.1, 0.9]
    path = str(tmp_path / f"a.{ending}")
    gum.saveBN(model, path)
    read = from_pyagrum(gum.loadBN(path))
    assert read.table(read.names[0]).tolist() == [np.float32(0.1), np.float32(0.9)]


@pytest.mark.parametrize("other", [INFLUENCE_DIAGRAM, MARKOV_FIELD, "asia.bif", gum.BayesNet])
def test_what_is_no_pyagrum_network_is_refused(other: Any) -> None:
    """Other graphical models, file names and the class itself are refused, saying what is accepted."""
    with pytest.raises(NetworkError, match="from_pyagrum takes a pyAgrum BayesNet or a fitted BNClassifier, not"):
        from_pyagrum(other)


CANCER = datasets.load_breast_cancer()
CANCER_COLUMNS = 8


def fitted_bn_classifier(method: str) -> Any:
    """Fit pyAgrum's classifier to continuous data, which it discretizes."""
    model = skbn.createBNClassifier(learningMethod=method, discretizationNbBins=3)
    return model.fit(CANCER.data[:, :CANCER_COLUMNS], CANCER.target)


def label_rows(model: Any, data: Any) -> list[dict[str, str]]:
    """Return rows of numbers as rows of the labels in which pyAgrum's variables put them."""
    variables = [model.bn_.variable(name) for name in model.variableNameIndexDictionary_]
    return [{v.name(): v.label(v[str(x)]) for v, x in zip(variables, row, strict=True)} for row in data]


@pytest.mark.parametrize("method", ["NaiveBayes", "TAN"])
def test_a_bn_classifier_fitted_on_continuous_data_decides_alike(method: str) -> None:
    """On discretized real data, decisions are those of predict, posteriors those of exact inference, not of proba."""
    model = fitted_bn_classifier(method)
    data = CANCER.data[:, :CANCER_COLUMNS]
    classifier, rows = from_pyagrum(model), label_rows(model, data)
    assert (classifier.target, classifier.positive) == ("y", ("1",))
    assert classifier.threshold == model.threshold_ != 0.5
    assert classifier.features == tuple(f"x{i}" for i in range(CANCER_COLUMNS))
    posterior = classifier.posterior(rows)
    assert classifier.decide(rows).tolist() == (model.predict(data) == 1).tolist()
    engine = gum.LazyPropagation(model.bn_)
    for row, ours in zip(rows[::10], posterior[::10], strict=True):
        engine.setEvidence(row)
        assert engine.posterior("y")[1] == pytest.approx(ours, abs=1e-12)
    stretched = model.predict_proba(data)[:, 1]
    threshold = model.threshold_
    upper = 0.5 + 0.5 * (posterior - threshold) / (1 - threshold)
    assert stretched == pytest.approx(np.where(posterior >= threshold, upper, 0.5 * posterior / threshold), abs=1e-9)
    assert np.abs(stretched - posterior).max() > 0.1


@pytest.mark.parametrize("labels", [("no", "yes"), ("yes", "no")])
@pytest.mark.parametrize("threshold", [0.3, 0.62])
def test_a_bn_classifier_from_a_trained_model_decides_alike(labels: tuple[str, str], threshold: float) -> None:
    """The modality and threshold given to fromTrainedModel decide the same instances, whichever label is first."""
    ours = BayesianNetwork(
        [
            Variable("cause", ("0", "1")),
            Variable("class", labels),
            Variable("a", ("0", "1", "2")),
            Variable("b", ("0", "1")),
        ],
        {"class": ["cause"], "a": ["class", "cause"], "b": ["class"]},
        {
            "cause": [0.2, 0.8],
            "class": [[0.35, 0.65], [0.6, 0.4]],
            "a": [[[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], [[0.4, 0.3, 0.3], [0.6, 0.3, 0.1]]],
            "b": [[0.3, 0.7], [0.55, 0.45]],
        },
    )
    network = to_pyagrum(ours)
    model = skbn.createBNClassifier()
    model.fromTrainedModel(network, "class", targetModality="yes", threshold=threshold)
    classifier = from_pyagrum(model)
    assert classifier == Classifier(ours, "class", "yes", threshold=threshold)
    assert classifier.features == ("cause", "a", "b")
    states = [[cause, a, b] for cause in range(2) for a in range(3) for b in range(2)]
    frame = pandas.DataFrame(states, columns=classifier.features)
    decisions = classifier.decide(frame)
    assert decisions.any()
    assert not decisions.all()
    assert decisions.tolist() == model.predict(frame).tolist()


def tied_bn(label: str, **arguments: Any) -> Any:
    """Return a BNClassifier whose posterior of the second class is exactly 0.5 for a=1, and 0.3, 0.7 for 0, 2."""
    network = gum.fastBN("a[3]->class{no|yes}")
    network.cpt("class")[:] = [[0.7, 0.3], [0.5, 0.5], [0.3, 0.7]]
    model = skbn.createBNClassifier()
    model.fromTrainedModel(network, "class", targetModality=label, **arguments)
    return model


TIED_ROWS = np.array([[0], [1], [2]])


def test_ties_of_a_bn_classifier_with_a_modality_are_positive_on_both_sides() -> None:
    """With a modality, predict is ≥ as ours is, so a posterior that equals the threshold is positive in both."""
    model = tied_bn("yes", threshold=0.5)
    assert model.predict(TIED_ROWS).tolist() == [False, True, True]
    assert from_pyagrum(model).decide(TIED_ROWS).tolist() == [False, True, True]


def test_ties_of_a_bn_classifier_without_a_modality_differ() -> None:
    """Without a modality predict takes the first of the most probable classes; ours calls a tie positive."""
    model = tied_bn("")
    assert model.predict(TIED_ROWS).tolist() == ["no", "no", "yes"]
    classifier = from_pyagrum(model)
    assert (classifier.positive, classifier.threshold) == (("yes",), 0.5)
    assert classifier.decide(TIED_ROWS).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("digits", "threshold", "expected"), [(10, 0.7, 0.7), (1, 0.7, 0.65), (1, 0.62, 0.65), (1, 0, 0)]
)
def test_a_bn_classifier_that_rounds_coarsely_gets_a_lower_threshold(
    digits: int, threshold: float, expected: float
) -> None:
    """Posteriors that predict rounds up to the threshold are positive in ours as well."""
    network = gum.fastBN("a[4]->class{no|yes}")
    network.cpt("class")[:] = [[0.36, 0.64], [0.34, 0.66], [0.31, 0.69], [0.29, 0.71]]
    model = skbn.createBNClassifier(significant_digit=digits)
    model.fromTrainedModel(network, "class", targetModality="yes", threshold=threshold)
    classifier = from_pyagrum(model)
    assert classifier.threshold == expected
    rows = np.arange(4)[:, None]
    assert classifier.decide(rows).tolist() == model.predict(rows).tolist()


def test_bn_classifiers_that_have_no_threshold_are_refused() -> None:
    """Unfitted ones, ones of three classes, and ones that ignore their threshold are refused, saying what to do."""
    with pytest.raises(ClassifierError, match="not fitted; call fit or fromTrainedModel first"):
        from_pyagrum(skbn.createBNClassifier())
    with pytest.raises(ClassifierError, match=r"threshold 0\.3 but no targetModality"):
        from_pyagrum(tied_bn("", threshold=0.3))
    network = gum.fastBN("a->class{x|y|z}")
    network.cpt("class")[:] = [[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]]
    model = skbn.createBNClassifier()
    model.fromTrainedModel(network, "class", targetModality="z", threshold=0.2)
    assert model.predict(np.array([[0], [1]])).tolist() == [False, True]  # 0.3 is above the threshold all the same
    with pytest.raises(ClassifierError, match="3 classes and predicts the most probable one, without a threshold"):
        from_pyagrum(model)


# ---------------------------------------------------------------------------------------------- scikit-learn


def binned(data: Any, bins: int) -> Any:
    """Return each column's values as the numbers of their quantile bins."""
    return np.stack([np.digitize(x, np.quantile(x, np.arange(1, bins) / bins)) for x in data.T], axis=1)


CATEGORICAL_X, CATEGORICAL_Y = binned(CANCER.data[:, :10], 4), CANCER.target
WEIGHTS = np.random.default_rng(1).uniform(0.1, 3, len(CATEGORICAL_Y))
CATEGORICAL: dict[str, dict[str, Any]] = {
    "plain": {},
    "uniform prior": {"fit_prior": False},
    "given prior": {"class_prior": [0.3, 0.7]},
    "hardly any smoothing": {"alpha": 1e-3},
    "more categories": {"min_categories": 6},
    "raised alpha": {"alpha": 1e-12, "force_alpha": False},
}
BERNOULLI = {name: dict(changes) for name, changes in CATEGORICAL.items() if name != "more categories"}
BERNOULLI["no binarizing"] = {"binarize": None}


def assert_same_posterior_and_decisions(model: Any, classifier: Classifier, rows: Any, data: Any) -> None:
    """Compare with a two-class model: ``data`` is what it reads, ``rows`` the same for the classifier."""
    assert classifier.posterior(rows) == pytest.approx(model.predict_proba(data)[:, 1], abs=1e-12)
    predicted = model.predict(data) == model.classes_[1]
    assert predicted.any()
    assert not predicted.all()
    assert classifier.decide(rows).tolist() == predicted.tolist()


# Raising a tiny alpha is what one of the cases is about; scikit-learn warns when it does.
@pytest.mark.filterwarnings("ignore:alpha too small:UserWarning")
@pytest.mark.parametrize("changes", CATEGORICAL.values(), ids=CATEGORICAL)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
def test_categorical_naive_bayes_keeps_posteriors_and_decisions(changes: dict[str, Any], weights: Any) -> None:
    """On binned tumour data, posteriors equal predict_proba to 1e-12 and decisions equal predict."""
    model = CategoricalNB(**changes).fit(CATEGORICAL_X, CATEGORICAL_Y, sample_weight=weights)
    classifier = from_sklearn(model)
    assert (classifier.positive, classifier.threshold, classifier.target) == (("1",), 0.5, "class")
    assert classifier.features[:2] == ("x0", "x1")
    assert classifier.network.states("x0") == tuple(map(str, range(changes.get("min_categories", 4))))
    assert_same_posterior_and_decisions(model, classifier, CATEGORICAL_X, CATEGORICAL_X)


@pytest.mark.filterwarnings("ignore:alpha too small:UserWarning")
@pytest.mark.parametrize("changes", BERNOULLI.values(), ids=BERNOULLI)
@pytest.mark.parametrize("weights", [None, "weighted"])
def test_bernoulli_naive_bayes_keeps_posteriors_and_decisions(changes: dict[str, Any], weights: Any) -> None:
    """On digits (is it above 4?), posteriors equal predict_proba to 1e-12; rows are given binarized."""
    digits = datasets.load_digits()
    states = (digits.data > 7).astype(int)
    data = states if changes.get("binarize", 7) is None else digits.data
    weight = None if weights is None else np.linspace(0.5, 2, len(digits.target))
    model = BernoulliNB(**{"binarize": 7, **changes}).fit(data, digits.target > 4, sample_weight=weight)
    classifier = from_sklearn(model)
    assert classifier.positive == ("True",)
    assert classifier.network.states("x5") == ("0", "1")
    assert_same_posterior_and_decisions(model, classifier, states, data)


def test_probabilities_are_the_counts_themselves() -> None:
    """Tables hold the nearest doubles to the smoothed counts' quotients, not exponentials of rounded logarithms."""
    data, classes = np.array([[0], [0], [1], [2], [1]]), np.array([0, 0, 0, 1, 1])
    network = from_sklearn(CategoricalNB().fit(data, classes)).network
    assert network.table("class").tolist() == [3 / 5, 2 / 5]
    assert network.table("x0").tolist() == [[3 / 6, 2 / 6, 1 / 6], [1 / 5, 2 / 5, 2 / 5]]
    binary = from_sklearn(BernoulliNB().fit(data, classes)).network
    assert binary.table("x0").tolist() == [[3 / 5, 2 / 5], [1 / 4, 3 / 4]]
    assert from_sklearn(CategoricalNB(class_prior=[0.1, 0.9]).fit(data, classes)).network.table("class")[0] == 0.1
    many = CategoricalNB(fit_prior=False).fit(np.zeros((7, 1), dtype=int), [0, 1, 2, 3, 4, 5, 5])
    assert from_sklearn(many, positive=0).network.table("class").tolist() == [1 / 6] * 6


@pytest.mark.parametrize("kind", [CategoricalNB, BernoulliNB])
def test_a_model_changed_after_fitting_is_read_from_its_logarithms(kind: Any) -> None:
    """What the model predicts with counts, even where its parameters no longer say how it was fitted."""
    data, classes = (CATEGORICAL_X > 1).astype(int), CATEGORICAL_Y
    model = kind(alpha=0.5, class_prior=[0.3, 0.7]).fit(data, classes).set_params(alpha=9, class_prior=None)
    assert_same_posterior_and_decisions(model, from_sklearn(model), data, data)


@pytest.mark.parametrize("changed", [False, True])
def test_weights_that_add_up_differently_leave_no_negative_probability(changed: bool) -> None:
    """A feature that is always 1 keeps probabilities in [0, 1], although its weights sum to more than its class's."""
    weights = np.random.default_rng(0).uniform(0.1, 3, 999)
    classes, data = np.arange(999) % 3 == 0, np.ones((999, 1))
    model = BernoulliNB(alpha=1e-15).fit(data, classes, sample_weight=weights)
    assert (model.feature_count_[:, 0] > model.class_count_).any()
    table = from_sklearn(model.set_params(alpha=9) if changed else model).network.table("x0")
    assert table == pytest.approx(np.array([[0, 1], [0, 1]]), abs=1e-12)
    assert table.min() >= 0


def test_an_alpha_per_feature_is_read_from_the_logarithms() -> None:
    """BernoulliNB adds an array of alphas to the wrong counts (by class, not by feature); what it predicts counts."""
    data, classes = (CATEGORICAL_X[:, :2] > 1).astype(int), CATEGORICAL_Y
    model = BernoulliNB(alpha=[0.5, 20]).fit(data, classes)
    assert_same_posterior_and_decisions(model, from_sklearn(model), data, data)


# Logarithms of zero are what scikit-learn's sums are made of without smoothing.
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize("kind", [CategoricalNB, BernoulliNB])
def test_without_smoothing_zeros_stay_zeros(kind: Any) -> None:
    """alpha=0 gives exact zeros: sure decisions, and rows of probability zero, where scikit-learn gives NaN."""
    data, classes = np.array([[0, 0], [0, 1], [0, 1], [1, 0]]), np.array(["a", "a", "b", "b"])
    classifier = from_sklearn(kind(alpha=0).fit(data, classes))
    assert classifier.network.table("x0").tolist() == [[1.0, 0.0], [0.5, 0.5]]
    assert classifier.posterior(np.array([[0, 1], [1, 1]])) == pytest.approx([1 / 3, 1])
    never = from_sklearn(kind(alpha=0).fit(np.array([[0, 0], [0, 0], [0, 1]]), np.array([0, 0, 1])), categories=None)
    assert never.posterior(np.array([[0, 1]])) == pytest.approx([1])
    model = kind(alpha=0).fit(np.array([[0, 1], [1, 0]]), np.array([0, 1]))
    assert np.isnan(model.predict_proba([[0, 0]])).all()
    with pytest.raises(ImpossibleEvidenceError, match="x0=0, x1=0"):
        from_sklearn(model).posterior(np.array([[0, 0]]))


def test_exact_ties_go_to_the_first_class_in_scikit_learn_and_to_the_positive_one_here() -> None:
    """With two equal classes predict answers classes_[0]; a Classifier answers its positive class, whichever it is."""
    data, classes = np.array([[0], [1], [0], [1]]), np.array(["a", "a", "b", "b"])
    for model in (CategoricalNB().fit(data, classes), BernoulliNB().fit(data, classes)):
        assert model.predict([[0]]).tolist() == ["a"]
        assert from_sklearn(model).decide({"x0": "0"})
        assert from_sklearn(model, positive="a").decide({"x0": "0"})


def test_with_more_classes_the_positive_ones_must_be_named() -> None:
    """On binned irises, one or several classes may be positive, as in classes_ or as strings."""
    iris = datasets.load_iris()
    data = binned(iris.data, 3)
    model = CategoricalNB().fit(data, iris.target)
    proba = model.predict_proba(data)
    with pytest.raises(ClassifierError, match="3 classes; name one or more as positive"):
        from_sklearn(model)
    for positive, columns in ((2, [2]), ("2", [2]), ([0, 2], [0, 2]), (model.classes_[1:], [1, 2])):
        classifier = from_sklearn(model, positive=positive, threshold=0.3)
        assert classifier.posterior(data) == pytest.approx(proba[:, columns].sum(axis=1), abs=1e-12)
        assert classifier.decide(data).tolist() == (proba[:, columns].sum(axis=1) >= 0.3).tolist()
    with pytest.raises(BayestrimError, match="no state 'virginica'"):
        from_sklearn(model, positive="virginica")


def test_names_come_from_the_frame_or_the_caller() -> None:
    """Feature names are the frame's; the caller may name features, target and categories, and give rows by name."""
    frame = pandas.DataFrame({"colour": ["red", "blue", "red", "green"] * 5, "size": ["S", "S", "L", "L"] * 5})
    encoder = OrdinalEncoder().set_output(transform="pandas")
    codes = encoder.fit_transform(frame)
    model = CategoricalNB().fit(codes, ["no", "yes", "no", "yes"] * 5)
    classifier = from_sklearn(model, target="bought", categories=encoder.categories_)
    assert classifier.target == "bought"
    assert classifier.feature_variables == (
        Variable("colour", ("blue", "green", "red")),
        Variable("size", ("L", "S")),
    )
    assert_same_posterior_and_decisions(model, classifier, frame, codes)
    renamed = from_sklearn(model, feature_names=["c", "s"])
    assert renamed.posterior({"c": 2, "s": 0}) == classifier.posterior({"colour": "red", "size": "L"})


def test_names_that_do_not_fit_the_model_are_refused() -> None:
    """Wrong counts of names or categories and clashing names are refused."""
    model = CategoricalNB().fit([[0, 0], [1, 1]], [0, 1])
    for names in (["a"], "ab"):
        with pytest.raises(ClassifierError, match="must list 2 names"):
            from_sklearn(model, feature_names=names)
    with pytest.raises(NetworkError, match="feature names must differ"):
        from_sklearn(model, feature_names=["a", "a"])
    with pytest.raises(ClassifierError, match="a feature are both called 'class'"):
        from_sklearn(model, feature_names=["a", "class"])
    with pytest.raises(ClassifierError, match="but categories has 1 lists"):
        from_sklearn(model, categories=[["n", "y"]])
    with pytest.raises(ClassifierError, match="2 categories for 'x1', but categories lists 3"):
        from_sklearn(model, categories=[["n", "y"], ["n", "y", "?"]])
    with pytest.raises(NetworkError, match=r"categories of 'x1' must differ .* but 1 and '1' are the same"):
        from_sklearn(model, categories=[["n", "y"], [1, "1"]])


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (MultinomialNB(), "its features are counts"),
        (ComplementNB(), "its scores are not the posterior"),
        (make_pipeline(KBinsDiscretizer(), CategoricalNB()), "take its last step"),
        (GridSearchCV(CategoricalNB(), {}), "take its best_estimator_"),
        (KBinsDiscretizer(), "not sklearn KBinsDiscretizer$"),
        (CategoricalNB, "not the class CategoricalNB itself"),
        (None, "not NoneType"),
    ],
)
def test_other_estimators_are_refused_with_a_way_out(model: object, advice: str) -> None:
    """What has no states per feature, or hides them behind other steps, is refused and says what to do."""
    with pytest.raises(
        ClassifierError, match=f"from_sklearn takes a fitted CategoricalNB, BernoulliNB or Gauss.*{advice}"
    ):
        from_sklearn(model)


# The third model divides zero by zero.
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value) encountered:RuntimeWarning")
def test_estimators_that_cannot_decide_are_refused() -> None:
    """Not fitted, one class only, a class without data and without smoothing, and values that are no states."""
    with pytest.raises(ClassifierError, match=r"this BernoulliNB is not fitted; call fit\(X, y\) first"):
        from_sklearn(BernoulliNB())
    with pytest.raises(ClassifierError, match=r"saw the class .*7.* only; two are needed"):
        from_sklearn(CategoricalNB().fit([[0], [1]], [7, 7]))
    unseen = CategoricalNB(alpha=0).partial_fit([[0], [1]], [0, 0], classes=[0, 1])
    with pytest.raises(ClassifierError, match="'x0' has no probabilities: the class '1' was never seen"):
        from_sklearn(unseen)
    with pytest.raises(ClassifierError, match="'x0' was fitted on values other than 0 and 1"):
        from_sklearn(BernoulliNB(binarize=None).fit([[0], [9]], [0, 1]))


def test_none_of_the_three_libraries_is_imported() -> None:
    """Importing the adapters leaves pgmpy, pyAgrum, scikit-learn and pandas alone."""
    code = (
        "import sys, bayestrim.formats.objects\n"
        "assert not {'pgmpy', 'pyagrum', 'pyAgrum', 'sklearn', 'pandas'} & set(sys.modules)"
    )
    source = str(Path(objects.__file__).parents[2])
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env={"PYTHONPATH": source})
