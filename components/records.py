"""TFRecord files of tf.Examples, read and written in large Arrow record batches.

The cost of a row is what decides the speed of every data step, so rows never travel one by one.
File format: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
"""

from __future__ import annotations

import gzip
import itertools
import os
import struct
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import google_crc32c
import numpy as np
import pyarrow as pa
from tfx.dsl.io import fileio
from tfx.types import artifact_utils

from components.ahead import ahead

BATCH_ROWS = 20_000
FILE_FORMAT = "tfrecords_gzip"
_READ_BUFFER = 8 << 20
# What a batch may take, judged by the first examples of a file.
_BATCH_BYTES, _SAMPLE_ROWS = 64 << 20, 32


_LENGTH = struct.Struct("<QI")
_MASK = 0xA282EAD8


def frames(records: Sequence[bytes]) -> bytes:
    """Records as they stand in a TFRecord file, each between its length and its checksum."""
    lengths = list(map(len, records))
    starts = {length: _LENGTH.pack(length, _masked_crc(length)) for length in set(lengths)}
    crcs = np.fromiter(map(google_crc32c.value, records), np.uint32, len(records))
    ends = (((crcs >> np.uint32(15)) | (crcs << np.uint32(17))) + np.uint32(_MASK)).astype("<u4").tobytes()
    parts = zip(
        map(starts.__getitem__, lengths), records, (ends[at : at + 4] for at in range(0, len(ends), 4))
    )
    return b"".join(itertools.chain.from_iterable(parts))


def _masked_crc(length: int) -> int:
    crc = google_crc32c.value(struct.pack("<Q", length))
    return (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF


class ShardWriter:
    """Writes one gzip TFRecord file; it has its name only once it is whole.

    A thread of its own compresses, while the next records are made.
    """

    def __init__(self, path: str) -> None:
        self._path, self._partial = path, f"{path}.partial"
        fileio.makedirs(os.path.dirname(path))
        self._raw = fileio.open(self._partial, "wb")
        # mtime=0: the same rows give the same bytes.
        self._gzip = gzip.GzipFile(fileobj=self._raw, mode="wb", compresslevel=1, mtime=0, filename="")
        self._thread = ThreadPoolExecutor(1)
        self._pending: Future[None] | None = None

    def write(self, records: Sequence[bytes]) -> None:
        """Appends records; waits until those before them are written."""
        self._settle()
        self._pending = self._thread.submit(self._append, records)

    def _append(self, records: Sequence[bytes]) -> None:
        self._gzip.write(frames(records))

    def _settle(self) -> None:
        if self._pending:
            self._pending.result()

    def close(self) -> None:
        """Ends the file and gives it its name."""
        self._settle()
        self._thread.shutdown()
        self._gzip.close()
        self._raw.close()
        fileio.rename(self._partial, self._path, overwrite=True)


def shard_name(index: int, count: int) -> str:
    """The name that TFX's ExampleGen gives a shard."""
    return f"data_tfrecord-{index:05d}-of-{count:05d}.gz"


def split_files(examples: Any, split: str) -> list[str]:
    """The files of one split of an Examples artifact, in order."""
    folder = artifact_utils.get_split_uri([examples], split)
    return [f"{folder}/{name}" for name in sorted(fileio.listdir(folder)) if not name.endswith(".partial")]


def splits_of(artifact: Any) -> list[str]:
    """The names of an artifact's splits."""
    return list(artifact_utils.decode_split_names(artifact.split_names))


def read_serialized(path: str, batch_rows: int = BATCH_ROWS) -> Iterator[Any]:
    """Serialized examples of one gzip TFRecord file, as arrays of bytes of at most `batch_rows`.

    There are fewer in an array where they are large, as examples with images are.
    """
    import tensorflow as tf

    first = tf.data.TFRecordDataset(path, compression_type="GZIP").take(_SAMPLE_ROWS)
    sizes = [len(record) for record in first.as_numpy_iterator()]
    fit = _BATCH_BYTES * len(sizes) // max(1, sum(sizes))
    dataset = tf.data.TFRecordDataset(path, compression_type="GZIP", buffer_size=_READ_BUFFER)
    yield from dataset.batch(max(1, min(batch_rows, fit))).as_numpy_iterator()


def read_batches(
    path: str, schema: Any = None, batch_rows: int = BATCH_ROWS, raw_column: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The examples of one file as Arrow record batches, one list column a feature, decoded one batch ahead.

    Args:
      path: a gzip TFRecord file of tf.Examples.
      schema: a TFMD schema; with it, features that no row of a batch has still get their column.
      batch_rows: rows a batch at most.
      raw_column: name of a further column that holds the serialized examples themselves.
    """
    yield from ahead(_decoded(path, schema, batch_rows, raw_column))


def _decoded(path: str, schema: Any, batch_rows: int, raw_column: str | None) -> Iterator[pa.RecordBatch]:
    from tfx_bsl.coders import example_coder

    decoder = example_coder.ExamplesToRecordBatchDecoder(
        serialized_schema=schema.SerializeToString() if schema is not None else None
    )
    for serialized in read_serialized(path, batch_rows):
        records = serialized.tolist()
        batch = decoder.DecodeBatch(records)
        if raw_column:
            # TFMA and TFDV take the raw column as lists of one.
            column = pa.array([[record] for record in records], pa.large_list(pa.large_binary()))
            batch = pa.RecordBatch.from_arrays([*batch.columns, column], [*batch.schema.names, raw_column])
        yield batch
