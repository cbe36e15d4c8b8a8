"""TFRecord files of tf.Examples, plain or compressed."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import google_crc32c
import numpy as np
import pyarrow as pa
from tfx_bsl.coders import example_coder

from components.errors import UserError
from components.example_gen import files
from components.example_gen.readers.base import Block, Piece, Reader, Skipped

_ROWS = 20_000
_BLOCK_BYTES = 32 << 20
_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")


class TFRecordReader(Reader):
    """Decodes some thousand examples at a time; where they disagree on a type, fewer."""

    sparse = True
    one_type = True

    def blocks(self, piece: Piece) -> Iterator[Block]:
        decoder = example_coder.ExamplesToRecordBatchDecoder()
        skips = self.config.on_bad_row == "skip"
        row = 1
        for records in _some(piece.path):
            for first, batch in _decode(decoder, records, 0):
                if batch is not None:
                    rows = np.arange(row + first, row + first + batch.num_rows, dtype=np.int64)
                    yield Block(batch, rows)
                elif skips:
                    nothing = pa.RecordBatch.from_arrays([], [])
                    yield Block(nothing, np.zeros(0, np.int64), (Skipped(row + first, "not a tf.Example"),))
                else:
                    raise UserError(
                        "the record is not a tf.Example",
                        where=self.places(piece, [row + first])[0],
                        fix="write serialized tf.train.Examples, or leave such records out with "
                        "data.on_bad_row: skip",
                    )
            row += len(records)

    def places(self, piece: Piece, rows: Sequence[int]) -> list[str]:
        return [f"{piece.path}: record {row}" for row in rows]


def _decode(
    decoder: example_coder.ExamplesToRecordBatchDecoder, records: list[bytes], first: int
) -> Iterator[tuple[int, pa.RecordBatch | None]]:
    """Batches in which each feature has one type, each with its first record's index; None: no example."""
    try:
        yield first, decoder.DecodeBatch(records)
    except Exception as error:  # tfx_bsl raises RuntimeError or ValueError, by its version
        if len(records) == 1:
            if isinstance(error, KeyboardInterrupt | MemoryError):
                raise
            yield first, None
            return
        half = len(records) // 2
        yield from _decode(decoder, records[:half], first)
        yield from _decode(decoder, records[half:], first + half)


def _some(path: str) -> Iterator[list[bytes]]:
    records: list[bytes] = []
    size = 0
    for record in _records(path):
        records.append(record)
        size += len(record)
        if len(records) == _ROWS or size > _BLOCK_BYTES:
            yield records
            records, size = [], 0
    if records:
        yield records


def _records(path: str) -> Iterator[bytes]:
    """The records, their checksums checked.

    https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
    """
    number = 0
    try:
        with _open(path) as source:
            while header := source.read(_HEADER.size):
                number += 1
                if len(header) < _HEADER.size or _checksum(header[:8]) != _HEADER.unpack(header)[1]:
                    raise _broken(path, number, "its length is damaged")
                length = _HEADER.unpack(header)[0]
                data = source.read(length + _FOOTER.size)
                if len(data) < length + _FOOTER.size:
                    raise _broken(path, number, "the file ends within it")
                record = data[:length]
                if _checksum(record) != _FOOTER.unpack(data[length:])[0]:
                    raise _broken(path, number, "its contents are damaged")
                yield record
    except (OSError, EOFError) as error:
        raise files.unreadable(path, error) from error


def _open(path: str) -> pa.BufferedInputStream:
    with files.open_raw(path) as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
    # TFX names its compressed files .gz, others do not.
    source = pa.CompressedInputStream(files.open_raw(path), "gzip") if zipped else files.open_bytes(path)
    return pa.BufferedInputStream(source, 1 << 20)


def _checksum(data: bytes) -> int:
    crc = google_crc32c.value(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _broken(path: str, number: int, what: str) -> UserError:
    return UserError(
        f"cannot be read as TFRecord: {what}",
        where=f"{path}: record {number}",
        fix="check that the file is whole" if number > 1 else "check that the file is TFRecord",
    )


READER = TFRecordReader
