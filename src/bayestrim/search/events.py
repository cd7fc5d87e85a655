"""Telling the caller how far a search is, and the search when to stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bayestrim.search.contest import Features

EventKind = Literal["started", "improved", "progress", "finished"]

GRACE = 0.2
"""After the end of the time, so many seconds may go into agreements of what was found, until they are narrow."""
SELDOM = 0.2
"""Seconds between two events that say no more than that the search goes on."""


@dataclass(frozen=True)
class Event:
    """What happened in a search.

    Attributes
    ----------
    kind
        ``"started"``; ``"improved"`` when a better subset was found; ``"progress"`` some times a second;
        ``"finished"`` once, at the end.
    features
        The best subset so far.
    agreement
        How often its decisions surely stay the same.
    bound
        No affordable subset agrees more often.
    gap
        The difference of the two.
    evaluations, nodes
        What the search took so far: agreements or bounds that were computed, and nodes of its tree.
    seconds
        The time since the start.

    Examples
    --------
    >>> Event("improved", ("Q1", "Q2"), 0.9, 1.0, 0.1, evaluations=12, nodes=3, seconds=0.5)
    Event(improved: agreement 0.9 with 2 features, at most 1, 12 evaluations, 0.5 s)
    """

    kind: EventKind
    features: Features
    agreement: float
    bound: float
    gap: float
    evaluations: int
    nodes: int
    seconds: float

    def __repr__(self) -> str:
        return (
            f"Event({self.kind}: agreement {self.agreement:.6g} with {len(self.features)} features, "
            f"at most {self.bound:.6g}, {self.evaluations:,} evaluations, {self.seconds:.3g} s)"
        )


Listener = Callable[[Event], None]


class Clock:
    """Tells when the time is over, and the caller how far the search is."""

    def __init__(self, seconds: float | None = None, listen: Listener | None = None) -> None:
        self._start = time.monotonic()
        self._seconds = seconds
        self._listen = listen
        self._told = -1.0
        self._last: Event | None = None
        self.interrupted = False
        self._end = math.inf if seconds is None else seconds
        self.earlier = 0.0
        self._part = False

    def next_part(self) -> None:
        """Begin one of several searches: its end is told as an improvement of the whole."""
        self._part, self._last = True, None

    def last_part(self) -> None:
        """Let what comes next be the end of the whole."""
        self._part = False

    def interrupt(self) -> None:
        """Ask the search to stop."""
        self.interrupted, self._end = True, min(self._end, self.seconds)

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return time.monotonic() - self._start

    @property
    def total(self) -> float:
        """The same with what earlier runs of the search took."""
        return self.earlier + self.seconds

    def left(self) -> float:
        """Return the time that is left to search; none after an interruption."""
        return max(0.0, self._end - self.seconds)

    def left_to_answer(self) -> float:
        """Return the time that is left to find out how good what was found is: a little more."""
        return max(0.0, self._end + GRACE - self.seconds)

    def half(self) -> float:
        """Return what is left of the first half of the time."""
        return max(0.0, self.left() - (0.0 if self._seconds is None else self._seconds / 2))

    def is_over(self) -> bool:
        """Tell whether the time is over."""
        return self._seconds is not None and self.seconds >= self._seconds

    def report(self, features: Features, agreement: float, bound: float, evaluations: int, nodes: int = 0) -> None:
        """Tell the caller how far the search is: at once if it found something better, else now and then."""
        if self._listen is None:
            return
        better = self._last is None or agreement > self._last.agreement
        kind: EventKind = "improved" if better and self._last is not None else "progress"
        if self._last is None and not self._part:
            kind = "started"
        bound = min(bound, self._last.bound) if self._last is not None else bound
        self._last = Event(
            kind, features, agreement, bound, max(0.0, bound - agreement), evaluations, nodes, self.total
        )
        if better or self.seconds - self._told >= SELDOM:
            self._tell(self._last)

    def finish(self, features: Features, agreement: float, bound: float, evaluations: int, nodes: int) -> None:
        """Tell the caller that the search is over."""
        if self._listen is not None:
            gap = max(0.0, bound - agreement)
            kind: EventKind = "improved" if self._part else "finished"
            self._tell(Event(kind, features, agreement, bound, gap, evaluations, nodes, self.total))

    def _tell(self, event: Event) -> None:
        assert self._listen is not None
        self._told = self.seconds
        try:
            self._listen(event)
        except KeyboardInterrupt:  # the caller wants no more, which is as if it had been asked for from outside
            if self.interrupted:
                raise
            self.interrupt()
