"""A file of rows in chunks that can be read one by one: CSV, JSON Lines or Parquet.

CSV and JSON Lines are looked through once, as they will be read, for where rows end: a line break in quotes
ends none. Parquet has its row groups.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO, Any

from components.errors import UserError
from pipeline.cli.rows import PARQUET_MAGIC, compression, parquet_rows
from serving.errors import ServingError
from serving.row_files import BOM, PLAIN, Csv, parse_row

Row = dict[str, Any]


@dataclass(frozen=True)
class Chunk:
    """Some rows of a file, one after the other.

    Attributes:
      index: of the chunk, from 0.
      first: number of its first row, from 1.
      rows: how many.
      start, end: its bytes; of Parquet, its row groups.
    """

    index: int
    first: int
    rows: int
    start: int
    end: int


@dataclass(frozen=True)
class RowFile:
    """A file of rows.

    Attributes:
      path: of the file.
      kind: csv, jsonl or parquet.
      names: of the columns of CSV.
      form: how CSV is written.
    """

    path: str
    kind: str
    names: tuple[str, ...] = ()
    form: Csv = PLAIN

    def chunks(self, rows: int, limit: int | None = None) -> list[Chunk]:
        """The file in chunks of so many rows; whole row groups of Parquet."""
        if self.kind == "parquet":
            return _row_groups(self.path, limit)
        with open(self.path, "rb") as stream:
            ends = self._ends(stream)
            found: list[Chunk] = []
            start, first = next(ends), 1
            while True:
                left = rows if limit is None else min(rows, limit - first + 1)
                part = list(islice(ends, left))
                if not part:
                    return found
                found.append(Chunk(len(found), first, len(part), start, part[-1]))
                start, first = part[-1], first + len(part)

    def read(self, chunk: Chunk) -> Iterator[Row | ServingError]:
        """The rows of a chunk; for one that cannot be read, why."""
        if self.kind == "parquet":
            yield from islice(parquet_rows(self.path, self.path, range(chunk.start, chunk.end)), chunk.rows)
            return
        with open(self.path, "rb") as stream:
            stream.seek(chunk.start)
            lines = _until(stream, chunk.end)
            if not chunk.start:
                lines = chain([next(lines, b"").removeprefix(BOM)], lines)
            read = self._csv_rows if self.kind == "csv" else _json_rows
            yield from read(lines, chunk.first)

    def _ends(self, stream: IO[bytes]) -> Iterator[int]:
        """Where the first row begins, and where each row ends."""
        at = 0

        def lines() -> Iterator[str]:
            nonlocal at
            for line in stream:
                at += len(line)
                yield line.decode(self.form.encoding if self.kind == "csv" else "utf-8", "replace")

        if self.kind == "jsonl":
            yield 0
            yield from (at for line in lines() if line.strip())
            return
        records = _records(self.form.reader(lines(), self.path))
        if self.form.header:
            next((cells for cells in records if cells), None)
        yield at
        yield from (at for cells in records if cells)

    def _csv_rows(self, lines: Iterator[bytes], first: int) -> Iterator[Row | ServingError]:
        broken = False

        def decoded() -> Iterator[str]:
            nonlocal broken
            for line in lines:
                try:
                    yield line.decode(self.form.encoding)
                except UnicodeDecodeError:
                    broken = True
                    yield line.decode(self.form.encoding, "replace")

        names, number = list(self.names), first
        for cells in _records(self.form.reader(decoded(), self.path)):
            if not cells:
                continue
            try:
                if isinstance(cells, csv.Error):
                    raise ServingError(f"not valid CSV: {cells}", f"row {number}")
                if broken:
                    raise ServingError(f"not {self.form.encoding.upper()} text", f"row {number}")
                yield self.form.row(names, cells, number, self.path, self.path)
            except ServingError as error:
                yield error
            broken = False
            number += 1


def open_rows(path: str, form: Csv = PLAIN) -> RowFile:
    """The file, by what it begins with; `form` says how CSV is written.

    Raises:
      UserError: it cannot be read, or only whole.
      ServingError: its header cannot be.
    """
    try:
        with open(path, "rb") as stream:
            head = stream.read(len(PARQUET_MAGIC))
            if head == PARQUET_MAGIC:
                return RowFile(path, "parquet")
            if compression(head):
                raise UserError(
                    f"it is compressed by {compression(head)}, and can only be read from its start",
                    where=path,
                    fix="unpack it, or leave Beam out",
                )
            stream.seek(0)
            start = next((line for line in stream if line.removeprefix(BOM).strip()), b"")
            kind = start.removeprefix(BOM).lstrip()[:1]
            if kind == b"[":
                raise UserError(
                    "a JSON list can only be read whole", where=path, fix="write one JSON object a line"
                )
            if kind == b"{":
                return RowFile(path, "jsonl")
            stream.seek(0)
            lines = chain([next(stream, b"").removeprefix(BOM)], stream)
            reader = form.reader((line.decode(form.encoding, "replace") for line in lines), path)
            first: list[str] = next((cells for cells in reader if cells), [])
            return RowFile(path, "csv", tuple(form.columns(first, path)), form)
    except csv.Error as error:
        raise UserError(f"not valid CSV: {error}", where=path) from error
    except OSError as error:
        raise UserError(f"cannot read it: {error.strerror or error}", where=path) from error


def _records(reader: Any) -> Iterator[list[str] | csv.Error]:
    """The records of a CSV reader; for one that is none, the error, after which it goes on."""
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield error


def _json_rows(lines: Iterator[bytes], number: int) -> Iterator[Row | ServingError]:
    for line in lines:
        if not line.removeprefix(BOM).strip():
            continue
        try:
            yield parse_row(line.removeprefix(BOM).decode(), f"row {number}")
        except UnicodeDecodeError:
            yield ServingError("not UTF-8 text", f"row {number}")
        except ServingError as error:
            yield error
        number += 1


def _until(stream: IO[bytes], end: int) -> Iterator[bytes]:
    at = stream.tell()
    while at < end:
        line = stream.readline()
        at += len(line)
        yield line


def _row_groups(path: str, limit: int | None) -> list[Chunk]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.ParquetFile(path).metadata
    except pa.ArrowInvalid as error:
        raise UserError(f"not valid Parquet: {error}", where=path) from error
    found: list[Chunk] = []
    first = 1
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        rows = rows if limit is None else min(rows, limit - first + 1)
        if rows > 0:
            found.append(Chunk(len(found), first, rows, group, group + 1))
            first += rows
    return found
