"""What fitting a trimmed classifier takes beside plain scikit-learn, apart from the search.

Run with ``python -m benchmarks.estimators``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB

import bayestrim as bt

ROWS = 100_000
RUNS = 5


def seconds(act: Callable[[], Any]) -> float:
    """Return the median time that something takes."""
    taken = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        act()
        taken.append(time.perf_counter() - begin)
    return median(taken)


def rows(count: int, columns: int) -> tuple[Any, Any]:
    """Return random measurements of two classes."""
    generator = np.random.default_rng(0)
    classes = generator.random(count) < 0.4
    return generator.normal(size=(count, columns)) + np.outer(classes, np.linspace(0.2, 1.5, columns)), classes


def main() -> None:
    """Print the figures."""
    table, classes = rows(ROWS, 10)
    bt.TrimmedClassifier(budget=3, gap=1e-2).fit(table[:1000], classes[:1000])  # compiles
    plain = seconds(lambda: GaussianNB().fit(table, classes))
    searches: list[float] = []

    def fit() -> None:
        model = bt.TrimmedClassifier(budget=3, gap=1e-2).fit(table, classes)
        searches.append(model.result_.stats.seconds)

    whole = seconds(fit)
    search = median(searches)
    print(f"{ROWS:,} rows of 10 measurements, seconds (medians of {RUNS} runs)")
    print(f"  GaussianNB().fit                      {plain:.3f}")
    print(f"  TrimmedClassifier(budget=3).fit       {whole:.3f}, of which searching {search:.3f}")
    print(f"  all but searching and the first fit   {whole - search - plain:.3f}")
    cancer, kind = load_breast_cancer(return_X_y=True)
    model = bt.TrimmedClassifier(budget=5, gap=1e-3)
    taken = seconds(lambda: model.fit(cancer, kind))
    stats = model.result_.stats
    print("breast-cancer Wisconsin, 30 measurements, budget 5, gap 1e-3")
    print(f"  fit {taken:.2f} s, searching {stats.seconds:.2f} s, {stats.evaluations:,} evaluations")
    print(f"  agreement at least {model.result_.agreement.lower:.5f}, none affordable above {model.bound_:.5f}")
    print(f"  agreement on held-out rows {model.observed_agreement_:.4f}")
    proved = bt.TrimmedClassifier(budget=5).fit(cancer, kind)
    stats = proved.result_.stats
    print(f"  proved without a gap: {proved.status_.name}, {stats.evaluations:,} evaluations, {stats.seconds:.2f} s")


if __name__ == "__main__":
    main()
