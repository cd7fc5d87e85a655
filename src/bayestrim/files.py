"""Reading and writing whole files, so that a failed write never harms what was there."""

from __future__ import annotations

import contextlib
import os
import tempfile
from os import PathLike
from pathlib import Path

from bayestrim.errors import FileError, FormatError


def read_text(path: str | PathLike[str]) -> str:
    """Return a UTF-8 file's text."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise FormatError("this is not UTF-8 text", str(path)) from None


def write_atomically(path: str | PathLike[str], content: bytes) -> None:
    """Replace a file in one step: readers see the old content or the new, never a part."""
    target = Path(path)
    temporary = ""
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name[:100]}.", delete=False) as file:
            temporary = file.name
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(_mode(target))
        Path(temporary).replace(target)
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error


def _mode(target: Path) -> int:
    """Return the permissions of the file to be replaced, or those a new file would get."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
