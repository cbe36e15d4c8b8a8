"""Messages about rows that cannot be read: five examples with their places, then how many more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from components.errors import UserError, cut
from components.example_gen import files
from components.example_gen.readers.base import Piece, Reader, Skipped

SHOWN = 5


def refusal(reader: Reader, piece: Piece, rows: Sequence[Skipped], what: str, fix: str) -> UserError:
    """The error that names rows.

    Args:
      what: what is wrong with them, with their number.
    """
    shown = rows[:SHOWN]
    places = reader.places(piece, [each.row for each in shown])
    lines = "".join(
        f"\n    {place}: {each.reason}" + (f": {cut(each.text)!r}" if each.text else "")
        for place, each in zip(places, shown)
    )
    more = f"\n    and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
    return UserError(f"{_singular(what, len(rows))}:{lines}{more}", where=places[0], fix=fix)


def _singular(what: str, count: int) -> str:
    return (
        what.replace("1 rows do", "1 row does").replace("1 rows hold", "1 row holds") if count == 1 else what
    )


def undecodable(path: str, encoding: str) -> UserError:
    """The error for a file that is not in its encoding: names the first line that is not."""
    fix = "name the file's encoding, such as data.encoding: latin-1"
    if encoding.lower().startswith(("utf-16", "utf-32")):  # lines cannot be told by one byte
        return UserError(f"the file is not {encoding.upper()}", where=path, fix=fix)
    with files.reading(path), files.open_bytes(path) as stream:
        for number, line in enumerate(_lines(stream), start=1):
            try:
                line.decode(encoding)
            except UnicodeDecodeError as error:
                near = cut(line[max(0, error.start - 15) :].decode("latin-1").strip())
                return UserError(
                    f"byte 0x{line[error.start]:02x} at column {error.start + 1} is not {encoding.upper()}, "
                    f"near {near!r}",
                    where=f"{path}:{number}",
                    fix=fix,
                )
    return UserError(f"the file is not {encoding.upper()}", where=path, fix=fix)


def _lines(stream: pa.NativeFile) -> Iterator[bytes]:
    rest = b""
    while block := stream.read(1 << 20):
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
    yield rest
