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
    """Return a sortable table in a region that scrolls, by keyboard too.

    Where the page is narrow, rows with long texts become cards, with each heading beside its value; roles
    are given in full, since a browser forgets them once a row is no row of a table any more.
    """
    cards = any(column.kind == "text" for column in columns)
    head = [tag("th", column.heading, scope="col", data_sort=column.sort, class_=column.kind) for column in columns]
    body = [tag("tr", *map(_cell, columns, row), data_row=i, role="row") for i, row in enumerate(rows)]
    whole = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *head, role="row"), role="rowgroup"),
        tag("tbody", *body, role="rowgroup"),
        class_="sortable cards" if cards else "sortable",
        id=anchor,
        role="table",
    )
    return scroll(caption, whole)


def _cell(column: Column, cell: Cell) -> Markup:
    name, scope, role = ("th", "row", "rowheader") if column.kind == "name" else ("td", None, "cell")
    return tag(
        name,
        cell.content,
        scope=scope,
        role=role,
        data_label=column.heading,
        data_value=None if cell.number is None else repr(float(cell.number)),
        class_=f"{column.kind} {cell.class_}".rstrip(),
    )


def scroll(label: str, content: Markup) -> Markup:
    """Return something that may be wider than the page, in a region of its own."""
    return tag("div", content, class_="scroll", tabindex=0, role="region", aria_label=label)
