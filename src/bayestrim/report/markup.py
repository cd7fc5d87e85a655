"""HTML and SVG as text that is escaped once, where it is made: names may hold anything a file can."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any

VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})
"""Elements of HTML that have no end."""


class Markup(str):
    """Text that is already escaped."""

    __slots__ = ()


def escape(text: object) -> Markup:
    """Return something as escaped text, markup as it is."""
    return text if isinstance(text, Markup) else Markup(html.escape(str(text), quote=True))


def join(parts: Iterable[object], between: str = "") -> Markup:
    """Return parts one after the other, escaped where they are not markup."""
    return Markup(html.escape(between).join(escape(part) for part in parts))


def tag(name: str, *content: object, **attributes: object) -> Markup:
    """Return an element.

    Parameters
    ----------
    name
        Its name.
    content
        What stands in it; text is escaped.
    attributes
        Its attributes. A trailing underscore is left out and others become hyphens (``class_``, ``aria_label``);
        None and False leave an attribute out, True gives it no value.

    Examples
    --------
    >>> tag("p", "1 < 2", class_="note", hidden=True)
    '<p class="note" hidden>1 &lt; 2</p>'
    """
    words = [name]
    for key, value in attributes.items():
        label = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(label)
        elif value is not None and value is not False:
            words.append(f'{label}="{html.escape(str(value), quote=True)}"')
    start = f"<{' '.join(words)}>"
    return Markup(start) if name in VOID else Markup(f"{start}{join(content)}</{name}>")


def data(value: Any) -> Markup:
    r"""Return a value as JSON that may stand inside a script element, whatever its strings hold.

    Examples
    --------
    >>> data("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
