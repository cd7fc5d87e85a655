"""MPI for real: three ranks on this machine, one of which coordinates; also when another is killed half way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from test_documentation import ROOT, code_blocks
from test_workers import BUDGET, LARGE, same

import bayestrim as bt

PAGE = ROOT / "docs" / "from-a-laptop-to-a-cluster.md"
# The launcher that the extra 'dev' brings, with no other way to itself than the loopback.
MPIEXEC = [str(Path(sys.executable).with_name("mpiexec")), "-launcher", "fork", "-iface", "lo", "-n", "3"]
PATIENCE = 100

KILLED = """
import os, signal
import bayestrim as bt
from bayestrim.search import checkpoint, coordinator
from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor

def where(_):
    return MPI.COMM_WORLD.rank, os.getpid()

if __name__ == "__main__":
    coordinator.FIRST_SLICE = coordinator.MOST = 100
    checkpoint.SECONDS = 0.0
    classifier = bt.Classifier.load("classifier.json")
    with MPIPoolExecutor() as executor:
        workers = dict(executor.map(where, range(20)))
        def kill(event):
            if event.evaluations > 5000:
                print("killing a worker of", sorted(workers), flush=True)
                os.kill(workers[2], signal.SIGKILL)
        bt.trim(classifier, budget=11, executor=executor, checkpoint="search.json", on_event=kill)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a classifier, where programs find the sources that are tested."""
    LARGE.save(tmp_path / "classifier.json")
    monkeypatch.setenv("PYTHONPATH", str(Path(bt.__file__).parents[1]))
    return tmp_path


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program on three ranks."""
    (folder / "search.py").write_text(program)
    command = [*MPIEXEC, sys.executable, "-m", "mpi4py.futures", "search.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_mpi_finds_what_one_worker_finds(folder: Path) -> None:
    """The program on the page, as it stands there, in the number of ranks that this machine can bear."""
    program = next(text for _, text, _ in code_blocks(PAGE) if text.startswith("# search.py"))
    done = run(program, folder)
    assert (done.returncode, done.stderr) == (0, "")  # a warning says where the workers were not to be had
    assert same(bt.load_result(folder / "trimmed.json"), bt.trim(LARGE, BUDGET))


def test_a_killed_rank_ends_the_program_and_the_checkpoint_goes_on(folder: Path) -> None:
    """MPI stops all ranks where one is lost: what was known by then is in the checkpoint."""
    done = run(KILLED, folder)
    assert done.returncode != 0
    assert "killing a worker of [1, 2]" in done.stdout
    result = bt.resume(folder / "search.json")
    assert isinstance(result, bt.Trimming)
    assert same(result, bt.trim(LARGE, BUDGET))
