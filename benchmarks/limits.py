"""How well searches keep to their time: ``python -m benchmarks.limits [--seconds S …]``.

For networks of 30 to 200 features: what was asked, the limit, the seconds it took, and by how much that is too long.
Processor seconds stand beside, since what other programs take is counted in the former.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import bayestrim as bt
from benchmarks.instances import random_naive_bayes

FEATURES = (30, 40, 50, 100, 200)
BUDGET = 8
ASKED: dict[str, Callable[[bt.Classifier, bt.Limits], object]] = {
    "trim": lambda classifier, limits: bt.trim(classifier, BUDGET, limits=limits),
    "3 alternatives": lambda classifier, limits: bt.trim(classifier, BUDGET, alternatives=3, limits=limits),
    "old threshold": lambda classifier, limits: bt.trim(classifier, BUDGET, threshold="keep", limits=limits),
    "curve": lambda classifier, limits: bt.frontier(classifier, limits=limits),
    "cheapest": lambda classifier, limits: bt.trim(classifier, agreement=0.9, limits=limits),
}


def main() -> None:
    """Print one line for each question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, nargs="+", default=[0.2, 1.0, 5.0], help="the limits")
    options = parser.parse_args()
    for ask in ASKED.values():  # whatever is compiled the first time
        ask(random_naive_bayes(45, 1), bt.Limits(seconds=0.5))
    print(f"{'features':>8} {'asked':15} {'limit, s':>8} {'took, s':>8} {'cpu, s':>7} {'too long, s':>11}")
    worst = 0.0
    for features in FEATURES:
        for seconds in options.seconds:
            for name, ask in ASKED.items():
                classifier = random_naive_bayes(features, 0)
                start, processor = time.perf_counter(), time.process_time()
                ask(classifier, bt.Limits(seconds=seconds))
                took, cpu = time.perf_counter() - start, time.process_time() - processor
                worst = max(worst, took - seconds)
                late = f"{took - seconds:11.3f}" if took > seconds else f"{'in time':>11}"
                print(f"{features:8} {name:15} {seconds:8g} {took:8.3f} {cpu:7.3f} {late}", flush=True)
    print(f"worst: {worst:.3f} s too long")


if __name__ == "__main__":
    main()
