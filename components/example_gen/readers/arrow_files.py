"""Arrow IPC files (.arrow, Feather version 2) and streams."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from components.errors import UserError
from components.example_gen import files
from components.example_gen.readers.base import Block, Piece, Reader

_MOST_ROWS = 16_384


class ArrowReader(Reader):
    """Reads the record batches of a file; large ones in slices."""

    def blocks(self, piece: Piece) -> Iterator[Block]:
        row = 1
        try:
            with files.open_raw(piece.path) as source:
                for batch in _batches(source):
                    for start in range(0, max(1, batch.num_rows), _MOST_ROWS):
                        part = batch.slice(start, _MOST_ROWS)
                        yield Block(part, np.arange(row, row + part.num_rows, dtype=np.int64))
                        row += part.num_rows
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise files.unreadable(piece.path, error) from error
            raise UserError(
                f"cannot be read as Arrow: {str(error).splitlines()[0]}",
                where=piece.path,
                fix="check that the file is whole",
            ) from error


def _batches(source: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    start = source.read(6)
    source.seek(0)
    if start != b"ARROW1":
        yield from pa.ipc.open_stream(source)
        return
    reader = pa.ipc.open_file(source)
    for index in range(reader.num_record_batches):
        yield reader.get_batch(index)


READER = ArrowReader
