"""The ways to search, by name; all have one signature."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

from bayestrim.engines import Engine
from bayestrim.engines.additive import AdditiveEngine
from bayestrim.engines.continuous import ContinuousEngine
from bayestrim.engines.fine import Loss
from bayestrim.engines.merged import MergedEngine
from bayestrim.engines.sampled import SampledEngine
from bayestrim.engines.sparse import SparseEngine
from bayestrim.engines.table import TableEngine
from bayestrim.errors import ProblemError
from bayestrim.network import FloatArray
from bayestrim.purse import Purse
from bayestrim.search.branch import branch_and_bound
from bayestrim.search.contest import Contest, Features
from bayestrim.search.continuous import continuous_search
from bayestrim.search.events import Clock
from bayestrim.search.general import table_search
from bayestrim.search.run import Outcome, Request
from bayestrim.search.sampled import sampled_search
from bayestrim.search.sparse import merged_search, sparse_search
from bayestrim.search.start import by_rank, greedy, information_gain
from bayestrim.trimming import StopReason

Strategy = Callable[[Request, Engine, Clock], Outcome]

MOST_SUBSETS = 1 << 20
"""The most subsets that the exhaustive strategy tries."""
BATCH = 256
"""Subsets that are entered before the contest is settled."""


def candidates(request: Request, engine: Engine) -> tuple[Features, Purse]:
    """Return the features that may be worth keeping, and what they cost."""
    names = request.problem.classifier.features
    if isinstance(engine, AdditiveEngine | ContinuousEngine):
        names = engine.model.names
    elif isinstance(engine, TableEngine | SparseEngine | MergedEngine | SampledEngine):
        names = engine.features
    return names, request.purse_of(names)


def losses_of(request: Request, engine: Engine, features: Features) -> Iterator[Loss]:
    """Give ever narrower bounds of the loss of a subset, under the best threshold or the given one."""
    if isinstance(engine, ContinuousEngine):
        yield from engine.narrowing(features, request.threshold)
    elif isinstance(engine, AdditiveEngine):
        yield engine.exact_loss(features, request.threshold)
    else:
        value = engine.maa(features).value if request.threshold is None else engine.eca(features, request.threshold)
        yield Loss(1 - value.upper, 1 - value.lower)


def branch(request: Request, engine: Engine, clock: Clock) -> Outcome:
    """Branch and bound (see the modules `branch`, `continuous` and `general`)."""
    if isinstance(engine, ContinuousEngine):
        return continuous_search(request, engine, clock)
    if isinstance(engine, AdditiveEngine):
        return branch_and_bound(request, engine, clock)
    if isinstance(engine, SampledEngine):
        return sampled_search(request, engine, clock)
    if isinstance(engine, SparseEngine):
        return sparse_search(request, engine, clock)
    if isinstance(engine, MergedEngine):
        return merged_search(request, engine, clock)
    assert isinstance(engine, TableEngine)
    return table_search(request, engine, clock)


def exhaustive(request: Request, engine: Engine, clock: Clock) -> Outcome:
    """Try every affordable subset."""
    names, purse = candidates(request, engine)
    subsets = list(islice(_affordable(purse), MOST_SUBSETS + 1))
    if len(subsets) > MOST_SUBSETS:
        raise ProblemError(
            f"more than {MOST_SUBSETS:,} subsets of the {len(names)} features are affordable, too many to try one by "
            "one; lower the budget, give the classifier fewer features, or use strategy='greedy'"
        )
    contest = Contest(request.wanted, lambda features: losses_of(request, engine, features), lambda features: features)
    reason = StopReason.EXHAUSTED
    try:
        for count, subset in enumerate(subsets):
            stop = _reason_to_stop(request, contest, clock)
            if stop is not None and count > 0:  # even without any time there is an answer
                reason = stop
                break
            contest.enter(tuple(names[i] for i in subset))
            if count % BATCH == 0:
                contest.settle()
                best = contest.ranking[0]
                clock.report(best.features, 1 - best.loss.upper, 1.0, contest.evaluations, count + 1)
    except KeyboardInterrupt:
        reason = StopReason.INTERRUPTED
    contest.settle()
    found = contest.ranking[: request.wanted]
    lower = contest.lower if reason is StopReason.EXHAUSTED else 0.0
    return Outcome(
        [e.features for e in found], [e.loss for e in found], lower, reason, contest.evaluations, len(subsets)
    )


def _reason_to_stop(request: Request, contest: Contest, clock: Clock) -> StopReason | None:
    if clock.is_over():
        return StopReason.TIME_LIMIT
    if clock.interrupted:
        return StopReason.INTERRUPTED
    if request.limits.evaluations is not None and contest.evaluations >= request.limits.evaluations:
        return StopReason.EVALUATION_LIMIT
    return None


def _affordable(purse: Purse) -> Iterator[tuple[int, ...]]:
    """Yield every affordable subset, as places."""
    free = [i for i in range(len(purse.costs)) if i not in {*purse.required, *purse.forbidden}]
    waiting: list[tuple[tuple[int, ...], int]] = [(purse.required, 0)]
    while waiting:
        subset, begin = waiting.pop()
        yield tuple(sorted(subset))
        larger = [((*subset, free[i]), i + 1) for i in range(len(free) - 1, begin - 1, -1)]
        waiting += [(kept, end) for kept, end in larger if purse.affords(kept)]


def greedily(request: Request, engine: Engine, clock: Clock) -> Outcome:
    """Remove features one by one, then swap (see module `start`)."""
    names, purse = candidates(request, engine)
    count = 0

    def losses(subsets: npt.NDArray[np.bool_]) -> FloatArray:
        nonlocal count
        count += len(subsets)
        chosen = (tuple(names[i] for i in np.flatnonzero(subset)) for subset in subsets)
        return np.array([next(losses_of(request, engine, features)).upper for features in chosen])

    return _one(request, engine, names, greedy(purse, losses, lambda: clock.is_over() or clock.interrupted), count)


def by_information_gain(request: Request, engine: Engine, clock: Clock) -> Outcome:
    """Take the features that tell most about the class, which is what the paper compares with."""
    names, purse = candidates(request, engine)
    gains = information_gain(request.problem.classifier)
    return _one(request, engine, names, by_rank([gains[name] for name in names], purse), len(names))


def _one(request: Request, engine: Engine, names: Features, kept: npt.NDArray[np.bool_], evaluations: int) -> Outcome:
    if request.wanted > 1:
        raise ProblemError("alternatives need a strategy that proves: 'branch-and-bound' or 'exhaustive'")
    features = tuple(names[i] for i in np.flatnonzero(kept))
    loss = next(losses_of(request, engine, features))
    return Outcome([features], [loss], 0.0, StopReason.HEURISTIC, evaluations)


STRATEGIES: dict[str, Strategy] = {
    "branch-and-bound": branch,
    "exhaustive": exhaustive,
    "greedy": greedily,
    "information-gain": by_information_gain,
}
"""Every strategy, by its public name."""
