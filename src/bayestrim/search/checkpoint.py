"""Checkpoints: what a search knows, in one file that is always whole, for another run to go on from."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from bayestrim import documents, saving
from bayestrim.engines.fine import Loss
from bayestrim.errors import CheckpointError, FormatError
from bayestrim.files import read_text, write_file
from bayestrim.problem import TrimProblem
from bayestrim.search.contest import Features
from bayestrim.search.plan import Node

FORMAT = "bayestrim checkpoint"
VERSION = 1
SECONDS = 5.0
"""How often a checkpoint is written."""
SHARE = 1 / 100
"""Writing checkpoints takes at most this share of the time: where it takes long, it is done less often."""


@dataclass(frozen=True)
class State:
    """What a search knows.

    Attributes
    ----------
    open
        The nodes that are still to be explored.
    entries
        The subsets that may be the best, with bounds of their losses.
    evaluations, nodes, seconds
        What it took so far.
    """

    open: list[Node]
    entries: list[tuple[Features, Loss]]
    evaluations: int
    nodes: int
    seconds: float


class Checkpoint:
    """The file in which a search keeps what it knows.

    Parameters
    ----------
    path
        Where it is.
    problem
        The problem.
    search
        What else another search must share to go on from it, as plain lists and dictionaries.
    """

    def __init__(self, path: str | PathLike[str], problem: TrimProblem, search: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self._problem = saving.of_problem(problem)
        self._search = dict(search)
        self._fingerprint = ""
        self._next = 0.0

    def open(self, identity: object) -> State | None:
        """Return what an earlier run left of the same search, None if there is nothing."""
        self._fingerprint = saving.fingerprint([self._problem, self._search, identity])
        self._next = time.monotonic() + SECONDS
        if not self.path.exists():
            return None
        saved = _read(self.path)
        if saved["fingerprint"] != self._fingerprint:
            raise CheckpointError(
                f"{self.path} is the checkpoint of another problem or of other options; give another path, or remove "
                "it to begin anew"
            )
        return _restore(saved, str(self.path))

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() >= self._next

    def write(self, state: State) -> None:
        """Replace the file by what is known now."""
        begin = time.monotonic()
        document = {
            "format": FORMAT,
            "version": VERSION,
            "fingerprint": self._fingerprint,
            "search": self._search,
            "evaluations": state.evaluations,
            "nodes": state.nodes,
            "seconds": state.seconds,
            "entries": [
                {"features": list(features), "lower": loss.lower, "upper": loss.upper}
                for features, loss in state.entries
            ],
            "open": [[node.bound, f"{node.included:x}", f"{node.first:x}", *node[3:]] for node in state.open],
            "problem": self._problem,
        }
        document["digest"] = saving.fingerprint(document)
        content = json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
        write_file(self.path, content, beside=f".{self.path.name}.part")
        end = time.monotonic()
        self._next = end + max(SECONDS, (end - begin) / SHARE)


def _read(path: Path) -> dict[str, Any]:
    """Return a checkpoint's document, refusing one that is damaged."""

    def restore(saved: Mapping[str, Any]) -> dict[str, Any]:
        rest = {name: value for name, value in saved.items() if name != "digest"}
        if saved["digest"] != saving.fingerprint(rest):
            raise ValueError("its digest does not fit what it holds")
        return rest

    try:
        return documents.load(read_text(path), str(path), FORMAT, VERSION, restore)
    except FormatError as error:
        raise CheckpointError(f"{error}; remove it to begin anew") from None


def _restore(saved: Mapping[str, Any], origin: str) -> State:
    nodes = [Node(bound, int(included, 16), int(first, 16), *rest) for bound, included, first, *rest in saved["open"]]
    entries = [(tuple(e["features"]), Loss(e["lower"], e["upper"])) for e in saved["entries"]]
    return State(nodes, entries, saved["evaluations"], saved["nodes"], saved["seconds"])


def read_checkpoint(path: str | PathLike[str]) -> tuple[TrimProblem, dict[str, Any]]:
    """Return the problem of a checkpoint, and the options of its search."""
    saved = _read(Path(path))
    return saving.to_problem(saved["problem"]), saved["search"]
