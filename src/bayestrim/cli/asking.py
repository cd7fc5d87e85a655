"""Commands that answer a question about a model: describe, evaluate, sdp."""

from __future__ import annotations

import click

from bayestrim.cli.options import as_json, takes_model, takes_prices
from bayestrim.cli.output import show, show_json
from bayestrim.cli.sources import ModelQuestion, PriceQuestion, names, pair
from bayestrim.description import aligned
from bayestrim.result import Interval, ThresholdInterval


@click.command(
    short_help="Tell what is in a model.",
    epilog="""\b
Examples:
  bayestrim describe alarm.bif
  bayestrim describe alarm.bif --target HYPOVOLEMIA --features leaves
  bayestrim describe heart.csv --learn --target num --positive 1,2,3,4
""",
)
@takes_model
@as_json
def describe(question: ModelQuestion, as_json: bool) -> None:
    """Tell what is in a model: variables, states, parents, roots and leaves.

    With --target (or a saved classifier), also the engine that would be used, the size of the feature space, features
    that cannot matter, how much each feature tells about the class, and how many decisions change if it alone is
    dropped.
    """
    from bayestrim import describe as describe_model  # noqa: PLC0415  (what computes is slow to import)

    decides = question.target is not None or question.source.saved
    found = describe_model(question.classifier() if decides else question.network())
    if as_json:
        show_json(found.to_dict())
    else:
        show(str(found))


@click.command(
    short_help="Tell how good given features are.",
    epilog="""\b
Examples:
  bayestrim evaluate quiz.bif --target Mastery --positive + --threshold 0.07 --keep Q1,Q2
  bayestrim evaluate quiz.bif --target Mastery --positive + --threshold 0.07 --keep Q1,Q2 --new-threshold 0.1
""",
)
@takes_model
@click.option("-k", "--keep", multiple=True, required=True, metavar="a,b,…", help="The features that are kept.")
@click.option("--new-threshold", type=float, metavar="T", help="The threshold with them (default: the old one).")
@as_json
def evaluate(question: ModelQuestion, keep: tuple[str, ...], new_threshold: float | None, as_json: bool) -> None:
    """Tell how often decisions stay the same if only some features are kept.

    ECA is that share with the threshold given, MAA with the best threshold, and MPA what no rule that reads these
    features can exceed.
    """
    from bayestrim.agreement import eca, maa, mpa  # noqa: PLC0415

    classifier = question.classifier()
    kept = classifier.checked_subset(names(keep))
    threshold = classifier.threshold if new_threshold is None else new_threshold
    share, best, potential = eca(classifier, kept, threshold), maa(classifier, kept), mpa(classifier, kept)
    if as_json:
        show_json(
            {
                "features": list(kept),
                "threshold": threshold,
                "eca": _interval(share),
                "maa": _interval(best.value),
                "best_threshold": best.threshold,
                "best_threshold_interval": _thresholds(best.thresholds),
                "mpa": _interval(potential),
            }
        )
        return
    rows = [
        ("ECA", f"{_percent(share)} of decisions stay the same with the threshold {threshold:g}"),
        ("MAA", f"{_percent(best.value)} with {best.threshold:.6g}, the best, or any in {best.thresholds}"),
        ("MPA", f"{_percent(potential)} at most, whatever is done with {', '.join(kept) or 'nothing'}"),
    ]
    show("\n".join(aligned(rows)))


def _percent(value: Interval) -> str:
    return f"{value:.2%}" if value.kind == "exact" else f"{value.lower:.3%} to {value.upper:.3%}"


def _interval(value: Interval) -> dict[str, object]:
    return {"lower": value.lower, "upper": value.upper, "kind": value.kind}


def _thresholds(value: ThresholdInterval) -> list[float]:
    return [value.low, value.high]


@click.command(
    short_help="Tell whether a decision would stand.",
    epilog="""\b
Examples:
  bayestrim sdp alarm.bif --target HYPOVOLEMIA --features leaves CVP=LOW BP=LOW
  bayestrim sdp heart.csv --learn --target num --positive 1,2,3,4 age=61 sex=1 --costs heart_costs.csv --budget 110
""",
)
@takes_model
@takes_prices
@click.argument("evidence", nargs=-1, metavar="[NAME=STATE]…")
@click.option(
    "-b", "--budget", type=float, metavar="B", help="Also find the best set of observations that it pays for."
)
@as_json
def sdp(
    question: ModelQuestion, prices: PriceQuestion, evidence: tuple[str, ...], budget: float | None, as_json: bool
) -> None:
    """Tell whether today's decision would stand, and what to observe next.

    Given what was observed (NAME=STATE …): the decision, the probability that it stands once all other features are
    known, and for each of them the expected probability that the decision made after observing it stands. With
    --budget, the affordable set of observations after which it is most likely to stand.
    """
    from bayestrim import agreement, trim  # noqa: PLC0415

    classifier = question.classifier()
    seen = dict(pair(text, classifier.network.names, "evidence") for text in evidence)
    now = classifier.given(seen)
    costs = prices.prices(now)
    posterior, decision = now.posterior({}), now.decide({})
    stands = agreement.sdp(classifier, seen)
    cost = {name: float(costs.costs.get(name, 1.0)) for name in now.features}
    after = sorted(((agreement.expected_sdp(now, [name]), name) for name in now.features), key=lambda x: -float(x[0]))
    best = None if budget is None else trim(now, budget, cost, setup_costs=costs.setup_costs, threshold="keep")
    if as_json:
        show_json(
            {
                "evidence": dict(now.evidence),
                "posterior": posterior,
                "decision": decision,
                "sdp": _interval(stands),
                "next": [{"feature": name, "expected_sdp": _interval(v), "cost": cost[name]} for v, name in after],
                "best": best
                and {"features": list(best.features), "cost": best.cost, "expected_sdp": _interval(best.agreement)},
            }
        )
        return
    known = ", ".join(f"{name}={state}" for name, state in now.evidence.items()) or "nothing"
    lines = [
        f"given      {known}",
        f"decision   {'positive' if decision else 'negative'}: the posterior is {posterior:.4g}, the threshold "
        f"{now.threshold:g}",
        f"stands     with probability {_percent(stands)} once all {len(now.features)} other features are known",
    ]
    if best is not None:
        lines.append(
            f"best       {', '.join(best.features) or 'nothing'} for {best.cost:g}: then {_percent(best.agreement)}"
        )
    if after:
        rows = [("observe next", "cost", "then stands"), *((name, f"{cost[name]:g}", _percent(v)) for v, name in after)]
        lines += ["", *aligned(rows)]
    show("\n".join(lines))
