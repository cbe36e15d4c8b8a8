"""The rows that a person gives to a command: a CSV, JSON Lines or Parquet file, or standard input.

CSV is read as the `data` section of the project says.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from components.errors import UserError
from serving.row_files import PLAIN, Csv, read_rows

if TYPE_CHECKING:
    from components.example_gen.config import DataConfig

PARQUET_MAGIC = b"PAR1"
_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}  # as Arrow names them
_PARQUET_ROWS = 4096  # at a time in memory


def form_of(path: Path, home: str | None) -> Csv:
    """How the project of PATH writes CSV; for a path that is no project, how `data` does without keys."""
    from components.example_gen.config import DataConfig
    from pipeline.cli.model_path import is_project
    from pipeline.config import load_config

    return _form(load_config(path, home=home).data if is_project(path) else DataConfig(source="-"))


def _form(data: DataConfig) -> Csv:
    encoding = data.encoding or "utf-8"
    if "\n".encode(encoding) != b"\n":
        encoding = "utf-8"  # UTF-16 and its like have no lines of bytes: such rows are refused as not UTF-8
    return Csv(data.delimiter or "", data.quote, encoding, data.header, data.names, frozenset(data.missing))


def compression(head: bytes) -> str:
    """What compressed a file that begins so; "" for nothing that is known."""
    return next((name for magic, name in _COMPRESSED.items() if head.startswith(magic)), "")


def read_given(file: str, form: Csv = PLAIN) -> Iterator[dict[str, Any]]:
    """The rows of a CSV, JSON Lines or Parquet file, or of standard input for `-`, one after the other.

    Cells of Parquet are what ingest makes of them: moments as ISO text, decimals as numbers.

    Raises:
      UserError: the file cannot be read.
      ServingError: a row cannot be.
    """
    if file == "-":
        yield from read_rows(sys.stdin.buffer, "stdin", form)
        return
    try:
        with open(file, "rb") as stream:
            start = stream.read(len(PARQUET_MAGIC))
            stream.seek(0)
            if start == PARQUET_MAGIC:
                yield from parquet_rows(stream, file)
            elif compression(start):
                yield from read_rows(_unpacked(stream, compression(start)), file, form)
            else:
                yield from read_rows(stream, file, form)
    except (OSError, EOFError) as error:
        raise UserError(f"cannot read it: {getattr(error, 'strerror', None) or error}", where=file) from error


def _unpacked(stream: Any, by: str) -> IO[bytes]:
    import pyarrow as pa

    return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(stream), by))


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
