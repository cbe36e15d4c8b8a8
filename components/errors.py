"""The one exception for mistakes that the user can mend."""

from __future__ import annotations

import json
from collections.abc import Mapping

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
      files: name to content of what is worth keeping, such as a report; the runner puts it beside the
        log, since what the step itself has written goes with its outputs.
    """

    def __init__(
        self, what: str, *, where: str = "", fix: str = "", files: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(what)
        self.what, self.where, self.fix, self.files = what, where, fix, dict(files or {})

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        hint = f"\n  fix: {self.fix}" if self.fix else ""
        return f"{place}{self.what}{hint}"

    def to_json(self) -> str:
        return json.dumps({"what": self.what, "where": self.where, "fix": self.fix, "files": self.files})

    @classmethod
    def from_json(cls, text: str) -> UserError:
        fields = json.loads(text)
        return cls(fields["what"], where=fields["where"], fix=fields["fix"], files=fields.get("files"))
