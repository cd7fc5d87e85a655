"""Commands that search: trim; and what is done with their results."""

from __future__ import annotations

from typing import Any

import click

from bayestrim.cli import BAD_INPUT, INTERRUPTED, PROVED, STOPPED
from bayestrim.cli.curves import finish as finish_curve
from bayestrim.cli.options import (
    as_json,
    checkpoint,
    constraints,
    output,
    quiet,
    searching,
    takes_model,
    takes_prices,
    workers,
)
from bayestrim.cli.output import check_writable, show, show_json
from bayestrim.cli.progress import progress
from bayestrim.cli.sources import ModelQuestion, PriceQuestion, Source, problem_of
from bayestrim.cli.telling import told
from bayestrim.trimming import Status, StopReason, Trimming

page = click.option("--report", "page", metavar="PAGE.html", help="Also write a page about the result.")


def exit_code(result: Trimming) -> int:
    """Return 0 if the answer is proved (to be the best, or within the gap asked for), 3 or 130 if it stopped before."""
    if result.stop_reason is StopReason.INTERRUPTED:
        return INTERRUPTED
    if result.status is Status.INFEASIBLE:
        return BAD_INPUT
    proved = result.status is Status.OPTIMAL or result.stop_reason is StopReason.GAP
    return PROVED if proved else STOPPED


@click.command(
    short_help="Find what to keep, and prove it.",
    epilog="""\b
Examples:
  bayestrim trim quiz.bif --target Mastery --positive + --threshold 0.07 --budget 2
  bayestrim trim alarm.bif --target HYPOVOLEMIA --features leaves --budget 4 --json
  bayestrim trim heart.csv --learn --target num --positive 1,2,3,4 --costs heart_costs.csv --budget 200 -o trimmed.json
  bayestrim trim heart.csv --learn --target num --positive 1,2,3,4 --costs heart_costs.csv --agreement 0.95
""",
)
@takes_model
@takes_prices
@click.option("-b", "--budget", type=float, metavar="B", help="The most that the kept features may cost.")
@click.option(
    "--agreement", type=float, metavar="A", help="Instead: the cheapest features that keep this share of decisions."
)
@constraints
@click.option("--alternatives", type=int, default=0, metavar="K", help="Also find the K next best choices.")
@click.option("--gap", type=float, default=0.0, metavar="G", help="Be content when at most G below the best.")
@searching
@checkpoint
@page
@output("Also save the result, for predict, verify and report.")
@quiet
@as_json
def trim(question: ModelQuestion, prices: PriceQuestion, **options: Any) -> int:
    """Find the affordable features and the threshold that change the fewest decisions, and prove it.

    Prints what to keep and drop, the new threshold, how many decisions stay the same, whether that is proved, and what
    kind of instances change their decision.
    """
    from bayestrim import Limits  # noqa: PLC0415
    from bayestrim import trim as search  # noqa: PLC0415  (what searches is slow to import)

    for path in (options["output"], options["page"], options["checkpoint"]):
        check_writable(path)
    if options["budget"] is None and options["agreement"] is None:
        raise click.UsageError("--budget is needed, the most that the kept features may cost, or --agreement")
    budget = float("inf") if options["budget"] is None else options["budget"]
    problem = problem_of(question.classifier(), prices, budget, options)
    limits = Limits(options["time_limit"], options["evaluations"], options["gap"], samples=options["samples"])
    with progress(options["quiet"]) as listen:
        result = search(
            problem,
            agreement=options["agreement"],
            alternatives=options["alternatives"],
            strategy=options["strategy"],
            engine=options["engine"],
            limits=limits,
            n_jobs=options["workers"],
            checkpoint=options["checkpoint"],
            on_event=listen,
            seed=options["seed"],
        )
    return _finish(result, options, {"path": question.source.origin, "sha256": question.source.sha256})


def _finish(result: Trimming, options: dict[str, Any], model: dict[str, str] | None) -> int:
    """Print a result, save it and write its page where that was asked for, and return the exit code."""
    if options["as_json"]:
        show_json(result.to_dict(model))
    else:
        show(told(result))
    if options["output"] is not None:
        result.save(options["output"], model)
    if options["page"] is not None and result.status is not Status.INFEASIBLE:
        _write_page(result, options["page"])
    return exit_code(result)


def _write_page(result: Trimming, path: str, title: str = "") -> None:
    from bayestrim.report import write_report  # noqa: PLC0415  (it searches, which is slow to import)

    write_report(result, path, title=title)


@click.command(
    short_help="Go on with a search that was stopped.",
    epilog="""\b
Examples:
  bayestrim trim big.bif --target C --budget 10 --checkpoint big.checkpoint --time-limit 3600
  bayestrim resume big.checkpoint --time-limit 3600 -o trimmed.json
""",
)
@click.argument("checkpoint")
@click.option("--time-limit", type=float, metavar="S", help="Stop after S more seconds with the best so far.")
@workers
@page
@output("Also save the result, for predict, verify and report; of a curve, write the points to a CSV file.")
@quiet
@as_json
def resume(checkpoint: str, time_limit: float | None, workers: int | None, **options: Any) -> int:
    """Go on with a search, or with a curve, from its checkpoint alone.

    It prints what trim or curve would have printed. The file is kept up to date as before, so that this can be repeated
    until the answer is proved.
    """
    from bayestrim import Limits  # noqa: PLC0415
    from bayestrim import resume as go_on  # noqa: PLC0415
    from bayestrim.search.checkpoint import is_of_curve  # noqa: PLC0415

    for path in (options["output"], options["page"]):
        check_writable(path)
    if options["page"] is not None and is_of_curve(checkpoint):
        raise click.UsageError(f"--report is for the result of trim; {checkpoint} is the checkpoint of a curve")
    with progress(options["quiet"]) as listen:
        found = go_on(checkpoint, limits=Limits(time_limit), n_jobs=workers, on_event=listen)
    return _finish(found, options, None) if isinstance(found, Trimming) else finish_curve(found, options)


@click.command(
    short_help="Write a page about a saved result.",
    epilog="""\b
Examples:
  bayestrim report trimmed.json -o trimmed.html
  bayestrim report trimmed.json -o trimmed.html --title "Fewer tests for heart disease"
""",
)
@click.argument("result")
@click.option("-o", "--output", required=True, metavar="PAGE.html", help="The page to write.")
@click.option("--title", default="", metavar="TEXT", help="Its heading.")
def report(result: str, output: str, title: str) -> None:
    """Write one self-contained HTML page about a saved result, with a calculator that decides as it does.

    It can be mailed, printed, and opened anywhere without a network.
    """
    check_writable(output)
    _write_page(Source(result).result(), output, title)


@click.command(
    short_help="Check a saved result.",
    epilog="""\b
Examples:
  bayestrim verify trimmed.json
""",
)
@click.argument("result")
@click.option("--samples", type=int, default=100_000, metavar="N", help="Instances drawn where there are too many.")
@click.option("--seed", type=int, default=0, metavar="N", help="Seed of the draw (default 0).")
@as_json
def verify(result: str, samples: int, seed: int, as_json: bool) -> int:
    """Check a saved result from its network alone: what it says, and whether it is the best.

    Nothing of what made the result is used. Each statement is right, wrong or could not be checked. The exit code is 2
    if anything is wrong.
    """
    from bayestrim.verify import verify as check  # noqa: PLC0415

    found = check(Source(result).result(), samples=samples, seed=seed)
    if as_json:
        checks = [{"name": c.name, "verdict": c.verdict.name, "detail": c.detail} for c in found.checks]
        show_json({"ok": found.ok, "checks": checks})
    else:
        show(found.summary())
    return PROVED if found.ok else BAD_INPUT
