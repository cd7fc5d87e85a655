"""What runs beside us in the benchmarks does what it is said to do."""

from __future__ import annotations

from random import Random

import numpy as np
import pyagrum
import pytest

import bayestrim as bt
from bayestrim.engines.table import TableEngine
from bayestrim.search.start import information_gain
from benchmarks import datasets, peers
from benchmarks.baselines import METHODS, Question
from benchmarks.models import model_files
from benchmarks.paper_sampled import Rows, best_threshold, judged


def alarm(threshold: float = 0.3) -> bt.Classifier:
    """Return a classifier of few features."""
    network = bt.read_network(model_files()["alarm"])
    return bt.Classifier(network, "HYPOVOLEMIA", "TRUE", ("CVP", "PCWP", "HISTORY", "HRBP", "BP"), threshold)


def test_brute_force_finds_what_the_search_proves() -> None:
    """Its features reach the proved agreement, in naive Bayes and in a network with dependent features."""
    for classifier, budget in ((datasets.learn(datasets.load("pima")).classifier(0.35), 3), (alarm(), 2)):
        optimum = float(bt.trim(classifier, budget).agreement)
        found = peers.brute_force(classifier, budget)
        assert found is not None
        assert float(bt.maa(classifier, found)) == pytest.approx(optimum, abs=1e-12)


def test_pyagrum_computes_the_same_information(tmp_path: str) -> None:
    """With one feature, its mutual information is ours; names are replaced and tables are not."""
    classifier = alarm()
    plain = {name: f"v{i}" for i, name in enumerate(classifier.network.names)}
    bt.write_network(peers.renamed(classifier.network, plain), f"{tmp_path}/plain.bif")
    network = pyagrum.loadBN(f"{tmp_path}/plain.bif")
    for name, gain in information_gain(classifier).items():
        theirs = peers._information(pyagrum, network, plain["HYPOVOLEMIA"], [plain[name]])
        assert theirs == pytest.approx(gain, abs=1e-6)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("JMI", "nothing")])
def test_baselines_stay_within_the_budget(method: str) -> None:
    """Features and budget are respected, and nothing affordable is left out by those that rank."""
    classifier = alarm()
    costs = dict.fromkeys(classifier.features, 1) if method == "SFS" else {"CVP": 3, "PCWP": 2, "HISTORY": 1}
    costs = {name: costs.get(name, 1) for name in classifier.features}
    question = Question(classifier, TableEngine(classifier), costs, 3)
    kept = METHODS[method](question)
    assert len(set(kept)) == len(kept) > 0
    assert set(kept) <= set(classifier.features)
    assert sum(costs[name] for name in kept) <= 3


def test_questions_share_what_was_computed() -> None:
    """Agreements are those of the engine, and are looked up for the same features in another order."""
    classifier = alarm()
    known: dict[tuple[frozenset[str], bool], float] = {}
    one = Question(classifier, TableEngine(classifier), dict.fromkeys(classifier.features, 1), 3, known)
    assert one.expected_sdp(("CVP", "BP")) == float(bt.eca(classifier, ("CVP", "BP"), classifier.threshold))
    assert one.best_agreement(("BP", "CVP")) == float(bt.maa(classifier, ("CVP", "BP")))
    assert set(known) == {(frozenset({"CVP", "BP"}), False), (frozenset({"CVP", "BP"}), True)}
    known[frozenset({"CVP", "BP"}), True] = 0.125
    assert Question(classifier, one.engine, one.costs, 2, known).best_agreement(("CVP", "BP")) == 0.125


def test_greedy_methods_take_the_best_first_step() -> None:
    """With room for one feature, adding greedily is choosing the best one."""
    classifier = alarm()
    engine = TableEngine(classifier)
    question = Question(classifier, engine, dict.fromkeys(classifier.features, 1), 1)
    (kept,) = METHODS["MAA"](question)
    assert float(engine.maa([kept])) == max(float(engine.maa([name])) for name in classifier.features)


def test_the_best_threshold_on_rows_is_the_best_of_all_thresholds() -> None:
    """No other threshold agrees on more of the rows."""
    classifier = alarm()
    random = np.random.default_rng(5)
    codes = random.integers(0, [len(v) for v in classifier.feature_variables], (300, 5))
    codes = codes[~np.isnan(classifier.posterior(codes, impossible="nan"))]
    rows = Rows(codes, classifier.decide(codes))
    kept = ("CVP", "HRBP")
    found = judged(classifier, kept, best_threshold(classifier, kept, rows), rows)
    tried = [0.0, bt.NEVER_POSITIVE, *(Random(1).random() for _ in range(40))]
    assert all(judged(classifier, kept, threshold, rows) <= found for threshold in tried)
