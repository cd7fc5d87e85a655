"""How many multiplications orders of elimination need: ``python -m benchmarks.orders [NAME…]``.

For the table of class and leaves of public networks, ours beside opt_einsum's and cotengra's (``pip install opt_einsum
cotengra``), as binary logarithms.
"""

from __future__ import annotations

import importlib
import math
import sys
import time
from collections.abc import Callable
from typing import Any

from bayestrim.contraction import plan_contraction
from benchmarks.networks import classifier_of

NAMES = ("alarm", "andes", "barley", "child", "diabetes", "hailfinder", "insurance", "mildew", "water", "win95pts")
SECONDS = 10


def _fresh(kind: Callable[..., Any], options: dict[str, Any], given: tuple[Any, ...]) -> Any:
    """Return the path that a new optimizer finds: one optimizer serves one network."""
    return kind(**options)(*given)


def main() -> None:
    """Print a line for each network."""
    paths, random, cotengra = (
        importlib.import_module(name) for name in ("opt_einsum.paths", "opt_einsum.path_random", "cotengra")
    )
    hyper = {"methods": ["greedy"], "max_time": SECONDS, "parallel": False, "progbar": False}
    peers: dict[str, Callable[..., Any]] = {
        "greedy": paths.greedy,
        "random greedy": lambda *given: _fresh(random.RandomGreedy, {"max_repeats": 128, "max_time": SECONDS}, given),
        "cotengra": lambda *given: _fresh(cotengra.HyperOptimizer, {"max_repeats": 64, **hyper}, given),
    }
    for name in sys.argv[1:] or NAMES:
        classifier = classifier_of(name)
        network = classifier.network
        number = {variable: i for i, variable in enumerate(network.names)}
        needed = network.ancestors([classifier.target, *classifier.features])
        scopes = [tuple(number[v] for v in (*network.parents(n), n)) for n in network.names if n in needed]
        sizes = {i: len(variable) for i, variable in enumerate(network.variables)}
        keep = tuple(number[variable] for variable in (classifier.target, *classifier.features))
        begin = time.perf_counter()
        plan = plan_contraction(scopes, sizes, keep)
        line = f"{name:11} ours {math.log2(plan.operations):5.1f} ({time.perf_counter() - begin:.1f} s)"
        for peer, find in peers.items():
            begin = time.perf_counter()
            path = find([set(scope) for scope in scopes], set(keep), sizes)
            seconds = time.perf_counter() - begin
            inputs, output = [tuple(map(str, scope)) for scope in scopes], tuple(map(str, keep))
            names = {str(variable): size for variable, size in sizes.items()}
            tree = cotengra.ContractionTree.from_path(inputs, output, names, path=path)
            line += f"   {peer} {math.log2(tree.contraction_cost()):5.1f} ({seconds:.1f} s)"
        print(line, flush=True)


if __name__ == "__main__":
    main()
