"""How answers are printed: text for people, JSON for programs."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable
from typing import Any

from bayestrim.errors import FileError, MissingFileError
from bayestrim.files import write_file


def show(text: str) -> None:
    """Print text; on a terminal the first word of a line that begins at the margin is bold, unless NO_COLOR is set."""
    print(text if _plain() else "\n".join(map(_emphasised, text.split("\n"))))


def _plain() -> bool:
    return not sys.stdout.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"


def _emphasised(line: str) -> str:
    word, blank, rest = line.partition(" ")
    return f"\033[1m{word}\033[0m{blank}{rest}" if word else line


def show_json(value: Any) -> None:
    """Print one JSON object; numbers that JSON does not have become null."""
    print(json.dumps(finite(value), ensure_ascii=False, indent=2, allow_nan=False))


def finite(value: Any) -> Any:
    """Return a JSON value without infinities and NaN."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [finite(member) for member in value]
    return value


def note(text: str) -> None:
    """Print a remark to standard error, where it is not taken for the answer."""
    print(text, file=sys.stderr)


def check_writable(path: str | None) -> None:
    """Refuse a file that cannot be written before the work is done and not after it."""
    if path is None or path == "-":
        return
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise FileError(f"cannot write {path}: this is a folder")
    if not os.path.isdir(folder):
        raise MissingFileError(f"cannot write {path}: there is no folder {folder}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise FileError(f"cannot write {path}: permission denied")


def write_text(path: str, lines: Iterable[str]) -> None:
    """Write lines to a file, or to standard output for ``-``."""
    if path == "-":
        for line in lines:
            sys.stdout.write(line)
    else:
        write_file(path, "".join(lines).encode())
