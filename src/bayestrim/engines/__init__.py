"""Engines answer questions about subsets of one classifier's features; `engine_for` picks the one that fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar
from weakref import WeakKeyDictionary

from bayestrim.classifier import Classifier
from bayestrim.continuous import GaussianNaiveBayes
from bayestrim.contraction import endless
from bayestrim.engines.merged import MergedEngine
from bayestrim.engines.relevance import relevant_features
from bayestrim.engines.sampled import SampledEngine
from bayestrim.engines.sparse import SparseEngine
from bayestrim.engines.table import MOST_COPIES, TableEngine
from bayestrim.errors import OutOfTimeError, ProblemError, TooLargeError, suggestion
from bayestrim.inference import joint_need
from bayestrim.memory import ALWAYS_ALLOWED, allowed_memory
from bayestrim.problem import Limits
from bayestrim.result import Interval, MaxAgreement

if TYPE_CHECKING:
    from bayestrim.engines.independent import Independent


class Engine(Protocol):
    """What every engine can say about a classifier and a subset of its features."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def tie_mass(self) -> float:
        """The probability that an instance lies so near the threshold that rounding could decide it."""
        ...

    def eca(self, features: Sequence[str], threshold: float) -> Interval:
        """Return the expected agreement with the classifier that keeps the features and uses the threshold."""
        ...

    def maa(self, features: Sequence[str]) -> MaxAgreement:
        """Return the best expected agreement over all thresholds."""
        ...

    def mpa(self, features: Sequence[str]) -> Interval:
        """Return the maximum potential agreement, an upper bound of `maa` for the features and all their subsets."""
        ...


PLAIN_BYTES = 1 << 24
"""Bytes too few to ask the system how many are free."""
SMALL_TABLE = 1 << 16
"""Up to so many instances, the joint table answers soonest, whatever the classifier."""
FEW_CLASSES = 1 << 12
"""Where no table fits, instances are merged if what decides forms at most so many classes."""
ENGINES = ("additive", "table", "merged", "sparse", "sampled", "circuit")
"""The names of all engines, the most capable first."""
ASKED = {
    "circuit": "a compiled circuit makes the table of all instances",
    "merged": "instances that cannot be told apart are merged",
    "sparse": "the most probable instances are listed",
    "sampled": "instances are drawn",
}
"""What engines do that are taken whenever they are asked for."""

Answer = TypeVar("Answer")

_ENGINES: WeakKeyDictionary[Classifier, Engine] = WeakKeyDictionary()
_SAMPLING: WeakKeyDictionary[Classifier, Engine] = WeakKeyDictionary()


@dataclass(frozen=True)
class EngineChoice:
    """Which engine answers questions about a classifier, and why.

    Attributes
    ----------
    name
        The engine's name.
    reason
        Why, in words.
    bits
        The size of the space of the relevant features: the binary logarithm of the number of their instances.
    relevant, irrelevant
        The features that may change a decision, and those that surely change none.
    """

    name: str
    reason: str
    bits: float
    relevant: tuple[str, ...]
    irrelevant: tuple[str, ...]


def choose(
    classifier: Classifier,
    engine: str = "auto",
    limits: Limits | None = None,
    left: Callable[[], float] = endless,
) -> EngineChoice:
    """Choose the engine for a classifier.

    Parameters
    ----------
    classifier
        The classifier.
    engine
        The name of one that must be taken, or ``"auto"``.
    limits
        Its memory says how large a table may be, by default half of what is free.
    left
        Tells how many seconds are left for planning how a table would be made.

    Examples
    --------
    >>> import bayestrim as bt
    >>> quiz = bt.Classifier(bt.read_network("examples/quiz.bif"), "Mastery", "+")
    >>> choice = choose(quiz)
    >>> choice.name, choice.bits, choice.reason
    ('additive', 3.0, 'the features are independent of each other given the class')
    """
    if engine not in ("auto", *ENGINES):
        raise ProblemError(f"there is no engine {engine!r}{suggestion(engine, ['auto', *ENGINES])}")
    if isinstance(classifier, GaussianNaiveBayes):
        return _choice_of_numbers(classifier, engine)
    relevant = relevant_features(classifier)
    if engine in ("auto", "additive"):
        model = _independent(classifier)
        if model is not None:
            return _choice(
                classifier, "additive", "the features are independent of each other given the class", relevant
            )
        if engine == "additive":
            raise ProblemError(
                "the additive engine needs features that are independent given the class, which d-separation does not "
                "say of these; use engine='auto'"
            )
    if engine != "auto":
        return _choice(classifier, engine, FITS if engine == "table" else f"asked for: {ASKED[engine]}", relevant)
    return _choice(classifier, *_by_size(classifier, relevant, limits.memory if limits else None, left), relevant)


def _by_size(
    classifier: Classifier, relevant: Sequence[str], memory: int | None, left: Callable[[], float]
) -> tuple[str, str]:
    """Return the name of the engine whose tables fit, and why."""
    obstacle = _obstacle(classifier, relevant, memory, left)
    if obstacle is None:
        return "table", FITS
    classes = _few_classes(classifier, relevant, memory, left)
    if classes is not None:
        return "merged", f"{obstacle}, but {classes}"
    return "sampled", f"{obstacle}, so that instances are drawn"


FITS = "the table of all instances of the features fits in memory"


def _obstacle(
    classifier: Classifier, relevant: Sequence[str], memory: int | None, left: Callable[[], float]
) -> str | None:
    """Return why the table cannot be made, None where it can."""
    need = 8 * MOST_COPIES * math.prod(len(classifier.network.variable(name)) for name in relevant)
    if (memory is not None or need > PLAIN_BYTES) and need > allowed_memory(memory):
        return f"the table of all instances of the features would take {_amount(need)}"
    network, evidence = classifier.network, classifier.evidence_codes
    need = 8 * joint_need(network, classifier.target, relevant, evidence, memory, left)
    if (memory is not None or need > ALWAYS_ALLOWED) and need > allowed_memory(memory):
        return f"a step on the way to the table of all instances would take {_amount(need)}"
    return None


def _few_classes(
    classifier: Classifier, relevant: Sequence[str], memory: int | None, left: Callable[[], float]
) -> str | None:
    """Return what makes the merged engine worth its while, None where nothing does."""
    irrelevant = tuple(name for name in classifier.features if name not in relevant)
    try:
        engine = MergedEngine(classifier, FEW_CLASSES, memory, irrelevant, left)
    except TooLargeError:
        return None
    few, count = engine.told_apart, len(engine.deciding)
    if few > FEW_CLASSES:
        return None
    return f"decisions depend on {count} of {len(classifier.features)} features, with {few:,} classes of instances"


def _amount(need: int) -> str:
    """Return an amount of memory in words."""
    return f"{need / 2**30:,.3g} GiB" if need < 2**50 else f"2^{math.log2(need) - 30:.0f} GiB"


def _choice(classifier: Classifier, name: str, reason: str, relevant: tuple[str, ...]) -> EngineChoice:
    bits = sum(math.log2(len(classifier.network.variable(feature))) for feature in relevant)
    irrelevant = tuple(feature for feature in classifier.features if feature not in relevant)
    return EngineChoice(name, reason, bits, relevant, irrelevant)


def _choice_of_numbers(classifier: GaussianNaiveBayes, engine: str) -> EngineChoice:
    if engine not in ("auto", "additive"):
        raise ProblemError(f"engine={engine!r}: features that are numbers fit in no table; use 'auto' or 'additive'")
    relevant = tuple(part.name for part in classifier.parts if part.matters)
    irrelevant = tuple(part.name for part in classifier.parts if not part.matters)
    return EngineChoice("additive", "the features are Gaussian given the class", math.inf, relevant, irrelevant)


def make_engine(
    classifier: Classifier,
    choice: EngineChoice,
    limits: Limits | None = None,
    seed: int | None = None,
    left: Callable[[], float] = endless,
) -> Engine:
    """Return the engine that was chosen; the seed is for drawing instances, and so many seconds are left to answer."""
    if isinstance(classifier, GaussianNaiveBayes):
        from bayestrim.engines.continuous import ContinuousEngine  # noqa: PLC0415  (it compiles as well)

        return ContinuousEngine(classifier)
    if choice.name == "additive":
        from bayestrim.engines.additive import AdditiveEngine  # noqa: PLC0415  (it compiles, which takes time to import)

        model = _independent(classifier)
        assert model is not None
        return AdditiveEngine(classifier, model, left)
    memory, most = (limits.memory, limits.samples) if limits else (None, None)

    def circuit() -> Engine:
        from bayestrim.engines.circuit import CircuitEngine  # noqa: PLC0415  (it needs an extra)

        return CircuitEngine(classifier, memory, choice.irrelevant)

    makers: dict[str, Callable[[], Engine]] = {
        "table": lambda: TableEngine(classifier, memory, choice.irrelevant, left),
        "merged": lambda: MergedEngine(classifier, most, memory, choice.irrelevant, left),
        "sparse": lambda: SparseEngine(classifier, most, memory, choice.irrelevant),
        "sampled": lambda: SampledEngine(classifier, most, seed, choice.irrelevant, left),
        "circuit": circuit,
    }
    return makers[choice.name]()


def instead(choice: EngineChoice, error: MemoryError) -> EngineChoice:
    """Return the choice of sampling where the table turned out not to fit: only on the way to it is that known."""
    obstacle = "there was no time for the table" if isinstance(error, OutOfTimeError) else "the table was too large"
    return replace(choice, name="sampled", reason=f"{obstacle} ({error}), so that instances are drawn")


def engine_for(classifier: Classifier) -> Engine:
    """Return the engine for a classifier, the same one for as long as it lives (or an equal one that asked first)."""
    engine = _ENGINES.get(classifier)
    if engine is None and isinstance(classifier, GaussianNaiveBayes):
        engine = _ENGINES[classifier] = make_engine(classifier, choose(classifier))
    if engine is None:
        small = math.prod(len(variable) for variable in classifier.feature_variables) <= SMALL_TABLE
        choice = choose(classifier, "table" if small else "auto")
        try:
            engine = make_engine(classifier, choice)
        except MemoryError as error:
            if choice.name != "table":
                raise
            engine = make_engine(classifier, instead(choice, error))
        _ENGINES[classifier] = engine
    return engine


def answer(classifier: Classifier, question: Callable[[Engine], Answer]) -> Answer:
    """Ask the classifier's engine; where it turns out that too many classes have to be told apart, ask samples."""
    engine = engine_for(classifier)
    try:
        return question(engine)
    except TooLargeError:
        if not isinstance(engine, MergedEngine):
            raise
    if classifier not in _SAMPLING:
        _SAMPLING[classifier] = make_engine(classifier, replace(choose(classifier), name="sampled"))
    return question(_SAMPLING[classifier])


def _independent(classifier: Classifier) -> Independent | None:
    from bayestrim.engines.independent import independent  # noqa: PLC0415

    return independent(classifier)
