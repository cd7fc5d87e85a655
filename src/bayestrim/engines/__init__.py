"""Engines answer questions about subsets of one classifier's features; `engine_for` picks the one that fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

from bayestrim.classifier import Classifier
from bayestrim.continuous import GaussianNaiveBayes
from bayestrim.engines.merged import MergedEngine
from bayestrim.engines.relevance import relevant_features
from bayestrim.engines.sampled import SampledEngine, endless
from bayestrim.engines.sparse import SparseEngine
from bayestrim.engines.table import MOST_COPIES, TableEngine
from bayestrim.errors import ProblemError, suggestion
from bayestrim.memory import allowed_memory
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
ENGINES = ("additive", "table", "merged", "sparse", "sampled", "circuit")
"""The names of all engines, the most capable first."""
ASKED = {
    "circuit": "a compiled circuit makes the table of all instances",
    "merged": "instances that cannot be told apart are merged",
    "sparse": "the most probable instances are listed",
    "sampled": "instances are drawn",
}
"""What engines do that are taken whenever they are asked for."""

_ENGINES: WeakKeyDictionary[Classifier, Engine] = WeakKeyDictionary()


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


def choose(classifier: Classifier, engine: str = "auto", limits: Limits | None = None) -> EngineChoice:
    """Choose the engine for a classifier.

    Parameters
    ----------
    classifier
        The classifier.
    engine
        The name of one that must be taken, or ``"auto"``.
    limits
        Its memory says how large a table may be, by default half of what is free.

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
    if engine in ASKED:
        return _choice(classifier, engine, f"asked for: {ASKED[engine]}", relevant)
    need = 8 * MOST_COPIES * math.prod(len(classifier.network.variable(name)) for name in relevant)
    memory = limits.memory if limits else None
    if engine == "table" or (memory is None and need <= PLAIN_BYTES) or need <= allowed_memory(memory):
        return _choice(classifier, "table", "the table of all instances of the features fits in memory", relevant)
    reason = f"the table of all instances of the features would take {_amount(need)}, so that instances are drawn"
    return _choice(classifier, "sampled", reason, relevant)


def _amount(need: int) -> str:
    """Return an amount of memory in words."""
    size = need / 2**30
    return f"{size:,.3g} GiB" if size < 1e6 else f"2^{math.log2(size):.0f} GiB"


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
        "table": lambda: TableEngine(classifier, memory, choice.irrelevant),
        "merged": lambda: MergedEngine(classifier, most, memory, choice.irrelevant, left),
        "sparse": lambda: SparseEngine(classifier, most, memory, choice.irrelevant),
        "sampled": lambda: SampledEngine(classifier, most, seed, choice.irrelevant, left),
        "circuit": circuit,
    }
    return makers[choice.name]()


def instead(choice: EngineChoice, error: MemoryError) -> EngineChoice:
    """Return the choice of sampling where the table turned out not to fit: only on the way to it is that known."""
    return replace(choice, name="sampled", reason=f"the table was too large ({error}), so that instances are drawn")


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


def _independent(classifier: Classifier) -> Independent | None:
    from bayestrim.engines.independent import independent  # noqa: PLC0415

    return independent(classifier)
