"""The rows of a query, kept as Arrow files so that every pass sees the same."""

from __future__ import annotations

from collections.abc import Sequence

from components.example_gen.readers.arrow_files import ArrowReader
from components.example_gen.readers.base import Piece


class SqlReader(ArrowReader):
    """Reads what `database.keep_rows` keeps; piece.part says which rows of the result a file holds."""

    # SQLite has no dates, others hand some on as text.
    infers = ("date", "datetime")

    def places(self, piece: Piece, rows: Sequence[int]) -> list[str]:
        before = piece.part[0] if piece.part else 0
        return [f"data.query: row {before + row}" for row in rows]


READER = SqlReader
