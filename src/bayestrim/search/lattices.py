"""The lattices of a search, one finer than the other: made when they are asked for, or by a worker in the meantime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from weakref import WeakKeyDictionary

from bayestrim.engines.additive import AdditiveEngine
from bayestrim.engines.grid import Grid, make_grid
from bayestrim.engines.independent import Feature
from bayestrim.search.contest import Features

FEWEST_CELLS, MOST_CELLS = 64, 2048
"""How coarse and how fine the search's own lattice may be."""
FINER = (1, 64, 512, 2048)
"""Subsets that the search could not rule out are asked of lattices so many times finer."""
LARGE = 1 << 18
"""Lattices of more cells than this are worth a worker's time."""
CELL_SECONDS = 5e-9
"""A fine lattice takes about so long for each cell and feature."""

_MADE: WeakKeyDictionary[AdditiveEngine, dict[Features, dict[int, Grid]]] = WeakKeyDictionary()


def cells_for(features: int) -> int:
    """Return how many cells make the search fastest: finer lattices prune more, and take longer for each bound."""
    return min(max(FEWEST_CELLS, 6 * features * features // 10), MOST_CELLS)


class Lattices:
    """The search's own lattice and finer ones; those that an earlier search of the same engine made are kept.

    Parameters
    ----------
    engine
        The engine.
    features
        Its features, in the order in which the search decides them.
    left
        Tells how many seconds are left.
    """

    def __init__(self, engine: AdditiveEngine, features: Sequence[Feature], left: Callable[[], float]) -> None:
        self._engine, self._features, self._left = engine, features, left
        self._made = _MADE.setdefault(engine, {}).setdefault(tuple(feature.name for feature in features), {})
        self._asked: dict[int, Future[Grid]] = {}
        self._workers: Executor | None = None

    def at(self, times: int) -> Grid:
        """Return the search's lattice, or one that is so many times finer; wait for it if a worker is at it."""
        if times not in self._made:
            self._made[times] = self._from_worker(times) or self._make(times)
        return self._made[times]

    def margin(self, times: int) -> float:
        """Return to what the losses of that lattice are true."""
        return self.at(times).margin + (self._engine.doubt if self._engine.quick else 0.0)

    def in_time(self, times: int) -> bool:
        """Tell whether that lattice is there, or can likely be made before the time is over."""
        return times in self._made or CELL_SECONDS * self._cells(times) * len(self._features) <= self._left()

    def is_ready(self, times: int) -> bool:
        """Tell whether that lattice can be had without waiting; if it cannot, see to it that a worker makes it."""
        if times in self._made or self._workers is None or self._cells(times) <= LARGE:
            return True
        if times not in self._asked:
            model, leeway = self._engine.model, self._engine.leeway
            try:
                self._asked[times] = self._workers.submit(
                    make_grid, model, self._features, self._cells(times), leeway=leeway
                )
            except RuntimeError:  # it takes no more
                return True
        return self._asked[times].done()

    def hire(self, workers: Executor) -> None:
        """Let workers make large lattices from now on."""
        self._workers = workers

    def dismiss(self) -> None:
        """Have lattices ready whenever they are asked for from now on, even if that means waiting."""
        self._workers = None

    def _cells(self, times: int) -> int:
        return times * cells_for(len(self._features))

    def _make(self, times: int) -> Grid:
        return make_grid(self._engine.model, self._features, self._cells(times), leeway=self._engine.leeway)

    def _from_worker(self, times: int) -> Grid | None:
        """Return what a worker made, None if none did."""
        asked = self._asked.pop(times, None)
        if asked is None or asked.cancelled():
            return None
        try:
            return asked.result()
        except Exception:  # whatever befell the worker: it can be done here
            return None
