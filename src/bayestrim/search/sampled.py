"""Looking for good subsets on a sample: forward selection, then swaps; nothing is proved.

A subset is judged by the instances that were drawn: they are sorted by the mean posterior of those that look alike to
the subset, and cut where most agree. Only the winners get exact posteriors, and are counted on a second sample.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bayestrim.engines.fine import Loss
from bayestrim.engines.sampled import SampledEngine
from bayestrim.network import FloatArray
from bayestrim.purse import Purse
from bayestrim.search.contest import Features
from bayestrim.search.events import Clock
from bayestrim.search.run import Outcome, Request
from bayestrim.trimming import StopReason

WORTH = 1e-9
"""A change must improve the share of instances that agree by more than this."""
MOST_CELLS = 1 << 18
"""Beyond so many cells, those that occur are numbered anew."""

Kept = tuple[int, ...]


class _StopError(Exception):
    """A limit was reached."""

    def __init__(self, reason: StopReason) -> None:
        self.reason = reason


def sampled_search(request: Request, engine: SampledEngine, clock: Clock) -> Outcome:
    """Find good affordable subsets on the first sample."""
    search = _Search(request, engine, clock)
    reason = StopReason.HEURISTIC
    try:
        search.run()
    except _StopError as stop:
        reason = stop.reason
    except KeyboardInterrupt:
        reason = StopReason.INTERRUPTED
    best = search.best(request.wanted)
    losses = [Loss(0.0, search.losses[kept]) for kept in best]
    return Outcome([search.names(kept) for kept in best], losses, 0.0, reason, len(search.losses))


class _Search:
    """One search; subsets are places in the engine's features, in order."""

    def __init__(self, request: Request, engine: SampledEngine, clock: Clock) -> None:
        self._request, self._engine, self._clock = request, engine, clock
        self._purse: Purse = request.purse_of(engine.features)
        self._free = [i for i in range(len(engine.features)) if i not in self._purse.forbidden]
        self.losses: dict[Kept, float] = {}
        self._losses_of = _Judge(engine, request.threshold)

    def names(self, kept: Kept) -> Features:
        """Return the features at some places."""
        return tuple(self._engine.features[i] for i in kept)

    def best(self, wanted: int) -> list[Kept]:
        """Return the best subsets that were looked at, the smaller of equal ones first."""
        ranked = sorted(self.losses, key=lambda kept: (self.losses[kept], len(kept), kept))
        return ranked[:wanted]

    def run(self) -> None:
        """Add features for as long as that helps, by gain and by gain for its price, and swap those of the better."""
        start = tuple(sorted(self._purse.required))
        self._look([start])
        for by_price in (False, True) if len(set(self._purse.costs)) > 1 or self._purse.setups else (False,):
            self._forward(start, by_price)
        self._swap(self.best(1)[0])

    def _forward(self, kept: Kept, by_price: bool) -> None:
        while True:
            larger = [tuple(sorted((*kept, i))) for i in self._free if i not in kept]
            larger = self._look([subset for subset in larger if self._purse.affords(subset)])
            if not larger:
                return
            here, price = self.losses[kept], self._purse.price(kept)
            gains = {subset: here - self.losses[subset] for subset in larger}
            extra = {subset: max(self._purse.price(subset) - price, WORTH) if by_price else 1 for subset in larger}
            kept = max(larger, key=lambda subset: (gains[subset] / extra[subset], gains[subset]))

    def _swap(self, kept: Kept) -> None:
        while True:
            loss = self.losses[kept]
            best = min(self._look(self._neighbours(kept)), key=lambda subset: self.losses[subset], default=kept)
            if self.losses[best] >= loss - WORTH:
                return
            kept = best

    def _neighbours(self, kept: Kept) -> list[Kept]:
        """Return the affordable subsets with one feature more, one less, or one exchanged."""
        olds: list[set[int]] = [set(), *({i} for i in kept if i not in self._purse.required)]
        news: list[set[int]] = [set(), *({i} for i in self._free if i not in kept)]
        moves = {tuple(sorted((set(kept) - old) | new)) for old in olds for new in news}
        return sorted(subset for subset in moves if subset != kept and self._purse.affords(subset))

    def _look(self, subsets: list[Kept]) -> list[Kept]:
        """Judge subsets that were not judged before; return all that were asked for."""
        for subset in subsets:
            if subset not in self.losses:
                if self.losses:
                    self._check()
                self.losses[subset] = self._losses_of(subset)
        best = self.best(1)[0]
        self._clock.report(self.names(best), 1 - self.losses[best], 1.0, len(self.losses))
        return subsets

    def _check(self) -> None:
        most = self._request.limits.evaluations
        if most is not None and len(self.losses) >= most:
            raise _StopError(StopReason.EVALUATION_LIMIT)
        if self._clock.is_over():
            raise _StopError(StopReason.TIME_LIMIT)
        if self._clock.interrupted:
            raise _StopError(StopReason.INTERRUPTED)


class _Judge:
    """Gives the share of the first sample that a subset decides otherwise."""

    def __init__(self, engine: SampledEngine, threshold: float | None) -> None:
        sample = engine.practice
        self._threshold = threshold
        self._sizes = engine.sizes
        self._columns = np.ascontiguousarray(sample.codes.T)
        self._count = sample.counts.astype(float)
        self._positive = np.where(sample.decided, self._count, 0.0)
        self._posterior = sample.posterior * self._count
        self._total = float(sample.size)

    def __call__(self, kept: Kept) -> float:
        """Return the loss of a subset under the best threshold or the given one."""
        cell, cells = self._cells(kept)
        weights = (self._count, self._positive, self._posterior)
        count, positive, posterior = (np.bincount(cell, weight, cells).astype(float) for weight in weights)
        seen = count > 0
        mean = posterior[seen] / count[seen]
        return self._loss(count[seen], positive[seen], mean) / self._total

    def _loss(self, count: FloatArray, positive: FloatArray, mean: FloatArray) -> float:
        if self._threshold is not None:
            return float(np.where(mean >= self._threshold, count - positive, positive).sum())
        order = np.argsort(mean)
        changes = np.cumsum(2 * positive[order] - count[order])  # of the loss, where the first cells turn negative
        last = np.append(np.diff(mean[order]) > 0, True)  # equal means are not cut apart
        return float(count.sum() - positive.sum() + min(0.0, float(changes[last].min())))

    def _cells(self, kept: Kept) -> tuple[npt.NDArray[np.int64], int]:
        """Give numbers to the instances by what the subset sees of them."""
        cell, cells = np.zeros(len(self._count), np.int64), 1
        for i in kept:
            cell, cells = cell * self._sizes[i] + self._columns[i], cells * self._sizes[i]
            if cells > MOST_CELLS:
                values, cell = np.unique(cell, return_inverse=True)
                cells = len(values)
        return cell, cells
