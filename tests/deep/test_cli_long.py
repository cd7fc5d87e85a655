"""What the command line does with a million rows, and on its very first run where nothing can be written."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
QUIZ = ROOT / "examples" / "quiz.bif"
MASTERY = ["--target", "Mastery", "--positive", "+", "--threshold", "0.07"]
COMMAND = [sys.executable, "-m", "bayestrim"]


def test_the_first_run_on_a_full_disk(tmp_path: Path) -> None:
    """What is compiled cannot be kept, the result cannot be written: the answer is printed all the same."""

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    path = tmp_path / "r.json"
    done = subprocess.run(
        [*COMMAND, "trim", str(QUIZ), *MASTERY, "-b", "2", "-o", str(path)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "compiled")},
        preexec_fn=small,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.startswith("Keep 2 of 3")) == (2, True)
    assert f"cannot write {path}" in done.stderr
    assert not path.exists()


def test_a_million_rows(tmp_path: Path) -> None:
    """A million rows of twelve columns are learnt from, and decided, in a minute each and a bounded memory."""
    random = np.random.default_rng(0)
    sick = random.random(1_000_000) < 0.3
    columns = [np.where(sick, "yes", "no")]
    columns += [np.char.mod("%.2f", random.normal(sick + i / 3, 1)) for i in range(5)]
    columns += [random.integers(0, 4, 1_000_000).astype(str) for _ in range(6)]
    path = tmp_path / "many.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(["sick", *(f"f{i}" for i in range(11))]) + "\n")
        file.writelines(",".join(row) + "\n" for row in zip(*columns, strict=True))
    model = tmp_path / "many.json"
    for arguments in (
        ["learn", str(path), "--target", "sick", "-o", str(model)],
        ["predict", str(model), str(path), "-o", str(tmp_path / "out.csv")],
    ):
        begin = time.monotonic()
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)
        seconds = time.monotonic() - begin
        print(f"{arguments[0]}: {seconds:.1f} s")
        assert done.returncode == 0, done.stderr
        assert seconds < 60
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"largest: {peak / 2**20:.2f} GiB")
    assert peak < 2 * 2**20  # kibibytes
    assert "accuracy    " in done.stderr
