"""Points in time as numbers in the same order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

TIME_TYPES = ("date", "datetime", "integer", "float")
_SIGN = np.uint64(1 << 63)
_ZONE = r"(?:Z|[+-][0-9]{2}:?[0-9]{2})$"


def time_keys(column: pa.Array, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Keys, uint64, that sort as the values do, and which values are a time: not null, NaN, February 30.

    A time without a zone counts as UTC; what is finer than a microsecond does not count.

    Args:
      column: numbers, dates and timestamps, or their texts.
      kind: date, datetime, integer or float.
    """
    if pa.types.is_floating(column.type):
        kind = "float"
    if kind in ("integer", "float") and _is_text(column):
        column = pc.replace_substring_regex(column, r"^\+", "")
    if kind == "float":
        values = _or_null(column, pa.float64()).to_numpy(zero_copy_only=False)
        return _of_floats(values), np.isfinite(values)
    whole = _microseconds(column) if kind in ("date", "datetime") else _or_null(column, pa.int64())
    there = whole.is_valid().to_numpy(zero_copy_only=False)
    return pc.fill_null(whole, 0).to_numpy(zero_copy_only=False).view(np.uint64) ^ _SIGN, there


def time_key(text: str, kind: str) -> np.uint64 | None:
    """The key of a value as it is written in the config; None when it is no such value."""
    keys, there = time_keys(pa.array([text.strip()], pa.string()), kind)
    return keys[0] if there[0] else None


def _microseconds(column: pa.Array) -> pa.Array:
    """Since 1970, as int64."""
    if pa.types.is_timestamp(column.type):
        column = column.view(pa.timestamp(column.type.unit))  # in UTC already
    elif _is_text(column):
        column = pc.replace_substring_regex(column, r"(\.[0-9]{6})[0-9]+", r"\1")
        zoned = pc.match_substring_regex(column, _ZONE)
        if pc.any(zoned).as_py():
            nothing = pa.scalar(None, column.type)
            there = _or_null(pc.if_else(zoned, column, nothing), pa.timestamp("us", "UTC"))
            bare = _or_null(pc.if_else(zoned, nothing, column), pa.timestamp("us"))
            return pc.coalesce(there.view(pa.int64()), bare.view(pa.int64()))
    return _or_null(column, pa.timestamp("us")).view(pa.int64())


def _is_text(column: pa.Array) -> bool:
    return pa.types.is_string(column.type) or pa.types.is_large_string(column.type)


def _or_null(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column cast, null where a value cannot be."""
    try:
        return pc.cast(column, kind, safe=False)
    except pa.ArrowInvalid:
        if len(column) == 1:
            return pa.nulls(1, kind)
        half = len(column) // 2
        return pa.concat_arrays([_or_null(column[:half], kind), _or_null(column[half:], kind)])


def _of_floats(values: np.ndarray) -> np.ndarray:
    bits = (values + 0.0).view(np.uint64)  # -0.0 is 0.0
    return np.where(bits >> np.uint64(63), ~bits, bits | _SIGN)
