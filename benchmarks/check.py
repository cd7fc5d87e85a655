"""Whether searches still do the same work, in about the same time: ``python -m benchmarks.check [--update]``.

Evaluations and nodes do not depend on the machine: they must be those of ``benchmarks/baseline.json``, and whoever
changes them on purpose writes them anew with ``--update``. Times are compared loosely, as multiples of a fixed piece of
NumPy work that runs beside each search.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import bayestrim as bt
from benchmarks import datasets
from benchmarks.instances import random_naive_bayes
from benchmarks.models import model_files

BASELINE = Path(__file__).parent / "baseline.json"
SLOWER = 4.0
"""How many times as long a search may take as the baseline says, in units of the work beside it."""
REPEATS = 3


class Measured(NamedTuple):
    """What a search took; its time in units of the work beside it."""

    evaluations: int
    nodes: int
    units: float


def cases() -> Iterator[tuple[str, Callable[[], bt.Trimming]]]:
    """Yield searches by name."""
    for name, budget in (("heart", 4), ("votes", 5), ("hepatitis", 6)):
        classifier = datasets.learn(datasets.load(name)).classifier()
        yield name, partial(bt.trim, classifier, budget)
        yield f"{name}, kept threshold", partial(bt.trim, classifier, budget, threshold="keep")
    for seed in (0, 1):
        yield f"30 random features, seed {seed}", partial(bt.trim, random_naive_bayes(30, seed), 10)
    for target in ("HYPOVOLEMIA", "LVFAILURE"):
        network = bt.read_network(model_files()["alarm"])
        classifier = bt.Classifier(network, target, "TRUE", network.leaves)
        yield f"ALARM, {target}", partial(bt.trim, classifier, 3)


def unit() -> float:
    """Return the seconds that the fixed piece of work takes now."""
    numbers = np.random.default_rng(0).random(200_000)
    start = time.perf_counter()
    for _ in range(5):
        np.cumsum(np.sort(numbers))
    return time.perf_counter() - start


def measured(search: Callable[[], bt.Trimming]) -> Measured:
    """Search some times; counts must be the same each time, and the shortest time counts."""
    search()
    found, units = set(), []
    for _ in range(REPEATS):
        beside = unit()
        start = time.perf_counter()
        stats = search().stats
        units.append((time.perf_counter() - start) / statistics.mean((beside, unit())))
        found.add((stats.evaluations, stats.nodes))
    if len(found) > 1:
        raise SystemExit(f"the same search took different work: {sorted(found)}")
    return Measured(*found.pop(), min(units))


def fault(now: Measured, before: Measured | None) -> str:
    """Return what is worse than the baseline, or an empty string."""
    if before is None:
        return "not in the baseline"
    if now[:2] != before[:2]:
        return f"evaluations and nodes were {before.evaluations} and {before.nodes}"
    if now.units > SLOWER * before.units:
        return f"took {now.units / before.units:.1f} times as long as before"
    return ""


def main() -> None:
    """Print a line for each search; fail if any is worse than the baseline."""
    known = json.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {}
    found, faults = {}, []
    print(f"{'search':30} {'evals':>9} {'nodes':>9} {'units':>8}")
    for name, search in cases():
        now = measured(search)
        found[name] = {"evaluations": now.evaluations, "nodes": now.nodes, "units": round(now.units, 2)}
        wrong = fault(now, Measured(**known[name]) if name in known else None)
        faults += [f"{name}: {wrong}"] if wrong else []
        print(f"{name:30} {now.evaluations:9} {now.nodes:9} {now.units:8.2f}  {wrong}", flush=True)
    if "--update" in sys.argv[1:]:
        BASELINE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    elif faults:
        raise SystemExit("worse than the baseline (--update accepts it):\n" + "\n".join(faults))


if __name__ == "__main__":
    main()
