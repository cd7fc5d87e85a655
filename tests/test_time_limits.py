"""The time limit: answers are there in time, less narrow than they could be, and true."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random
from typing import Any

import generators
import pytest
from judge import Judge, engine_of, subsets
from test_lattice import naive_bayes, votes
from test_workers import wide

import bayestrim as bt
from bayestrim.engines import additive
from bayestrim.engines.additive import AdditiveEngine
from bayestrim.engines.fine import Loss, fine
from bayestrim.engines.independent import independent
from bayestrim.search import budgets, events
from bayestrim.search.contest import Contest
from bayestrim.search.events import Clock

LATE = 0.5
"""How many seconds after the time limit an answer may come."""


def hurried(classifier: bt.Classifier) -> AdditiveEngine:
    """Return an engine that has no time left."""
    model = independent(classifier)
    assert model is not None
    return AdditiveEngine(classifier, model, lambda: 0.0)


@pytest.mark.parametrize("block", range(3))
def test_answers_in_a_hurry_hold_the_truth(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without counting, on the coarsest lattice alone: intervals hold what fractions say, ties and zeros included."""
    monkeypatch.setattr(additive, "QUICK_STEPS", 0)
    monkeypatch.setattr(additive, "CELLS", (32, 1 << 20))
    for seed in range(50 * block, 50 * (block + 1)):
        random = Random(seed)
        make = random.choice([generators.random_naive_bayes, generators.awkward_naive_bayes])
        classifier = make(random, 4)
        if independent(classifier) is None:
            continue
        judge, engine = Judge(classifier), hurried(classifier)
        for features in subsets(engine.model.names):
            best, threshold = engine.maa(features), random.random()
            assert best.value.lower <= 1 - judge.loss(features) <= best.value.upper
            assert best.value.lower <= 1 - judge.loss_at(features, best.threshold)
            share = engine.eca(features, threshold)
            assert share.lower <= 1 - judge.loss_at(features, threshold) <= share.upper
            assert best.value.kind == share.kind == engine.mpa(features).kind == "certified"


def loss_of_votes(count: int, kept: int, need: int, chance: Fraction) -> Fraction:
    """Return the loss of keeping some of many votes, each as likely right as the prior, of which so many decide."""
    loss = Fraction(0)
    for k in range(kept + 1):
        positive = negative = Fraction(0)
        for vote in (chance, 1 - chance):
            enough = sum(votes(count - kept, vote)[max(0, need - k) :], Fraction(0))
            mass = vote * votes(kept, vote)[k]
            positive, negative = positive + mass * enough, negative + mass * (1 - enough)
        loss += min(positive, negative)
    return loss


def test_ties_that_are_negative_are_known_to_lattices() -> None:
    """To a lattice all of the tie band is positive: where that is found out to be wrong, the interval allows for it.

    Steps of equal features fit these lattices without errors, so that no margin hides the difference.
    """
    classifier = naive_bayes([[[0.6, 0.4], [0.4, 0.6]]] * 43, prior=0.6, threshold=0.5000000001)
    engine = engine_of(classifier)
    for kept in (22, 31, 40):
        assert engine.counted(classifier.features[:kept]) is None
        right, wrong = (float(1 - loss_of_votes(43, kept, need, Fraction(3, 5))) for need in (22, 21))
        assert abs(right - wrong) > 1e-3
        assert right in engine.mpa(classifier.features[:kept])


def test_with_time_enough_answers_are_the_same() -> None:
    """A limit that is far away changes nothing but the mass of ties, which is only bounded."""
    for classifier in (wide(28, 3), wide(50, 2)):
        freely, slowly = engine_of(classifier), AdditiveEngine(classifier, engine_of(classifier).model, lambda: 1e9)
        for kept in (2, 6, 9):
            features = classifier.features[:kept]
            assert freely.maa(features) == slowly.maa(features)
            assert freely.eca(features, 0.4) == slowly.eca(features, 0.4)
        assert slowly.tie_mass >= 0.5 * freely.tie_mass


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the sizes of the lattices that will be made for answers after the time is over."""
    sizes: list[int] = []

    def noted(model: Any, kept: Any, dropped: Any, cells: int, leeway: float = 0.0) -> Any:
        if clocks[-1].left() == 0:
            sizes.append(cells)
        return fine(model, kept, dropped, cells, leeway)

    clocks: list[Clock] = []
    start = Clock.__init__

    def started(self: Clock, *arguments: Any) -> None:
        start(self, *arguments)
        clocks.append(self)

    monkeypatch.setattr(Clock, "__init__", started)
    monkeypatch.setattr(additive, "fine", noted)
    monkeypatch.setattr(budgets, "FILLED_IN", 0.0)
    monkeypatch.setattr(events, "GRACE", 0.0)
    return sizes


ASKED: dict[str, Callable[[bt.Classifier, bt.Limits], object]] = {
    "trim": lambda classifier, limits: bt.trim(classifier, 8, limits=limits),
    "three alternatives": lambda classifier, limits: bt.trim(classifier, 8, alternatives=3, limits=limits),
    "the old threshold": lambda classifier, limits: bt.trim(classifier, 8, threshold="keep", limits=limits),
    "curve": lambda classifier, limits: bt.frontier(classifier, limits=limits),
    "cheapest": lambda classifier, limits: bt.trim(classifier, agreement=0.9, limits=limits),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=list(ASKED))
@pytest.mark.parametrize("seconds", [0.0, 0.1])
def test_after_the_time_hardly_anything_is_computed(
    seconds: float, ask: Callable[[bt.Classifier, bt.Limits], object], made: list[int]
) -> None:
    """Only coarse lattices, and few: what was found needs a threshold and an agreement."""
    ask(wide(100, 3), bt.Limits(seconds=seconds))
    assert len(made) <= 12
    assert set(made) <= set(additive.CELLS[:1])


@pytest.mark.parametrize("asked", ["trim", "curve", "cheapest"])
def test_after_an_interruption_hardly_anything_is_computed(asked: str, made: list[int]) -> None:
    """Ctrl-C gets an answer as soon as the end of the time would."""
    classifier, sent = wide(100, 3), list[bt.Event]()

    def stop(event: bt.Event) -> None:
        if not sent:
            sent.append(event)
            raise KeyboardInterrupt

    ways: dict[str, Callable[[], bt.Trimming | bt.BudgetCurve]] = {
        "trim": lambda: bt.trim(classifier, 8, on_event=stop),
        "curve": lambda: bt.frontier(classifier, on_event=stop),
        "cheapest": lambda: bt.trim(classifier, agreement=0.9, on_event=stop),
    }
    assert ways[asked]().stop_reason is bt.StopReason.INTERRUPTED
    assert len(made) <= 12
    assert set(made) <= set(additive.CELLS[:1])


@pytest.mark.parametrize("ask", ASKED.values(), ids=list(ASKED))
@pytest.mark.parametrize("features", [100, 200])
def test_the_time_limit_is_kept_with_many_features(
    features: int, ask: Callable[[bt.Classifier, bt.Limits], object]
) -> None:
    """The answer is there within half a second of it."""
    ask(wide(features, 4), bt.Limits(seconds=0.0))  # whatever is compiled the first time
    begin, start = time.process_time(), time.monotonic()  # other programs on this machine are not the search's fault
    ask(wide(features, 3), bt.Limits(seconds=0.5))
    assert min(time.process_time() - begin, time.monotonic() - start) < 0.5 + LATE


def test_a_little_time_is_left_to_tell_how_good_the_answer_is() -> None:
    """After the end, what was found is still narrowed, as far as a fraction of a second allows."""
    result = bt.trim(wide(100, 3), 8, limits=bt.Limits(seconds=0.1))
    assert result.agreement.width <= additive.NARROW
    clock = Clock(0.0)
    assert clock.left() == 0 < clock.left_to_answer() <= events.GRACE
    clock = Clock()
    assert clock.left() == clock.left_to_answer() == float("inf")
    clock.interrupt()
    assert clock.left() == 0 < clock.left_to_answer() <= events.GRACE


def test_subsets_found_too_late_are_not_looked_at() -> None:
    """They are entered with what is known; but an answer there is, whatever the time."""
    asked: list[tuple[str, ...]] = []

    def narrowing(features: tuple[str, ...]) -> Iterator[Any]:
        asked.append(features)
        yield from [Loss(0.1, 0.2)]

    contest = Contest(1, narrowing, lambda features: features, hurried=lambda: True)
    for name in "ABC":
        contest.enter((name,), 0.05)
    contest.settle()
    assert [entry.loss.upper for entry in contest.ranking] == [0.2, 1.0, 1.0]
    assert contest.lower == 0.05
    assert contest.evaluations == 1
