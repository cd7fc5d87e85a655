"""Who does the slices: this thread, threads of this process, or anything that is an Executor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bayestrim.errors import ProblemError

UNKNOWN = 16
"""How many slices are in hand where nobody knows how many workers there are."""
SHORT, LONG = 0.1, 0.25
"""How many seconds a slice is meant to take: in this thread, and where handing it over costs something."""


class Here(Executor):
    """Does everything at once, in the thread that asks."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function and return what came of it."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass
class Hands:
    """Workers that are ready.

    Attributes
    ----------
    executor
        Takes slices.
    room
        How many slices are in hand at a time.
    seconds
        How long a slice is meant to take.
    """

    executor: Executor
    room: int
    seconds: float


@dataclass(frozen=True)
class Crew:
    """Which workers a search has.

    Parameters
    ----------
    executor
        Any executor of processes or machines; this process by default.
    n_jobs
        How many threads of this process work, -1 for one on each processor; or how many workers the executor has.
    """

    executor: Executor | None = None
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        jobs = self.n_jobs
        if jobs is not None and (not isinstance(jobs, int) or isinstance(jobs, bool) or (jobs < 1 and jobs != -1)):
            raise ProblemError(f"n_jobs={jobs!r}; it must be a whole number, 1 or more, or -1 for all processors")
        if self.executor is not None and not hasattr(self.executor, "submit"):
            raise ProblemError(
                f"executor={self.executor!r}; it must be a concurrent.futures.Executor: a ProcessPoolExecutor, Dask's "
                "client.get_executor(), mpi4py's MPIPoolExecutor"
            )

    @contextmanager
    def ready(self) -> Iterator[Hands]:
        """Start the workers, and let them go afterwards; those of the caller's executor stay."""
        if self.executor is not None:
            workers = self.n_jobs if self.n_jobs not in (None, -1) else getattr(self.executor, "_max_workers", UNKNOWN)
            yield Hands(self.executor, 2 * int(workers or UNKNOWN), LONG)
            return
        threads = (os.cpu_count() or 1) if self.n_jobs == -1 else self.n_jobs or 1
        if threads == 1:
            yield Hands(Here(), 1, SHORT)
            return
        pool = ThreadPoolExecutor(threads, thread_name_prefix="bayestrim")
        try:
            yield Hands(pool, threads + 1, SHORT)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
