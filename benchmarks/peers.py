"""Other ways to the same answer, side by side in one process: ``python -m benchmarks.peers [--quick]``.

The task: the affordable features, and the threshold, of highest agreement. Peers run in turn on the same classifiers,
one after the other for each instance, so that whatever else the machine does befalls all of them alike; what is printed
is the median of their times over ours, and the range of it over the instances.

- *brute force*: NumPy, every instance decided once, every affordable subset summed and cut.
- *circuit*: our exhaustive search on the table of a compiled circuit (PySDD).
- *pyAgrum greedy*: features added one by one by the mutual information with the class that pyAgrum computes; judged by
  us. It need not find the best.
- *mlxtend*: its exhaustive selector over scikit-learn's naive Bayes, which learns the decisions from 1,000 drawn rows;
  what it can express of the task. It need not find the best.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import bayestrim as bt
from bayestrim.inference import joint_table, sample
from benchmarks import datasets
from benchmarks.models import model_files
from benchmarks.outputs import is_quick, machine, write_table

ROWS = 1000
"""Rows drawn for mlxtend."""
MOST_FITTED = 2000
"""The most subsets of the budget's size that mlxtend, which fits a model to each, is asked to try."""
THRESHOLDS = (0.2, 0.35, 0.5, 0.65, 0.8)

Answer = tuple[str, ...] | None
"""The features kept, None where a peer is not asked."""


def classifiers() -> Iterator[tuple[str, list[bt.Classifier]]]:
    """Yield problems by name, each for some thresholds."""
    thresholds = THRESHOLDS[1::2] if is_quick() else THRESHOLDS
    for name in ("pima", "heart") if is_quick() else ("pima", "heart", "votes"):
        model = datasets.learn(datasets.load(name))
        yield name, [model.classifier(threshold) for threshold in thresholds]
    for name, target in (("alarm", "HYPOVOLEMIA"), ("alarm", "LVFAILURE")):
        network = bt.read_network(model_files()[name])
        features = ("CVP", "PCWP", "HISTORY", "HRBP", "HREKG", "HRSAT", "BP")
        yield f"{name} {target}", [bt.Classifier(network, target, "TRUE", features, t) for t in thresholds]


def ours(classifier: bt.Classifier, budget: int) -> Answer:
    """Search as `trim` does by default."""
    return bt.trim(classifier, budget).features


def circuit(classifier: bt.Classifier, budget: int) -> Answer:
    """Search on the table of a compiled circuit."""
    return bt.trim(classifier, budget, engine="circuit").features


def brute_force(classifier: bt.Classifier, budget: int) -> Answer:
    """Try every subset with NumPy alone, from the joint table."""
    joint = joint_table(classifier.network, classifier.target, classifier.features, classifier.evidence_codes)
    states = classifier.positive_states
    sides = np.stack([joint[states].sum(axis=0), joint[~states].sum(axis=0)])
    positive = sides[0] >= classifier.threshold * sides.sum(axis=0)
    agreeing = np.where(positive, sides.sum(axis=0), 0.0)
    count = len(classifier.features)
    best: tuple[float, tuple[int, ...]] = (-1.0, ())
    for size in range(budget + 1):
        for kept in itertools.combinations(range(count), size):
            dropped = tuple(i for i in range(count) if i not in kept)
            best = max(best, (cut(sides.sum(axis=tuple(i + 1 for i in dropped)), agreeing.sum(axis=dropped)), kept))
    return tuple(classifier.features[i] for i in best[1])


def cut(sides: np.ndarray[Any, Any], agreeing: np.ndarray[Any, Any]) -> float:
    """Return the best agreement over all thresholds, from class masses [2, …] and the mass decided positive […]."""
    total = sides.sum(axis=0).ravel()
    posterior = np.divide(sides[0].ravel(), total, out=np.zeros_like(total), where=total > 0)
    order = np.argsort(posterior)
    gain = (total - 2 * agreeing.ravel())[order]
    last = np.append(np.diff(posterior[order]) > 1e-12, True)  # equal posteriors are not cut apart
    return float(agreeing.sum() + max(0.0, np.cumsum(gain)[last].max()))


def pyagrum_greedy(classifier: bt.Classifier, budget: int) -> Answer:
    """Add the feature of highest joint mutual information with the class, as pyAgrum computes it."""
    import pyagrum as gum  # noqa: PLC0415

    plain = {name: f"v{i}" for i, name in enumerate(classifier.network.names)}  # pyAgrum reads few kinds of names
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/network.bif"
        bt.write_network(renamed(classifier.network, plain), path)
        network = gum.loadBN(path)
    kept: list[str] = []
    for _ in range(budget):
        left = [name for name in classifier.features if name not in kept]
        target = plain[classifier.target]
        kept.append(max(left, key=lambda name: _information(gum, network, target, [plain[n] for n in (*kept, name)])))
    return tuple(kept)


def renamed(network: bt.BayesianNetwork, names: Mapping[str, str]) -> bt.BayesianNetwork:
    """Return a network with other names, and states called s0, s1, ..."""
    return bt.BayesianNetwork(
        [bt.Variable(names[v.name], tuple(f"s{i}" for i in range(len(v)))) for v in network.variables],
        {names[name]: [names[parent] for parent in network.parents(name)] for name in network.names},
        {names[name]: network.table(name) for name in network.names},
    )


def _information(gum: Any, network: Any, target: str, features: list[str]) -> float:
    inference = gum.LazyPropagation(network)
    inference.addJointTarget({target, *features})
    tensor = inference.jointPosterior({target, *features})
    axis = len(tensor.names) - 1 - tensor.names.index(target)  # NumPy's axes come in the other order
    joint = np.moveaxis(tensor.toarray(), axis, 0).reshape(tensor.toarray().shape[axis], -1)
    apart = joint.sum(axis=0) * joint.sum(axis=1, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / apart[seen])).sum())


def mlxtend_exhaustive(classifier: bt.Classifier, budget: int) -> Answer:
    """Try every subset with mlxtend: how well naive Bayes learns the decisions from drawn rows."""
    from mlxtend.feature_selection import ExhaustiveFeatureSelector  # noqa: PLC0415
    from sklearn.naive_bayes import CategoricalNB  # noqa: PLC0415

    if math.comb(len(classifier.features), budget) > MOST_FITTED:
        return None
    drawn = sample(classifier.network, ROWS, seed=1)
    rows = np.stack([drawn[name] for name in classifier.features], axis=1)
    most = max(len(variable) for variable in classifier.feature_variables)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = ExhaustiveFeatureSelector(
            CategoricalNB(min_categories=most), 1, budget, print_progress=False, scoring="accuracy", cv=0
        ).fit(rows, classifier.decide(rows).astype(int))
    return tuple(classifier.features[i] for i in selector.best_idx_)


Peer = Callable[[bt.Classifier, int], Answer]
PEERS: dict[str, Peer] = {
    "brute force": brute_force,
    "circuit": circuit,
    "pyAgrum greedy": pyagrum_greedy,
    "mlxtend": mlxtend_exhaustive,
}
"""Every peer, by name."""


def timed(solve: Peer, classifier: bt.Classifier, budget: int) -> tuple[float, Answer]:
    """Return how long an answer takes, and the answer; what was remembered of the classifier is forgotten first."""
    fresh = classifier.restricted(classifier.features)
    start = time.perf_counter()
    answer = solve(fresh, budget)
    return time.perf_counter() - start, answer


def compare(name: str, some: list[bt.Classifier], rows: list[list[object]]) -> None:
    """Print a line for each peer on some instances of one problem."""
    budget = len(some[0].features) // 3
    runs: dict[str, list[tuple[float, Answer]]] = {who: [] for who in ("ours", *PEERS)}
    for classifier in some:
        for who, solve in (("ours", ours), *PEERS.items()):
            with contextlib.suppress(ImportError):
                runs[who].append(timed(solve, classifier, budget))
    mine = runs.pop("ours")
    best = [float(bt.maa(classifier, answer or ())) for classifier, (_, answer) in zip(some, mine, strict=True)]
    median = statistics.median(seconds for seconds, _ in mine)
    size = f"{len(some[0].features)} features, budget {budget}, {len(some)} thresholds"
    print(f"{name}: {size}; ours {1000 * median:.1f} ms")
    for peer, theirs in runs.items():
        if not theirs or theirs[0][1] is None:
            print(f"  {peer:15} {'not asked: too many subsets' if theirs else 'not installed'}")
            continue
        ratios = [seconds / own for (seconds, _), (own, _) in zip(theirs, mine, strict=True)]
        judged = [float(bt.maa(classifier, answer or ())) for classifier, (_, answer) in zip(some, theirs, strict=True)]
        losses = [optimum - value for optimum, value in zip(best, judged, strict=True)]
        as_good = sum(loss <= 1e-9 for loss in losses)
        print(
            f"  {peer:15} {statistics.median(ratios):9.2f} times as long ({min(ratios):.2f} to {max(ratios):.2f}); "
            f"as good {as_good} of {len(some)}, worst loss {max(0.0, *losses):.4f}",
            flush=True,
        )
        spread = (f"{ratio:.3f}" for ratio in (statistics.median(ratios), min(ratios), max(ratios)))
        rows.append([name, peer, *spread, as_good, len(some), f"{max(0.0, *losses):.6f}"])


def main() -> None:
    """Print a block for each problem."""
    print(machine("pysdd", "pyagrum", "mlxtend", "scikit-learn"))
    rows: list[list[object]] = []
    for name, some in classifiers():
        for solve in (ours, *PEERS.values()):  # what compiles or imports does so now
            try:
                solve(some[0], 1)
            except ImportError:
                continue
        compare(name, some, rows)
    write_table("peers", ["problem", "peer", "ratio", "least", "most", "as_good", "of", "worst_loss"], rows)


if __name__ == "__main__":
    main()
