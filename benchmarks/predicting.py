"""How long posteriors and decisions of many rows take: ``python -m benchmarks.predicting``.

Rows are drawn from the ALARM network; the class is HYPOVOLEMIA. Below, the same posteriors from pgmpy and pyAgrum,
which take one row at a time, for as many rows as a few seconds allow.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np

import bayestrim as bt
from bayestrim import inference
from benchmarks.models import model_files

ROWS = 100_000


def timed(what: str, rows: int, work: Callable[[], object]) -> None:
    """Print the first and the best of three more runs."""
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    print(f"{what:58} {rows:9} {seconds[0]:8.3f} {min(seconds[1:]):8.3f}")


def as_mappings(
    network: bt.BayesianNetwork, features: Sequence[str], codes: inference.IntArray
) -> list[dict[str, str]]:
    """Return coded rows as mappings from names to states."""
    states = [network.states(feature) for feature in features]
    return [{f: s[code] for f, s, code in zip(features, states, row, strict=True)} for row in codes.tolist()]


def peers(network: bt.BayesianNetwork, target: str, rows: list[dict[str, str]]) -> None:
    """Print how many rows a second other libraries manage, and that they agree."""
    import pyagrum as gum  # noqa: PLC0415
    from pgmpy.inference import VariableElimination  # noqa: PLC0415
    from pgmpy.readwrite import BIFReader  # noqa: PLC0415

    classifier = bt.Classifier(network, target, "TRUE", network.leaves)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/alarm.bif"
        bt.write_network(network, path)
        elimination = VariableElimination(BIFReader(path).get_model())
        propagation = gum.LazyPropagation(gum.loadBN(path))

    def by_pgmpy(row: dict[str, str]) -> float:
        factor = elimination.query([target], evidence=row, show_progress=False)
        return float(factor.get_value(**{target: "TRUE"}))

    def by_pyagrum(row: dict[str, str]) -> float:
        propagation.setEvidence(row)
        return float(propagation.posterior(target)[{target: "TRUE"}])

    for name, posterior, count in (("pgmpy", by_pgmpy, 100), ("pyAgrum", by_pyagrum, 2000)):
        start = time.perf_counter()
        found = [posterior(row) for row in rows[:count]]
        theirs = (time.perf_counter() - start) / count
        start = time.perf_counter()
        ours = classifier.posterior(rows)
        mine = (time.perf_counter() - start) / len(rows)
        error = float(np.abs(ours[:count] - found).max())
        print(f"{name}: {1 / theirs:,.0f} rows a second, ours {theirs / mine:,.0f} times as many; {error:.0e} apart")


def main() -> None:
    """Print a line for each kind of rows."""
    network = bt.read_network(model_files()["alarm"])
    target = "HYPOVOLEMIA"
    drawn = inference.sample(network, ROWS, seed=1)
    everything = [name for name in network.names if name != target]
    print(f"{'ALARM, ' + str(ROWS) + ' rows':58} {'distinct':>9} {'first s':>8} {'then s':>8}")
    for features, what in ((network.leaves, "11 leaves"), (everything, "all 36 others")):
        classifier = bt.Classifier(network, target, "TRUE", features)
        codes = np.stack([drawn[feature] for feature in features], axis=1)
        gaps = np.where(np.random.default_rng(2).random(codes.shape) < 0.2, -1, codes)
        full, gappy = len(np.unique(codes, axis=0)), len(np.unique(gaps, axis=0))
        timed(f"posterior, {what}, coded array", full, lambda c=classifier, x=codes: c.posterior(x))  # type: ignore[misc]
        timed(f"decide, {what}, coded array", full, lambda c=classifier, x=codes: c.decide(x))  # type: ignore[misc]
        timed(f"posterior, {what}, a fifth missing", gappy, lambda c=classifier, x=gaps: c.posterior(x))  # type: ignore[misc]
        rows = as_mappings(network, features, codes)
        timed(f"posterior, {what}, list of mappings", full, lambda c=classifier, x=rows: c.posterior(x))  # type: ignore[misc]
    leaves = np.stack([drawn[leaf] for leaf in network.leaves], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peers(network, target, as_mappings(network, network.leaves, leaves))


if __name__ == "__main__":
    main()
