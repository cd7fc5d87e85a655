"""Where the paper's evaluation puts its tables and pictures, and on what machine they were made."""

from __future__ import annotations

import csv
import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"
"""Committed, so that every number behind the documentation's tables can be looked up."""
PICTURES = Path(__file__).parents[1] / "docs" / "figures"
"""Where the documentation shows them."""

PROCESSES = 2
"""How many parts of the evaluation that are not timed run at once: it is meant for two cores."""


def workers() -> ProcessPoolExecutor:
    """Return so many processes, each with one thread for linear algebra: more would wait for each other."""
    return ProcessPoolExecutor(PROCESSES, initializer=_alone)


def _alone() -> None:
    from threadpoolctl import threadpool_limits  # noqa: PLC0415  (comes with scikit-learn)

    threadpool_limits(1)


def is_quick() -> bool:
    """Tell whether only a glance is wanted: fewer cases, and nothing written."""
    return "--quick" in sys.argv[1:]


def write_table(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file, unless only a glance is wanted."""
    if not is_quick():
        FOLDER.mkdir(exist_ok=True)
        with (FOLDER / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])


def write_picture(name: str, figure: Any) -> None:
    """Write a matplotlib figure as SVG without what changes from run to run, unless only a glance is wanted."""
    if not is_quick():
        PICTURES.mkdir(exist_ok=True)
        figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None, "Creator": None}, dpi=120)


def new_picture(columns: int, width: float, height: float, rows: int = 1) -> tuple[Any, Any]:
    """Return a matplotlib figure and its axes [rows, columns], drawn without a screen."""
    import matplotlib as mpl  # noqa: PLC0415  (an extra)

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "bayestrim"  # the same picture is the same file
    mpl.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot  # noqa: PLC0415

    return pyplot.subplots(rows, columns, figsize=(width, height), layout="constrained", squeeze=False)


def machine(*packages: str) -> str:
    """Return the machine and the versions of Python and some packages, in a line."""
    known = []
    for package in ("bayestrim", "numpy", "numba", *packages):
        try:
            known.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            known.append(f"{package} (not installed)")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), load {load:.1f}, Python {platform.python_version()}, "
        + ", ".join(known)
    )
