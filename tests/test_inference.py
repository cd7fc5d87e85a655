"""Inference against other libraries, and its limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pgmpy
import pytest

import bayestrim as bt
from bayestrim import inference, memory

MODELS = Path(pgmpy.__file__).parent / "utils" / "example_models"

SUBSETS = {
    "alarm": ("HYPOVOLEMIA", ["CVP", "PCWP", "HISTORY", "BP", "HRBP"]),
    "win95pts": ("Problem1", ["PrtStatPaper", "PrtStatOff", "Problem2", "PrtDataOut"]),
    "insurance": ("Accident", ["ILiCost", "MedCost", "PropCost", "Age"]),
    "water": ("C_NI_12_00", ["CBODD_12_45", "CNOD_12_45", "CKNI_12_45"]),
    "hepar2": ("Cirrhosis", ["alt", "ast", "bilirubin", "edema", "fatigue"]),
}
"""A class and a few features of each network."""


def model(name: str) -> bt.BayesianNetwork:
    """Return one of the public networks that pgmpy carries."""
    return bt.read_network(MODELS / f"{name}.bif.gz")


def joint_by_pgmpy(network: bt.BayesianNetwork, variables: list[str]) -> np.ndarray:
    """Return a joint table from pgmpy's variable elimination."""
    from pgmpy.factors.discrete import TabularCPD  # noqa: PLC0415
    from pgmpy.inference import VariableElimination  # noqa: PLC0415
    from pgmpy.models import DiscreteBayesianNetwork  # noqa: PLC0415

    part = network.ancestral(variables)
    peer = DiscreteBayesianNetwork([(p, name) for name in part.names for p in part.parents(name)])
    peer.add_nodes_from(part.names)
    for name in part.names:
        parents = part.parents(name)
        table = inference.normalised(part.table(name))
        flat = np.moveaxis(table, -1, 0).reshape(table.shape[-1], -1)
        sizes = [len(part.variable(parent)) for parent in parents]
        peer.add_cpds(TabularCPD(name, table.shape[-1], flat, parents, sizes))
    factor = VariableElimination(peer).query(variables, show_progress=False)
    return np.transpose(factor.values, [factor.variables.index(name) for name in variables])


def joint_by_pyagrum(network: bt.BayesianNetwork, variables: list[str]) -> np.ndarray:
    """Return a joint table from pyAgrum's lazy propagation."""
    import pyagrum as gum  # noqa: PLC0415

    part = network.ancestral(variables)
    peer = gum.BayesNet()
    ids = {name: peer.add(gum.LabelizedVariable(name, name, list(part.states(name)))) for name in part.names}
    for name in part.names:
        for parent in part.parents(name):
            peer.addArc(ids[parent], ids[name])
    for name in part.names:
        tensor = peer.cpt(ids[name])
        family = [*part.parents(name), name]
        order = [family.index(axis) for axis in reversed(tensor.names)]
        tensor[:] = np.ascontiguousarray(np.transpose(inference.normalised(part.table(name)), order))
    engine = gum.LazyPropagation(peer)
    engine.addJointTarget(set(variables))
    tensor = engine.jointPosterior(set(variables))
    axes = list(reversed(tensor.names))
    return np.transpose(tensor.toarray(), [axes.index(name) for name in variables])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("peer", [joint_by_pgmpy, joint_by_pyagrum])
@pytest.mark.parametrize("name", SUBSETS)
def test_joint_tables_agree_with_other_libraries(name: str, peer: Callable[..., np.ndarray]) -> None:
    """Pr(C, F) equals what pgmpy and pyAgrum compute from the same tables."""
    network = model(name)
    target, features = SUBSETS[name]
    ours = inference.joint_table(network, target, features, {})
    assert ours == pytest.approx(peer(network, [target, *features]), abs=1e-12)


@pytest.mark.parametrize("name", SUBSETS)
def test_posteriors_of_rows_agree_with_the_joint_table(name: str) -> None:
    """Batched posteriors, gaps included, are those of the joint table."""
    network = model(name)
    target, features = SUBSETS[name]
    joint = inference.joint_table(network, target, features, {})
    classifier = bt.Classifier(network, target, network.states(target)[0], features)
    drawn = inference.sample(network, 200, seed=1)
    codes = np.stack([drawn[feature] for feature in features], axis=1)
    codes[np.random.default_rng(2).random(codes.shape) < 0.3] = -1
    expected = [masses[0] / masses.sum() for masses in _lookups(joint, codes)]
    assert classifier.posterior(codes) == pytest.approx(expected, abs=1e-12)


def test_a_hundred_thousand_rows_take_less_than_a_second() -> None:
    """Posteriors and decisions of 100,000 rows over ALARM's 11 leaves, nearly all of them distinct."""
    network = model("alarm")
    classifier = bt.Classifier(network, "HYPOVOLEMIA", "TRUE", network.leaves)
    generator = np.random.default_rng(5)
    sizes = [len(variable) for variable in classifier.feature_variables]
    codes = np.stack([generator.integers(0, size, 100_000) for size in sizes], axis=1)
    assert len(sizes) == 11
    assert len(np.unique(codes, axis=0)) > 80_000
    for ask in (classifier.posterior, classifier.decide):
        seconds = []
        for _ in range(3):  # others may be using the machine
            start = time.perf_counter()
            ask(codes)
            seconds.append(time.perf_counter() - start)
        assert min(seconds) < 1.0


def _lookups(joint: np.ndarray, codes: np.ndarray) -> Iterator[np.ndarray]:
    for row in codes:
        gaps = tuple(axis + 1 for axis, code in enumerate(row) if code < 0)
        seen = tuple(int(code) for code in row if code >= 0)
        yield joint.sum(axis=gaps)[(slice(None), *seen)]


def test_a_joint_table_that_does_not_fit_is_refused_before_it_is_made() -> None:
    """The message states the features, the bits, the need and what is allowed."""
    network = model("hepar2")
    features = [leaf for leaf in network.leaves if leaf != "Cirrhosis"]
    with pytest.raises(bt.TooLargeError, match=r"41 features \(48.1 bits\): .* GiB are needed, and .* are allowed"):
        inference.joint_table(network, "Cirrhosis", features, {})
    with pytest.raises(bt.TooLargeError, match="5 features"):
        inference.joint_table(network, *SUBSETS["hepar2"], {}, memory=1000)


def test_posteriors_that_do_not_fit_are_refused_before_they_are_computed() -> None:
    """Hidden variables that all meet in one factor need more memory than there is; the message says how much."""
    names = [f"H{i}" for i in range(60)]
    leaves = [f"L{i}{j}" for i in range(60) for j in range(i)]
    pair = np.array([[[0.9, 0.1], [0.5, 0.5]], [[0.4, 0.6], [0.2, 0.8]]])
    network = bt.BayesianNetwork(
        [bt.Variable(name, ("0", "1")) for name in (*names, *leaves)],
        {f"L{i}{j}": [names[i], names[j]] for i in range(60) for j in range(i)},
        {**dict.fromkeys(names, np.array([0.5, 0.5])), **dict.fromkeys(leaves, pair)},
    )
    classifier = bt.Classifier(network, "H0", "1", leaves)
    with pytest.raises(bt.TooLargeError, match=r"posteriors of rows: .* GiB are needed"):
        classifier.posterior(dict.fromkeys(leaves, "1"))


def test_sums_over_a_large_table_keep_their_digits() -> None:
    """Dropping 20 features from a joint table leaves posteriors correct to 1e-14, whichever axis is kept."""
    features = [bt.Variable(f"F{i}", ("y", "n")) for i in range(20)]
    tables = {f.name: [0.1, 0.9] for f in features}
    variables = [bt.Variable("C", ("c", "n")), *features, bt.Variable("K", ("a", "b"))]
    network = bt.BayesianNetwork(variables, {"K": ["C"]}, {"C": [0.1, 0.9], **tables, "K": [[0.7, 0.3], [0.2, 0.8]]})
    best = bt.maa(bt.Classifier(network, "C", "c", threshold=0.2), ["K"])
    assert float(best) == pytest.approx(1.0, abs=1e-14)


def test_samples_follow_the_network_and_the_seed() -> None:
    """Frequencies approach probabilities, and the same seed draws the same instances."""
    network = model("asia")
    drawn = inference.sample(network, 20_000, seed=7)
    again = inference.sample(network, 20_000, seed=np.random.default_rng(7))
    assert all((drawn[name] == again[name]).all() for name in network.names)
    joint = inference.joint_table(network, "lung", ["smoke", "xray"], {})
    counts = np.zeros_like(joint)
    np.add.at(counts, (drawn["lung"], drawn["smoke"], drawn["xray"]), 1 / 20_000)
    assert counts == pytest.approx(joint, abs=0.02)


def test_free_memory_is_a_plausible_number() -> None:
    """It is positive and less than a petabyte."""
    assert 0 < memory.free_memory() < 2**50
