"""The command that asks what each amount of money buys: curve."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import click

from bayestrim.cli import BAD_INPUT, INTERRUPTED, PROVED, STOPPED
from bayestrim.cli.options import as_json, checkpoint, constraints, output, quiet, searching, takes_model, takes_prices
from bayestrim.cli.output import check_writable, show, show_json, write_text
from bayestrim.cli.progress import progress
from bayestrim.cli.sources import ModelQuestion, PriceQuestion, problem_of
from bayestrim.trimming import StopReason

if TYPE_CHECKING:
    from bayestrim import BudgetCurve

POINT = ("cost", "agreement", "bound", "status", "features", "threshold", "threshold_interval")
"""What JSON says of a point, as of a result."""


@click.command(
    short_help="Find what each budget buys.",
    epilog="""\b
Examples:
  bayestrim curve quiz.bif --target Mastery --positive + --threshold 0.07
  bayestrim curve heart.csv --learn --target num --positive 1,2,3,4 --costs heart_costs.csv --agreement 0.95
  bayestrim curve big.bif --target C --checkpoint big.checkpoint --time-limit 3600
""",
)
@takes_model
@takes_prices
@click.option(
    "--up-to", type=float, metavar="B", help="The largest budget of interest (default: what everything costs)."
)
@constraints
@click.option(
    "--agreement", type=float, metavar="A", help="Also say what is cheapest that keeps this share of decisions."
)
@searching
@checkpoint
@output("Also write the points to a CSV file.")
@quiet
@as_json
def curve(question: ModelQuestion, prices: PriceQuestion, **options: Any) -> int:
    """Find every cost that buys more agreement than all lower ones, with what to keep for it, each proved."""
    from bayestrim import Limits, frontier  # noqa: PLC0415  (what searches is slow to import)

    for path in (options["output"], options["checkpoint"]):
        check_writable(path)
    budget = float("inf") if options["up_to"] is None else options["up_to"]
    problem = problem_of(question.classifier(), prices, budget, options)
    with progress(options["quiet"]) as listen:
        found = frontier(
            problem,
            limits=Limits(options["time_limit"], options["evaluations"], samples=options["samples"]),
            strategy=options["strategy"],
            engine=options["engine"],
            n_jobs=options["workers"],
            checkpoint=options["checkpoint"],
            on_event=listen,
            seed=options["seed"],
        )
    return finish(found, options, options["agreement"])


def finish(found: BudgetCurve, options: dict[str, Any], wanted: float | None = None) -> int:
    """Print a curve, with what is cheapest if that is wanted, write its points, and return the exit code."""
    cheapest = None if wanted is None else found.cheapest(wanted)
    if options["as_json"]:
        points = [point.result.to_dict() for point in found]
        show_json(
            {
                "points": [{key: point[key] for key in POINT} for point in points],
                "proved": found.proved,
                "stop_reason": found.stop_reason.name,
                "cheapest": None if cheapest is None else {"agreement": wanted, "cost": cheapest.cost},
            }
        )
    else:
        show(str(found))
        if cheapest is not None:
            kept = ", ".join(cheapest.features) or "nothing"
            show(f"\n{wanted:.2%} of decisions stay the same from a cost of {cheapest.cost:g} on, with {kept}")
    if options["output"] is not None:
        write_text(options["output"], _csv(found))
    return _exit_code(found)


def _csv(found: BudgetCurve) -> list[str]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["cost", "agreement_lower", "agreement_upper", "bound", "status", "threshold", "features"])
    for point in found:
        agreement = point.agreement
        row = [point.cost, agreement.lower, agreement.upper, point.bound, point.status.name, point.threshold]
        writer.writerow([*row, " ".join(point.features)])
    return [text.getvalue()]


def _exit_code(found: BudgetCurve) -> int:
    if found.stop_reason is StopReason.INTERRUPTED:
        return INTERRUPTED
    if not len(found):
        return BAD_INPUT
    return PROVED if found.proved else STOPPED
