"""Tables that a reader can sort, in regions that scroll where the page is narrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bayestrim.report.markup import Markup, tag


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes
    ----------
    heading
        What it is called.
    kind
        ``"name"`` heads its row; ``"number"`` stands to the right; ``"text"`` is long; ``"word"`` is short.
    sort
        In which direction it sorts first, ``"up"`` or ``"down"``; None if it does not sort.
    """

    heading: str
    kind: str = "word"
    sort: str | None = None


class Cell(NamedTuple):
    """What a cell shows, the number it sorts by if it is one, and its class."""

    content: object
    number: float | None = None
    class_: str = ""


def table(caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], anchor: str | None = None) -> Markup:
    """Return a sortable table in a region that scrolls, by keyboard too."""
    head = [tag("th", column.heading, scope="col", data_sort=column.sort, class_=column.kind) for column in columns]
    body = [tag("tr", *map(_cell, columns, row), data_row=i) for i, row in enumerate(rows)]
    whole = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *head)),
        tag("tbody", *body),
        class_="sortable",
        id=anchor,
    )
    return scroll(caption, whole)


def _cell(column: Column, cell: Cell) -> Markup:
    name, scope = ("th", "row") if column.kind == "name" else ("td", None)
    number = None if cell.number is None else repr(float(cell.number))
    return tag(name, cell.content, scope=scope, data_value=number, class_=f"{column.kind} {cell.class_}".rstrip())


def scroll(label: str, content: Markup) -> Markup:
    """Return something that may be wider than the page, in a region of its own."""
    return tag("div", content, class_="scroll", tabindex=0, role="region", aria_label=label)
