"""The command line: commands, what they share, and how they end. Nothing is computed here."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from bayestrim.errors import BayestrimError, suggestion
from bayestrim.version import __version__

PROVED, BAD_INPUT, STOPPED, INTERRUPTED = 0, 2, 3, 130
"""Exit codes."""

COMPLETION = "_BAYESTRIM_COMPLETE"
"""The variable through which shells ask for completions."""

COMMANDS = {
    "trim": "trimming",
    "curve": "curves",
    "resume": "trimming",
    "report": "trimming",
    "verify": "trimming",
    "describe": "asking",
    "evaluate": "asking",
    "sdp": "asking",
    "learn": "models",
    "predict": "models",
    "convert": "models",
}
"""The module of each command; it is imported when the command is called."""


class _Commands(click.Group):
    """Commands that are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help text."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"bayestrim.cli.{COMMANDS[cmd_name]}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown command and name the nearest."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"there is no command {args[0]!r}{suggestion(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"bayestrim {__version__}")
        ctx.exit()


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Say the version.")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Find the features that a Bayesian network classifier should keep, when each of them costs something.

    MODEL is a network (.bif .xmlbif .xdsl .net .uai, also .gz), a classifier or result saved by this program, or, with
    --learn, a table of cases (CSV or Parquet). A single - reads standard input.

    Exit codes: 0 proved, 3 stopped by a limit before that, 2 bad input, 130 interrupted.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; every error is one line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a sign shows its number
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = _warn
            code = _invoke(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # nobody reads on
        _discard()
        return PROVED
    except (click.ClickException, BayestrimError, MemoryError, OSError) as error:
        return _say(_explained(error))
    return code


def _invoke(arguments: list[str]) -> int:
    """Do what click's own `main` does, but leave errors, interruptions and closed pipes to `run`."""
    if asked := os.environ.get(COMPLETION):
        from click.shell_completion import shell_complete  # noqa: PLC0415

        return shell_complete(cli, {}, "bayestrim", COMPLETION, asked)
    try:
        with cli.make_context("bayestrim", arguments) as ctx:
            code = cli.invoke(ctx)
    except click.exceptions.Exit as end:
        return end.exit_code
    return code if isinstance(code, int) else PROVED


def _explained(error: Exception) -> str:
    """Return an error in one sentence."""
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "bayestrim"
        return f"{error.format_message()} (see {where} --help)"
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError) and not isinstance(error, BayestrimError):
        _discard()
        return f"cannot write standard output: {error.strerror or error}"
    if type(error) is MemoryError:
        return "there is not enough memory for this; describe tells how large the model is"
    return str(error).replace("unknown='missing'", "--unknown missing")


def _say(message: str) -> int:
    """Print one line to standard error, and return the exit code of bad input."""
    with contextlib.suppress(OSError):
        print("bayestrim:", " ".join(message.split()), file=sys.stderr)
    return BAD_INPUT


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"warning: {message}")


def _discard() -> None:
    """Let what is left to print go nowhere, which Python would try once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
