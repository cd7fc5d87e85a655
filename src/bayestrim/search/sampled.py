"""Looking for good subsets on a sample: rankings, forward selection, then swaps; nothing is proved.

A subset is judged by the instances that were drawn: they are sorted by the mean posterior of others that look alike to
the subset, and cut where most agree. Those that seem best are judged again by their exact posteriors, on the same
sample; the winner is counted on a second sample.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from bayestrim.engines.fine import Loss
from bayestrim.engines.sampled import SampledEngine
from bayestrim.network import FloatArray
from bayestrim.purse import Purse
from bayestrim.search.contest import Features
from bayestrim.search.events import Clock
from bayestrim.search.run import Outcome, Request
from bayestrim.search.start import by_rank, gain, mutual_information
from bayestrim.trimming import StopReason

WORTH = 1e-9
"""A change must improve the share of instances that agree by more than this."""
FINALISTS = 12
"""So many subsets that look best are judged by their exact posteriors."""
RANKING = 0.2
"""The share of the time left that ranking the features may take."""
WEIGHT = 1.0
"""How much what single features say counts, in instances."""
MOST_ODDS = 700.0
"""Log-odds whose exponential is still a float."""
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
    best = search.winners()
    return Outcome(
        [search.names(kept) for kept in best], [search.loss(kept) for kept in best], 0.0, reason, len(search.losses)
    )


class _Search:
    """One search; subsets are places in the engine's features, in order."""

    def __init__(self, request: Request, engine: SampledEngine, clock: Clock) -> None:
        self._request, self._engine, self._clock = request, engine, clock
        self._purse: Purse = request.purse_of(engine.features)
        self._free = [i for i in range(len(engine.features)) if i not in self._purse.forbidden]
        self.losses: dict[Kept, float] = {}
        self._judged: dict[Kept, float] = {}
        self._once = self._reserve = 0.0
        self._losses_of = _Judge(engine, request.threshold)

    def names(self, kept: Kept) -> Features:
        """Return the features at some places."""
        return tuple(self._engine.features[i] for i in kept)

    def best(self, wanted: int) -> list[Kept]:
        """Return the subsets that look best, the smaller of equal ones first."""
        ranked = sorted(self.losses, key=lambda kept: (self.losses[kept], len(kept), kept))
        return ranked[:wanted]

    def loss(self, kept: Kept) -> Loss:
        """Return what is known of a subset's loss."""
        return Loss(0.0, self._judged.get(kept, self.losses[kept]))

    def winners(self) -> list[Kept]:
        """Return the best of the finalists by their exact posteriors, information gain's choice among them."""
        wanted, spent = self._request.wanted, self._once
        first = next(iter(self.losses))
        likely = self.best(wanted + FINALISTS)
        for kept in (first, *likely):
            if kept not in self._judged and self._clock.left() > 2 * wanted * spent:
                spent = max(spent, self._judge(kept))
        judged = sorted(self._judged, key=lambda kept: (self._judged[kept], len(kept), kept))
        others = [kept for kept in likely if kept not in self._judged]
        return list(dict.fromkeys([*(judged or [first]), *others]))[:wanted]

    def _judge(self, kept: Kept) -> float:
        """Count what a subset's exact posteriors decide otherwise; return the seconds that this took."""
        before = self._clock.seconds
        self._judged[kept] = 1 - self._engine.practised(self.names(kept), self._request.threshold)
        return self._clock.seconds - before

    def run(self) -> None:
        """Rank features, add them one by one for as long as that helps, and swap those of the best.

        What goes first is what information gain takes, so that nothing worse is ever returned.
        """
        by_price = len(set(self._purse.costs)) > 1 or bool(self._purse.setups)
        starts = [rank for gains in self._gains() for rank in self._ranked(gains, by_price)]
        self._look(starts)
        if not self._clock.is_over():
            self._once = min(self._judge(kept) for kept in (starts[0], starts[-1]))  # the first may have to plan
            self._reserve = min(self._clock.left() / 4, (FINALISTS + 3 * self._request.wanted) * self._once)
        start = tuple(sorted(self._purse.required))
        self._look([start])
        for priced in (False, True) if by_price else (False,):
            self._forward(start, priced)
        self._swap(self.best(1)[0])
        self._swap(min(self._judged, key=lambda kept: self._judged[kept], default=start))

    def _gains(self) -> list[FloatArray]:
        """Return the features' information about the class, and about the decisions drawn.

        Where there is no time for the first, the drawn instances' posteriors say it.
        """
        classifier, sample = self._request.problem.classifier, self._engine.practice
        until = self._clock.left() * (1 - RANKING)
        drawn = []
        for share in (sample.posterior, sample.decided.astype(float)):
            weights = (sample.counts * share, sample.counts * (1 - share))
            sizes = enumerate(self._engine.sizes)
            tables = (np.stack([np.bincount(sample.codes[:, i], w, size) for w in weights]) for i, size in sizes)
            drawn.append(np.array([mutual_information(table.astype(float)) for table in tables]))
        exact = []
        for name in self._engine.features:
            if self._clock.left() <= until < math.inf:
                return drawn
            exact.append(gain(classifier, name))
        return [np.array(exact), drawn[1]]

    def _ranked(self, gains: FloatArray, by_price: bool) -> list[Kept]:
        """Return what can be paid of the features that tell most, and of those that tell most for their price."""
        prices = np.maximum(np.array(self._purse.costs, dtype=float), WORTH)
        scores = [gains, gains / prices] if by_price else [gains]
        return [tuple(np.flatnonzero(by_rank(list(score), self._purse)).tolist()) for score in scores]

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
        if self._clock.is_over() or self._clock.left() < self._reserve:
            raise _StopError(StopReason.TIME_LIMIT)
        if self._clock.interrupted:
            raise _StopError(StopReason.INTERRUPTED)


class _Judge:
    """Gives the share of the first sample that a subset seems to decide otherwise.

    Each instance is judged by the others that look alike to the subset, since whoever sees much finds every instance
    unlike all others, and would know its posterior from itself. Where few look alike, what the features say one by one
    counts, like `WEIGHT` instances more.
    """

    def __init__(self, engine: SampledEngine, threshold: float | None) -> None:
        sample = engine.practice
        self._threshold = threshold
        self._sizes = engine.sizes
        self._columns = np.ascontiguousarray(sample.codes.T)
        self._count = sample.counts.astype(float)
        self._positive = np.where(sample.decided, self._count, 0.0)
        self._posterior = sample.posterior
        self._total = float(sample.size)
        positive, negative = (float((self._count * share).sum()) for share in (sample.posterior, 1 - sample.posterior))
        self._odds = math.log((positive + 1) / (negative + 1))
        weights = [self._weights(column, size) for column, size in zip(self._columns, self._sizes, strict=True)]
        self._evidence = np.array(weights).reshape(self._columns.shape)

    def _weights(self, column: npt.NDArray[np.int64], size: int) -> FloatArray:
        """Return how much one feature's states shift the log-odds, for each instance."""
        usual = (np.bincount(column, self._count, size) + 0.5) / (self._total + 0.5 * size)
        sides = []
        for share in (self._posterior, 1 - self._posterior):
            seen = np.bincount(column, self._count * share, size)
            sides.append((seen + usual) / (seen.sum() + 1))
        return np.asarray(np.log(sides[0] / sides[1])[column], dtype=float)

    def __call__(self, kept: Kept) -> float:
        """Return the loss of a subset under the best threshold or the given one."""
        cell, cells = self._cells(kept)
        count = np.bincount(cell, self._count, cells)[cell] - 1
        alike = np.bincount(cell, self._count * self._posterior, cells)[cell] - self._posterior
        odds = np.clip(self._odds + self._evidence[list(kept)].sum(axis=0), -MOST_ODDS, MOST_ODDS)
        mean = (np.maximum(alike, 0.0) + WEIGHT / (1 + np.exp(-odds))) / (count + WEIGHT)
        return self._loss(self._count, self._positive, mean) / self._total

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
