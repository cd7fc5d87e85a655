"""How the search grows: ``python -m benchmarks.scaling [--quick]``.

Random naive Bayes classifiers (module `instances`), each feature at a cost of 1. Searches stop after ten seconds, and
are asked what was proved by then. At the end, the growth of evaluations with the number of features is fitted on those
that were proved, and says how many features an hour buys.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

import bayestrim as bt
from benchmarks.instances import naive_bayes, random_many_valued, random_naive_bayes
from benchmarks.outputs import is_quick, machine, new_picture, write_picture, write_table

SECONDS, QUICK_SECONDS = 10.0, 1.0
SEEDS = 3
HOUR, MACHINES = 3600.0, 100


class Case(NamedTuple):
    """A family of instances: its name, the number of features, the budget, and how to make one from a seed."""

    family: str
    features: int
    budget: int
    make: Callable[[int], bt.Classifier]


def cases() -> Iterator[Case]:
    """Yield every case."""
    for features in (10, 20, 30, 40, 50, 60):
        yield Case("budget a third", features, features // 3, partial(random_naive_bayes, features))
    for features in (25, 50, 100, 150, 200):
        yield Case("budget 8", features, 8, partial(random_naive_bayes, features))
    for budget in (2, 5, 10, 20, 30, 38):
        yield Case("40 features", 40, budget, partial(random_naive_bayes, 40))
    for states in (2, 3, 5):
        yield Case(f"{states} states", 24, 8, partial(random_many_valued, 24, states=(states,)))
    yield Case("skewed prior", 40, 13, partial(altered, prior=0.01))
    yield Case("importance falls", 40, 13, partial(altered, falling=True))
    yield Case("equal features", 40, 13, partial(altered, kinds=5))
    yield Case("few decimals", 40, 13, partial(altered, decimals=1))


def altered(
    seed: int, *, prior: float = 0.5, falling: bool = False, kinds: int = 40, decimals: int = 16
) -> bt.Classifier:
    """Return 40 features that differ from the usual ones in some way."""
    random = np.random.default_rng(seed)
    strength = np.geomspace(3.0, 0.05, 40) if falling else np.ones(40)
    base, difference = random.uniform(-2, 2, 40), random.normal(0, 1, 40) * strength
    chances = np.stack([1 / (1 + np.exp(-(base + sign * difference / 2))) for sign in (1, -1)], axis=1)
    chances = np.clip(np.round(chances[np.arange(40) % kinds], decimals), 0.05, 0.95)
    return naive_bayes(prior, [[[float(p), 1 - float(p)] for p in pair] for pair in chances])


class Found(NamedTuple):
    """What a search came to."""

    nodes: int
    evaluations: int
    seconds: float
    gap: float


def search(case: Case, seed: int) -> Found:
    """Search one instance."""
    limits = bt.Limits(seconds=QUICK_SECONDS if is_quick() else SECONDS)
    result = bt.trim(case.make(seed), case.budget, limits=limits)
    stats = result.stats
    return Found(
        stats.nodes, stats.evaluations, stats.seconds, 0.0 if result.status is bt.Status.OPTIMAL else result.gap
    )


def growth(sizes: list[int], counts: list[float]) -> tuple[float, float]:
    """Return the factor by which counts grow for each feature more, and the logarithm of the count at no feature."""
    slope, start = np.polyfit(sizes, np.log(counts), 1)
    return float(math.exp(slope)), float(start)


def main() -> None:
    """Print a line for each case, and the growth."""
    print(machine())
    bt.trim(random_naive_bayes(30, 0), 10)  # compiles, or loads what was compiled
    print(
        f"{'family':18} {'|F|':>4} {'B':>3} {'nodes':>10} {'evaluations':>11} {'seconds':>8} {'worst gap':>10}  proved"
    )
    rows, medians = [], {}
    for case in cases():
        found = [search(case, seed) for seed in range(1 if is_quick() else SEEDS)]
        nodes, evaluations, seconds = (statistics.median(getattr(f, n) for f in found) for n in Found._fields[:3])
        proved = sum(one.gap == 0 for one in found)
        worst = max(one.gap for one in found)
        print(
            f"{case.family:18} {case.features:4} {case.budget:3} {nodes:10.0f} {evaluations:11.0f} {seconds:8.3f} "
            f"{worst:10.1e}  {proved} of {len(found)}",
            flush=True,
        )
        rows.append(
            [case.family, case.features, case.budget, nodes, evaluations, f"{seconds:.3f}", f"{worst:.2e}", proved]
        )
        if proved == len(found):
            medians[case.family, case.features] = (evaluations, seconds)
    write_table("scaling", ["family", "features", "budget", "nodes", "evaluations", "seconds", "gap", "proved"], rows)
    forecast(medians)


def forecast(medians: dict[tuple[str, int], tuple[float, float]]) -> None:
    """Print and draw how evaluations grow, and what an hour buys."""
    if is_quick():
        return
    figure, axes = new_picture(1, 5.5, 3.6)
    for family in ("budget a third", "budget 8"):
        sizes = [size for name, size in medians if name == family and size >= 20]
        if len(sizes) < 3:
            continue
        counts = [medians[family, size][0] for size in sizes]
        factor, start = growth(sizes, counts)
        rate = max(medians[family, size][0] / medians[family, size][1] for size in sizes)
        reach = [(math.log(rate * HOUR * machines) - start) / math.log(factor) for machines in (1, MACHINES)]
        print(
            f"{family}: {factor:.3f} times the evaluations for each feature more ({sizes[0]} to {sizes[-1]}); "
            f"an hour buys about {reach[0]:.0f} features, and on {MACHINES} machines about {reach[1]:.0f}"
        )
        axes[0, 0].semilogy(sizes, counts, "o", label=family)
        axes[0, 0].semilogy(sizes, [math.exp(start) * factor**size for size in sizes], "-", lw=1, c="0.6")
    axes[0, 0].set(xlabel="features", ylabel="evaluations, median")
    axes[0, 0].legend(fontsize="small")
    write_picture("scaling", figure)


if __name__ == "__main__":
    main()
