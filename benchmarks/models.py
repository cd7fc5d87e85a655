"""The public networks that the development extra brings along, and where they are."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def model_files() -> dict[str, Path]:
    """Return the 24 networks of the Bayesian network repository that the pgmpy wheel carries, by name."""
    found = importlib.util.find_spec("pgmpy")
    if found is None or found.origin is None:
        raise SystemExit("these benchmarks need pgmpy, whose wheel carries the networks: pip install '.[dev]'")
    folder = Path(found.origin).parent / "utils" / "example_models"
    return {path.name.removesuffix(".bif.gz"): path for path in sorted(folder.glob("*.bif.gz"))}
