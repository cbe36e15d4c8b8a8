"""Columns of values as serialized tf.Examples, a column at a time.

A serialized example is nothing but its features one after the other, so each column is turned into the
bytes of its feature in every row, and Arrow joins them. It is some times as fast as building a message for
every row, and the same rows give the same bytes: features stand in the order of the columns.
Wire format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# The fields of Feature that hold its kinds of lists, as tags of length-delimited fields.
_BYTES, _FLOAT, _INT64 = b"\x0a", b"\x12", b"\x1a"
_FIRST, _SECOND = b"\x0a", b"\x12"
_SEVEN = np.uint64(7)


def encode(batch: pa.RecordBatch) -> list[bytes]:
    """A serialized tf.Example for each row; a missing value becomes an empty list of its kind.

    Args:
      batch: columns of int64, float32, string, binary, or lists of one of those, large or not.
    """
    parts = [
        part
        for name, column in zip(batch.schema.names, batch.columns)
        for part in _column(name.encode(), column)
    ]
    if not parts:
        return [b""] * batch.num_rows
    lengths = np.zeros(batch.num_rows, np.int64)
    for part in parts:
        lengths += np.diff(_offsets(part))
    # Example.features, around what follows.
    heads = _by_number(lengths, lambda length: _FIRST + _varint(length))
    return pc.binary_join_element_wise(heads, *parts, pa.scalar(b"", pa.binary())).to_pylist()


def _column(key: bytes, column: pa.Array) -> list[pa.Array]:
    """The column's feature in each row, as arrays of bytes that are to be joined."""
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists(key, column)
    if pa.types.is_int64(kind):
        return [_integers(key, column)]
    if pa.types.is_float32(kind):
        return [_floats(key, column)]
    return _texts(key, column.cast(pa.binary()))


def _entry(key: bytes, tag: bytes, values: bytes) -> bytes:
    """Features.feature of one row: a key and a Feature with a list of values, serialized."""
    return _head(key, tag, len(values)) + values


def _head(key: bytes, tag: bytes, size: int) -> bytes:
    """What stands before so many bytes of values."""
    named = _FIRST + _varint(len(key)) + key
    feature = tag + _varint(size)
    entry = len(named) + 1 + len(_varint(len(feature) + size)) + len(feature) + size
    return _FIRST + _varint(entry) + named + _SECOND + _varint(len(feature) + size) + feature


def _floats(key: bytes, column: pa.Array) -> pa.Array:
    head = np.frombuffer(_head(key, _FLOAT, 6) + b"\x0a\x04", np.uint8)
    rows = np.empty((len(column), len(head) + 4), np.uint8)
    rows[:, : len(head)] = head
    values = column.fill_null(0.0).to_numpy(zero_copy_only=False).astype("<f4")
    rows[:, len(head) :] = values.view(np.uint8).reshape(-1, 4)
    return _without_missing(_fixed(rows), column, _entry(key, _FLOAT, b""))


def _integers(key: bytes, column: pa.Array) -> pa.Array:
    """Distinct values first: most columns have far fewer of them than rows."""
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_numpy(zero_copy_only=False).view(np.uint64)
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    # In ascending order, those that take equally many bytes stand together.
    sizes = _varint_sizes(ascending)
    blocks = [_fixed(_rows_of_varints(key, ascending[sizes == size], int(size))) for size in np.unique(sizes)]
    if not blocks:
        return _repeated(_entry(key, _INT64, b""), len(column))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    distinct = pa.concat_arrays([*blocks, pa.array([_entry(key, _INT64, b"")], pa.binary())])
    indices = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    places = np.where(column.is_null().to_numpy(zero_copy_only=False), len(rank), rank[indices])
    return distinct.take(pa.array(places))


def _rows_of_varints(key: bytes, values: np.ndarray, size: int) -> np.ndarray:
    head = np.frombuffer(_head(key, _INT64, size + 2) + _FIRST + _varint(size), np.uint8)
    rows = np.empty((len(values), len(head) + size), np.uint8)
    rows[:, : len(head)] = head
    for place in range(size):
        more = 0x80 if place < size - 1 else 0
        rows[:, len(head) + place] = (values >> (_SEVEN * np.uint64(place)) & np.uint64(0x7F)) | np.uint64(
            more
        )
    return rows


def _texts(key: bytes, column: pa.Array) -> list[pa.Array]:
    """What stands before each value, which depends on its length alone, and the values."""
    values = column.fill_null(b"") if column.null_count else column
    lengths = np.diff(_offsets(values)).astype(np.int64)
    lengths[column.is_null().to_numpy(zero_copy_only=False)] = -1
    heads = _by_number(lengths, lambda length: _text_head(key, length))
    return [heads, values]


def _text_head(key: bytes, length: int) -> bytes:
    if length < 0:
        return _entry(key, _BYTES, b"")
    field = _FIRST + _varint(length)
    return _head(key, _BYTES, len(field) + length) + field


def _lists(key: bytes, column: pa.Array) -> list[pa.Array]:
    kind, values = column.type.value_type, column.flatten()
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    if (lengths == 1).all():
        return _column(key, values)
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    if pa.types.is_int64(kind):
        data, ends = _varints(values.to_numpy(zero_copy_only=False).view(np.uint64))
        return _numbers(key, _INT64, data, ends[bounds])
    if pa.types.is_float32(kind):
        data = values.to_numpy(zero_copy_only=False).astype("<f4", copy=False).view(np.uint8)
        return _numbers(key, _FLOAT, data, bounds * 4)
    # Columns of several texts are few: a row at a time.
    return [pa.array([_entry(key, _BYTES, _several(each or [])) for each in column.to_pylist()], pa.binary())]


def _numbers(key: bytes, tag: bytes, data: np.ndarray, bounds: np.ndarray) -> list[pa.Array]:
    """What stands before the numbers of each row, which depends on their bytes alone, and the numbers."""
    heads = _by_number(np.diff(bounds), lambda size: _numbers_head(key, tag, size))
    offsets = pa.py_buffer(bounds.astype(np.int32))
    packed = pa.Array.from_buffers(pa.binary(), len(bounds) - 1, [None, offsets, pa.py_buffer(data)])
    return [heads, packed]


def _numbers_head(key: bytes, tag: bytes, size: int) -> bytes:
    if not size:
        return _entry(key, tag, b"")
    field = _FIRST + _varint(size)
    return _head(key, tag, len(field) + size) + field


def _varints(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of uint64 numbers one after the other, and where each begins and the last one ends."""
    sizes = _varint_sizes(values)
    ends = np.concatenate(([0], np.cumsum(sizes)))
    data = np.empty(ends[-1], np.uint8)
    for place in range(int(sizes.max(initial=0))):
        here = np.flatnonzero(sizes > place)
        more = np.where(sizes[here] - 1 > place, 0x80, 0).astype(np.uint64)
        data[ends[here] + place] = (values[here] >> (_SEVEN * np.uint64(place)) & np.uint64(0x7F)) | more
    return data, ends


def _several(values: list) -> bytes:
    texts = (value.encode() if isinstance(value, str) else value for value in values)
    return b"".join(_FIRST + _varint(len(text)) + text for text in texts)


def _by_number(numbers: np.ndarray, make: Callable[[int], bytes]) -> pa.Array:
    """What `make` gives for each number, made once for each that is different."""
    distinct, places = np.unique(numbers, return_inverse=True)
    made = pa.array([make(int(number)) for number in distinct], pa.binary())
    return made.take(pa.array(places.reshape(-1)))


def _without_missing(entries: pa.Array, column: pa.Array, empty: bytes) -> pa.Array:
    if not column.null_count:
        return entries
    return pc.if_else(column.is_null(), pa.scalar(empty, pa.binary()), entries)


def _fixed(rows: np.ndarray) -> pa.Array:
    """Rows of equally many bytes, as an array of bytes."""
    count, width = rows.shape
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(width)
    return pa.Array.from_buffers(
        pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(rows))]
    )


def _repeated(value: bytes, count: int) -> pa.Array:
    return pa.array([value], pa.binary()).take(pa.array(np.zeros(count, np.int64)))


def _offsets(array: pa.Array) -> np.ndarray:
    if not len(array):
        return np.zeros(1, np.int32)
    return np.frombuffer(array.buffers()[1], np.int32, len(array) + 1, array.offset * 4)


def _varint(number: int) -> bytes:
    """A number from 0 on, seven bits a byte, the lowest first."""
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def _varint_sizes(values: np.ndarray) -> np.ndarray:
    limits = np.array([1 << (7 * size) for size in range(1, 10)], np.uint64)
    return np.searchsorted(limits, values, side="right") + 1
