"""Which features can matter: those that d-separation does not cut off from the class, whatever else is observed."""

from __future__ import annotations

from bayestrim.classifier import Classifier


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
    network, target = classifier.network, classifier.target
    single = {variable.name for variable in network.variables if len(variable) == 1}
    known = {*classifier.evidence, *single} - {target}
    holding: dict[str, list[set[str]]] = {}
    for name in network.ancestors([target, *classifier.features, *classifier.evidence]):
        family = {name, *network.parents(name)} - known
        for member in family:
            holding.setdefault(member, []).append(family)
    reached, waiting = {target}, [target]
    while waiting:
        for family in holding[waiting.pop()]:
            fresh = family - reached
            reached |= fresh
            waiting += fresh
    return tuple(name for name in classifier.features if name in reached)
