"""Avro object container files, with the types that they bring."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import fastavro
import numpy as np
from fastavro.schema import SchemaParseException

from components.errors import UserError
from components.example_gen import files
from components.example_gen.readers.base import Block, Piece, Reader
from components.example_gen.readers.objects import batch_of

_ROWS = 20_000
# What fastavro raises, depending on where the bytes are wrong.
_DAMAGE = (
    *(ValueError, EOFError, TypeError, LookupError, ArithmeticError, MemoryError, SystemError),
    SchemaParseException,
)
_MAGIC = b"Obj\x01"


class AvroReader(Reader):
    """Reads some thousand records at a time."""

    def blocks(self, piece: Piece) -> Iterator[Block]:
        row = 1
        with files.reading(piece.path), files.open_raw(piece.path) as source:
            try:
                if source.read(len(_MAGIC)) != _MAGIC:
                    raise ValueError("it does not begin as Avro files do")
                source.seek(0)
                records: Any = fastavro.reader(source)
                names = [field["name"] for field in _fields(records.writer_schema, piece.path)]
                while True:
                    some = list(itertools.islice(records, _ROWS))
                    if some or row == 1:
                        columns = {name: [each[name] for each in some] for name in names}
                        yield Block(batch_of(columns), np.arange(row, row + len(some), dtype=np.int64))
                    row += len(some)
                    if len(some) < _ROWS:
                        return
            except _DAMAGE as error:
                what = (str(error) or "it ends too early").splitlines()[0]
                raise UserError(
                    f"cannot be read as Avro: {what}",
                    where=f"{piece.path}: after row {row - 1}" if row > 1 else piece.path,
                    fix="check that the file is whole and what codec it was written with",
                ) from error


def _fields(schema: Any, path: str) -> list[dict[str, Any]]:
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise UserError("its items are no records", where=path, fix="write a record with a field a column")
    return schema["fields"]


READER = AvroReader
