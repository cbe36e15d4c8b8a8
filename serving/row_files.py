"""Rows out of a CSV file, JSON Lines or a JSON list, one after the other."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from serving.errors import ServingError, cut

BOM = b"\xef\xbb\xbf"
_MAX_CELL = 2**24


@dataclass(frozen=True)
class Csv:
    """How delimited text is written: the project's `data` section says it of the rows that it trains on.

    Attributes:
      delimiter: between cells; "" is a comma, or a tab in a file named `.tsv`, compressed or not.
      quote: around a cell that holds a delimiter; None: quotes are plain characters.
      encoding: one in which ASCII is ASCII, such as utf-8 or latin-1.
      header: whether the first line names the columns.
      names: the columns' names where it does not; without them they are c0, c1 and so on.
      missing: cells that have no value.
    """

    delimiter: str = ""
    quote: str | None = '"'
    encoding: str = "utf-8"
    header: bool = True
    names: tuple[str, ...] = ()
    missing: frozenset[str] = frozenset({""})

    def between(self, source: str) -> str:
        """The delimiter in a file of that name."""
        return self.delimiter or ("\t" if ".tsv" in source.rsplit("/", 1)[-1].lower() else ",")

    def reader(self, lines: Iterable[str], source: str) -> Any:
        """Python's reader of it."""
        csv.field_size_limit(_MAX_CELL)
        between = self.between(source)
        if self.quote is None:
            return csv.reader(lines, delimiter=between, quoting=csv.QUOTE_NONE, strict=True)
        return csv.reader(lines, delimiter=between, quotechar=self.quote, strict=True)

    def columns(self, first: list[str], source: str) -> list[str]:
        """The names of the columns, given the cells of the first line that is not empty."""
        if not self.header:
            return list(self.names) or [f"c{index}" for index in range(len(first))]
        names = [cell.strip() for cell in first]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ServingError(f"column {repeated[0]!r} is there twice", f"{source}:1", "rename one of them")
        return names

    def row(self, names: list[str], cells: list[str], number: int, where: str, source: str) -> dict[str, Any]:
        """A row by the names of its columns; cells that it lacks or that have no value are None."""
        if len(cells) > len(names):
            between = self.between(source)
            raise ServingError(
                f"row {number} has {len(cells)} cells; the header has {len(names)}",
                where,
                f"put cells that hold {'a comma' if between == ',' else repr(between)} in quotes",
            )
        return {
            name: None if cell is None or cell.strip() in self.missing else cell
            for name, cell in zip_longest(names, cells)
        }


PLAIN = Csv()


def read_rows(stream: Iterable[bytes], source: str, form: Csv = PLAIN) -> Iterator[dict[str, Any]]:
    """The rows of a file: JSON when its first character is `{` or `[`, else CSV.

    Args:
      stream: the open file, in bytes; JSON is UTF-8.
      source: its name, for messages.
      form: how CSV is written.
    """
    head = b""
    for head in stream:
        head = head.removeprefix(BOM)
        if head.strip():
            break
    lines = chain([head] if head else [], stream)
    start = head.lstrip()[:1]
    if start == b"[":
        return _read_list(b"".join(lines), source)
    if start == b"{":
        return _read_json_lines(lines, source)
    return _read_csv(lines, source, form)


def parse_row(text: str, source: str) -> dict[str, Any]:
    """One row as a JSON object."""
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ServingError(f"not valid JSON: {error}", source, 'write it as {"column": value}') from error
    if not isinstance(row, dict):
        raise ServingError(
            f"got {cut(text.strip())}; expected a JSON object", source, 'write it as {"column": value}'
        )
    return row


def _read_csv(lines: Iterator[bytes], source: str, form: Csv) -> Iterator[dict[str, Any]]:
    reader = form.reader(_decoded(lines, source, form.encoding), source)
    filled = (cells for cells in reader if cells)
    try:
        first = next(filled, None)
        if first is None:
            return
        names = form.columns(first, source)
        for number, cells in enumerate(filled if form.header else chain([first], filled), 1):
            yield form.row(names, cells, number, f"{source}:{reader.line_num}", source)
    except csv.Error as error:
        raise ServingError(f"not valid CSV: {error}", f"{source}:{reader.line_num}") from error


def _read_json_lines(lines: Iterator[bytes], source: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_decoded(lines, source), 1):
        if line.strip():
            yield parse_row(line, f"{source}:{number}")


def _read_list(content: bytes, source: str) -> Iterator[dict[str, Any]]:
    try:
        rows = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ServingError(f"not valid JSON: {error}", source, "write one JSON object a line") from error
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise ServingError(f"item {number} is {cut(json.dumps(row))}; expected a JSON object", source)
        yield row


def _decoded(lines: Iterator[bytes], source: str, encoding: str = "utf-8") -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        try:
            yield line.decode(encoding)
        except UnicodeDecodeError as error:
            raise ServingError(
                f"not {encoding.upper()} text",
                f"{source}:{number}",
                "save the rows as CSV or JSON Lines in UTF-8",
            ) from error
