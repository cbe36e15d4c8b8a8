"""Messages about rows that cannot be read: five examples with their places, then how many more."""

from __future__ import annotations

from collections.abc import Sequence

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
    return UserError(f"{_singular(what, len(rows))}{lines}{more}", where=places[0], fix=fix)


def _singular(what: str, count: int) -> str:
    return (
        what.replace("1 rows do", "1 row does").replace("1 rows hold", "1 row holds") if count == 1 else what
    )


def undecodable(path: str, error: UnicodeDecodeError, encoding: str) -> UserError:
    """The error for a file that is not in its encoding: names the first line that is not."""
    line, column, near = _first_broken_line(path, encoding)
    place = f"{path}:{line}" if line else path
    byte = error.object[error.start : error.start + 1].hex()
    at = f" at column {column}" if column else ""
    return UserError(
        f"byte 0x{byte}{at} is not {encoding.upper()}" + (f", near {cut(near)!r}" if near else ""),
        where=place,
        fix="name the file's encoding, such as data.encoding: latin-1",
    )


def _first_broken_line(path: str, encoding: str) -> tuple[int, int, str]:
    if not encoding.lower().startswith(("utf-8", "utf8", "cp", "iso", "ascii")):
        return 0, 0, ""
    with files.reading(path), files.open_bytes(path) as stream:
        number, rest = 0, b""
        while block := stream.read(1 << 20):
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                number += 1
                if found := _broken(line, encoding):
                    return number, *found
        found = _broken(rest, encoding)
        return (number + 1, *found) if found else (0, 0, "")


def _broken(line: bytes, encoding: str) -> tuple[int, str] | None:
    try:
        line.decode(encoding)
    except UnicodeDecodeError as error:
        return error.start + 1, line[max(0, error.start - 15) :].decode("latin-1").strip()
    return None
