"""Cells of image columns, for a model that takes the bytes of image files."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from components.errors import UserError


def with_images(
    rows: Iterable[dict[str, Any]], columns: Collection[str], folder: Path, first: int = 1
) -> Iterator[dict[str, Any]]:
    """The rows with the files that their image columns name, as `{"b64": ...}`; other cells as they are.

    Args:
      columns: the image columns.
      folder: what paths are relative to.
      first: the number of the first row, for messages.

    Raises:
      UserError: a file cannot be read.
    """
    for number, row in enumerate(rows, first):
        named = {name: row[name] for name in columns if isinstance(row.get(name), str) and row[name].strip()}
        yield {**row, **{name: _read(folder / path, number, name) for name, path in named.items()}}


def _read(path: Path, number: int, column: str) -> dict[str, str]:
    try:
        return {"b64": base64.b64encode(path.read_bytes()).decode()}
    except OSError as error:
        raise UserError(
            f"cannot read the image {path}: {error.strerror}",
            where=f"row {number}, column {column!r}",
            fix='give the path of an image file, or its bytes as {"b64": "..."}',
        ) from error
