"""The one exception for mistakes that the caller of the server or the client can mend."""

from __future__ import annotations

from collections.abc import Collection

_CUT = 40
_NAMES = 5


def cut(value: object, limit: int = _CUT) -> str:
    """A value shortened for a message: at most `limit` characters of its text."""
    text = str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


class ServingError(Exception):
    """A model, an address or a row is at fault.

    Args:
      what: what is wrong, one sentence, with what was received and what was expected.
      where: the place: a path, a URL, a row and its column.
      fix: what to do about it.
    """

    def __init__(self, what: str, where: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.fix = what, where, fix

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        hint = f"\n  fix: {self.fix}" if self.fix else ""
        return f"{place}{self.what}{hint}"


def some(names: Collection[str]) -> str:
    """The first names in order, and how many more there are."""
    shown = sorted(names)[:_NAMES]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return ", ".join(shown) + more
