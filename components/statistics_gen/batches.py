"""Record batches as TFDV wants them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import tensorflow as tf

from components.example_decoder import record_batch, spec_of
from components.records import read_batches, read_serialized


def read(path: str, types: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """The examples of one file, each missing value as a null.

    tf.Example says of a missing value that its list is empty. To TFDV that is a value, of no
    elements: nothing would ever be missing.
    """
    yield from map(empty_as_null, read_batches(path, dict(sorted(types.items()))))


def read_at_once(paths: Iterable[str], types: Mapping[str, str]) -> pa.RecordBatch:
    """All examples of a few small files as one record batch."""
    records = np.concatenate([[], *(some for path in paths for some in read_serialized(path))])
    features = tf.io.parse_example(records, spec_of(types))
    return empty_as_null(record_batch(dict(sorted(features.items()))))


def empty_as_null(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with a null for each list that is empty."""
    columns = [_empty_as_null(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _empty_as_null(column: pa.Array) -> pa.Array:
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        return column
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    empty = lengths == 0
    if not empty.any():
        return column
    large = pa.types.is_large_list(column.type)
    bounds = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64 if large else np.int32)
    # A null offset makes the list that starts there null; the last offset ends the last list.
    offsets = pa.array(bounds, mask=np.append(empty, False))
    return type(column).from_arrays(offsets, column.flatten())
