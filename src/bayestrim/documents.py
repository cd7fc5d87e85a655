"""The package's own saved files: JSON that a person can read and compare, and that restores every bit."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from bayestrim.errors import FormatError
from bayestrim.network import BayesianNetwork, Variable

Value = TypeVar("Value")


def of_network(network: BayesianNetwork) -> dict[str, Any]:
    """Return a network as plain lists and dictionaries."""
    nodes = [
        {
            "name": v.name,
            "states": v.states,
            "parents": network.parents(v.name),
            "table": network.table(v.name).tolist(),
            **({} if v.cuts is None else {"cuts": v.cuts}),
        }
        for v in network.variables
    ]
    return {"name": network.name, "costs": dict(network.costs), "variables": nodes}


def to_network(saved: Mapping[str, Any]) -> BayesianNetwork:
    """Return the network that `of_network` described."""
    nodes = saved["variables"]
    return BayesianNetwork(
        [Variable(node["name"], node["states"], node.get("cuts")) for node in nodes],
        {node["name"]: node["parents"] for node in nodes},
        {node["name"]: node["table"] for node in nodes},
        name=saved["name"],
        costs=saved["costs"],
    )


def dump(document: Mapping[str, Any]) -> str:
    """Return a document as JSON with one line for each entry, and one for each member of a list of objects."""
    return _dump(document, "") + "\n"


def _dump(value: Any, indent: str) -> str:
    inner = indent + "  "
    if isinstance(value, Mapping) and any(isinstance(member, Mapping | list) for member in value.values()):
        members = [f"{json.dumps(key)}: {_dump(member, inner)}" for key, member in value.items()]
        return "{\n" + ",\n".join(inner + member for member in members) + f"\n{indent}}}"
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return "[\n" + ",\n".join(inner + _line(member) for member in value) + f"\n{indent}]"
    return _line(value)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def load(text: str, origin: str, kind: str, version: int, restore: Callable[[Mapping[str, Any]], Value]) -> Value:
    """Read a saved document of one kind and version.

    Parameters
    ----------
    text, origin
        The JSON text, and the name of its file for messages.
    kind, version
        What the document must say of itself under ``"format"`` and ``"version"``.
    restore
        Makes the value; what it lacks or cannot take is reported as damage to the file.
    """
    try:
        saved = json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"this is not JSON, as a saved {kind} is: {error.msg}", origin, error.lineno, error.colno
        ) from None
    except (RecursionError, ValueError):
        raise FormatError(
            f"this is not a saved {kind}: it is nested too deeply or holds too long a number", origin
        ) from None
    if not isinstance(saved, dict) or saved.get("format") != kind:
        raise FormatError(f'this is not a saved {kind}; one says "format": "{kind}"', origin)
    if saved.get("version") != version:
        raise FormatError(f"version {saved.get('version')!r} is not supported; this program reads {version}", origin)
    try:
        return restore(saved)
    except KeyError as error:
        raise FormatError(f"the saved {kind} lacks {error.args[0]!r}", origin) from None
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise FormatError(f"the saved {kind} is damaged: {error}", origin) from None


def number(saved: Mapping[str, Any], name: str, most: float = math.inf) -> float:
    """Return a number of a document, from 0 to some most."""
    value = saved[name]
    if not isinstance(value, int | float) or isinstance(value, bool) or not (0 <= value <= most and value < math.inf):
        up_to = "0 or more" if math.isinf(most) else f"from 0 to {most:g}"
        raise ValueError(f"{name!r} is {_shown(value)}; it must be a number, {up_to}")
    return float(value)


def names(saved: Mapping[str, Any], name: str) -> list[str]:
    """Return a list of names of a document."""
    value = saved[name]
    if not isinstance(value, list) or not all(isinstance(member, str) for member in value):
        raise ValueError(f"{name!r} is {_shown(value)}; it must be a list of names")
    if len(set(value)) < len(value):
        raise ValueError(f"{name!r} is {_shown(value)}; a name is there twice")
    return value


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


LONGEST_SHOWN = 60
"""So much of a wrong value is shown."""
