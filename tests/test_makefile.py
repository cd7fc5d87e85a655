"""What `make` does on a machine where things go wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_an_environment_left_half_made_is_made_again(tmp_path: Path) -> None:
    """A Python without ensurepip leaves an environment without pip; once it is mended, `make` must not trust that."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\n[ "$1" = -c ] && exit 0\nmkdir -p .venv && echo home > .venv/pyvenv.cfg && exit 1\n')
    python.chmod(0o755)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "demo", f"PYTHON={python}"], cwd=tmp_path, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert not (tmp_path / ".venv" / "pyvenv.cfg").exists()
