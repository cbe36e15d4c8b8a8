"""Hashes of values and rows, over whole columns at a time.

The same value has the same hash in every block, file and format, so equal rows can be told by it.
"""

from __future__ import annotations

import farmhash
import numpy as np
import pyarrow as pa

_NOTHING = np.uint64(0x9E3779B97F4A7C15)
_FACTOR = np.uint64(0x100000001B3)


def mix(bits: np.ndarray) -> np.ndarray:
    """Spreads 64-bit values over all 64-bit values (the end of MurmurHash3)."""
    bits = bits ^ (bits >> np.uint64(33))
    bits = bits * np.uint64(0xFF51AFD7ED558CCD)
    bits = bits ^ (bits >> np.uint64(33))
    bits = bits * np.uint64(0xC4CEB9FE1A85EC53)
    return bits ^ (bits >> np.uint64(33))


def text_hashes(values: pa.Array) -> np.ndarray:
    """The hash of each of some texts or bytes, none of them null."""
    texts = values.to_pylist()
    if not pa.types.is_string(values.type):
        texts = [each.decode("latin-1") for each in texts]
    return np.fromiter(map(farmhash.fingerprint64, texts), np.uint64, len(texts))


def value_hashes(column: pa.Array) -> np.ndarray:
    """The hash of each cell of a column of int64, float, bool, string, binary or lists of them.

    A whole number has the same hash as an integer and as a float.
    """
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _list_hashes(column)
    if pa.types.is_null(kind):
        return np.full(len(column), _NOTHING)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        encoded = column.dictionary_encode()
        hashes = np.append(text_hashes(encoded.dictionary), _NOTHING)
        return hashes[encoded.indices.fill_null(len(hashes) - 1).to_numpy(zero_copy_only=False)]
    numbers = column.cast(pa.int8()) if pa.types.is_boolean(kind) else column
    # + 0.0 makes -0.0 the same as 0.0.
    wide = numbers.cast(pa.float64(), safe=False).fill_null(0).to_numpy(zero_copy_only=False) + 0.0
    hashes = mix(wide.view(np.uint64))
    hashes[column.is_null().to_numpy(zero_copy_only=False)] = _NOTHING
    return hashes


def row_hashes(batch: pa.RecordBatch) -> np.ndarray:
    """The hash of each row, whatever the order of the columns."""
    total = np.zeros(batch.num_rows, np.uint64)
    for index in np.argsort(batch.schema.names, kind="stable"):
        total = mix(total * _FACTOR + value_hashes(batch.column(int(index))))
    return total


def _list_hashes(column: pa.Array) -> np.ndarray:
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    inner = value_hashes(column.flatten())
    total = mix(lengths.astype(np.uint64))
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.int64)
    for position in range(int(lengths.max(initial=0))):
        has = lengths > position
        total[has] = mix(total[has] * _FACTOR + inner[starts[has] + position])
    return total
