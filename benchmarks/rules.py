"""What each of the search's rules brings: bounds computed, nodes visited and seconds, with each rule on and off.

Run ``python -m benchmarks.rules``; ``--seeds 2 --seconds 20`` are the defaults. Seconds are processor time, warm.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from unittest.mock import patch

import bayestrim as bt
from bayestrim.search.branch import RULES, branch_and_bound
from bayestrim.search.descent import Rules
from bayestrim.search.strategies import STRATEGIES
from benchmarks.instances import naive_bayes, random_naive_bayes


@dataclass(frozen=True)
class Row:
    """A kind of problem."""

    features: int
    budget: int
    gap: float = 0.0
    equal: int = 1

    def __str__(self) -> str:
        kind = f", {self.equal} of each kind" if self.equal > 1 else ""
        return f"{self.features} features, budget {self.budget}{kind}" + (f", gap {self.gap:g}" if self.gap else "")

    def classifier(self, seed: int) -> bt.Classifier:
        """Return one of them."""
        one = random_naive_bayes(self.features // self.equal, seed)
        if self.equal == 1:
            return one
        network = one.network
        tables = [network.table(name).tolist() for name in one.features for _ in range(self.equal)]
        return naive_bayes(float(network.table("C")[0]), tables)


ROWS = (
    Row(30, 10),
    Row(40, 13),
    Row(50, 16),
    Row(30, 10, equal=3),
    Row(64, 10, gap=1e-3),
    Row(100, 8, gap=1e-2),
)


def settings() -> Iterator[tuple[str, Rules]]:
    """Yield all rules, all but each one, and none."""
    names = [field.name for field in fields(Rules)]
    yield "all rules", RULES
    for name in names:
        yield f"without {name}", replace(RULES, **{name: False})
    yield "none", replace(RULES, **dict.fromkeys(names, False))


def measure(row: Row, rules: Rules, seeds: int, seconds: float) -> str:
    """Return the figures of one row under some rules, as text."""
    evaluations, nodes, proved, gap, begin = 0, 0, 0, 0.0, time.process_time()
    search = partial(branch_and_bound, rules=rules)

    def strategy(request: object, engine: object, clock: object) -> object:
        return search(request, engine, clock)  # type: ignore[arg-type]

    with patch.dict(STRATEGIES, {"branch-and-bound": strategy}):
        for seed in range(seeds):
            result = bt.trim(row.classifier(seed), row.budget, limits=bt.Limits(seconds, gap=row.gap))
            evaluations, nodes = evaluations + result.stats.evaluations, nodes + result.stats.nodes
            proved += result.stop_reason in (bt.StopReason.EXHAUSTED, bt.StopReason.GAP)
            gap = max(gap, result.gap)
    taken = time.process_time() - begin
    return f"{evaluations:>12,} {nodes:>12,} {taken:>9.2f} {proved:>4} of {seeds} {gap:>9.4f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2, help="problems of each kind")
    parser.add_argument("--seconds", type=float, default=20.0, help="the most for each")
    options = parser.parse_args(arguments)
    bt.trim(random_naive_bayes(30, 1), 10)  # compiles
    for row in ROWS:
        print(f"{row!s:<36} {'bounds':>12} {'nodes':>12} {'seconds':>9} {'proved':>9} {'gap':>7}")
        for name, rules in settings():
            print(f"  {name:<34} {measure(row, rules, options.seeds, options.seconds)}", flush=True)


if __name__ == "__main__":
    main()
