"""Who is among the best: limits, narrowing and dropping, against their definitions."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from bayestrim.engines.fine import Loss
from bayestrim.search.contest import NO_LIMIT, Contest, Features


def intervals(random: Random, loss: float) -> list[Loss]:
    """Return ever narrower bounds of a loss, whose ends are multiples of 1/16, so that ties are common."""
    ends = [(random.randint(0, 16) / 16, random.randint(0, 16) / 16) for _ in range(random.randint(1, 3))]
    lower, upper, found = 0.0, 1.0, []
    for low, high in ends:
        lower, upper = max(lower, min(low, loss)), min(upper, max(high, loss))
        found.append(Loss(lower, upper))
    return [*found, Loss(loss, loss)]


def test_the_best_are_found_whatever_comes_first() -> None:
    """In any order, with any of the losses narrowed late, the same subsets win, and the limit is what it says."""
    for seed in range(300):
        random = Random(seed)
        wanted, count = random.randint(1, 3), random.randint(1, 12)
        losses: dict[Features, float] = {(f"F{i}",): random.randint(0, 16) / 16 for i in range(count)}
        known = {features: intervals(random, loss) for features, loss in losses.items()}
        hurry = False

        def narrowing(features: Features, known: dict[Features, list[Loss]] = known) -> Iterator[Loss]:
            yield from known[features]

        def hurried() -> bool:
            return hurry  # noqa: B023

        contest = Contest(wanted, narrowing, lambda f: f, lambda f: int(f[0][1:]), hurried=hurried)
        for features in random.sample(sorted(losses), count):
            hurry = random.random() < 0.3
            contest.enter(features)
            uppers = sorted(entry.loss.upper for entry in contest._entries)
            assert contest.limit == (uppers[wanted - 1] if len(uppers) >= wanted else NO_LIMIT)
            if random.random() < 0.5:
                contest.settle()
        hurry = False
        contest.settle()
        best = sorted(losses, key=lambda f: (losses[f], int(f[0][1:])))[:wanted]
        assert [entry.features for entry in contest.ranking[:wanted]] == best
        assert contest.limit >= losses[best[-1]]
