"""CSV, TSV and their kin: every cell as the text that stands in the file."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from components.errors import UserError
from components.example_gen import files
from components.example_gen.patterns import INFERRED
from components.example_gen.readers import bad_rows
from components.example_gen.readers.base import Block, Piece, Reader, Skipped
from components.example_gen.readers.delimited_lines import (
    Dialect,
    Header,
    check_quotes,
    line_numbers,
    read_header,
)
from components.example_gen.readers.text import Utf8Stream, open_utf8

# Large enough that the cost of a block vanishes, small enough that a few blocks fit in any memory.
_BLOCK_BYTES = 1 << 20
_LARGEST_BLOCK = 1 << 30
# Seconds for a read of a moment to end; one that waits for no reader does not count.
_PATIENCE = 0.2


class _TooLong(Exception):
    """A row is longer than a block."""


class DelimitedReader(Reader):
    """Reads delimited text in Arrow blocks of string columns."""

    infers = INFERRED

    def blocks(self, piece: Piece) -> Iterator[Block]:
        dialect = self._dialect(piece.path)
        header = read_header(piece.path, dialect)
        size, last = _BLOCK_BYTES, 0
        while True:
            try:
                for block in self._read(piece, dialect, header, size, after=last):
                    yield block
                    last = int(block.rows[-1]) if len(block.rows) else last
                return
            except _TooLong:
                # A quote that is never closed makes one long row of all that follows.
                check_quotes(piece.path, dialect, header)
                if size >= _LARGEST_BLOCK:
                    raise UserError(
                        "a row is longer than 1 GB", where=self.places(piece, [last + 1])[0]
                    ) from None
                size *= 8

    def places(self, piece: Piece, rows: Sequence[int]) -> list[str]:
        dialect = self._dialect(piece.path)
        lines = line_numbers(piece.path, dialect, read_header(piece.path, dialect), rows)
        return [f"{piece.path}:{lines[row]}" if row in lines else f"{piece.path}: row {row}" for row in rows]

    def _dialect(self, path: str) -> Dialect:
        config = self.config
        delimiter = config.delimiter or ("\t" if ".tsv" in path.rsplit("/", 1)[-1].lower() else ",")
        return Dialect(delimiter, config.quote, config.encoding, config.header, config.names)

    def _read(self, piece: Piece, dialect: Dialect, header: Header, size: int, after: int) -> Iterator[Block]:
        """The blocks of rows that follow row `after`."""
        bad: list[pa_csv.InvalidRow] = []

        def on_bad_row(row: pa_csv.InvalidRow) -> str:
            bad.append(row)
            return "skip"

        numbers = _Numbers(header.lines)
        # Ragged rows that stop the run are counted to the end of the file, then told.
        ragged, undecodable, quotes = [], [], False
        remarks = header.remarks if not after else {}
        skips = self.config.on_bad_row == "skip"
        try:
            stream = open_utf8(piece.path, dialect.encoding, dialect.quote)
            for batch in _batches(stream, dialect, header, size, on_bad_row):
                rows = numbers.take(batch.num_rows, bad)
                ragged.extend(numbers.passed)
                cells, broken = _decode(batch, rows)
                undecodable.extend(broken)
                quotes = quotes or (not self.scanned and _holds_lines(cells))
                if not skips and (ragged or undecodable):
                    continue
                skipped = [*numbers.passed, *broken] if skips else []
                if broken:
                    keep = ~np.isin(rows, [each.row for each in broken])
                    cells, rows = cells.filter(pa.array(keep)), rows[keep]
                if after:
                    keep = rows > after
                    cells, rows = cells.filter(pa.array(keep)), rows[keep]
                    skipped = [each for each in skipped if each.row > after]
                if len(rows) or skipped or remarks:
                    yield Block(cells, rows, tuple(skipped), remarks)
                    remarks = {}
        except pa.ArrowInvalid as error:
            if "straddling" in str(error):
                raise _TooLong from error
            if "Empty CSV file" not in str(error) and "Could not skip" not in str(error):
                check_quotes(piece.path, dialect, header)
                raise UserError(
                    f"cannot be read as CSV: {str(error).splitlines()[0]}", where=piece.path
                ) from error
        except (OSError, EOFError) as error:
            raise files.unreadable(piece.path, error) from error
        except UnicodeDecodeError as error:
            raise bad_rows.undecodable(piece.path, dialect.encoding or "utf-8") from error
        rest = numbers.rest(bad)
        ragged.extend(rest)
        if not self.scanned and (quotes or (stream and stream.count % 2)):
            check_quotes(piece.path, dialect, header)
        if skips or not (ragged or undecodable):
            if rest or not numbers.last:
                yield Block(_empty(header.names), np.zeros(0, np.int64), tuple(rest), remarks)
        else:
            self._refuse(piece, ragged, undecodable, len(header.names))

    def _refuse(
        self, piece: Piece, ragged: list[Skipped], undecodable: list[Skipped], cells: int
    ) -> NoReturn:
        if ragged:
            raise bad_rows.refusal(
                self,
                piece,
                ragged,
                f"{len(ragged):,} rows do not have {cells} cells",
                'mend the rows (a cell that holds the delimiter must stand in quotes: "a, b"), '
                "or leave them out with data.on_bad_row: skip",
            )
        raise bad_rows.refusal(
            self,
            piece,
            undecodable,
            f"{len(undecodable):,} rows hold bytes that are not UTF-8",
            "name the file's encoding, such as data.encoding: latin-1, or leave the rows out with "
            "data.on_bad_row: skip",
        )


@dataclass
class _Numbers:
    """Numbers the rows of the batches that Arrow gives, which have no room for those it passed over."""

    header_lines: int
    last: int = 0
    seen: int = 0
    passed: list[Skipped] = field(default_factory=list)

    def take(self, count: int, bad: list[pa_csv.InvalidRow]) -> np.ndarray:
        """The numbers of the next `count` rows; leaves the bad rows before or among them in `passed`."""
        self.passed = []
        numbers: list[np.ndarray] = []
        while count or (self.seen < len(bad) and bad[self.seen].number - self.header_lines == self.last + 1):
            until = (
                bad[self.seen].number - self.header_lines if self.seen < len(bad) else self.last + count + 1
            )
            good = min(count, until - self.last - 1)
            numbers.append(np.arange(self.last + 1, self.last + good + 1, dtype=np.int64))
            self.last += good
            count -= good
            if self.seen < len(bad) and self.last + 1 == until:
                self._pass(bad[self.seen])
        return np.concatenate(numbers) if numbers else np.zeros(0, np.int64)

    def rest(self, bad: list[pa_csv.InvalidRow]) -> list[Skipped]:
        """The bad rows that no batch followed."""
        self.passed = []
        while self.seen < len(bad):
            self._pass(bad[self.seen])
        return self.passed

    def _pass(self, row: pa_csv.InvalidRow) -> None:
        self.last += 1
        self.seen += 1
        text = row.text if isinstance(row.text, str) else str(row.text)
        cells = f"{row.actual_columns} cell{'' if row.actual_columns == 1 else 's'}"
        self.passed.append(Skipped(self.last, f"{cells} instead of {row.expected_columns}", text))


def _batches(
    stream: Utf8Stream, dialect: Dialect, header: Header, size: int, on_bad_row: object
) -> Iterator[pa.RecordBatch]:
    """What Arrow reads; it can be left at any time.

    Arrow reads ahead in a thread, and a reader that goes waits for it without letting go of the interpreter,
    which that thread needs to read from a stream of Python: so the thread must have ended before.
    """
    reader = _open_csv(stream, dialect, header, size, on_bad_row)
    try:
        yield from reader
    finally:
        stream.end()
        with contextlib.suppress(StopIteration, pa.ArrowException, OSError, ValueError):
            while True:
                reader.read_next_batch()
        until = time.monotonic() + _PATIENCE
        while not stream.ended and time.monotonic() < until:
            time.sleep(0.001)


def _open_csv(
    stream: Utf8Stream, dialect: Dialect, header: Header, size: int, on_bad_row: object
) -> pa_csv.CSVStreamingReader:
    return pa_csv.open_csv(
        pa.PythonFile(stream, mode="r"),
        read_options=pa_csv.ReadOptions(
            column_names=header.names, skip_rows=header.lines, block_size=size, use_threads=False
        ),
        parse_options=pa_csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote or False,
            newlines_in_values=True,
            invalid_row_handler=on_bad_row,
        ),
        # As bytes: what is no UTF-8 is found out here, with its row.
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(header.names, pa.binary()), strings_can_be_null=False
        ),
    )


def _decode(batch: pa.RecordBatch, rows: np.ndarray) -> tuple[pa.RecordBatch, list[Skipped]]:
    """The cells as strings, and the rows of those that are no UTF-8 (in whose place stands nothing)."""
    columns = []
    broken: dict[int, Skipped] = {}
    for name, column in zip(batch.schema.names, batch.columns):
        try:
            columns.append(column.cast(pa.string()))
        except pa.ArrowInvalid:
            texts = []
            for row, cell in zip(rows, column.to_pylist()):
                try:
                    texts.append(cell.decode())
                except UnicodeDecodeError as error:
                    texts.append("")
                    reason = f"byte 0x{cell[error.start]:02x} in column {name!r} is not UTF-8"
                    broken.setdefault(int(row), Skipped(int(row), reason, cell.decode("latin-1")))
            columns.append(pa.array(texts, pa.string()))
    return pa.RecordBatch.from_arrays(columns, batch.schema.names), [broken[row] for row in sorted(broken)]


def _holds_lines(cells: pa.RecordBatch) -> bool:
    """Whether a cell holds a line's end, as it also does when a quote was closed too late."""
    data = (column.buffers()[2] for column in cells.columns)
    return any(buffer is not None and b"\n" in buffer.to_pybytes() for buffer in data)


def _empty(names: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], pa.string()) for _ in names], list(names))


READER = DelimitedReader
