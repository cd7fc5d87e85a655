"""How well searches keep to their time: ``python -m benchmarks.limits [--seconds S …]``.

For 30 to 200 independent features, and for public networks, some of them with large tables: what was asked, the limit,
the seconds it took, and by how much that is too long. Processor seconds stand beside, since what other programs take is
counted in the former.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import bayestrim as bt
from benchmarks.instances import random_naive_bayes
from benchmarks.networks import classifier_of

FEATURES = (30, 40, 50, 100, 200)
NETWORKS = ("alarm", "win95pts", "hailfinder", "andes", "barley", "hepar2")
BUDGET = 8
ASKED: dict[str, Callable[[bt.Classifier, bt.Limits], object]] = {
    "trim": lambda classifier, limits: bt.trim(classifier, BUDGET, limits=limits),
    "3 alternatives": lambda classifier, limits: bt.trim(classifier, BUDGET, alternatives=3, limits=limits),
    "old threshold": lambda classifier, limits: bt.trim(classifier, BUDGET, threshold="keep", limits=limits),
    "curve": lambda classifier, limits: bt.frontier(classifier, limits=limits),
    "cheapest": lambda classifier, limits: bt.trim(classifier, agreement=0.9, limits=limits),
}


def line(what: str, name: str, seconds: float, ask: Callable[[], object]) -> float:
    """Ask, print a line, and return by how much it took too long."""
    start, processor = time.perf_counter(), time.process_time()
    ask()
    took, cpu = time.perf_counter() - start, time.process_time() - processor
    late = f"{took - seconds:11.3f}" if took > seconds else f"{'in time':>11}"
    print(f"{what:>10} {name:15} {seconds:8g} {took:8.3f} {cpu:7.3f} {late}", flush=True)
    return took - seconds


def additive(limits: Sequence[float]) -> Iterator[float]:
    """Ask about features that are independent given the class."""
    for features in FEATURES:
        for seconds in limits:
            for name, ask in ASKED.items():
                classifier = random_naive_bayes(features, 0)
                asking = partial(ask, classifier, bt.Limits(seconds=seconds))
                yield line(str(features), name, seconds, asking)


def general(limits: Sequence[float]) -> Iterator[float]:
    """Ask about networks for which a table has to be made, or instances have to be drawn."""
    for network in NETWORKS:
        classifier = classifier_of(network)
        for seconds in limits:
            asking = partial(bt.trim, classifier, 4, limits=bt.Limits(seconds=seconds), seed=1)
            yield line(network, "trim", seconds, asking)


def main() -> None:
    """Print one line for each question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, nargs="+", default=[0.2, 1.0, 5.0], help="the limits")
    options = parser.parse_args()
    for ask in ASKED.values():  # whatever is compiled the first time
        ask(random_naive_bayes(45, 1), bt.Limits(seconds=0.5))
    bt.trim(classifier_of("asia"), 1)
    print(f"{'features':>10} {'asked':15} {'limit, s':>8} {'took, s':>8} {'cpu, s':>7} {'too long, s':>11}")
    worst = max(additive(options.seconds))
    print(f"worst: {worst:.3f} s too long")
    worst = max(general([*options.seconds, 12.0]))
    print(f"worst: {worst:.3f} s too long")


if __name__ == "__main__":
    main()
