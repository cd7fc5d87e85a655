"""Identifiers for formats that allow nothing else, and how the true name is known again.

An identifier is made from a name by one fixed rule, so a reader can tell whether a stored true name still belongs to
the identifier beside it, or whether another program has renamed the node since.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

_VALID = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_INVALID = re.compile(r"[^A-Za-z0-9_]")


def identifier(name: str, reserved: Collection[str] = ()) -> str:
    """Return the identifier that stands for a name when nothing else claims it.

    Examples
    --------
    >>> identifier("0-3 days"), identifier("Asy/Patch"), identifier("node", {"node"})
    ('x0_3_days', 'Asy_Patch', 'node_')
    """
    bare = _INVALID.sub("_", name)
    if not _VALID.match(bare):
        bare = "x" + bare
    return bare + "_" if bare in reserved else bare


def identifiers(names: Iterable[str], reserved: Collection[str] = ()) -> dict[str, str]:
    """Return a different identifier for each name; a name that is one already keeps itself.

    Examples
    --------
    >>> identifiers(["a b", "a_b", "a-b"])
    {'a b': 'a_b_2', 'a_b': 'a_b', 'a-b': 'a_b_3'}
    """
    listed = list(names)
    taken = {name for name in listed if identifier(name, reserved) == name}
    used: dict[str, int] = {}
    found = {}
    for name in listed:
        word = wanted = identifier(name, reserved)
        while word != name and word in taken:
            used[wanted] = used.get(wanted, 1) + 1
            word = f"{wanted}_{used[wanted]}"
        taken.add(word)
        found[name] = word
    return found


def stands_for(word: str, name: str, reserved: Collection[str] = ()) -> bool:
    """Tell whether an identifier is one that `identifiers` would make from a name."""
    wanted = identifier(name, reserved)
    return word == wanted or re.fullmatch(re.escape(wanted) + r"_[0-9]+", word) is not None
