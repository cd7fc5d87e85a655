"""Prices from files: what features cost, and what some of them share.

CSV files have the columns ``feature`` and ``cost``, and perhaps ``setup``: the name of what the feature shares with
others. What is shared has a line of its own, with its name in the place of a feature's. JSON files hold
``{"feature": cost, …}``, or that under ``"costs"`` beside ``"setup_costs": {"name": [cost, ["feature", …]], …}``.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bayestrim.errors import FormatError, suggestion
from bayestrim.files import PathOrFile, decoded, origin_of, read_bytes
from bayestrim.rows import as_number
from bayestrim.tables import Table, read_table


@dataclass(frozen=True)
class Prices:
    """What features cost.

    Attributes
    ----------
    costs
        The cost of each feature that was named.
    setup_costs
        What features share, by name: its cost, paid once, and the features.
    """

    costs: Mapping[str, float] = field(default_factory=dict)
    setup_costs: Mapping[str, tuple[float, tuple[str, ...]]] = field(default_factory=dict)
    origin: str = ""
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)

    def of(self, features: Collection[str], known: Iterable[str] = ()) -> Prices:
        """Return the prices of some features alone.

        Parameters
        ----------
        features
            The features.
        known
            Other names that the prices may hold, and that are passed over. A name that is neither is refused.
        """
        others = set(known)
        for name in [*self.costs, *(name for _, members in self.setup_costs.values() for name in members)]:
            if name not in features and name not in others:
                near = suggestion(name, features)
                raise FormatError(f"{name!r} is not a feature{near}", self.origin, self.lines.get(name, 0))
        shared = {
            name: (cost, left)
            for name, (cost, members) in self.setup_costs.items()
            if (left := tuple(member for member in members if member in features))
        }
        costs = {name: cost for name, cost in self.costs.items() if name in features}
        return Prices(costs, shared, self.origin, self.lines)


def read_prices(source: PathOrFile) -> Prices:
    """Read prices from a CSV or JSON file.

    Parameters
    ----------
    source
        A path or an open file, CSV or JSON, which begins with a brace.

    Examples
    --------
    >>> prices = read_prices("examples/data/heart_costs.csv")
    >>> prices.costs["chol"], prices.setup_costs["blood sample"]
    (5.17, (2.1, ('chol', 'fbs')))
    """
    origin = origin_of(source)
    content = read_bytes(source)
    if origin.lower().endswith(".json") or content.lstrip().startswith(b"{"):
        return _from_json(decoded(content, origin), origin)
    file = io.BytesIO(content)
    file.name = origin
    return _from_table(read_table(file))


def _from_table(table: Table) -> Prices:
    columns = {name.casefold(): name for name in table.columns}
    for needed in ("feature", "cost"):
        if needed not in columns:
            raise FormatError(
                f"there is no column {needed!r}; prices have the columns feature, cost and perhaps setup",
                table.origin,
                1,
            )
    lines: dict[str, int] = {}
    found: dict[str, tuple[float, str]] = {}
    for row in range(len(table)):
        feature, cost, setup = (_cell(table, columns.get(name), row) for name in ("feature", "cost", "setup"))
        line = int(table.lines[row]) if table.lines is not None else 0
        if not feature:
            raise FormatError("the feature's name is missing", table.origin, line)
        if feature in found:
            raise FormatError(f"{feature!r} has a cost already, in line {lines[feature]}", table.origin, line)
        found[feature] = _amount(cost, feature, table.origin, line), setup
        lines[feature] = line
    return _sorted_out(found, table.origin, lines)


def _cell(table: Table, name: str | None, row: int) -> str:
    if name is None or table.columns[name].codes[row] < 0:
        return ""
    return str(table.columns[name].values[table.columns[name].codes[row]])


def _amount(text: Any, name: str, origin: str, line: int = 0) -> float:
    amount = as_number(text)
    if amount is None or not 0 <= amount < math.inf:
        shown = repr(text) if text != "" else "missing"
        raise FormatError(f"the cost of {name!r} is {shown}; it must be a number, 0 or more", origin, line)
    return amount


def _sorted_out(found: Mapping[str, tuple[float, str]], origin: str, lines: Mapping[str, int]) -> Prices:
    """Return prices whose lines name features and what they share."""
    shared: dict[str, list[str]] = {}
    for name, (_, setup) in found.items():
        if setup:
            shared.setdefault(setup, []).append(name)
    for setup, members in shared.items():
        if setup not in found:
            message = f"{setup!r}, which {members[0]!r} shares, has no line with its cost{suggestion(setup, found)}"
            raise FormatError(message, origin, lines[members[0]])
        if found[setup][1]:
            raise FormatError(f"{setup!r} is shared by others and can share nothing itself", origin, lines[setup])
    costs = {name: cost for name, (cost, _) in found.items() if name not in shared}
    return Prices(costs, {name: (found[name][0], tuple(members)) for name, members in shared.items()}, origin, lines)


def _from_json(text: str, origin: str) -> Prices:
    try:
        given = json.loads(text, object_pairs_hook=lambda pairs: _unique(pairs, origin))
    except json.JSONDecodeError as error:
        raise FormatError(f"this is not JSON: {error.msg}", origin, error.lineno, error.colno) from None
    except (RecursionError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError("this is not JSON that holds prices", origin) from None
    if not isinstance(given, dict):
        raise FormatError('prices are {"feature": cost, …}', origin)
    parts = given if isinstance(given.get("costs", given.get("setup_costs")), dict) else {"costs": given}
    for key in parts:
        if key not in ("costs", "setup_costs"):
            raise FormatError(f"beside 'costs' there may be 'setup_costs', but not {key!r}", origin)
    costs = {name: _amount(cost, name, origin) for name, cost in parts.get("costs", {}).items()}
    return Prices(
        costs, {name: _shared(name, value, origin) for name, value in parts.get("setup_costs", {}).items()}, origin
    )


def _unique(pairs: list[tuple[str, Any]], origin: str) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise FormatError(f"{next(name for name in names if names.count(name) > 1)!r} is there twice", origin)
    return found


def _shared(name: str, value: Any, origin: str) -> tuple[float, tuple[str, ...]]:
    match value:
        case [cost, [*members]] if members and all(isinstance(member, str) for member in members):
            return _amount(cost, name, origin), tuple(members)
    raise FormatError(f'the set-up cost {name!r} must be [cost, ["feature", …]]', origin)
