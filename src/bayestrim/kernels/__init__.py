"""Every compiled function, and the one decorator that compiles them.

Kernels are plain Python over arrays: with ``NUMBA_DISABLE_JIT=1`` they run uncompiled, and the tests run both.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np
import numpy.typing as npt
from numba.core import event
from numba.extending import intrinsic

P = ParamSpec("P")
R = TypeVar("R")
Array = TypeVar("Array", bound=npt.NDArray[np.generic])


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on its first call, and keep what was compiled beside its source for later processes.

    No fast mathematics: bounds are only worth their proof, and carry infinities.
    """
    compiled: Callable[P, R] = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return _forgiving(compiled)


def _forgiving(compiled: Callable[P, R]) -> Callable[P, R]:
    """Return a compiled function that also works where it cannot be kept: on a full disk it is made anew each time."""
    cache: Any = getattr(compiled, "_cache", None)
    keep = getattr(cache, "save_overload", None)
    if keep is not None:

        def try_to_keep(*arguments: Any) -> None:
            with contextlib.suppress(OSError):
                keep(*arguments)

        cache.save_overload = try_to_keep
    return compiled


def _uncounted(typing_context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, value=arguments[0])
        view.meminfo = context.get_constant_null(numba.types.voidptr)
        return view._getvalue()

    return array(array), generate


def uncounted(array: Array) -> Array:
    """Return the same array without reference counting, which took more than half of the search's time.

    Only for kernels: their caller holds the array for as long as they run.
    """
    return array


if not numba.config.DISABLE_JIT:
    uncounted = intrinsic(_uncounted)


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that only kernels call, without the part for calls from Python, which takes long to make."""
    options = {} if numba.config.DISABLE_JIT else {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled: Callable[P, R] = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    return _forgiving(compiled)


class _Announcement(event.Listener):  # type: ignore[misc]
    """Says once, on standard error, why the first call in a new installation takes seconds."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: object) -> None:
        if not self.said:
            self.said = True
            print("bayestrim: compiling for this machine; this happens once and takes some seconds", file=sys.stderr)

    def on_end(self, event: object) -> None:
        pass


def announce_compilation() -> None:
    """From now on, tell the user when something is compiled rather than found compiled."""
    global _announced  # noqa: PLW0603
    if not _announced:
        _announced = True
        event.register("numba:compile", _Announcement())


_announced = False
