"""Ctrl-C: the first one asks the search to stop, the second one stops it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible(ask: Callable[[], None]) -> Iterator[None]:
    """Within this context, call a function on the first interruption and raise KeyboardInterrupt on the next.

    Only where Python's own handler is in place and this is the main thread: elsewhere, whoever has set another handler
    decides.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def first(_: int, __: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        ask()

    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
