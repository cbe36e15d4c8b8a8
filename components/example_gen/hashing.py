"""Hash rows and cells of Arrow columns, 64 bits each, a column at a time.

The hash depends on what stands in the cells, not on how a reader came to hold it: a column that is
absent is one without values, and a whole number is the same as integer and as float. It is the same
on every machine and in every version, since the splits of all later runs depend on it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.example_gen.arrow_types import MIXED

_MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))  # of splitmix64
_NOTHING = np.uint64(0x9E3779B97F4A7C15)  # an empty text
_FRACTION = np.uint64(0xD6E8FEB86659FD93)  # tells the bits of a fraction from a whole number
# Longer values, images and documents, are cheaper to hash one by one.
_LONG_BYTES = 512
_WORD = 8


def row_hashes(batch: pa.RecordBatch) -> np.ndarray:
    """A hash of the cells of each row, as uint64; the order of the columns does not matter.

    Args:
      batch: columns of any type.
    """
    return mixed(row_sums(batch))


def row_sums(batch: pa.RecordBatch, columns: Collection[str] | None = None) -> np.ndarray:
    """What the hash of each row is made of: a sum over columns, from which some can be taken away again.

    Args:
      batch: columns of any type.
      columns: those that count; None: all.
    """
    total = np.zeros(batch.num_rows, np.uint64)
    for field, column in zip(batch.schema, batch.columns):
        if columns is None or field.name in columns:
            hashes = _of_mixed(column) if field.metadata == MIXED else cell_hashes(column)
            total += _of_column(field.name, column, hashes)
    return total


def cell_hashes(column: pa.Array) -> np.ndarray:
    """A hash of each value, as uint64; that of a missing value says nothing."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return cell_hashes(column.dictionary_decode())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _of_lists(column)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _of_bytes(column, np.int32)
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return _of_bytes(column, np.int64)
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return _of_floats(_numbers(column, pa.float64()))
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.uint64)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return mixed(_numbers(column, pa.uint64() if kind == pa.uint64() else pa.int64()).view(np.uint64))
    if pa.types.is_timestamp(kind):
        same_unit = pc.cast(column.view(pa.timestamp(kind.unit)), pa.timestamp("us"), safe=False)
        return cell_hashes(same_unit.view(pa.int64()))
    if pa.types.is_temporal(kind):
        return cell_hashes(column.view(pa.int32() if kind.bit_width == 32 else pa.int64()))
    return cell_hashes(pa.array([repr(value) for value in column.to_pylist()], pa.string()))


def _of_mixed(column: pa.Array) -> np.ndarray:
    """Of texts that stand for values of several types, which another block may hold as they are."""
    encoded = column.dictionary_encode()
    distinct = encoded.dictionary
    hashes = np.append(cell_hashes(distinct), _NOTHING)
    numbers: dict[type, dict[int, float]] = {int: {}, float: {}}
    for index, text in enumerate(distinct.to_pylist()):
        try:
            number = json.loads(text)
        except ValueError:
            continue
        if isinstance(number, int | float) and abs(number) < 2**63:
            numbers[float if isinstance(number, float) else int][index] = number
    for kind, of_kind in numbers.items():
        if of_kind:
            values = pa.array([kind(number) for number in of_kind.values()])
            hashes[list(of_kind)] = cell_hashes(values)
    return hashes[pc.fill_null(encoded.indices, len(distinct)).to_numpy(zero_copy_only=False)]


def _of_lists(column: pa.Array) -> np.ndarray:
    """The sum over the items of a list, each hashed with its place in it."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    ends = np.cumsum(lengths)
    items = column.flatten()
    places = (np.arange(len(items)) - np.repeat(ends - lengths, lengths)).astype(np.uint64)
    hashes = cell_hashes(items)
    if items.null_count:
        hashes[items.is_null().to_numpy(zero_copy_only=False)] = _NOTHING
    # Sums wrap around, and so do their differences.
    sums = np.concatenate(([np.uint64(0)], np.cumsum(mixed(hashes ^ mixed(places)))))
    return mixed(sums[ends] - sums[ends - lengths] + lengths.astype(np.uint64))


def mixed(values: np.ndarray) -> np.ndarray:
    """Numbers whose every bit depends on every bit of what was given, in place (splitmix64's last step)."""
    values ^= values >> np.uint64(30)
    values *= _MULTIPLIERS[0]
    values ^= values >> np.uint64(27)
    values *= _MULTIPLIERS[1]
    values ^= values >> np.uint64(31)
    return values


def _of_column(name: str, column: pa.Array, hashes: np.ndarray) -> np.ndarray:
    """What a column adds to the hash of each row: nothing where it has no value."""
    hashes = mixed(hashes + _seed(name))
    if column.null_count:
        hashes[column.is_null().to_numpy(zero_copy_only=False)] = 0
    return hashes


@cache
def _seed(name: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little"))


def _numbers(column: pa.Array, kind: pa.DataType) -> np.ndarray:
    """The values of a column of numbers, as a copy; anything where there is none."""
    wide = pc.cast(column, kind)
    if wide.null_count:
        wide = pc.fill_null(wide, pa.scalar(0, kind))
    return np.array(wide.to_numpy(zero_copy_only=False))


def _of_floats(values: np.ndarray) -> np.ndarray:
    whole = (values == np.trunc(values)) & (np.abs(values) < 2.0**63)
    bits = np.where(np.isnan(values), np.float64("nan"), values).view(np.uint64) ^ _FRACTION
    bits[whole] = values[whole].astype(np.int64).view(np.uint64)
    return mixed(bits)


def _of_bytes(column: pa.Array, offset_type: type) -> np.ndarray:
    """Takes a word of every value at a time; a value that has no more words is left alone."""
    _, offset_buffer, data = column.buffers()
    count = len(column)
    if not count:
        return np.zeros(0, np.uint64)
    offsets: np.ndarray = np.frombuffer(
        offset_buffer, offset_type, count + 1, column.offset * np.dtype(offset_type).itemsize
    )
    starts, lengths = offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
    hashes = mixed(lengths.astype(np.uint64) + _NOTHING)
    if data is None or offsets[0] == offsets[-1]:
        return hashes
    long = np.flatnonzero(lengths > _LONG_BYTES)
    if len(long):
        view = memoryview(data)
        for i in long:
            value = view[starts[i] : starts[i] + lengths[i]]
            hashes[i] = int.from_bytes(hashlib.blake2b(value, digest_size=8).digest(), "little")
        lengths[long] = 0
    first = int(offsets[0])
    padded = np.concatenate(
        [np.frombuffer(data, np.uint8, int(offsets[-1]) - first, first), np.zeros(_WORD, np.uint8)]
    )
    # A word from every byte on: they overlap, and most of them are not aligned.
    words: np.ndarray = np.ndarray(len(padded) - _WORD + 1, "<u8", padded, strides=(1,))
    at, left = starts - first, lengths
    rows: np.ndarray | slice = slice(None)
    while True:
        going = np.flatnonzero(left > 0)
        if not len(going):
            return hashes
        if len(going) < len(left):
            rows = going if isinstance(rows, slice) else rows[going]
            at, left = at[going], left[going]
        word = words[at]
        short = left < _WORD
        if short.any():
            word[short] &= (np.uint64(1) << (left[short] * _WORD).astype(np.uint64)) - np.uint64(1)
        hashes[rows] = mixed(word ^ hashes[rows])
        at, left = at + _WORD, left - _WORD
