"""JSON Lines: an object a line, whose values bring their types; dates and moments are told by their look."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from components.errors import UserError, cut
from components.example_gen import files
from components.example_gen.arrow_types import table_batch
from components.example_gen.readers import bad_rows
from components.example_gen.readers.base import Block, Piece, Reader, Skipped
from components.example_gen.readers.objects import batch_of, names_of
from components.example_gen.readers.text import Utf8Stream, open_utf8

_BLOCK_BYTES = 2 << 20
_LONGEST_LINE = 1 << 30


class JsonLinesReader(Reader):
    """Reads whole blocks of lines with Arrow; only what it cannot take is read line by line."""

    infers = ("date", "datetime")
    sparse = True

    def blocks(self, piece: Piece) -> Iterator[Block]:
        line = 1
        bad: list[Skipped] = []
        explicit: dict[str, pa.DataType] = {}
        skips = self.config.on_bad_row == "skip"
        try:
            for data in _blocks_of_lines(open_utf8(piece.path, self.config.encoding), piece.path):
                block = _fast(data, line, explicit) or _slow(data, line)
                line += data.count(b"\n")
                bad.extend(block.skipped)
                if skips:
                    yield block
                elif not bad:
                    yield Block(block.batch, block.rows)
        except (OSError, EOFError) as error:
            raise files.unreadable(piece.path, error) from error
        except UnicodeDecodeError as error:
            raise bad_rows.undecodable(piece.path, self.config.encoding or "utf-8") from error
        if bad and not skips:
            raise bad_rows.refusal(
                self,
                piece,
                bad,
                f"{len(bad):,} lines are not JSON objects",
                "mend the lines, or leave them out with data.on_bad_row: skip",
            )

    def places(self, piece: Piece, rows: Sequence[int]) -> list[str]:
        return [f"{piece.path}:{row}" for row in rows]


def _blocks_of_lines(stream: Utf8Stream, path: str) -> Iterator[bytes]:
    rest: list[bytes] = []
    length = 0
    while data := stream.read(_BLOCK_BYTES):
        end = data.rfind(b"\n") + 1
        if end:
            yield b"".join([*rest, data[:end]])
            rest, length = [data[end:]], len(data) - end
        else:
            rest.append(data)
            length += len(data)
        if length > _LONGEST_LINE:
            raise UserError("a line is longer than 1 GB", where=path)
    if last := b"".join(rest):
        yield last + b"\n"


def _fast(data: bytes, line: int, explicit: dict[str, pa.DataType]) -> Block | None:
    """The block as Arrow reads it; None when it must be read line by line.

    Args:
      explicit: types that Arrow must not infer itself; added to.
    """
    lines = data.count(b"\n")
    # Arrow 10 crashes on a first line `null`, and takes later ones for objects.
    if not data.startswith(b"{") or data.count(b"\n{") + 1 != lines:
        return None
    try:
        data.decode()
        table = _arrow(data, explicit)
        timed = {field.name: _untimed(field.type) for field in table.schema if _is_timed(field.type)}
        if timed:
            explicit.update(timed)
            # Arrow puts the explicit ones first.
            table = _arrow(data, explicit).select(table.column_names)
    except (pa.ArrowException, UnicodeDecodeError, TypeError, ValueError):
        return None
    if table.num_rows != lines or any(map(_may_be_rounded, table.columns)):
        return None
    return Block(table_batch(table), np.arange(line, line + lines, dtype=np.int64))


def _arrow(data: bytes, explicit: dict[str, pa.DataType]) -> pa.Table:
    schema = pa.schema(list(explicit.items())) if explicit else None
    return pa_json.read_json(
        io.BytesIO(data),
        read_options=pa_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
        parse_options=pa_json.ParseOptions(explicit_schema=schema),
    )


def _is_timed(kind: pa.DataType) -> bool:
    """Whether Arrow took a text for a moment, which would lose how it is written."""
    if pa.types.is_struct(kind) or pa.types.is_list(kind):
        return any(_is_timed(kind.field(i).type) for i in range(kind.num_fields))
    return pa.types.is_timestamp(kind)


def _untimed(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return pa.struct([(each.name, _untimed(each.type)) for each in fields])
    if pa.types.is_list(kind):
        return pa.list_(_untimed(kind.value_type))
    return pa.string() if pa.types.is_timestamp(kind) else kind


def _may_be_rounded(column: pa.ChunkedArray) -> bool:
    """Whether a float may have been a whole number that int64 cannot hold."""
    if not pa.types.is_floating(column.type):
        return False
    return bool(pc.any(pc.greater_equal(pc.abs(column), 2.0**63)).as_py())


def _slow(data: bytes, line: int) -> Block:
    """The block read line by line: mixed types, numbers beyond 64 bits, lines that are no objects."""
    objects: list[dict[str, Any]] = []
    rows: list[int] = []
    bad: list[Skipped] = []
    for number, text in enumerate(data.split(b"\n")[:-1], start=line):
        if not text.strip():
            continue
        try:
            found = json.loads(text, object_pairs_hook=_object)
            if not isinstance(found, dict):
                raise ValueError(f"expected an object, received {_json_type(found)}")
            objects.append(found)
            rows.append(number)
        except (ValueError, RecursionError) as error:
            reason = (
                f"column {error.colno}: {error.msg}"
                if isinstance(error, json.JSONDecodeError)
                else str(error)
            )
            bad.append(Skipped(number, reason, text.decode("utf-8", "replace")))
    columns = {name: [each.get(name) for each in objects] for name in names_of(objects)}
    return Block(batch_of(columns), np.array(rows, np.int64), tuple(bad))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {cut(twice)!r} stands twice")
    return found


def _json_type(value: Any) -> str:
    names = {list: "an array", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


READER = JsonLinesReader
