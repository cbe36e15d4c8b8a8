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
            return _narrow(cells.values.cast(pa.float64(), safe=False)).counted()
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
    """Texts read as a type: each distinct one once, since most columns have far fewer of them than rows."""
    encoded = cells.dictionary_encode()
    distinct, indices = encoded.dictionary, encoded.indices
    text = pc.utf8_trim_whitespace(distinct)
    gone = np.zeros(len(text), bool)
    if parse or kind != "text":
        gone |= pc.is_in(text, value_set=missing).to_numpy(zero_copy_only=False)
    if parse and kind != "text":
        gone |= matches_not_finite(text)
    if kind == "text":
        return Converted(_without(distinct, gone).take(indices) if gone.any() else cells)
    gone |= ~fits(text, test_of(kind), {})
    present = _without(text, gone)
    if kind == "integer":
        values = pc.replace_substring_regex(present, r"^\+|\.0*$", "").cast(pa.int64())
    elif kind == "boolean":
        values = _without(pc.is_in(pc.utf8_lower(text), value_set=_TRUE).cast(pa.int64()), gone)
    elif kind == "float":
        wide = pc.replace_substring_regex(present, r"^\+", "").cast(pa.float64())
        narrow = _narrow(wide, finite=True)
        counts = np.bincount(indices.drop_null().to_numpy(), minlength=len(text))
        return Converted(
            narrow.values.take(indices),
            int(counts[narrow.lost].sum()),
            int(counts[narrow.too_large].sum()),
        )
    else:
        values = present
    return Converted(values.take(indices))


def _without(values: pa.Array, gone: np.ndarray) -> pa.Array:
    if not gone.any():
        return values
    return pc.if_else(pa.array(gone), pa.scalar(None, values.type), values)


@dataclass(frozen=True)
class _Narrow:
    """Numbers as float32, and which of them changed or are missing for that."""

    values: pa.Array
    lost: np.ndarray
    too_large: np.ndarray

    def counted(self) -> Converted:
        return Converted(self.values, int(self.lost.sum()), int(self.too_large.sum()))


def _narrow(wide: pa.Array, finite: bool = False) -> _Narrow:
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
    return _Narrow(pa.array(narrow, mask=gone), lost, too_large)


def _arrow_type(kind: str) -> pa.DataType:
    types = {"integer": pa.int64(), "boolean": pa.int64(), "float": pa.float32()}
    types |= {"bytes": pa.binary(), "image": pa.binary()}
    return types.get(kind, pa.string())
