"""Every error and warning of the package.

All errors share one base class, and each is also the built-in error a caller would expect, so that both
``except bayestrim.BayestrimError`` and ``except ValueError`` do what they say.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST_WORD = 100
"""The longest name that is compared with others to suggest the nearest."""


class BayestrimError(Exception):
    """Base of every error this package raises on purpose."""


class NetworkError(BayestrimError, ValueError):
    """A network that is not one: a bad table, an unknown parent, a cycle."""


class FormatError(BayestrimError, ValueError):
    """A model file that cannot be read or written, with the place where it went wrong.

    Parameters
    ----------
    message
        What is wrong and what is allowed.
    origin
        The file's name, as the caller gave it.
    line, column
        Where, counted from 1; 0 where the fault has no line of its own.
    """

    def __init__(self, message: str, origin: str = "", line: int = 0, column: int = 0) -> None:
        place = ":".join([origin or "<input>", *(str(number) for number in (line, column) if number)])
        super().__init__(f"{place}: {message}")
        self.message = message
        self.origin = origin
        self.line = line
        self.column = column

    def __reduce__(self) -> tuple[type[FormatError], tuple[str, str, int, int]]:
        return FormatError, (self.message, self.origin, self.line, self.column)


class FileError(BayestrimError, OSError):
    """A file that could not be opened, read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file or folder that does not exist."""


class UnknownNameError(BayestrimError, LookupError):
    """A variable, state or format that does not exist; the message suggests the nearest one."""


class ClassifierError(BayestrimError, ValueError):
    """A target, positive state, feature or threshold that makes no classifier."""


class ProblemError(BayestrimError, ValueError):
    """A budget, cost, limit or option of a search that makes no sense."""


class EvidenceError(BayestrimError, ValueError):
    """Rows or observations that cannot be understood."""


class LearnError(BayestrimError, ValueError):
    """A table, or an option, from which no model can be learnt."""


class ImpossibleEvidenceError(EvidenceError):
    """Observations that have probability zero, after which no posterior exists."""


class TooLargeError(BayestrimError, MemoryError):
    """A computation that does not fit; the message states what it needs and what is allowed."""


class OutOfTimeError(TooLargeError):
    """A computation that takes longer than the time that is left."""


class CheckpointError(BayestrimError, ValueError):
    """A checkpoint of another problem or search, or one that is damaged."""


class VerificationError(BayestrimError, AssertionError):
    """An answer that an independent check found wrong; the message lists what was checked."""


class MissingPackageError(BayestrimError, ImportError):
    """An optional package that is not installed; the message says how to get it."""


class LostWorkersWarning(UserWarning):
    """The workers of a search are gone; it goes on in this process."""


class ColumnWarning(UserWarning):
    """A frame lacks a feature's column but has one whose name is almost the same."""


class RowSumWarning(UserWarning):
    """Rows of a table did not sum to 1 and were divided by their sum."""


def suggestion(word: object, allowed: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest allowed word, or the first few words allowed."""
    choices = list(allowed)
    # Comparing takes the product of the lengths: long names and long lists are not searched.
    folded = {choice.casefold(): choice for choice in reversed(choices[:2000]) if len(choice) <= LONGEST_WORD}
    short = isinstance(word, str) and len(word) <= LONGEST_WORD
    near = difflib.get_close_matches(str(word).casefold(), folded, n=1) if short else []
    if near:
        return f"; did you mean {folded[near[0]]!r}?"
    if not choices:
        return "; there are none"
    shown = ", ".join(repr(choice) for choice in choices[:8])
    return f"; known: {shown}{', …' if len(choices) > 8 else ''}"
