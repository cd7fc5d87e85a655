"""The table engine: the whole joint distribution of class and features, each cell decided once.

The paper's quantities for kept features are sums over the axes of the dropped ones: of the mass decided positive and
negative, and of each class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from bayestrim import ties
from bayestrim.classifier import Classifier
from bayestrim.engines.cut import best_cut
from bayestrim.errors import ImpossibleEvidenceError
from bayestrim.inference import joint_table
from bayestrim.memory import check_memory
from bayestrim.network import FloatArray
from bayestrim.result import Interval, MaxAgreement
from bayestrim.rows import IntArray

MOST_COPIES = 16
"""Arrays of the table's size that an engine holds at once, while it finds the best threshold for all features."""


class TableEngine:
    """Exact answers from the joint table of the class and all features.

    Parameters
    ----------
    classifier
        The classifier all questions are about.
    """

    name = "table"

    def __init__(self, classifier: Classifier) -> None:
        # It must not hold the classifier itself, whose life bounds its own (see `engine_for`).
        # A feature of one state tells nothing, and an array has at most 64 axes.
        self._features = tuple(variable.name for variable in classifier.feature_variables if len(variable) > 1)
        self._threshold = classifier.threshold
        self._exact = classifier.exact_posteriors.of(self._features)
        states = classifier.positive_states
        sizes = [len(classifier.network.variable(name)) for name in self._features]
        check_memory(
            (len(states) + MOST_COPIES) * math.prod(sizes),
            f"the table of all {len(sizes)} features of the classifier (kept or not; give Classifier fewer)",
            None,
        )
        joint = joint_table(classifier.network, classifier.target, self._features, classifier.evidence_codes)
        mass = np.stack([joint[states].sum(axis=0), joint[~states].sum(axis=0)])
        total = mass.sum()
        if not total > 0:
            raise ImpossibleEvidenceError(f"the evidence has probability zero: {dict(classifier.evidence)}")
        mass /= total
        positive, self.tie_mass, self._slack = self._decide(mass, self._exact, self._threshold)
        self._mass = np.stack([np.where(positive, mass, 0), np.where(positive, 0, mass)])
        """Probability by [decision, class, state of each feature…]; positive comes first on both axes."""

    @staticmethod
    def _decide(
        mass: FloatArray, exact: ties.ExactPosteriors, threshold: float
    ) -> tuple[npt.NDArray[np.bool_], float, float]:
        """Decide every cell of [class, features…]; return the decisions, the mass of the band, and what is unsettled.

        Only cells in the band need their state numbers, so only those are written out.
        """
        decided, tied = exact.decide_in_floats(mass[0], mass[1], threshold)
        if not tied.any():
            return decided, 0.0, 0.0
        of_band = mass.sum(axis=0)[tied]
        settled = exact.settle(np.argwhere(tied), threshold)
        decided[tied] = settled.positive
        return decided, float(of_band.sum()), float(of_band[~settled.exact].sum())

    def _kept(self, features: Sequence[str]) -> tuple[tuple[str, ...], FloatArray]:
        """Return the kept features that have a choice, and probability by [decision, class, state of each…].

        Axes are summed one at a time: NumPy's sum over several at once may lose seven digits in a large table.
        """
        mass = self._mass
        for axis in range(len(self._features) - 1, -1, -1):
            if self._features[axis] not in features:
                mass = mass.sum(axis=axis + 2)
        return tuple(name for name in self._features if name in features), mass

    def eca(self, features: Sequence[str], threshold: float) -> Interval:
        """Return the expected agreement with the classifier that keeps the features and uses the threshold."""
        names, kept = self._kept(features)
        decided, _, slack = self._decide(kept.sum(axis=0), self._exact.of(names), threshold)
        by_decision = kept.sum(axis=1)
        agreement = by_decision[0][decided].sum() + by_decision[1][~decided].sum()
        return _interval(agreement, agreement, self._slack + slack)

    def mpa(self, features: Sequence[str]) -> Interval:
        """Return the maximum potential agreement of the features."""
        value = self._kept(features)[1].sum(axis=1).max(axis=0).sum()
        return _interval(value, value, self._slack)

    def maa(self, features: Sequence[str]) -> MaxAgreement:
        """Return the best expected agreement over all thresholds (the paper's second algorithm)."""
        names, kept = self._kept(features)
        exact = self._exact.of(names)
        shape = kept.shape[2:]
        mass = kept.reshape(2, 2, -1)
        possible = np.flatnonzero(mass.sum(axis=(0, 1)) > 0)

        def posteriors(chosen: IntArray) -> list[Fraction | None]:
            cells = np.unravel_index(possible[chosen], shape) if shape else ()
            return exact.posteriors(np.array(cells, dtype=np.int64).reshape(len(shape), len(chosen)).T)

        best = best_cut(mass[:, :, possible], posteriors, self._threshold, exact.band)
        value = _interval(best.value, best.potential, self._slack)
        return MaxAgreement(value, best.thresholds, best.thresholds.pick(self._threshold))


def _interval(lower: float, upper: float, slack: float) -> Interval:
    low, high = (min(1.0, max(0.0, float(end))) for end in (lower - slack, upper + slack))
    return Interval(low, high, "exact" if low == high else "certified")
