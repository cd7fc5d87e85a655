"""The finished searches of one question, kept where another run finds them: it need not make them again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bayestrim.problem import TrimProblem
from bayestrim.search.checkpoint import Asked, Checkpoint, of_entry, to_entry
from bayestrim.search.run import Outcome, Request
from bayestrim.trimming import StopReason, of_choice, to_choice


@dataclass
class Steps:
    """What the searches of one question found.

    Attributes
    ----------
    problem
        What the question is about.
    checkpoint
        Where it is kept, None for nowhere.
    before
        How many evaluations were made before this run.
    """

    problem: TrimProblem
    checkpoint: Checkpoint | None = None
    before: int = 0

    def found(self, request: Request) -> Outcome | None:
        """Begin a search; return what came of it if an earlier run finished it."""
        saved = None if self.checkpoint is None else self.checkpoint.begin(_asked(request))
        if self.checkpoint is None or saved is None:
            return None
        with self.checkpoint.reading():
            outcome = _to_outcome(saved, self.problem)
        self.before += outcome.evaluations
        return outcome

    def keep(self, request: Request, outcome: Outcome) -> None:
        """Keep what a search found, unless it was stopped before its end."""
        if self.checkpoint is not None and outcome.reason is StopReason.EXHAUSTED:
            self.checkpoint.finish(_asked(request), _of_outcome(outcome))

    def went_on(self) -> None:
        """Count what earlier runs did of a search that was gone on with."""
        if self.checkpoint is not None:
            self.before += self.checkpoint.gone_on

    def close(self) -> None:
        """Write what is not written yet."""
        if self.checkpoint is not None:
            self.checkpoint.close()


def _asked(request: Request) -> Asked:
    return request.most, request.enough


def _of_outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "best": [of_entry(features, loss) for features, loss in zip(outcome.best, outcome.losses, strict=True)],
        "lower": outcome.lower,
        "evaluations": outcome.evaluations,
        "nodes": outcome.nodes,
        "choices": [of_choice(choice) for choice in outcome.choices],
    }


def _to_outcome(saved: Mapping[str, Any], problem: TrimProblem) -> Outcome:
    entries = [to_entry(entry) for entry in saved["best"]]
    if not entries:
        raise ValueError("a search that found nothing")
    return Outcome(
        [problem.classifier.checked_subset(features) for features, _ in entries],
        [loss for _, loss in entries],
        float(saved["lower"]),
        StopReason.EXHAUSTED,
        int(saved["evaluations"]),
        int(saved["nodes"]),
        tuple(to_choice(choice, problem) for choice in saved["choices"]),
    )
