"""Dask for real: a cluster of processes on this machine, also when one of them is killed half way."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from test_workers import BUDGET, LARGE, same

import bayestrim as bt
from bayestrim.search import coordinator

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Return the client of a cluster of two processes with nannies, which replace what is killed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            yield client


@pytest.fixture(autouse=True)
def _small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "FIRST_SLICE", 64)
    monkeypatch.setattr(coordinator, "MOST", 512)


def test_dask_finds_what_one_worker_finds(client: Any) -> None:
    """Slices go through the scheduler to two processes and back; the answer is that of one thread here."""
    with client.get_executor() as executor:
        result = bt.trim(LARGE, BUDGET, executor=executor, n_jobs=2)
    assert same(result, bt.trim(LARGE, BUDGET))


def test_a_worker_may_be_killed_half_way(client: Any) -> None:
    """Its slices are done again by the other one, or by the process that the nanny starts in its place."""
    killed: list[int] = []

    def kill(event: bt.Event) -> None:
        if event.kind != "finished" and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    with client.get_executor() as executor:
        result = bt.trim(LARGE, BUDGET, executor=executor, n_jobs=2, on_event=kill)
    assert killed
    assert same(result, bt.trim(LARGE, BUDGET))
