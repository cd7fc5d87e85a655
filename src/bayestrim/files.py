"""Reading and writing whole files, so that a failed write never harms what was there."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from os import PathLike
from pathlib import Path
from typing import IO, Any

from bayestrim.errors import FileError, FormatError, MissingFileError

PathOrFile = str | PathLike[str] | IO[Any]


def origin_of(source: PathOrFile) -> str:
    """Return the name under which messages speak of a source or target."""
    name = source if isinstance(source, str | PathLike) else getattr(source, "name", "")
    return os.fspath(name) if isinstance(name, str | PathLike) else ""


def read_bytes(source: PathOrFile) -> bytes:
    """Return the content of a file, given as a path or open; of one that is open as text, in UTF-8."""
    try:
        content = Path(source).read_bytes() if isinstance(source, str | PathLike) else source.read()
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise file_error("read", origin_of(source), error) from None
    return content.encode() if isinstance(content, str) else bytes(content)


def decoded(content: bytes, origin: str) -> str:
    """Return UTF-8 text, with or without a byte-order mark."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError("this is not UTF-8 text", origin) from None


def read_text(source: PathOrFile) -> str:
    """Return the text of a UTF-8 file, given as a path or open."""
    return decoded(read_bytes(source), origin_of(source))


def file_error(verb: str, path: str | PathLike[str], error: Exception) -> FileError:
    """Return the package's own error for one of the system's, which is still a FileNotFoundError where that was."""
    kind = MissingFileError if isinstance(error, FileNotFoundError) else FileError
    return kind(f"cannot {verb} {path or 'the file'}: {getattr(error, 'strerror', None) or error}")


def write_file(path: str | PathLike[str], content: bytes, *, beside: str | None = None) -> None:
    """Replace a file in one step: readers see the old content or the new, never a part.

    Through a link, the file it points to is replaced. Pipes and devices are written to as they are.

    Parameters
    ----------
    path, content
        The file and what it shall hold.
    beside
        The name of the file, in the same folder, that is written first; one that nobody else has by default. With a
        name, what a killed process leaves behind is written over by the next.
    """
    try:
        target = Path(os.path.realpath(path))
        if _is_special(target):
            target.write_bytes(content)
        else:
            _replace(target, content, beside)
    except (OSError, ValueError) as error:
        raise file_error("write", path, error) from None


def _replace(target: Path, content: bytes, beside: str | None) -> None:
    if beside is None:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".bayestrim-", delete=False) as file:
            temporary = Path(file.name)
    else:
        temporary = target.parent / beside
    try:
        with temporary.open("wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        temporary.chmod(_mode(target))
        temporary.replace(target)
    except BaseException:  # an interruption must not leave it behind either
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _is_special(target: Path) -> bool:
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _mode(target: Path) -> int:
    """Return the permissions of the file to be replaced, or those a new file would get."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
