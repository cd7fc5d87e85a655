"""Checkpoints: what a search knows, in one file that is always whole, for another run to go on from.

A question may take one search or, as a budget curve does, many: then the file holds what the finished ones found, and
the open nodes of the one in hand.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
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
VERSION = 2
SECONDS = 5.0
"""How often a checkpoint is written."""
SHARE = 1 / 100
"""Writing checkpoints takes at most this share of the time: where it takes long, it is done less often."""

Asked = tuple[int | None, float | None]
"""What tells the searches of one question apart: the most that may be spent, and which loss is enough."""


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
    """The file in which a search, or one search after the other, keeps what is known.

    Parameters
    ----------
    path
        Where it is.
    problem
        The problem.
    question
        What else another run must share to go on from it, as plain lists and dictionaries.

    Attributes
    ----------
    seconds
        How long earlier runs took.
    gone_on
        How many evaluations of the search in hand earlier runs made.
    """

    def __init__(self, path: str | PathLike[str], problem: TrimProblem, question: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self._problem, self._classifier = saving.of_problem(problem), problem.classifier
        self._question = dict(question)
        self._fingerprint = saving.fingerprint([self._problem, self._question])
        self._next = time.monotonic() + SECONDS
        self._steps: dict[Asked, dict[str, Any]] = {}
        self._asked: Asked | None = None
        self._identity = ""
        self._left: dict[str, Any] | None = None
        self._unwritten: dict[str, Any] | None = None
        self.seconds, self.gone_on = 0.0, 0
        if self.path.exists():
            self._go_on(_read(self.path))

    def _go_on(self, saved: Mapping[str, Any]) -> None:
        with self.reading():
            self._check(saved["fingerprint"] == self._fingerprint)
            self._steps = {(step["most"], step["enough"]): step for step in saved["steps"]}
            self._left, self.seconds = saved["in_hand"], documents.number(saved, "seconds")

    def _check(self, same: bool) -> None:
        if not same:
            raise CheckpointError(
                f"{self.path} is the checkpoint of another problem or of other options; give another path, or remove "
                "it to begin anew"
            )

    # One search after the other.

    def begin(self, asked: Asked) -> dict[str, Any] | None:
        """Begin one of several searches; return what an earlier run found, if it finished that search."""
        self._asked = asked
        return self._steps.get(asked)

    def finish(self, asked: Asked, found: Mapping[str, Any]) -> None:
        """Keep what one of several searches found, now that it is finished."""
        self._steps[asked] = {"most": asked[0], "enough": asked[1], **found}
        self._unwritten = self._document(None)

    def close(self) -> None:
        """Write what is not written yet."""
        if self._unwritten is not None:
            self._write(self._unwritten)

    # The search in hand.

    def open(self, identity: object) -> State | None:
        """Return what an earlier run left of the same search, None if there is nothing."""
        self._identity, self.gone_on = saving.fingerprint(identity), 0
        if self._left is None:
            return None
        with self.reading():
            left = self._left
            if (left["most"], left["enough"]) != (self._asked or (None, None)):
                return None
            self._check(left["identity"] == self._identity)
            state = _restore(left, self.seconds)
            for features, _ in state.entries:
                self._classifier.checked_subset(features)
        self._left, self.gone_on = None, state.evaluations
        return state

    def reading(self) -> AbstractContextManager[None]:
        """Report what cannot be restored as damage to the file."""
        return _reading(self.path)

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() >= self._next

    def write(self, state: State) -> None:
        """Replace the file by what is known now; at the end of one of several searches, only if it is time."""
        self.seconds = state.seconds
        document = self._document(state)
        if self._asked is None or self.due:
            self._write(document)
        else:
            self._unwritten = document

    def _document(self, state: State | None) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "fingerprint": self._fingerprint,
            "question": self._question,
            "seconds": self.seconds,
            "in_hand": self._left if state is None else {**self._in_hand(), **_of_state(state)},
            "steps": list(self._steps.values()),
            "problem": self._problem,
        }

    def _in_hand(self) -> dict[str, Any]:
        most, enough = self._asked or (None, None)
        return {"most": most, "enough": enough, "identity": self._identity}

    def _write(self, document: dict[str, Any]) -> None:
        begin = time.monotonic()
        digest = saving.fingerprint(document)
        content = json.dumps({**document, "digest": digest}, ensure_ascii=False, allow_nan=False).encode()
        write_file(self.path, content, beside=f".{self.path.name}.part")
        end = time.monotonic()
        self._next = end + max(SECONDS, (end - begin) / SHARE)
        self._unwritten = None


@contextmanager
def _reading(path: str | PathLike[str]) -> Iterator[None]:
    """Report what cannot be restored as damage to a file, though its digest fits."""
    try:
        yield
    except CheckpointError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise CheckpointError(f"{path} is damaged: {error}; remove it to begin anew") from None


def of_entry(features: Features, loss: Loss) -> dict[str, Any]:
    """Return a subset and bounds of its loss as plain lists and dictionaries."""
    return {"features": list(features), "lower": loss.lower, "upper": loss.upper}


def to_entry(saved: Mapping[str, Any]) -> tuple[Features, Loss]:
    """Return what `of_entry` described."""
    return tuple(documents.names(saved, "features")), Loss(float(saved["lower"]), float(saved["upper"]))


def _of_state(state: State) -> dict[str, Any]:
    return {
        "evaluations": state.evaluations,
        "nodes": state.nodes,
        "entries": [of_entry(features, loss) for features, loss in state.entries],
        "open": [[node.bound, f"{node.included:x}", f"{node.first:x}", *node[3:]] for node in state.open],
    }


def _restore(saved: Mapping[str, Any], seconds: float) -> State:
    nodes = [
        Node(float(bound), int(included, 16), int(first, 16), *map(int, rest))
        for bound, included, first, *rest in saved["open"]
    ]
    entries = [to_entry(entry) for entry in saved["entries"]]
    return State(nodes, entries, int(saved["evaluations"]), int(saved["nodes"]), seconds)


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


def read_checkpoint(path: str | PathLike[str]) -> tuple[TrimProblem, dict[str, Any]]:
    """Return the problem of a checkpoint, and what was asked about it."""
    saved = _read(Path(path))
    with _reading(path):
        question = {"gap": saved["question"]["gap"], "samples": saved["question"]["samples"], **saved["question"]}
        return saving.to_problem(saved["problem"]), question


def is_of_curve(path: str | PathLike[str]) -> bool:
    """Tell whether a checkpoint is that of a budget curve."""
    return read_checkpoint(path)[1].get("curve", False) is True
