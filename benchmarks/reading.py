"""How long the 24 public networks take to read: ``python -m benchmarks.reading``."""

from __future__ import annotations

import time

import bayestrim as bt
from benchmarks.models import model_files


def main() -> None:
    """Print a line for each network, and the sum."""
    print(f"{'network':12} {'variables':>9} {'entries':>9} {'seconds':>8}")
    total = 0.0
    for name, path in model_files().items():
        start = time.perf_counter()
        network = bt.read_network(path)
        seconds = time.perf_counter() - start
        total += seconds
        entries = sum(network.table(variable).size for variable in network.names)
        print(f"{name:12} {len(network.names):9} {entries:9} {seconds:8.3f}")
    print(f"{'all':12} {'':9} {'':9} {total:8.3f}")


if __name__ == "__main__":
    main()
