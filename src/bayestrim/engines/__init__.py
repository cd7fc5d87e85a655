"""Engines answer questions about subsets of one classifier's features; `engine_for` picks the one that fits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

from bayestrim.classifier import Classifier
from bayestrim.engines.table import TableEngine
from bayestrim.result import Interval, MaxAgreement

if TYPE_CHECKING:
    from bayestrim.engines.additive import AdditiveEngine


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


SMALL_TABLE = 1 << 16
"""Up to so many instances, the joint table answers soonest, whatever the classifier."""

_ENGINES: WeakKeyDictionary[Classifier, Engine] = WeakKeyDictionary()


def engine_for(classifier: Classifier) -> Engine:
    """Return the engine for a classifier, the same one for as long as it lives (or an equal one that asked first)."""
    engine = _ENGINES.get(classifier)
    if engine is None:
        small = math.prod(len(variable) for variable in classifier.feature_variables) <= SMALL_TABLE
        engine = None if small else additive_engine(classifier)
        engine = _ENGINES[classifier] = engine or TableEngine(classifier)
    return engine


def additive_engine(classifier: Classifier) -> AdditiveEngine | None:
    """Return the engine for features that are independent given the class, None where they are not."""
    from bayestrim.engines.additive import AdditiveEngine  # noqa: PLC0415  (it compiles, which takes time to import)
    from bayestrim.engines.independent import independent  # noqa: PLC0415

    model = independent(classifier)
    return None if model is None else AdditiveEngine(classifier, model)
