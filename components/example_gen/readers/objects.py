"""Rows that come as Python objects, as Arrow columns."""

from __future__ import annotations

import decimal
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from components.example_gen.arrow_types import MIXED

_EXACT_IN_FLOAT = 2**53


def batch_of(columns: Mapping[str, Sequence[Any]]) -> pa.RecordBatch:
    """The columns as a batch; one that holds values of several types holds them as texts, marked as mixed."""
    arrays, fields = [], []
    for name, values in columns.items():
        array, mixed = _array(values)
        arrays.append(array)
        fields.append(pa.field(name, array.type, metadata=MIXED if mixed else None))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def names_of(objects: Iterable[Mapping[str, Any]]) -> list[str]:
    """All keys, in the order in which they first stand."""
    return list(dict.fromkeys(name for each in objects for name in each))


def _array(values: Sequence[Any]) -> tuple[pa.Array, bool]:
    kinds = {type(each) for each in values if each is not None}
    if kinds == {uuid.UUID}:
        return pa.array([None if each is None else str(each) for each in values]), False
    if kinds & {memoryview, bytearray}:
        values = [bytes(each) if isinstance(each, memoryview | bytearray) else each for each in values]
    if len(kinds) <= 1 or (kinds <= {int, float, decimal.Decimal} and not any(map(_is_long, values))):
        try:
            array = pa.array(
                [float(each) if isinstance(each, decimal.Decimal) else each for each in values]
                if len(kinds) > 1
                else values
            )
            # Arrow takes whole numbers of 64 bits without a sign, too.
            if not pa.types.is_uint64(array.type):
                return array, False
        except (pa.ArrowException, OverflowError, ValueError, TypeError):
            pass
    return pa.array([_text(each) for each in values], pa.string()), True


def _is_long(value: Any) -> bool:
    """Whether a float cannot hold a whole number."""
    return isinstance(value, int) and abs(value) > _EXACT_IN_FLOAT


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, int | float | list | dict):  # bool is an int, too
        value = json.dumps(value, ensure_ascii=False, default=str)
    elif isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    # JSON can name half a character, which UTF-8 cannot hold.
    return str(value).encode("utf-8", "replace").decode()
