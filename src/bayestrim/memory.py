"""How much memory there is, and refusing what does not fit before it is allocated."""

from __future__ import annotations

import os
from pathlib import Path

from bayestrim.errors import TooLargeError

ALWAYS_ALLOWED = 2**24
"""Bytes too few to ask the system how many are free."""


def check_memory(numbers: int, what: str, memory: int | None) -> None:
    """Refuse what needs room for more numbers than fit in the memory allowed, by default half of what is free."""
    need = 8 * numbers
    if memory is None and need < ALWAYS_ALLOWED:
        return
    allowed = allowed_memory(memory)
    if need > allowed:
        raise TooLargeError(f"{what}: {need / 2**30:,.3g} GiB are needed, and {allowed / 2**30:,.3g} GiB are allowed")


def allowed_memory(memory: int | None) -> int:
    """Return the bytes that may be used: those given, by default half of what is free."""
    return free_memory() // 2 if memory is None else memory


def free_memory() -> int:
    """Return the bytes of memory that are free, as far as the system tells; 2 GiB where it does not."""
    try:
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
        free = int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        try:
            free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
        except (AttributeError, OSError, ValueError):
            free = 2 << 30
    try:  # a container may have been given less
        group = Path("/sys/fs/cgroup")
        limit, used = ((group / name).read_text(encoding="ascii") for name in ("memory.max", "memory.current"))
        return min(free, max(0, int(limit) - int(used)))
    except (OSError, ValueError):
        return free
