"""The one exception for mistakes that the user can mend."""

from __future__ import annotations

import json

_CUT = 40


def cut(value: object, limit: int = _CUT) -> str:
    """A value shortened for a message: at most `limit` characters of its text."""
    text = str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


class UserError(Exception):
    """The user's config, data or command is at fault; ends the command with exit code 2.

    Args:
      what: what is wrong, one sentence, with what was received and what was expected.
      where: the place: `file:line`, a column, a key of the config.
      fix: what to do about it.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.fix = what, where, fix

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        hint = f"\n  fix: {self.fix}" if self.fix else ""
        return f"{place}{self.what}{hint}"

    def to_json(self) -> str:
        return json.dumps({"what": self.what, "where": self.where, "fix": self.fix})

    @classmethod
    def from_json(cls, text: str) -> UserError:
        fields = json.loads(text)
        return cls(fields["what"], where=fields["where"], fix=fields["fix"])
