"""Which of the subsets that a search found are the best: losses are narrowed only as far as it takes to tell."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

from bayestrim.engines.fine import Loss

Features = tuple[str, ...]
Narrowing = Callable[[Features], Iterator[Loss | None]]
"""Gives ever narrower bounds of a subset's loss, the last as narrow as can be; None where they are being worked on."""
DONE = Loss(-1.0, 2.0)
"""What comes after the last of them."""


@dataclass
class Entry:
    """A subset in the contest.

    Attributes
    ----------
    features
        The subset.
    loss
        What is known of its loss.
    narrowing
        Gives more; None once it is exhausted.
    key
        Of equal losses, the entry of the lowest key is the best.
    """

    features: Features
    loss: Loss
    narrowing: Iterator[Loss | None] | None
    key: int = 0

    def narrow(self) -> bool:
        """Learn more about the loss; tell whether there was anything to learn yet."""
        assert self.narrowing is not None
        loss = next(self.narrowing, DONE)
        if loss is DONE:
            self.narrowing = None
        elif loss is not None:
            self.loss = Loss(max(self.loss.lower, loss.lower), min(self.loss.upper, loss.upper))
        return loss is not None


NO_LIMIT = 1.0 + 1e-9
"""More than any loss."""


class Contest:
    """The best of the subsets entered so far.

    Parameters
    ----------
    wanted
        How many of the best are wanted.
    narrowing
        Bounds losses.
    alike
        Gives what subsets of equal loss share, where only one of them is wanted.
    key
        Gives a number to each subset; of equal losses the lowest wins, whichever was entered first.
    enough
        Only losses of at most this are wanted, if any.
    gap
        Subsets that cannot be better by more than this are not told from the best.
    hurried
        Tells when there is no time left to narrow losses.
    """

    def __init__(
        self,
        wanted: int,
        narrowing: Narrowing,
        alike: Callable[[Features], Hashable],
        key: Callable[[Features], int] = lambda _: 0,
        enough: float | None = None,
        gap: float = 0.0,
        hurried: Callable[[], bool] = lambda: False,
    ) -> None:
        self._hurried = hurried
        self._wanted = wanted
        self._narrowing = narrowing
        self._alike = alike
        self._key = key
        self._enough = NO_LIMIT if enough is None else enough
        self._gap = gap
        self._seen: set[Hashable] = set()
        self._entries: list[Entry] = []
        self._limit = NO_LIMIT
        self.evaluations = 0

    @property
    def limit(self) -> float:
        """Only subsets of less loss than this can be among the best, or of as much loss and a lower key."""
        return self._limit

    def _lower_limit(self, entry: Entry) -> None:
        """Keep the limit what it is by definition, now that this much is known of an entry's loss."""
        if entry.loss.upper < self._limit:
            uppers = heapq.nsmallest(self._wanted, (entry.loss.upper for entry in self._entries))
            self._limit = uppers[-1] if len(uppers) == self._wanted else NO_LIMIT

    @property
    def ranking(self) -> list[Entry]:
        """The entries that may be among the best, likely best first."""
        return sorted(self._entries, key=lambda entry: (entry.loss.upper, entry.loss.lower, entry.key))

    @property
    def lower(self) -> float:
        """A lower bound of the losses of all but the best that were entered and are not ruled out; 1 without any."""
        return min((entry.loss.lower for entry in self.ranking[self._wanted :]), default=1.0)

    @property
    def last_key(self) -> int:
        """The key of the last of the best."""
        return self.ranking[self._wanted - 1].key

    def enter(self, features: Features, bound: float = 0.0) -> None:
        """Enter a subset, of which a lower bound of the loss may be known, unless one like it was entered before.

        When there is no time left, no more is learnt about it than is known, unless too few were entered before.
        """
        alike = self._alike(features)
        if alike not in self._seen:
            self._seen.add(alike)
            entry = Entry(features, Loss(max(0.0, bound), 1.0), self._narrowing(features), self._key(features))
            self._entries.append(entry)
            if len(self._entries) <= self._wanted or not self._hurried():
                self._narrow(entry)

    def _narrow(self, entry: Entry) -> bool:
        learnt = entry.narrow()
        if learnt:
            self.evaluations += 1
            self._lower_limit(entry)
        return learnt

    def _possible(self) -> list[Entry]:
        """Return the entries that may be among the best: by losing less than the limit, or as much and coming first."""
        limit = self.limit
        last = self.last_key if limit < NO_LIMIT and self._gap == 0 else -1
        return [
            e
            for e in self._entries
            if e.loss.lower < limit - self._gap or e.loss.upper <= limit or (e.loss.lower == limit and e.key < last)
        ]

    def _undecided(self, entry: Entry) -> bool:
        """Tell whether it is open whether a loss is small enough."""
        return entry.loss.lower <= self._enough < entry.loss.upper

    def settle(self) -> None:
        """Narrow losses until the best are told from the rest, or nothing more can be learnt yet; drop the rest."""
        while True:
            self._entries = self._possible()
            unsure = [e for e in self._entries if e.narrowing is not None]
            if len(self._entries) <= self._wanted == 1:
                unsure = [e for e in unsure if self._undecided(e)]
            if not unsure:
                return
            learnt = False
            for entry in unsure:
                if self._hurried():
                    return
                learnt |= self._narrow(entry)
            if not learnt:
                return
