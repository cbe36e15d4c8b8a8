"""Parquet, with the types that it brings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from components.errors import UserError
from components.example_gen import files
from components.example_gen.readers.base import Block, InputFile, Piece, Reader

_BLOCK_BYTES = 2 << 20
_MOST_ROWS = 16_384
# Row groups are read together until a piece has so many rows.
_PIECE_ROWS = 500_000


class ParquetReader(Reader):
    """Reads Parquet in record batches; a piece is a run of row groups."""

    def pieces(self, files: Sequence[InputFile]) -> list[Piece]:
        return [piece for file in files for piece in self._pieces(file)]

    def _pieces(self, file: InputFile) -> Iterator[Piece]:
        with _open(file.path) as opened:
            metadata = opened.metadata
            start = rows = 0
            for group in range(metadata.num_row_groups):
                rows += metadata.row_group(group).num_rows
                if rows >= _PIECE_ROWS or group == metadata.num_row_groups - 1:
                    yield Piece((file.path,), file.split, (start, group + 1))
                    start, rows = group + 1, 0
            if not metadata.num_row_groups:
                yield Piece((file.path,), file.split, (0, 0))

    def blocks(self, piece: Piece) -> Iterator[Block]:
        start, stop = piece.part or (0, 0)
        with _open(piece.path) as opened:
            groups = [opened.metadata.row_group(group) for group in range(start, stop)]
            rows = max(1, sum(group.num_rows for group in groups))
            size = sum(group.total_byte_size for group in groups)
            batch_rows = int(np.clip(_BLOCK_BYTES * rows // max(1, size), 64, _MOST_ROWS))
            row = 1
            try:
                for batch in opened.iter_batches(
                    batch_rows, row_groups=range(start, stop), use_threads=False
                ):
                    yield Block(batch, np.arange(row, row + batch.num_rows, dtype=np.int64))
                    row += batch.num_rows
                if row == 1:
                    empty = [pa.array([], field.type) for field in opened.schema_arrow]
                    names = opened.schema_arrow.names
                    yield Block(pa.RecordBatch.from_arrays(empty, names), np.zeros(0, np.int64))
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                raise _broken(piece.path, error) from error

    def places(self, piece: Piece, rows: Sequence[int]) -> list[str]:
        with _open(piece.path) as opened:
            before = sum(
                opened.metadata.row_group(group).num_rows for group in range((piece.part or (0, 0))[0])
            )
        return [f"{piece.path}: row {before + row}" for row in rows]


class _Opened(pq.ParquetFile):
    """Closes what it reads from; older pyarrow does not."""

    def __init__(self, source: pa.NativeFile) -> None:
        super().__init__(source, pre_buffer=False)
        self._source_to_close = source

    def __enter__(self) -> _Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self._source_to_close.close()


def _open(path: str) -> _Opened:
    try:
        return _Opened(files.open_raw(path))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _broken(path, error) from error


def _broken(path: str, error: BaseException) -> UserError:
    if isinstance(error, FileNotFoundError):
        return files.unreadable(path, error)
    return UserError(
        f"cannot be read as Parquet: {str(error).splitlines()[0]}",
        where=path,
        fix="check that the file is whole",
    )


READER = ParquetReader
