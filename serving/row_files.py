"""Rows out of a CSV file, JSON Lines or a JSON list, one after the other."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from typing import IO, Any

from serving.errors import ServingError, cut

BOM = b"\xef\xbb\xbf"
_MAX_CELL = 2**24


def read_rows(stream: IO[bytes], source: str) -> Iterator[dict[str, Any]]:
    """The rows of a file: JSON when its first character is `{` or `[`, else CSV with a header.

    Args:
      stream: the open file, in bytes (UTF-8).
      source: its name, for messages; `.tsv` is read with tabs.
    """
    head = b""
    for head in stream:
        head = head.removeprefix(BOM)
        if head.strip():
            break
    lines = chain([head], stream)
    start = head.lstrip()[:1]
    if start == b"[":
        return _read_list(b"".join(lines), source)
    if start == b"{":
        return _read_json_lines(lines, source)
    return _read_csv(lines, source)


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


def csv_reader(lines: Iterable[str], source: str) -> Any:
    """A reader of CSV text as `read_rows` reads it; `.tsv` has tabs."""
    csv.field_size_limit(_MAX_CELL)
    return csv.reader(lines, delimiter="\t" if source.endswith(".tsv") else ",", strict=True)


def csv_header(reader: Any, source: str) -> list[str]:
    """The names of the columns, out of the first line that is not empty; none where there is no line."""
    names: list[str] = next((cells for cells in reader if cells), [])
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ServingError(f"column {repeated[0]!r} is there twice", f"{source}:1", "rename one of them")
    return names


def csv_row(names: list[str], cells: list[str], number: int, source: str) -> dict[str, Any]:
    """A row by the names of its columns; cells that it lacks are None."""
    if len(cells) > len(names):
        raise ServingError(
            f"row {number} has {len(cells)} cells; the header has {len(names)}",
            source,
            'put cells that hold a comma in "quotes"',
        )
    return dict(zip_longest(names, cells))


def _read_csv(lines: Iterator[bytes], source: str) -> Iterator[dict[str, Any]]:
    reader = csv_reader(_decoded(lines, source), source)
    try:
        names = csv_header(reader, source)
        for number, cells in enumerate((cells for cells in reader if cells), 1):
            yield csv_row(names, cells, number, f"{source}:{reader.line_num}")
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


def _decoded(lines: Iterator[bytes], source: str) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ServingError(
                "not UTF-8 text", f"{source}:{number}", "save the rows as CSV or JSON Lines in UTF-8"
            ) from error
