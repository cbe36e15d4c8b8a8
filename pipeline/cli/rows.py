"""The rows that a person gives to a command: a CSV, JSON Lines or Parquet file, or standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from components.errors import UserError

PARQUET_MAGIC = b"PAR1"
_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd"}
_PARQUET_ROWS = 4096  # at a time in memory


def read_given(file: str) -> Iterator[dict[str, Any]]:
    """The rows of a CSV, JSON Lines or Parquet file, or of standard input for `-`, one after the other.

    Cells of Parquet are what ingest makes of them: moments as ISO text, decimals as numbers.

    Raises:
      UserError: the file cannot be read.
      ServingError: a row cannot be.
    """
    from serving.row_files import read_rows

    if file == "-":
        yield from read_rows(sys.stdin.buffer, "stdin")
        return
    try:
        with open(file, "rb") as stream:
            start = stream.read(len(PARQUET_MAGIC))
            is_parquet = start == PARQUET_MAGIC
            for magic, program in _COMPRESSED.items():
                if start.startswith(magic):
                    raise UserError(
                        f"it is compressed by {program}; expected CSV, JSON Lines or Parquet",
                        where=file,
                        fix=f"unpack it, or let {program} -dc {file} write to `--rows -`",
                    )
            stream.seek(0)
            yield from parquet_rows(stream, file) if is_parquet else read_rows(stream, file)
    except OSError as error:
        raise UserError(f"cannot read it: {error.strerror or error}", where=file) from error


def no_row(file: str) -> UserError:
    """What is wrong with a file without a row."""
    fixes = {".jsonl": "write one JSON object a line", ".parquet": "write a table with at least one row"}
    fix = fixes.get(Path(file).suffix, "give a header and at least one row")
    return UserError("there is no row", where=file, fix=fix)


def parquet_rows(stream: Any, file: str, groups: Sequence[int] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file, or of some of its row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from components.example_gen.arrow_types import flatten, plain

    try:
        for batch in pq.ParquetFile(stream).iter_batches(_PARQUET_ROWS, groups):
            batch = flatten(batch)
            columns = {}
            for name, array in zip(batch.schema.names, batch.columns):
                cells = plain(array)
                # A type that no feature can have, and lists, are the model's to refuse, by their values.
                columns[name] = (
                    array if cells is None or cells.lengths is not None else cells.values
                ).to_pylist()
            for row in zip(*columns.values()):
                yield {name: _cell(value) for name, value in zip(columns, row)}
    except pa.ArrowInvalid as error:
        raise UserError(f"not valid Parquet: {error}", where=file) from error


def _cell(value: Any) -> Any:
    if isinstance(value, bytes):
        import base64

        return {"b64": base64.b64encode(value).decode()}
    return value
