"""How long the 24 public networks take to read: ``python -m benchmarks.reading [--peers]``.

With ``--peers``, pgmpy's and pyAgrum's readers run beside ours on the networks of at most 100,000 entries.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import bayestrim as bt
from benchmarks.models import model_files

MOST_ENTRIES = 100_000


def seconds(work: Callable[[], object]) -> float:
    """Return how long a piece of work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peers(packed: Path, folder: Path) -> list[float | None]:
    """Return the seconds that pgmpy and pyAgrum need for a network, None where they cannot read it."""
    import pyagrum as gum  # noqa: PLC0415
    from pgmpy.readwrite import BIFReader  # noqa: PLC0415

    path = folder / packed.name.removesuffix(".gz")
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    found: list[float | None] = []
    for read in (lambda: BIFReader(str(path)).get_model(), lambda: gum.loadBN(str(path))):
        try:
            found.append(seconds(read))
        except Exception:  # whatever a peer raises means that it cannot
            found.append(None)
    return found


def main() -> None:
    """Print a line for each network, and the sums."""
    beside = "--peers" in sys.argv[1:]
    print(f"{'network':12} {'variables':>9} {'entries':>9} {'seconds':>8}" + f" {'pgmpy':>8} {'pyAgrum':>8}" * beside)
    total, shared, sums = 0.0, 0.0, [0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, path in model_files().items():
            ours = seconds(lambda path=path: bt.read_network(path))  # type: ignore[misc]
            total += ours
            network = bt.read_network(path)
            entries = sum(network.table(variable).size for variable in network.names)
            line = f"{name:12} {len(network.names):9} {entries:9} {ours:8.3f}"
            if beside and entries <= MOST_ENTRIES:
                theirs = peers(path, Path(folder))
                line += "".join(f" {'cannot' if t is None else format(t, '.3f'):>8}" for t in theirs)
                if None not in theirs:
                    shared += ours
                    sums = [a + (b or 0.0) for a, b in zip(sums, theirs, strict=True)]
            print(line)
    print(f"{'all':12} {'':9} {'':9} {total:8.3f}")
    if beside:
        ratios = ", ".join(f"{name} {s / shared:.1f}" for name, s in zip(("pgmpy", "pyAgrum"), sums, strict=True))
        print(f"times as long as ours, on the networks that all three read: {ratios}")


if __name__ == "__main__":
    main()
