"""The lines of delimited text, read slowly and exactly: the header, the line of a row, quotes gone wrong."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from components.errors import UserError, cut
from components.example_gen.patterns import TESTS
from components.example_gen.readers import bad_rows
from components.example_gen.readers.text import open_utf8

csv.field_size_limit(sys.maxsize)
_LONGEST_HEADER = 1_000_000
_OTHER_DELIMITERS = {";": "';'", "\t": "'\\t'", "|": "'|'"}


@dataclass(frozen=True)
class Dialect:
    """How the text is to be read; the fields are those of the `data` section."""

    delimiter: str
    quote: str | None
    encoding: str | None
    header: bool
    names: tuple[str, ...] = ()

    def reader(self, text: Any, strict: bool = False) -> Any:
        """Python's own reader of it."""
        if self.quote is None:
            return csv.reader(text, delimiter=self.delimiter, quoting=csv.QUOTE_NONE, strict=strict)
        return csv.reader(text, delimiter=self.delimiter, quotechar=self.quote, strict=strict)


@dataclass(frozen=True)
class Header:
    """The columns' names, trimmed, how many lines they take, and what is odd about them."""

    names: list[str]
    lines: int
    remarks: Mapping[str, int] = field(default_factory=dict)


def read_header(path: str, dialect: Dialect) -> Header:
    """The header, or the names that stand in for it.

    Raises:
      UserError: for an empty file, a name twice, a column without a name, or bytes that cannot be decoded.
    """
    cells, lines = _first_row(path, dialect)
    if not any(cells):
        expected = "a header line of column names" if dialect.header else "rows"
        raise UserError(f"the file is empty, expected {expected}", where=path)
    _check_delimiter(path, dialect, cells)
    if not dialect.header:
        if dialect.names and len(dialect.names) != len(cells):
            raise UserError(
                f"the first row has {len(cells)} cells, data.names names {len(dialect.names)}",
                where=f"{path}:1",
            )
        return Header(list(dialect.names) or [f"c{index}" for index in range(len(cells))], 0)
    names = [cell.strip() for cell in cells]
    for position, name in enumerate(names):
        if not name:
            raise UserError(
                f"column {position + 1} has no name", where=f"{path}:1", fix="name it in the header"
            )
        if name in names[:position]:
            raise UserError(
                f"column name {name!r} stands twice, at positions {names.index(name) + 1} and {position + 1}",
                where=f"{path}:1",
                fix="rename one of them" + (", or set data.header: false" if _looks_like_data(names) else ""),
            )
    return Header(names, lines, dict.fromkeys(_header_remarks(cells, names), 1))


def _header_remarks(cells: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    padded = [cell for cell, name in zip(cells, names) if cell != name]
    if padded:
        shown = ", ".join(repr(cut(cell)) for cell in padded[:5]) + (", …" if len(padded) > 5 else "")
        yield f"column names trimmed of blanks: {shown}"
    if _looks_like_data(names):
        yield (
            f"the header looks like a row: {', '.join(map(cut, names[:5]))}; if the file has none, set "
            "data.header: false"
        )


def _looks_like_data(names: Sequence[str]) -> bool:
    return all(re.match(TESTS["float"], name) for name in names)


def _check_delimiter(path: str, dialect: Dialect, cells: Sequence[str]) -> None:
    if len(cells) > 1:
        return
    for other, shown in _OTHER_DELIMITERS.items():
        if other != dialect.delimiter and other in cells[0]:
            raise UserError(
                f"the first line has one cell only, {cut(cells[0])!r}",
                where=f"{path}:1",
                fix=f"set data.delimiter: {shown}",
            )


def _first_row(path: str, dialect: Dialect) -> tuple[list[str], int]:
    # Decoded far beyond the header: what is wrong behind it is told later, with its row.
    with _open_text(path, dialect, errors="surrogateescape") as text:
        try:
            reader = dialect.reader(_lines(text, path))
            cells: list[str] = next(reader, [])
            lines = reader.line_num
        except UnicodeDecodeError as error:
            raise bad_rows.undecodable(path, dialect.encoding or "utf-8") from error
        except csv.Error as error:
            if "NUL" not in str(error):
                raise UserError(f"cannot be read: {error}", where=f"{path}:1") from error
            cells, lines = ["\0"], 1
        except (OSError, EOFError) as error:
            raise UserError(f"cannot be read: {str(error).splitlines()[0]}", where=path) from error
    if any("\0" in cell for cell in cells):
        raise UserError(
            "the file is no text: its first line holds zero bytes",
            where=f"{path}:1",
            fix="if it is UTF-16 without a byte order mark, set data.encoding: utf-16-le",
        )
    try:
        "".join(cells).encode()
    except UnicodeEncodeError as error:
        raise bad_rows.undecodable(path, "utf-8") from error
    return cells, lines


def line_numbers(path: str, dialect: Dialect, header: Header, rows: Sequence[int]) -> dict[int, int]:
    """The line that each row begins in; a row has no entry when it cannot be told."""
    found: dict[int, int] = {}
    wanted, last = set(rows), max(rows, default=0)
    with _open_text(path, dialect, errors="replace") as text:
        reader = dialect.reader(_lines(text))
        row, before = 0, 0
        try:
            for cells in reader:
                begins, before = before + 1, reader.line_num
                if begins <= header.lines or not cells:
                    continue
                row += 1
                if row in wanted:
                    found[row] = begins
                if row >= last:
                    break
        except (csv.Error, OSError, EOFError, UnicodeDecodeError):
            pass
    return found


def check_quotes(path: str, dialect: Dialect, header: Header) -> None:
    """Looks for a quote that is closed too late or never.

    Raises:
      UserError: it names the line that the row with the quote begins in.
    """
    if not dialect.quote:
        return
    with _open_text(path, dialect, errors="replace") as text:
        reader = dialect.reader(_lines(text), strict=True)
        more, problem = True, ""
        while more and not problem:
            before = reader.line_num
            more, problem = _next_row(reader, before)
    if problem:
        raise UserError(
            f"a quoted cell that begins here does not end {problem}",
            where=f"{path}:{before + 1}",
            fix="close or remove the quote, or set data.quote: null when quotes are plain characters",
        )


def _next_row(reader: Any, before: int) -> tuple[bool, str]:
    """Whether there may be more rows, and how the quotes of this one are wrong."""
    try:
        next(reader)
    except csv.Error as error:
        if "unexpected end" in str(error):
            return False, "before the file does"
        # A stray quote within one line is taken as it stands; one that swallows lines is not.
        return True, f"well in line {reader.line_num}" if reader.line_num > before + 1 else ""
    except (StopIteration, OSError, EOFError, UnicodeDecodeError):
        return False, ""
    return True, ""


def _lines(text: Iterable[str], path: str = "") -> Iterator[str]:
    """The lines; with a path, so many as a header may take."""
    read = 0
    for line in text:
        read += len(line)
        if path and read > _LONGEST_HEADER:
            raise UserError(
                "the first row does not end within its first million characters",
                where=f"{path}:1",
                fix="look for a quote that is never closed",
            )
        # Python 3.10 refuses zero bytes where later ones take them.
        yield line.replace("\0", "\ufffd") if "\0" in line and not path else line


def _open_text(path: str, dialect: Dialect, errors: str = "strict") -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedReader(open_utf8(path, dialect.encoding), 1 << 16),
        encoding="utf-8",
        errors=errors,
        newline="",
    )
