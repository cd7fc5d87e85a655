"""What a person wants to know of a trimming, in the order in which it is wanted."""

from __future__ import annotations

from bayestrim.changes import Changes, changes
from bayestrim.continuous import GaussianNaiveBayes
from bayestrim.description import aligned
from bayestrim.trimming import Choice, Status, Trimming

SHOWN = 3
"""So many features that explain changes, and instances that change, are shown."""


def told(result: Trimming) -> str:
    """Return an answer in words: what to keep, the threshold, how good it is, whether that is proved, what changes."""
    if result.status is Status.INFEASIBLE:
        what = result.status.value if result.target is None else f"nothing keeps {result.target:.2%} of decisions"
        return f"Nothing can be kept: {what}."
    parts = [_kept(result), _dropped(result), _threshold(result), _agreement(result)]
    numbers = isinstance(result.problem.classifier, GaussianNaiveBayes)  # whose instances cannot be listed
    if result.agreement.upper < 1 and result.dropped and not numbers:
        parts.append(_changing(result, changes(result, SHOWN)))
    parts += [_alternative(result, choice) for choice in result.alternatives]
    return "\n".join(part for part in parts if part)


def _kept(result: Trimming) -> str:
    every = len(result.problem.classifier.features)
    named = result.target is None and result.budget != float("inf")
    budget = f" of a budget of {result.budget:g}" if named else ""
    rows = [(f"  {name}", f"{result.problem.costs[name]:g}") for name in result.features]
    for name, (cost, members) in result.problem.setup_costs.items():
        shared = [member for member in members if member in result.features]
        if shared:
            rows.append((f"  + {name}", f"{cost:g}  for {', '.join(shared)}"))
    head = f"Keep {len(result.features)} of {every} features, for {result.cost:g}{budget}:"
    return "\n".join([head, *aligned(rows)]) if rows else f"Keep none of the {every} features."


def _dropped(result: Trimming) -> str:
    if not result.dropped:
        return ""
    names = [f"{name} ({result.problem.costs[name]:g})" for name in result.dropped]
    matter = f"\n  of these, {', '.join(result.irrelevant)} could not matter" if result.irrelevant else ""
    return f"Drop {', '.join(names)}{matter}"


def _threshold(result: Trimming) -> str:
    old = result.problem.classifier.threshold
    if result.threshold > 1:
        return f"New threshold: above 1, so that no decision is positive (it was {old:g})"
    same = " as before" if result.threshold == old else f" (it was {old:g})"
    others = "" if result.problem.threshold == "keep" else f"; any in {result.thresholds} decides alike"
    return f"{'Threshold' if result.threshold == old else 'New threshold'}: {result.threshold:.6g}{same}{others}"


def _agreement(result: Trimming) -> str:
    value = result.agreement
    share = f"{value:.2%}" if value.kind == "exact" else f"{value.lower:.3%} to {value.upper:.3%}"
    sure = {
        "exact": "",
        "certified": " (certified)",
        "statistical": f" (from a sample, {value.confidence or 0:.1%} confidence)",
    }[value.kind]
    stats = f"{result.stats.evaluations:,} evaluations, {result.stats.seconds:.2g} s"
    if result.engine:
        stats += f", {result.engine} engine"
    if result.status is Status.OPTIMAL and result.target is not None:
        proof = f"Proved: nothing cheaper keeps {result.target:.2%} of decisions ({stats})"
    elif result.status is Status.OPTIMAL:
        proof = f"Proved: {result.status.value} ({stats})"
    else:
        proof = f"Not proved: {result.stop_reason.value}; the best could agree {result.gap:.3%} more at most ({stats})"
    return f"{share} of decisions stay the same{sure}\n{proof}"


def _changing(result: Trimming, found: Changes) -> str:
    lines = [f"What changes: {found.gained:.2%} become positive, {found.lost:.2%} become negative"]
    if found.sampled:
        lines[0] += " (in a sample)"
    lines += [
        f"  {item.feature}={item.state} in {item.share:.0%} of the changes, {item.usual:.0%} of all"
        for item in found.explaining
    ]
    for change in found.disagreeing if not found.sampled else ():
        seen = ", ".join(f"{name}={change.row[name]}" for name in result.features) or "nothing"
        unseen = ", ".join(f"{name}={change.row[name]}" for name in result.dropped)
        lines.append(
            f"  {change.probability:.2%}: {seen} becomes {'positive' if change.becomes else 'negative'}, "
            f"which {unseen} made {'positive' if change.was else 'negative'}"
        )
    return "\n".join(lines)


def _alternative(result: Trimming, choice: Choice) -> str:
    names = ", ".join(choice.features) or "nothing"
    return f"Or keep {names} for {choice.cost:g}: {choice.agreement:.2%} stay the same with {choice.threshold:.6g}"
