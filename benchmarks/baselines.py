"""Other ways to choose features under a budget, each a function from a question to the features it keeps.

The filters and wrappers learn from rows that are drawn from the network, with the class as it fell, as a user of those
libraries would; none of them knows the threshold.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

import bayestrim as bt
from bayestrim.engines.table import TableEngine
from bayestrim.inference import IntArray, sample
from bayestrim.search.start import information_gain

ROWS = 5000
"""Rows drawn for the methods that learn from rows."""

Features = tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """What every method is asked.

    Attributes
    ----------
    classifier
        The classifier.
    engine
        Its joint table.
    costs
        What features cost.
    budget
        What they may cost together.
    known
        Agreements that were computed before, which questions about the same classifier may share.
    """

    classifier: bt.Classifier
    engine: TableEngine
    costs: Mapping[str, int]
    budget: int
    known: dict[tuple[frozenset[str], bool], float] = field(default_factory=dict)

    def expected_sdp(self, kept: Sequence[str]) -> float:
        """Return the agreement of a subset under the old threshold."""
        return self._asked(kept, False, lambda some: float(self.engine.eca(some, self.classifier.threshold)))

    def best_agreement(self, kept: Sequence[str]) -> float:
        """Return the agreement of a subset under the best threshold."""
        return self._asked(kept, True, lambda some: float(self.engine.maa(some)))

    def _asked(self, kept: Sequence[str], best: bool, ask: Callable[[Sequence[str]], float]) -> float:
        place = frozenset(kept) - set(self.engine.irrelevant), best
        if place not in self.known:
            self.known[place] = ask(kept)
        return self.known[place]

    @cached_property
    def rows(self) -> tuple[IntArray, IntArray]:
        """Drawn rows as state numbers [rows, features], and whether the class was positive."""
        drawn = sample(self.classifier.network, ROWS, seed=7)
        features = np.stack([drawn[name] for name in self.classifier.features], axis=1)
        return features, self.classifier.positive_states[drawn[self.classifier.target]].astype(np.int64)

    def taken(self, ranked: list[str]) -> Features:
        """Return features in their ranks' order, each that can still be paid."""
        kept, left = [], self.budget
        for name in ranked:
            if self.costs[name] <= left:
                kept.append(name)
                left -= self.costs[name]
        return tuple(kept)


def nothing(question: Question) -> Features:
    """Take nothing: every decision is the same."""
    return ()


def by_gain(question: Question) -> Features:
    """Take the highest information gain, the paper's baseline."""
    gains = information_gain(question.classifier)
    return question.taken(sorted(gains, key=lambda name: -gains[name]))


def by_gain_for_cost(question: Question) -> Features:
    """Take the highest information gain for its price."""
    gains = information_gain(question.classifier)
    return question.taken(sorted(gains, key=lambda name: -gains[name] / question.costs[name]))


def by_expected_sdp(question: Question) -> Features:
    """Add, one by one, the feature that brings the highest expected SDP: the agreement under the old threshold."""
    return _forward(question, question.expected_sdp)


def by_maa(question: Question) -> Features:
    """Add, one by one, the feature that brings the highest agreement under the best threshold."""
    return _forward(question, question.best_agreement)


def _forward(question: Question, worth: Callable[[list[str]], float]) -> Features:
    kept: list[str] = []
    left = question.budget
    while reachable := [n for n in question.classifier.features if n not in kept and question.costs[n] <= left]:
        best = max(reachable, key=lambda name: worth([*kept, name]))
        kept.append(best)
        left -= question.costs[best]
    return tuple(kept)


def by_mutual_information(question: Question) -> Features:
    """Take scikit-learn's highest mutual information with the class, on drawn rows."""
    from sklearn.feature_selection import mutual_info_classif  # noqa: PLC0415

    x, y = question.rows
    if len(set(y.tolist())) < 2:
        return ()
    found = mutual_info_classif(x, y, discrete_features=True)
    return question.taken([question.classifier.features[i] for i in np.argsort(-found, kind="stable")])


def by_sequential_selection(question: Question) -> Features:
    """Take scikit-learn's forward selection by the accuracy of its naive Bayes, on drawn rows (unit costs only)."""
    from sklearn.feature_selection import SequentialFeatureSelector  # noqa: PLC0415
    from sklearn.naive_bayes import CategoricalNB  # noqa: PLC0415

    x, y = question.rows
    if min(np.bincount(y, minlength=2)) < 3:
        return ()
    sizes = [len(variable) for variable in question.classifier.feature_variables]
    count = min(question.budget, len(sizes) - 1)
    estimator = CategoricalNB(min_categories=max(sizes))
    chosen = SequentialFeatureSelector(estimator, n_features_to_select=count, cv=3).fit(x, y).get_support()
    return tuple(np.array(question.classifier.features)[chosen].tolist())


def by_jmi(question: Question) -> Features:
    """Take bcselector's joint mutual information less the price, on drawn rows."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        from bcselector.variable_selection import DiffVariableSelector  # noqa: PLC0415

        x, y = question.rows
        if len(set(y.tolist())) < 2:
            return ()
        selector = DiffVariableSelector()
        costs = [float(question.costs[name]) for name in question.classifier.features]
        selector.fit(x, y, costs=costs, lamb=0.05, j_criterion_func="jmi")
        order: list[int] = selector.variables_selected_order
    return question.taken([question.classifier.features[i] for i in order])


METHODS: dict[str, Callable[[Question], Features]] = {
    "nothing": nothing,
    "gain": by_gain,
    "gain/cost": by_gain_for_cost,
    "E-SDP": by_expected_sdp,
    "MAA": by_maa,
    "MI": by_mutual_information,
    "SFS": by_sequential_selection,
    "JMI": by_jmi,
}
"""Every method, by its column's name."""
