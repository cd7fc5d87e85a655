"""The sections of the page, in the order in which people ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import bayestrim
from bayestrim.changes import Change, Changes
from bayestrim.classifier import Classifier
from bayestrim.continuous import GaussianNaiveBayes
from bayestrim.report import curve, words
from bayestrim.report.facts import Facts, is_bounded
from bayestrim.report.form import use
from bayestrim.report.markup import Markup, join, tag
from bayestrim.report.network import MOST_NODES, drawing
from bayestrim.report.tables import Cell, Column, scroll, table
from bayestrim.trimming import Status


class Section(NamedTuple):
    """A section: its anchor, its heading, its name in the list of contents, and what it says (None leaves it out)."""

    anchor: str
    heading: str
    short: str
    content: Callable[[Facts], Markup | None]


def headline(facts: Facts) -> Markup:
    """Return the answer in one sentence, and the numbers that matter most."""
    result = facts.result
    kept, total = len(result.features), len(facts.classifier.features)
    if result.status is Status.INFEASIBLE:
        return tag("h1", "Nothing fits the budget and the constraints")
    title = facts.title or f"Keep {kept} of {words.count(total, 'feature')}"
    cost = words.amount(result.cost)
    budget = f"of a budget of {words.amount(result.budget)}" if is_bounded(result) else "without a budget"
    old = words.threshold(facts.classifier.threshold)
    unchanged = result.threshold == facts.classifier.threshold
    return join(
        [
            tag("p", _decision(facts), class_="kicker"),
            tag("h1", title),
            tag(
                "dl",
                _figure("Decisions that stay the same", words.agreement(result.agreement), _proved(facts)),
                _figure("Cost", cost, budget),
                _figure(
                    "New threshold", words.threshold(result.threshold), "unchanged" if unchanged else f"it was {old}"
                ),
                class_="figures",
            ),
        ]
    )


def _decision(facts: Facts) -> str:
    classifier = facts.classifier
    known = "".join(f", given {name} = {state}" for name, state in classifier.evidence.items())
    return f"{classifier.target} = {' or '.join(classifier.positive)}{known}"


def _figure(name: str, value: str, note: str) -> Markup:
    return tag("div", tag("dt", name), tag("dd", tag("strong", value), tag("span", note)))


def _proved(facts: Facts) -> str:
    if facts.result.status is Status.OPTIMAL:
        return "proved: no affordable choice does better"
    return curve.unproved(facts.result.bound)


def keep(facts: Facts) -> Markup:
    """Return what to keep, and what each feature costs and is worth."""
    result = facts.result
    kept = [tag("li", name) for name in result.features] or [tag("li", "nothing")]
    parts = [tag("ul", *kept, class_="chips", aria_label="Features to keep")]
    setups = [
        f"“{name}” ({words.amount(cost)}, once) for {words.listed(list(members))}"
        for name, (cost, members) in result.problem.setup_costs.items()
        if set(members) & set(result.features)
    ]
    if setups:
        parts.append(tag("p", f"The cost includes {'; '.join(setups)}."))
    parts.append(_features(facts))
    return join(parts)


DECISIONS = {"kept": "keep", "dropped": "drop", "irrelevant": "cannot matter"}
"""What the table of features calls what becomes of each, in the order of its rows."""


def _features(facts: Facts) -> Markup:
    roles, costs = roles_of(facts), facts.result.problem.costs
    columns = [
        Column("Feature", "name", "up"),
        Column("Decision", sort="up"),
        Column("Cost", "number", "down"),
        Column("If dropped as well, changes", "number", "down"),
    ]
    order = list(DECISIONS)
    rows = [
        (
            Cell(name),
            Cell(DECISIONS[roles[name]], class_=f"role {roles[name]}"),
            Cell(words.amount(costs[name]), costs[name]),
            _share(facts.losses[name]) if name in facts.losses else Cell("", -1.0),
        )
        for name in sorted(facts.classifier.features, key=lambda name: order.index(roles[name]))
    ]
    about = " (of drawn instances)" if facts.changes is not None and facts.changes.sampled else ""
    return table(f"All features: what each costs, and what dropping it as well would change{about}", columns, rows)


def _share(share: float) -> Cell:
    return Cell(words.percent(share), share)


def roles_of(facts: Facts) -> dict[str, str]:
    """Return what becomes of each variable that the classifier reads or decides."""
    result = facts.result
    roles = dict.fromkeys(facts.classifier.features, "dropped")
    roles |= dict.fromkeys(result.irrelevant, "irrelevant")
    roles |= dict.fromkeys(result.features, "kept")
    roles |= dict.fromkeys(facts.classifier.evidence, "known")
    return {**roles, facts.classifier.target: "class"}


def agreement(facts: Facts) -> Markup:
    """Return how often decisions stay the same, and how sure that is."""
    result = facts.result
    sure = {
        "exact": "This is exact: every combination of the features was counted with its probability in the model.",
        "certified": (
            f"This is certified: the true value surely lies between {words.percent(result.agreement.lower)} and "
            f"{words.percent(result.agreement.upper)}."
        ),
        "statistical": (
            f"This is an estimate from drawn instances: the true value lies between "
            f"{words.percent(result.agreement.lower)} and {words.percent(result.agreement.upper)} with a confidence of "
            f"{words.percent(result.agreement.confidence or 0.0)}."
        ),
    }[result.agreement.kind]
    best = (
        "No other affordable choice of features and threshold agrees more often; that is proved."
        if result.status is Status.OPTIMAL
        else f"It is not proved that no other choice does better, since {result.stop_reason.value}."
    )
    if result.status is not Status.OPTIMAL and result.bound < 1:
        best += f" What is proved: the best affordable one agrees at most {words.percent(result.bound)}."
    paragraphs = [
        tag(
            "p",
            tag("strong", words.capitalised(words.agreement(result.agreement))),
            " of decisions stay the same. ",
            sure,
        ),
        tag("p", best),
    ]
    if facts.baseline is not None:
        without = words.agreement(facts.baseline)
        always = "the most frequent decision" if result.problem.threshold == "optimal" else "the same decision"
        paragraphs.append(
            tag("p", f"To compare: observing nothing at all and always taking {always} agrees {without} of the time.")
        )
        paragraphs.insert(0, _scale(result.agreement.lower, facts.baseline.lower))
    if result.tie_mass > 0:
        paragraphs.append(
            tag(
                "p",
                f"Instances of probability {words.percent(result.tie_mass)} lie so near the threshold that rounding "
                "could decide them; where it is possible, they are decided in exact arithmetic.",
            )
        )
    interval = words.thresholds(result.thresholds)
    if result.problem.threshold == "optimal":
        paragraphs.append(tag("p", f"Equally good thresholds for the kept features: {interval}."))
    return join(paragraphs)


def _scale(share: float, baseline: float) -> Markup:
    return tag(
        "svg",
        tag(
            "title", f"{words.percent(share)} of decisions stay the same, {words.percent(baseline)} without any feature"
        ),
        tag("rect", x=0, y=8, width=1000, height=16, rx=8, class_="track"),
        tag("rect", x=0, y=8, width=f"{1000 * share:.1f}", height=16, rx=8, class_="fill"),
        tag("line", x1=f"{1000 * baseline:.1f}", x2=f"{1000 * baseline:.1f}", y1=2, y2=30, class_="mark"),
        viewBox="0 0 1000 32",
        preserveAspectRatio="none",
        role="img",
        class_="scale",
    )


def changed(facts: Facts) -> Markup:
    """Return which decisions change, in which direction, and what goes with it."""
    found = facts.changes
    if found is None:
        return tag("p", "Which instances change is out of reach for this classifier.")
    directions = (
        f"{words.percent(found.lost)} of all decisions turn from positive to negative, and "
        f"{words.percent(found.gained)} from negative to positive."
    )
    if facts.positive is not None:
        before = float(facts.positive)
        after = min(1.0, max(0.0, before - found.lost + found.gained))
        directions += f" {words.percent(before)} were positive; {words.percent(after)} are, with the kept features."
    if found.changed == 0:
        directions = "No decision changes."
    drawn = " These are shares of drawn instances, since there are too many to be listed." if found.sampled else ""
    parts = [tag("p", directions + drawn)]
    if found.disagreeing:
        heading = "Drawn instances that change" if found.sampled else "The most probable instances that change"
        parts += [tag("h3", heading), _instances(facts, found)]
    if found.explaining:
        parts += [tag("h3", "What goes with a change"), _explanations(facts, found)]
    return join(parts)


def _sign(change: Change) -> str:
    return "positive" if change.becomes else "negative"


def _instances(facts: Facts, found: Changes) -> Markup:
    kept = [name for name in facts.classifier.features if name in facts.result.features]
    telling = [e.feature for e in found.explaining]
    dropped = [name for name in facts.result.dropped if name not in facts.result.irrelevant]
    dropped.sort(key=lambda name: telling.index(name) if name in telling else len(telling))
    columns = [
        Column("Probability", "number", "down"),
        Column("Becomes", sort="up"),
        Column("Posterior before", "number", "down"),
        Column("Posterior after", "number", "down"),
        Column("Kept features", "text"),
        Column("Dropped features", "text"),
    ]
    rows = [
        (
            _share(change.probability),
            Cell(
                *(("positive", None, "becomes positive") if change.becomes else ("negative", None, "becomes negative"))
            ),
            _share(change.before),
            _share(change.after),
            Cell(_pairs(change.row, kept)),
            Cell(_pairs(change.row, dropped)),
        )
        for change in found.disagreeing
    ]
    order = "some of those drawn" if found.sampled else "most probable first"
    return table(f"Changed instances, {order}; features that explain changes stand first", columns, rows)


MOST_PAIRS = 10
"""An instance of more features is shown with so many of them."""


def _pairs(row: Mapping[str, str], names: Sequence[str]) -> Markup:
    shown = [tag("span", f"{name} = {row[name]}", class_="pair") for name in names[:MOST_PAIRS]]
    more = [f" and {len(names) - MOST_PAIRS} more"] if len(names) > MOST_PAIRS else []
    return tag("span", join(shown, " "), *more)


def _explanations(facts: Facts, found: Changes) -> Markup:
    columns = [
        Column("Feature", "name", "up"),
        Column("State"),
        Column("Kept", sort="up"),
        Column("Of the changes", "number", "down"),
        Column("Of all instances", "number", "down"),
        Column("Changes, given it", "number", "down"),
    ]
    rows = [
        (
            Cell(e.feature),
            Cell(e.state),
            Cell("yes" if e.feature in facts.result.features else "no"),
            _share(e.share),
            _share(e.usual),
            _share(min(1.0, e.share * found.changed / e.usual)),
        )
        for e in found.explaining
    ]
    return table("States that are more frequent among the changes than elsewhere, most telling first", columns, rows)


def budgets(facts: Facts) -> Markup:
    """Return what other budgets would buy."""
    points = facts.curve
    if not points:
        return tag("p", "The budget curve was not computed for this page.")
    here = facts.here
    now = points[here]
    fields = [
        ("Cost", "budget-cost", words.amount(now.cost)),
        ("Decisions that stay the same", "budget-agreement", words.agreement(now.agreement)),
        ("Threshold", "budget-threshold", words.threshold(now.threshold)),
        ("Proof", "budget-proof", curve.proof(now)),
    ]
    shown = [tag("div", tag("dt", name), tag("dd", value, id=anchor)) for name, anchor, value in fields]
    figures = tag("dl", *shown, class_="figures small")
    kept = [tag("li", name) for name in now.features] or [tag("li", "nothing")]
    chips = tag("ul", *kept, id="budget-kept", class_="chips", aria_label="Features to keep at this budget")
    slider = tag(
        "input",
        type="range",
        id="budget",
        min=0,
        max=len(points) - 1,
        step=1,
        value=here,
        autocomplete="off",
        aria_describedby="budget-about",
    )
    return join(
        [
            tag("p", "At each stop of the slider something better becomes affordable.", id="budget-about"),
            tag("div", tag("label", "Budget", for_="budget"), slider, tag("div", figures, chips, aria_live="polite"),
                class_="control"),
            scroll("Chart of the budget curve", curve.picture(points, here)),
            tag("details", tag("summary", "All points of the curve"), curve.listing(points)),
        ]
    )  # fmt: skip


def alternatives(facts: Facts) -> Markup | None:
    """Return the next best subsets."""
    result = facts.result
    if not result.alternatives:
        return None
    columns = [
        Column("Keep", "text"),
        Column("Decisions that stay the same", "number", "down"),
        Column("Cost", "number", "up"),
        Column("Threshold", "number", "up"),
    ]
    rows = [
        (
            Cell(", ".join(one.features) or "nothing"),
            Cell(words.agreement(one.agreement), one.agreement.lower),
            Cell(words.amount(one.cost), one.cost),
            Cell(words.threshold(one.threshold), one.threshold),
        )
        for one in (result.choice, *result.alternatives)
    ]
    return table("The answer, and the next best subsets within the budget", columns, rows)


def network(facts: Facts) -> Markup | None:
    """Return the network, drawn."""
    classifier = facts.classifier
    if isinstance(classifier, GaussianNaiveBayes):
        return None
    part = classifier.network.ancestral([classifier.target, *classifier.features, *classifier.evidence])
    note = ""
    if len(part.names) > MOST_NODES:
        whole = len(part.names)
        part = facts.result.classifier.network
        note = f"Of {whole} variables, only those that the trimmed classifier needs are drawn."
    if len(part.names) > MOST_NODES:
        return tag("p", f"The network has {len(part.names)} variables, too many to be drawn.")
    roles = roles_of(facts)
    counts = {role: sum(roles.get(name, "hidden") == role for name in part.names) for role in LEGEND}
    described = ", ".join(f"{number} {LEGEND[role]}" for role, number in counts.items() if number)
    picture = drawing(part, roles, "The network", f"Arrows lead from causes to effects: {described}.")
    legend = [tag("li", LEGEND[role], class_=role) for role, number in counts.items() if number]
    return join(
        [
            tag("p", note) if note else "",
            tag("ul", *legend, class_="legend"),
            scroll("Drawing of the network", picture),
        ]
    )


LEGEND = {
    "class": "the class",
    "kept": "kept",
    "dropped": "dropped",
    "irrelevant": "cannot matter",
    "known": "already known",
    "hidden": "never observed",
}


def _model(classifier: Classifier) -> str:
    if isinstance(classifier, GaussianNaiveBayes):
        return f"naive Bayes with measurements: {words.count(len(classifier.features), 'feature')}"
    network = classifier.network
    return f"{network.name or 'without a name'}: {words.count(len(network.names), 'variable')}"


def computed(facts: Facts) -> Markup:
    """Return how the answer was computed, and from what."""
    result, classifier = facts.result, facts.classifier
    rows = [
        ("Model", _model(classifier)),
        ("Decision", f"{_decision(facts)}, if its probability is at least {words.threshold(classifier.threshold)}"),
        ("Proof", f"{result.status.value}; {result.stop_reason.value}"),
        ("Engine", result.engine or "none was needed"),
        ("Evaluations", f"{result.stats.evaluations:,}"),
        ("Nodes of the search tree", f"{result.stats.nodes:,}"),
        ("Time", f"{result.stats.seconds:.3g} s"),
        ("bayestrim", bayestrim.__version__),
        ("SHA-256 of the classifier", facts.fingerprint),
    ]
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in rows), class_="record")


SECTIONS = (
    Section("keep", "What to keep, and what it costs", "Keep", keep),
    Section("agreement", "How often decisions stay the same, and how sure that is", "Agreement", agreement),
    Section("changes", "Which decisions change", "Changes", changed),
    Section("budgets", "What other budgets would buy", "Budgets", budgets),
    Section("alternatives", "Alternatives", "Alternatives", alternatives),
    Section("network", "The network", "Network", network),
    Section("use", "Calculator", "Calculator", use),
    Section("computed", "How this was computed", "How computed", computed),
)
"""The sections in their order."""
