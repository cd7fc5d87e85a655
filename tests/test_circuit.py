"""Compiled circuits say what the definitions, and the other engines, say."""

from __future__ import annotations

import sys
from random import Random

import numpy as np
import pytest
from generators import random_classifier, random_network, random_subset
from hypothesis import given
from hypothesis import strategies as st

import bayestrim as bt
from bayestrim import reference
from bayestrim.engines import circuit as circuits
from bayestrim.engines import encoding as encodings
from bayestrim.engines.circuit import CircuitEngine, compile_circuit, joint_of
from bayestrim.engines.encoding import encode
from bayestrim.engines.table import TableEngine
from bayestrim.errors import MissingPackageError
from bayestrim.inference import joint_table
from bayestrim.verify import verify
from benchmarks.circuits import least_classifier
from benchmarks.models import model_files


def models(booleans: int, clauses: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the sets of Booleans whose truth, and the others' falsehood, makes every clause true."""
    found: list[tuple[int, ...]] = []
    waiting: list[tuple[int, ...]] = [()]  # literals decided so far, Boolean 1 first
    while waiting:
        decided = waiting.pop()
        false = {-literal for literal in decided}
        if any(false.issuperset(clause) for clause in clauses):
            continue
        if len(decided) == booleans:
            found.append(tuple(literal for literal in decided if literal > 0))
        else:
            waiting += [(*decided, len(decided) + 1), (*decided, -len(decided) - 1)]
    return found


@given(st.randoms(use_true_random=False))
def test_the_formula_has_one_model_for_each_possible_world(random: Random) -> None:
    """Each possible world is one model, whose true values multiply to the world's probability."""
    network = random_network(random, 4)
    encoding = encode(network, network.topological_order)
    clauses = [clause for some in encoding.clauses.values() for clause in some]
    worlds = sorted(float(p) for _, p in reference.worlds(network) if p > 0)
    found = models(encoding.booleans, clauses)
    weights = [np.prod([encoding.weights.get(boolean, 1.0) for boolean in model]) for model in found]
    assert encoding.size == len(clauses)
    assert sorted(weights) == pytest.approx(worlds, abs=1e-12)


@given(st.randoms(use_true_random=False), st.booleans())
def test_circuits_give_the_joint_table(random: Random, features_first: bool) -> None:
    """Under either vtree, with evidence, gaps and features of one state, the circuit's table is elimination's."""
    classifier = random_classifier(random)
    expected = joint_table(classifier.network, classifier.target, classifier.features, classifier.evidence_codes)
    states = classifier.positive_states
    sides = np.stack([expected[states].sum(axis=0), expected[~states].sum(axis=0)])
    found = joint_of(compile_circuit(classifier, features_first=features_first), classifier)
    assert found.shape == sides.shape
    assert np.abs(found / found.sum() - sides / sides.sum()).max() < 1e-12


@given(st.randoms(use_true_random=False))
def test_circuits_answer_as_the_definitions_do(random: Random) -> None:
    """ECA, MAA and MPA of random subsets are those of brute force over fractions."""
    classifier = random_classifier(random, 5)
    engine = CircuitEngine(classifier)
    kept = random_subset(random, classifier)
    threshold = random.choice([0.0, 0.3, 0.5, 1.0])
    assert float(engine.eca(kept, threshold)) == pytest.approx(float(reference.eca(classifier, kept, threshold)))
    assert float(engine.mpa(kept)) == pytest.approx(float(reference.mpa(classifier, kept)))
    best, expected = engine.maa(kept), reference.maa(classifier, kept)
    assert float(best) == pytest.approx(float(expected.value))
    assert float(reference.eca(classifier, kept, best.threshold)) == pytest.approx(float(best))


PUBLIC = [
    ("asia", ["xray", "dysp", "smoke"], "asia", "yes"),
    ("cancer", ["Xray", "Dyspnoea"], "Pollution", "low"),
    ("earthquake", ["JohnCalls", "MaryCalls"], "Burglary", "True"),
    ("sachs", ["Akt", "Jnk", "P38", "PIP2"], "PKC", "LOW"),
    ("survey", ["T", "O", "R"], "A", "young"),
    ("child", ["LowerBodyO2", "RUQO2", "CO2Report", "XrayReport", "GruntingReport"], "BirthAsphyxia", "yes"),
    ("alarm", ["CVP", "PCWP", "HISTORY", "HRBP", "HREKG", "BP"], "HYPOVOLEMIA", "TRUE"),
    ("win95pts", ["Problem1", "Problem2", "Problem3", "Problem5", "Problem6", "PrtIcon"], "AppOK", "Correct"),
    ("insurance", ["GoodStudent", "OtherCar", "MedCost", "ILiCost"], "Age", "Adolescent"),
    ("hailfinder", ["R5Fcst", "Dewpoints", "LowLLapse", "MvmtFeatures"], "N0_7muVerMo", "StrongUp"),
    ("hepar2", ["itching", "pain", "fatigue"], "alcoholism", "present"),
]


@pytest.mark.parametrize(("name", "features", "target", "positive"), PUBLIC, ids=[row[0] for row in PUBLIC])
def test_public_networks_compile_to_the_same_answers(
    name: str, features: list[str], target: str, positive: str
) -> None:
    """On public networks, circuits and tables agree to nine digits and more, in every quantity."""
    network = bt.read_network(model_files()[name])
    classifier = bt.Classifier(network, target, positive, features, 0.4)
    mine, theirs = CircuitEngine(classifier), TableEngine(classifier)
    for kept in ([], features[:1], features[1:3], features):
        assert float(mine.mpa(kept)) == pytest.approx(float(theirs.mpa(kept)), abs=1e-9)
        assert float(mine.maa(kept)) == pytest.approx(float(theirs.maa(kept)), abs=1e-9)
        assert float(mine.eca(kept, 0.4)) == pytest.approx(float(theirs.eca(kept, 0.4)), abs=1e-9)


@pytest.mark.parametrize("name", sorted(set(model_files()) - {"diabetes", "mildew"}))
def test_one_leaf_of_each_public_network_compiles_to_its_table(name: str) -> None:
    """Where a whole network is too much for a circuit, one leaf need not be: every cell is that of elimination.

    Two networks have no leaf that compiles in reasonable time (they are in the documentation).
    """
    classifier = least_classifier(bt.read_network(model_files()[name]))
    joint = joint_table(classifier.network, classifier.target, classifier.features, {})
    states = classifier.positive_states
    sides = np.stack([joint[states].sum(axis=0), joint[~states].sum(axis=0)])
    assert np.abs(joint_of(compile_circuit(classifier), classifier) - sides).max() < 1e-12


def alarm() -> bt.Classifier:
    """Return a classifier of medium size."""
    network = bt.read_network(model_files()["alarm"])
    return bt.Classifier(network, "HYPOVOLEMIA", "TRUE", ["CVP", "PCWP", "HISTORY", "HRBP"])


def test_trimming_by_circuit_finds_the_same_features() -> None:
    """The search does not notice where the table came from, and its answer is verified."""
    mine, theirs = (bt.trim(alarm(), budget=2, engine=engine) for engine in ("circuit", "table"))
    assert mine.engine == "circuit"
    assert (mine.features, mine.thresholds) == (theirs.features, theirs.thresholds)
    assert float(mine.agreement) == pytest.approx(float(theirs.agreement), abs=1e-12)
    verify(mine).raise_if_failed()


def test_features_first_is_the_larger_circuit() -> None:
    """The vtree of the paper makes a larger circuit than an elimination order does, and the same table."""
    free, first = compile_circuit(alarm()), compile_circuit(alarm(), features_first=True)
    assert first.size > free.size
    assert np.abs(joint_of(first, alarm()) - joint_of(free, alarm())).max() < 1e-12


def test_limits_refuse_what_grows_too_large() -> None:
    """Nodes, seconds, clauses and memory each have a refusal that says what was needed and what is allowed."""
    with pytest.raises(bt.TooLargeError, match=r"nodes after .* tables, and 100 are allowed"):
        compile_circuit(alarm(), nodes=100)
    with pytest.raises(bt.TooLargeError, match=r"and 0 are allowed; use engine='table'"):
        compile_circuit(alarm(), seconds=0.0)
    with pytest.raises(bt.TooLargeError, match="arrays over 4 features"):
        joint_of(compile_circuit(alarm()), alarm(), memory=100)


def test_tables_of_many_values_are_refused_before_they_are_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of clauses is known beforehand."""
    monkeypatch.setattr(encodings, "MOST_CLAUSES", 10)
    with pytest.raises(bt.TooLargeError, match="clauses, and 10 are allowed"):
        compile_circuit(alarm())


def test_without_pysdd_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is asked for by name."""
    monkeypatch.setitem(sys.modules, "pysdd", None)
    with pytest.raises(MissingPackageError, match=r"bayestrim\[sdd\]"):
        circuits.compile_circuit(alarm())
