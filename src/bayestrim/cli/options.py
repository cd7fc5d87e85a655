"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from bayestrim.cli.sources import ModelQuestion, PriceQuestion
from bayestrim.engines import ENGINES

Command = Callable[..., Any]

STRATEGIES = ("branch-and-bound", "exhaustive", "greedy", "information-gain")
"""The names in `bayestrim.search.STRATEGIES`, which is slow to import."""


def _gathered(into: type[Any], name: str, options: list[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    """Return a decorator that adds options and hands their values to the command as one object."""
    fields = tuple(into.__dataclass_fields__)

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def gather(**values: Any) -> Any:
            mine = {field: values.pop(field) for field in fields if field in values}
            return command(**{name: into(**mine)}, **values)

        gathering: Command = gather
        for option in reversed(options):
            gathering = option(gathering)
        return gathering

    return decorate


LEARNING = [
    click.option(
        "--structure", type=click.Choice(["naive", "tree"]), default="naive", help="What is learnt from a table."
    ),
    click.option("--bins", type=int, default=5, metavar="K", help="Ranges that numbers are cut into (default 5)."),
    click.option("--smoothing", type=float, default=1.0, metavar="S", help="Added to every count (default 1)."),
    click.option("--weights", metavar="COLUMN", help="Column that says how much each row counts."),
]

takes_model = _gathered(
    ModelQuestion,
    "question",
    [
        click.argument("model"),
        click.option("-t", "--target", metavar="NAME", help="The variable that decides."),
        click.option(
            "-p",
            "--positive",
            multiple=True,
            metavar="STATE[,STATE…]",
            help="Its states that count as positive; may be left out where one is called yes, true or the like.",
        ),
        click.option(
            "-T", "--threshold", type=float, metavar="T", help="Positive from this posterior on (default 0.5)."
        ),
        click.option(
            "-f", "--features", multiple=True, metavar="a,b,…|leaves|all", help="What may be observed (default all)."
        ),
        click.option("--given", multiple=True, metavar="NAME=STATE", help="What is known already; may be repeated."),
        click.option("--learn", is_flag=True, help="MODEL is a table; learn the model from it."),
        *LEARNING,
    ],
)
takes_table = _gathered(
    ModelQuestion,
    "question",
    [
        click.argument("model", metavar="TABLE"),
        click.option("-t", "--target", required=True, metavar="NAME", help="The column of the class."),
        click.option(
            "-p",
            "--positive",
            multiple=True,
            metavar="STATE[,STATE…]",
            help="States that count as positive: they are joined into one, and the others into another.",
        ),
        click.option("-f", "--features", multiple=True, metavar="a,b,…", help="The columns to use (default all)."),
        *LEARNING,
    ],
)
takes_prices = _gathered(
    PriceQuestion,
    "prices",
    [
        click.option(
            "--costs", metavar="FILE", help="CSV (feature,cost[,setup]) or JSON file of costs (default: 1 each)."
        ),
        click.option("--cost", multiple=True, metavar="NAME=VALUE", help="A single cost; may be repeated."),
        click.option(
            "--setup", multiple=True, metavar="NAME=COST:a,b,…", help="A cost paid once if any of the features is kept."
        ),
    ],
)


def _together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return options as one decorator."""
    return functools.reduce(lambda inner, outer: lambda command: inner(outer(command)), options)


constraints = _together(
    click.option("--require", multiple=True, metavar="a,b,…", help="Features that must be kept."),
    click.option("--forbid", multiple=True, metavar="a,b,…", help="Features that must not be kept."),
    click.option("--max-features", type=int, metavar="K", help="Keep at most so many."),
    click.option("--keep-threshold", is_flag=True, help="Use the old threshold; by default the best one is chosen."),
)
workers = click.option("--workers", type=int, metavar="N", help="Threads that search (-1: one for each processor).")
searching = _together(
    click.option(
        "--engine",
        type=click.Choice(["auto", *ENGINES]),
        metavar="[auto|additive|table|…]",
        default="auto",
        help="What computes agreements (default auto).",
    ),
    click.option(
        "--strategy",
        type=click.Choice(["auto", *STRATEGIES]),
        default="auto",
        help="How to search (default auto).",
    ),
    click.option("--time-limit", type=float, metavar="S", help="Stop after S seconds with the best so far."),
    click.option("--evaluations", type=int, metavar="N", help="Stop after N evaluations with the best so far."),
    click.option(
        "--samples",
        type=int,
        metavar="N",
        help="Instances drawn by the sampled engine or listed by the sparse one, classes told apart by the merged one.",
    ),
    click.option("--seed", type=int, metavar="N", help="Seed of what is drawn."),
    workers,
)
checkpoint = click.option(
    "--checkpoint", metavar="FILE", help="Keep what is known in FILE, and go on from it if it is there."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
quiet = click.option("-q", "--quiet", is_flag=True, help="Say nothing on standard error.")


def output(help: str = "Also write the result to a file.") -> Callable[[Command], Command]:
    """Return the option of a file to write."""
    return click.option("-o", "--output", metavar="FILE", help=help)
