"""Cells as values of their column's type: int64, float32, text or bytes, null where missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.example_gen.arrow_types import Cells
from components.example_gen.patterns import fits, is_whole, matches_not_finite, test_of
from components.label import TRUE_WORDS

_TRUE = pa.array([*TRUE_WORDS, "1"])
_FLOAT32_EPSILON = 1e-6


@dataclass(frozen=True)
class Converted:
    """A column of a block as it is written.

    Attributes:
      values: null where missing.
      changed: numbers that float32 does not hold: whole ones, or so small that they become 0. Rounding the
        last digits of a fraction does not count.
      too_large: numbers beyond float32's range; they count as missing.
    """

    values: pa.Array
    changed: int = 0
    too_large: int = 0


def convert(cells: Cells, kind: str, missing: pa.Array, parse: bool) -> Converted:
    """The values of a column; a cell that is not of the type counts as missing (the scan has told).

    Args:
      kind: the column's type.
      missing: tokens that mean a missing value.
      parse: whether text cells are to be read as delimited text is, tokens and all.
    """
    if cells.kind == "nothing":
        return Converted(pa.nulls(len(cells.values), _arrow_type(kind)))
    if kind in ("bytes", "image"):
        return Converted(cells.values.cast(pa.binary()))
    if cells.kind == kind or (cells.kind, kind) == ("integer", "float"):
        if cells.kind == "boolean":
            return Converted(cells.values.cast(pa.int64()))
        if kind == "float":
            return _narrow(cells.values.cast(pa.float64(), safe=False))
        if kind != "text" or not parse:
            return Converted(cells.values)
    if (cells.kind, kind) == ("float", "integer"):
        return Converted(_whole(cells.values))
    text = cells.values if cells.kind == "text" else as_text(cells)
    return _parse(text, kind, missing, parse)


def _whole(numbers: pa.Array) -> pa.Array:
    values = numbers.fill_null(np.nan).to_numpy(zero_copy_only=False)
    gone = ~is_whole(values)
    return pa.array(np.where(gone, 0, values).astype(np.int64), mask=gone)


def as_text(cells: Cells) -> pa.Array:
    """Typed values as the texts that stand for them."""
    if pa.types.is_floating(cells.values.type):
        return pa.array(
            [None if each is None else repr(each) for each in cells.values.to_pylist()], pa.string()
        )
    return cells.values.cast(pa.string())


def _parse(cells: pa.Array, kind: str, missing: pa.Array, parse: bool) -> Converted:
    text = pc.fill_null(pc.utf8_trim_whitespace(cells), "")
    gone = cells.is_null().to_numpy(zero_copy_only=False)
    if parse or kind != "text":
        gone |= pc.is_in(text, value_set=missing).to_numpy(zero_copy_only=False)
    if parse:
        gone |= matches_not_finite(text) if kind != "text" else False
    if kind == "text":
        return Converted(_without(cells, gone))
    gone |= ~fits(text, test_of(kind), {})
    present = _without(text, gone)
    if kind == "integer":
        return Converted(pc.replace_substring_regex(present, r"^\+|\.0*$", "").cast(pa.int64()))
    if kind == "boolean":
        is_true = pc.is_in(pc.utf8_lower(text), value_set=_TRUE).cast(pa.int64())
        return Converted(_without(is_true, gone))
    if kind == "float":
        wide = pc.replace_substring_regex(present, r"^\+", "").cast(pa.float64())
        return _narrow(wide, finite=True)
    return Converted(present)


def _without(values: pa.Array, gone: np.ndarray) -> pa.Array:
    if not gone.any():
        return values
    return pc.if_else(pa.array(gone), pa.scalar(None, values.type), values)


def _narrow(wide: pa.Array, finite: bool = False) -> Converted:
    """As float32.

    Args:
      finite: no value was infinite before it was read: those that are now are beyond even float64.
    """
    values = wide.fill_null(0.0).to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    too_large = np.isinf(narrow) & (finite | np.isfinite(values))
    gone = ~np.isfinite(narrow) | wide.is_null().to_numpy(zero_copy_only=False)
    kept = narrow.astype(np.float64)
    with np.errstate(invalid="ignore"):
        lost = (kept != values) & ~gone
        if lost.any():
            off = np.abs(kept - values) > _FLOAT32_EPSILON * np.abs(values)
            lost &= off | (values == np.trunc(values))
    return Converted(pa.array(narrow, mask=gone), int(lost.sum()), int(too_large.sum()))


def _arrow_type(kind: str) -> pa.DataType:
    types = {"integer": pa.int64(), "boolean": pa.int64(), "float": pa.float32()}
    types |= {"bytes": pa.binary(), "image": pa.binary()}
    return types.get(kind, pa.string())
