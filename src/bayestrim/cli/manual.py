"""Manual pages, made of the help texts."""

from __future__ import annotations

import click

from bayestrim.cli import COMMANDS, cli

WIDTH = 100


def page(name: str) -> str:
    """Return a command's manual page as Markdown; of the program itself, for an empty name."""
    context = click.Context(cli, info_name="bayestrim", terminal_width=WIDTH, **cli.context_settings)
    command: click.Command = cli
    if name:
        found = cli.get_command(context, name)
        assert found is not None, "every name in COMMANDS is a command"
        command = found
        context = click.Context(found, info_name=name, parent=context)
    title = f"bayestrim {name}".strip()
    return f"# {title}\n\n```text\n{command.get_help(context)}\n```\n"


def pages() -> dict[str, str]:
    """Return all manual pages by file name."""
    return {f"{name or 'bayestrim'}.md": page(name) for name in ("", *COMMANDS)}
