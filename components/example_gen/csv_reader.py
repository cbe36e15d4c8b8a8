"""Read delimited text in Arrow blocks, every cell as the text that stands in the file."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv as pa_csv

from components.errors import UserError, cut

# Large enough that the cost of a block vanishes, small enough that a few blocks fit in any memory.
_BLOCK_BYTES = 8 << 20
_SHOWN = 5


def open_file(path: Path) -> BinaryIO:
    """The file's bytes, decompressed where the name ends in .gz."""
    return gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb")  # type: ignore[return-value]


def delimiter_of(path: Path, declared: str | None) -> str:
    """The declared delimiter, else a tab for .tsv and a comma for anything else."""
    if declared:
        return declared
    return "\t" if ".tsv" in path.name.lower() else ","


def read_header(path: Path, delimiter: str) -> tuple[list[str], int]:
    """The column names, trimmed, and how many lines they take.

    Raises:
      UserError: for an empty file, a name twice, a column without a name, or bytes that are not UTF-8.
    """
    try:
        with open_file(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, delimiter=delimiter)
            names = [name.strip() for name in next(reader, [])]
            lines = reader.line_num
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    except (OSError, EOFError, csv.Error) as error:
        raise UserError(f"cannot be read: {error}", where=str(path)) from error
    if not any(names):
        raise UserError("the file is empty, expected a header line of column names", where=str(path))
    for position, name in enumerate(names):
        if not name:
            raise UserError(
                f"column {position + 1} has no name", where=f"{path}:1", fix="name it in the header"
            )
        if name in names[:position]:
            raise UserError(
                f"column name {name!r} stands twice, at positions {names.index(name) + 1} and {position + 1}",
                where=f"{path}:1",
                fix="rename one of them",
            )
    return names, lines


def read_blocks(path: Path, delimiter: str) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows in blocks of string columns, each with the number of rows before it.

    Raises:
      UserError: for rows with too many or too few cells and for bytes that are not UTF-8, with the line.
    """
    names, header_lines = read_header(path, delimiter)
    bad: list[pa_csv.InvalidRow] = []

    def on_bad_row(row: pa_csv.InvalidRow) -> str:
        bad.append(row)
        return "skip"

    try:
        with open_file(path) as raw:
            reader = pa_csv.open_csv(
                raw,
                read_options=pa_csv.ReadOptions(
                    column_names=names, skip_rows=header_lines, block_size=_BLOCK_BYTES, use_threads=False
                ),
                parse_options=pa_csv.ParseOptions(
                    delimiter=delimiter, newlines_in_values=True, invalid_row_handler=on_bad_row
                ),
                convert_options=pa_csv.ConvertOptions(
                    column_types={name: pa.string() for name in names}, strings_can_be_null=False
                ),
            )
            before = 0
            for batch in reader:
                if bad:
                    break
                yield before, batch
                before += batch.num_rows
    except pa.ArrowInvalid as error:
        if "UTF8" in str(error):
            raise _not_utf8(path) from error
        if "Empty CSV file" in str(error):
            return
        raise UserError(f"cannot be read as CSV: {error}", where=str(path)) from error
    except (OSError, EOFError) as error:
        raise UserError(f"cannot be read: {error}", where=str(path)) from error
    if bad:
        raise _bad_rows(path, bad)


def _bad_rows(path: Path, bad: list[pa_csv.InvalidRow]) -> UserError:
    shown = "".join(
        f"\n    row {row.number}: {row.actual_columns} cells: {cut(row.text)!r}" for row in bad[:_SHOWN]
    )
    more = f"\n    and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
    return UserError(
        f"{len(bad)} rows do not have {bad[0].expected_columns} cells:{shown}{more}",
        where=f"{path}:{bad[0].number}",
        fix='mend the rows; a cell that holds the delimiter must stand in quotes ("a, b")',
    )


def _not_utf8(path: Path) -> UserError:
    """Finds the first line that is not UTF-8, for the message."""
    with open_file(path) as raw:
        for number, line in enumerate(raw, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte, near = line[error.start : error.start + 1].hex(), cut(line.decode("latin-1").strip())
                return UserError(
                    f"byte 0x{byte} at column {error.start + 1} is not UTF-8, near {near!r}",
                    where=f"{path}:{number}",
                    fix=f"convert the file: iconv -f latin1 -t utf-8 {path.name} > new.csv",
                )
    return UserError("the file is not UTF-8", where=str(path), fix="convert it with iconv")
