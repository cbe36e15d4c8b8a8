"""TFRecord files of tf.Examples, read and written in large Arrow record batches.

The cost of a row is what decides the speed of every data step, so rows never travel one by one.
File format: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
"""

from __future__ import annotations

import gzip
import itertools
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import google_crc32c
import numpy as np
import pyarrow as pa
from tfx.dsl.io import fileio
from tfx.types import artifact_utils

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


def batches_of(path: str, batch_rows: int = BATCH_ROWS) -> Any:
    """Serialized examples of one gzip TFRecord file: a tf.data.Dataset of string [n], n at most `batch_rows`.

    There are fewer in a batch where they are large, as examples with images are.
    """
    import tensorflow as tf

    first = tf.data.TFRecordDataset(path, compression_type="GZIP").take(_SAMPLE_ROWS)
    sizes = [len(record) for record in first.as_numpy_iterator()]
    fit = _BATCH_BYTES * len(sizes) // max(1, sum(sizes))
    dataset = tf.data.TFRecordDataset(path, compression_type="GZIP", buffer_size=_READ_BUFFER)
    return dataset.batch(max(1, min(batch_rows, fit)))


def read_serialized(path: str, batch_rows: int = BATCH_ROWS) -> Iterator[Any]:
    """The same as arrays of bytes."""
    yield from batches_of(path, batch_rows).as_numpy_iterator()


def read_batches(
    path: str, types: Mapping[str, str], batch_rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """The examples of one file as Arrow record batches, one list column a feature, parsed one batch ahead.

    Args:
      path: a gzip TFRecord file of tf.Examples.
      types: the columns wanted, in order, and the type of each, as `Found` names it. A column that no row
        of a batch has is one of empty lists.
      batch_rows: rows a batch at most.
    """
    import tensorflow as tf

    from components.example_decoder import record_batch, spec_of

    spec = spec_of(types)
    parsed = batches_of(path, batch_rows).map(lambda serialized: tf.io.parse_example(serialized, spec))
    for features in parsed.prefetch(1):
        yield record_batch({name: features[name] for name in types})
