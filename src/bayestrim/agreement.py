"""The paper's quantities: how often two classifiers decide alike, and how likely a decision is to stand.

Each is asked of whichever engine fits the classifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bayestrim.classifier import Classifier, checked_threshold
from bayestrim.engines import answer, engine_for
from bayestrim.errors import ClassifierError
from bayestrim.result import NEVER_POSITIVE, Interval, MaxAgreement


def eca(classifier: Classifier, features: Iterable[str], threshold: float | None = None) -> Interval:
    """Return the expected classification agreement of a classifier with a trimmed one.

    The probability, over all instances, that the classifier decides as the one does that reads only the given
    features and compares its posterior with the given threshold.

    Parameters
    ----------
    classifier
        The original classifier.
    features
        The features that the trimmed one keeps.
    threshold
        The trimmed one's threshold; by default the original's, which makes this the expected SDP.

    Examples
    --------
    >>> import bayestrim as bt
    >>> network = bt.read_network("examples/quiz.bif")
    >>> quiz = bt.Classifier(network, "Mastery", "+", threshold=0.07)
    >>> print(bt.eca(quiz, ["Q1", "Q3"], threshold=0.10))
    0.9082
    """
    _check(classifier)
    new = classifier.threshold if threshold is None else checked_threshold(threshold)
    kept = classifier.checked_subset(features)
    return answer(classifier, lambda engine: engine.eca(kept, new))


def maa(classifier: Classifier, features: Iterable[str]) -> MaxAgreement:
    """Return the maximum achievable agreement of some features: the best ECA over all thresholds.

    Parameters
    ----------
    classifier
        The original classifier.
    features
        The features that are kept.

    Examples
    --------
    >>> import bayestrim as bt
    >>> network = bt.read_network("examples/quiz.bif")
    >>> quiz = bt.Classifier(network, "Mastery", "+", threshold=0.07)
    >>> best = bt.maa(quiz, ["Q1", "Q2"])
    >>> print(best.value, best.thresholds)
    0.9748 (0.0769231, 0.333333]
    """
    _check(classifier)
    kept = classifier.checked_subset(features)
    return answer(classifier, lambda engine: engine.maa(kept))


def mpa(classifier: Classifier, features: Iterable[str]) -> Interval:
    """Return the maximum potential agreement of some features: what an ideal rule that reads them could reach.

    It bounds the MAA of the features and of all their subsets from above, and grows with the features.

    Parameters
    ----------
    classifier
        The original classifier.
    features
        The features that are kept.
    """
    _check(classifier)
    kept = classifier.checked_subset(features)
    return answer(classifier, lambda engine: engine.mpa(kept))


def sdp(classifier: Classifier, evidence: Mapping[str, Any], features: Iterable[str] | None = None) -> Interval:
    """Return the same-decision probability: the chance that today's decision stands after observing more.

    Parameters
    ----------
    classifier
        The classifier.
    evidence
        What has been observed so far, as a mapping from names to states.
    features
        The features that may yet be observed; by default all that are not in the evidence.

    Examples
    --------
    >>> import bayestrim as bt
    >>> network = bt.read_network("examples/quiz.bif")
    >>> quiz = bt.Classifier(network, "Mastery", "+", threshold=0.07)
    >>> print(bt.sdp(quiz, {"Q1": "+"}))
    0.745
    """
    _check(classifier)
    now = classifier.given(evidence)
    if features is not None:
        now = now.restricted(features)
    return eca(now, [], threshold=0.0 if now.decide({}) else NEVER_POSITIVE)


def expected_sdp(
    classifier: Classifier, features: Iterable[str], evidence: Mapping[str, Any] | None = None
) -> Interval:
    """Return the expected same-decision probability after observing some features.

    The higher it is, the less there is to learn from the features that remain: the best next observation is the one
    of highest expected SDP.

    Parameters
    ----------
    classifier
        The classifier.
    features
        The features to be observed.
    evidence
        What has been observed before.
    """
    _check(classifier)
    return eca(classifier.given(evidence or {}), features)


def tie_mass(classifier: Classifier) -> float:
    """Return the probability that an instance lies so near the threshold that rounding could decide it.

    Parameters
    ----------
    classifier
        The classifier.

    Examples
    --------
    >>> import bayestrim as bt
    >>> network = bt.read_network("examples/quiz.bif")
    >>> quiz = bt.Classifier(network, "Mastery", "+", ["Q1", "Q2"], threshold=0.25)
    >>> bt.tie_mass(quiz), round(bt.tie_mass(quiz.restricted(["Q1"])), 12)
    (0.0, 0.36)
    """
    _check(classifier)
    return engine_for(classifier).tie_mass


def _check(classifier: Classifier) -> None:
    if not isinstance(classifier, Classifier):
        raise ClassifierError(
            f"a Classifier is needed, not {type(classifier).__name__}; make one with Classifier(network, target, …)"
        )
