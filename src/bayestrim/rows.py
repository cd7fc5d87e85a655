"""Rows of observations, in whatever form people hold them, as one array of state numbers."""

from __future__ import annotations

import difflib
import math
import numbers
import re
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bayestrim.errors import ColumnWarning, EvidenceError, UnknownNameError, suggestion
from bayestrim.network import Variable

IntArray = npt.NDArray[np.int64]
UnknownStates = Literal["error", "missing"]

MISSING = -1
"""The code of a value that was not observed."""
NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
"""A number in a table. Digits that begin with 0, as in 007, are a name."""
MOST_COMPARED = 200
"""The most columns of a frame that are searched for a misspelt feature."""


def is_one_row(rows: Any) -> bool:
    """Tell whether something is a single row: a mapping, or a pandas Series with names for its index."""
    return isinstance(rows, Mapping) or (type(rows).__name__ == "Series" and hasattr(rows, "keys"))


def encode(
    rows: Any,
    features: Sequence[Variable],
    also_known: Iterable[str],
    unknown: UnknownStates = "error",
    evidence: Mapping[Variable, int] | None = None,
) -> IntArray:
    """Return rows as state numbers [rows, features], with -1 for what was not observed.

    Parameters
    ----------
    rows
        A sequence of mappings from names to states; a pandas or polars frame; or a two-dimensional array of state
        numbers with one column per feature, where negative numbers and NaN mean "not observed".
    features
        The features, in the order of the columns.
    also_known
        Names that rows may hold beside the features, and that are passed over.
    unknown
        What to do with a value that is no state of its feature: raise, or take it as not observed.
    evidence
        State numbers of variables that are known already; named rows may repeat them, but not contradict them.
    """
    if unknown not in ("error", "missing"):
        raise EvidenceError(f"unknown={unknown!r}; it is 'error' or 'missing'")
    if hasattr(type(rows), "collect"):  # before asking a lazy frame for its columns, which may be expensive
        raise EvidenceError(f"rows of type {type(rows).__name__} are not there yet; give what collect() returns")
    if isinstance(rows, np.ndarray):
        return _encode_codes(rows, features, unknown)
    known = evidence or {}
    if hasattr(rows, "columns") and hasattr(rows, "__getitem__"):
        codes = _encode_frame(rows, [*features, *known], also_known, unknown)
    elif isinstance(rows, Sequence) and not isinstance(rows, str | bytes):
        codes = _encode_mappings(rows, [*features, *known], also_known, unknown)
    else:
        raise _not_understood(rows)
    for column, (variable, code) in enumerate(known.items(), start=len(features)):
        if (codes[:, column] == code).sum() < (codes[:, column] >= 0).sum():
            state = variable.states[code]
            raise EvidenceError(f"a row contradicts the evidence: {variable.name!r} is already known to be {state!r}")
    return codes[:, : len(features)]


def _not_understood(rows: Any) -> EvidenceError:
    return EvidenceError(
        f"rows of type {type(rows).__name__} are not understood; give a mapping, a list of mappings, "
        "a pandas or polars frame, or an array of state numbers"
    )


def _encode_mappings(
    rows: Sequence[Any], features: Sequence[Variable], also_known: Iterable[str], unknown: UnknownStates
) -> IntArray:
    known = {feature.name for feature in features} | set(also_known)
    for position, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise EvidenceError(f"row {position} is {row!r}; a row is a mapping from names to states")
        if not row.keys() <= known:
            name = next(name for name in row if name not in known)
            names = [feature.name for feature in features]
            where = f"row {position} observes" if len(rows) > 1 else "observed is"
            raise UnknownNameError(f"{where} {name!r}, which is not a feature{suggestion(str(name), names)}")
    columns = [encode_column([row.get(f.name) for row in rows], f, unknown) for f in features]
    return _stack(columns, len(rows))


def _encode_frame(
    frame: Any, features: Sequence[Variable], also_known: Iterable[str], unknown: UnknownStates
) -> IntArray:
    names = list(frame.columns)
    if not all(isinstance(name, Hashable) for name in names):
        raise _not_understood(frame)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise EvidenceError(f"the frame has the column {twice!r} twice; each may occur once")
    present, known = set(names), set(also_known)
    _warn_of_near_misses([f.name for f in features if f.name not in present], present - known, features)
    if features and not present & ({feature.name for feature in features} | known):
        wanted = ", ".join(repr(feature.name) for feature in features[:5])
        raise EvidenceError(f"the frame has no column of any feature ({wanted}{', …' if len(features) > 5 else ''})")
    columns = [
        encode_column(_values(frame[f.name]), f, unknown) if f.name in present else np.full(len(frame), MISSING)
        for f in features
    ]
    return _stack(columns, len(frame))


def _warn_of_near_misses(absent: Sequence[str], others: set[Any], features: Sequence[Variable]) -> None:
    """Warn where a feature has no column but another column has almost its name."""
    candidates = {str(name).casefold(): name for name in others - {feature.name for feature in features}}
    for name in absent if len(candidates) <= MOST_COMPARED else ():
        near = difflib.get_close_matches(name.casefold(), candidates, n=1, cutoff=0.85)
        if near:
            warnings.warn(
                f"the frame has no column {name!r}, which is taken as not observed; it has {candidates[near[0]]!r}",
                ColumnWarning,
                stacklevel=6,
            )


def _values(column: Any) -> Sequence[Any] | npt.NDArray[Any]:
    """Return a frame's column; times one by one, since NumPy's would come out as bare numbers."""
    values: npt.NDArray[Any] = column.to_numpy()
    return list(column) if values.dtype.kind in "mM" else values


def _stack(columns: Sequence[IntArray], count: int) -> IntArray:
    return np.stack(columns, axis=1) if columns else np.empty((count, 0), dtype=np.int64)


def _encode_codes(rows: npt.NDArray[Any], features: Sequence[Variable], unknown: UnknownStates) -> IntArray:
    if rows.ndim != 2 or rows.shape[1] != len(features):
        raise EvidenceError(f"the array of rows has the shape {rows.shape}; (rows, {len(features)}) is needed")
    hidden = np.ma.getmaskarray(rows) if isinstance(rows, np.ma.MaskedArray) else np.zeros(rows.shape, dtype=bool)
    rows = np.asarray(rows)
    if rows.dtype.kind == "f":
        hidden |= np.isnan(rows)
        if not (rows == np.floor(rows))[~hidden].all():
            raise EvidenceError("the array of rows holds fractions; it holds state numbers, or NaN where not observed")
    elif rows.dtype.kind not in "iu":
        raise EvidenceError(f"the array of rows holds {rows.dtype}; state numbers are needed (names go in mappings)")
    sizes = np.array([len(feature) for feature in features], dtype=np.int64)
    beyond = (rows >= sizes) & ~hidden
    if beyond.any() and unknown == "error":
        row, column = (int(i) for i in np.argwhere(beyond)[0])
        raise EvidenceError(
            f"row {row} has the state number {rows[row, column]:g} for {features[column].name!r}, "
            f"which has {sizes[column]} states (numbered from 0)"
        )
    codes: IntArray = np.where(hidden | beyond, 0, rows).astype(np.int64)
    codes[hidden | beyond | (codes < 0)] = MISSING
    return codes


def encode_column(
    values: Sequence[Any] | npt.NDArray[Any], feature: Variable, unknown: UnknownStates = "error"
) -> IntArray:
    """Return one feature's values as state numbers, with -1 for what was not observed."""
    if feature.cuts is not None and isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        measured = values.astype(np.float64)
        return np.where(np.isnan(measured), MISSING, np.searchsorted(feature.cuts, measured, side="right"))
    codes = _Codes(feature, unknown)
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    # 1, 1.0 and True are equal keys of a dictionary, but may be different states.
    keys = (value if type(value) is str else (type(value), value) for value in plain)
    try:
        return np.fromiter((codes[key] for key in keys), dtype=np.int64, count=len(plain))
    except EvidenceError as error:
        bad = next(
            i for i, value in enumerate(plain) if (value if type(value) is str else (type(value), value)) not in codes
        )
        raise EvidenceError(f"row {bad}: {error}" if len(plain) > 1 else str(error)) from None
    except TypeError:
        raise EvidenceError(f"{feature.name!r} is given a list or another container; states are plain values") from None


class _Codes(dict[Any, int]):
    """From a string, or another value with its type, to a state number, worked out once per distinct value."""

    def __init__(self, feature: Variable, unknown: UnknownStates) -> None:
        super().__init__()
        self._feature = feature
        self._unknown = unknown
        self._by_name = {state: i for i, state in enumerate(feature.states)}

    def __missing__(self, key: Any) -> int:
        code = self[key] = self._find(key if isinstance(key, str) else key[1])
        return code

    def _find(self, value: Any) -> int:
        if is_missing(value):
            return MISSING
        number = as_number(value)
        if self._feature.cuts is not None and number is not None and value not in self._by_name:
            return self._feature.bin(number)
        for name in spellings(value):
            if name in self._by_name:
                return self._by_name[name]
        if self._unknown == "missing":
            return MISSING
        raise EvidenceError(
            f"{self._feature.name!r} has no state {value!r}{suggestion(str(value), self._feature.states)}"
            " (unknown='missing' takes such values as not observed)"
        )


def is_missing(value: Any) -> bool:
    """Tell whether a value stands for "not observed": None, NaN of any kind, pandas' NA and NaT."""
    if isinstance(value, str):
        return False
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return bool(value != value)  # noqa: PLR0124 - what is not equal to itself is not a number


def as_number(value: Any) -> float | None:
    """Return the number that a value is, or that a text spells; None where it is or does neither."""
    if isinstance(value, str):
        return float(value) if NUMBER.fullmatch(value) else None
    number: Any = numbers.Real  # Any: mypy does not compare them
    if isinstance(value, bool | np.bool_) or not isinstance(value, number):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def spellings(value: Any) -> list[str]:
    """Return the state names that a value may stand for: 1, 1.0 and True are found under several."""
    if isinstance(value, str):
        number = as_number(value)  # a table may spell the state 1 as 1.0, and the other way round
        return [value] if number is None else [value, *spellings(number)]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return [str(value), str(value).lower(), str(value).upper(), str(int(value))]
    if isinstance(value, float) and value.is_integer():
        return [repr(value), str(int(value))]
    return [str(value)]


def distinct(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct rows of an array of state numbers, and for each row the number of its distinct row."""
    key = np.zeros(len(codes), dtype=np.int64)
    largest = 1
    for column in codes.T:
        states = int(column.max(initial=-1)) + 2
        if largest * states >= 2**62:  # the keys so far are numbered anew before they overflow
            values, key = np.unique(key, return_inverse=True)
            largest = len(values)
        key = key * states + (column + 1)
        largest *= states
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return codes[first], inverse
