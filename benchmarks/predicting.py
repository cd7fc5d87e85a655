"""How long posteriors and decisions of many rows take: ``python -m benchmarks.predicting``.

Rows are drawn from the ALARM network; the class is HYPOVOLEMIA.
"""

from __future__ import annotations

import time
from collections.abc import Callable

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
        rows = [{f: network.states(f)[code] for f, code in zip(features, row, strict=True)} for row in codes.tolist()]
        timed(f"posterior, {what}, list of mappings", full, lambda c=classifier, x=rows: c.posterior(x))  # type: ignore[misc]


if __name__ == "__main__":
    main()
