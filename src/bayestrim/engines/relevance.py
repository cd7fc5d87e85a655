"""Which features can matter: those that d-separation does not cut off from the class, whatever else is observed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bayestrim.classifier import Classifier


def sorted_out(classifier: Classifier, irrelevant: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the features that tell instances apart, and the others: those known not to matter, or of one state.

    An array has at most 64 axes, which need not be spent on the latter.
    """
    several = [variable.name for variable in classifier.feature_variables if len(variable) > 1]
    kept = tuple(name for name in several if name not in irrelevant)
    return kept, tuple(name for name in classifier.features if name not in kept)


def relevant_features(classifier: Classifier) -> tuple[str, ...]:
    """Return the features that may change a posterior, in the classifier's order.

    In the network of the class, the features, the evidence and their ancestors, with parents of a common child joined
    and the evidence taken out, a feature may matter if any path leads from the class to it. A path through another
    feature counts: whoever drops that one may do well to keep this one in its stead. All others change no posterior.

    Examples
    --------
    >>> import bayestrim as bt
    >>> table = [[0.5, 0.5], [0.1, 0.9]]
    >>> chain = bt.BayesianNetwork(
    ...     [bt.Variable(name, ("yes", "no")) for name in "CABD"],
    ...     {"A": ["C"], "B": ["A"]},
    ...     {"C": [0.3, 0.7], "A": table, "B": table, "D": [0.2, 0.8]},
    ... )
    >>> relevant_features(bt.Classifier(chain, "C"))
    ('A', 'B')
    >>> relevant_features(bt.Classifier(chain, "C", features=["B", "D"]).given({"A": "yes"}))
    ()
    """
    reached = _reached(classifier, (classifier.target,), classifier.features, through=True)
    return tuple(name for name in classifier.features if name in reached)


def boundary(classifier: Classifier, targets: Collection[str], features: Sequence[str]) -> tuple[str, ...]:
    """Return those of some features that the others do not shield from all targets, when all of them are observed.

    Given these, the targets are independent of the other features: for the class as target, these alone decide. The
    targets are not among the features.

    Examples
    --------
    >>> import bayestrim as bt
    >>> table = [[0.5, 0.5], [0.1, 0.9]]
    >>> chain = bt.BayesianNetwork(
    ...     [bt.Variable(name, ("yes", "no")) for name in "CAB"],
    ...     {"A": ["C"], "B": ["A"]},
    ...     {"C": [0.3, 0.7], "A": table, "B": table},
    ... )
    >>> classifier = bt.Classifier(chain, "C")
    >>> boundary(classifier, "C", ["A", "B"]), boundary(classifier, "C", ["B"]), boundary(classifier, "CB", ["A"])
    (('A',), ('B',), ('A',))
    """
    reached = _reached(classifier, targets, features, through=False)
    return tuple(name for name in features if name in reached)


def _reached(classifier: Classifier, targets: Collection[str], features: Collection[str], *, through: bool) -> set[str]:
    """Return what a path leads to from the targets, in the network described above; through features, or up to them."""
    network = classifier.network
    single = {variable.name for variable in network.variables if len(variable) == 1}
    known = {*classifier.evidence, *single} - {classifier.target}
    holding: dict[str, list[set[str]]] = {}
    for name in network.ancestors([*targets, *features, *classifier.evidence]):
        family = {name, *network.parents(name)} - known
        for member in family:
            holding.setdefault(member, []).append(family)
    ends = frozenset() if through else frozenset(features)
    reached, waiting = set(targets), list(targets)
    while waiting:
        for family in holding[waiting.pop()]:
            fresh = family - reached
            reached |= fresh
            waiting += fresh - ends
    return reached
