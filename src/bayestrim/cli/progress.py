"""How far a search is: one live line on a terminal, a line now and then elsewhere; short searches say nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bayestrim.cli.output import note

if TYPE_CHECKING:
    from bayestrim.search import Event

PATIENCE = 1.0
"""Searches that are done within so many seconds say nothing."""
OFTEN, SELDOM = 1.0, 5.0
"""Seconds between two lines in a log that say what is new, and that say no more than that the search goes on."""


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[Event], None] | None]:
    """Give what a search tells its events to, None for a search that nobody watches."""
    if quiet:
        yield None
    elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        with _live() as listen:
            yield listen
    else:
        yield _Log().listen


def sentence(event: Event) -> str:
    """Return an event in words."""
    return (
        f"{event.seconds:.1f} s: {event.agreement:.4%} with {len(event.features)} features, "
        f"at most {event.bound:.4%}, gap {event.gap:.2g}, {event.evaluations:,} evaluations"
    )


class _Log:
    """Prints what is new, and at times that the search goes on."""

    def __init__(self) -> None:
        self._told = 0.0

    def listen(self, event: Event) -> None:
        if event.seconds < PATIENCE:
            return
        pause = {"finished": 0.0, "improved": OFTEN}.get(event.kind, SELDOM)
        if event.seconds - self._told >= pause:
            self._told = event.seconds
            note(f"bayestrim: {sentence(event)}")


@contextmanager
def _live() -> Iterator[Callable[[Event], None]]:
    from rich.console import Console  # noqa: PLC0415  (only terminals need it)
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:

        def listen(event: Event) -> None:
            if event.seconds >= PATIENCE:
                live.update(Text(sentence(event), no_wrap=True, overflow="ellipsis"), refresh=True)

        yield listen
