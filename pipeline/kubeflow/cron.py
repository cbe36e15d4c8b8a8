"""Times of a schedule, as Kubeflow Pipelines reads them: six fields, seconds first, in UTC.

The backend takes what the library robfig/cron takes, and says nothing of a schedule that never comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from components.errors import UserError

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
# Name, least and greatest value, and words for values.
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("second", 0, 59, {}),
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    ("day of the week", 0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_ANY = ("*", "?")
_YEARS = 5


@dataclass(frozen=True)
class Cron:
    """A schedule.

    Attributes:
      text: as it was given.
      values: of each field, the values at which it comes.
      any_day: whether the day of the month, and that of the week, are left open.
    """

    text: str
    values: tuple[frozenset[int], ...]
    any_day: tuple[bool, bool]

    def times(self, after: datetime) -> Iterator[datetime]:
        """The times that come after one, five years ahead at most."""
        seconds, minutes, hours = (sorted(each) for each in self.values[:3])
        day = after.replace(hour=0, minute=0, second=0, microsecond=0)
        for _ in range(_YEARS * 366):
            if self._on(day):
                for hour in hours:
                    for minute in minutes:
                        for second in seconds:
                            found = day.replace(hour=hour, minute=minute, second=second)
                            if found > after:
                                yield found
            day += timedelta(days=1)

    def _on(self, day: datetime) -> bool:
        in_month = day.day in self.values[3]
        # Python's Monday is 0, cron's Sunday.
        in_week = (day.weekday() + 1) % 7 in self.values[5]
        # Where both days are named, one of them is enough.
        either = in_month and in_week if any(self.any_day) else in_month or in_week
        return day.month in self.values[4] and either


def parse(text: str) -> Cron:
    """Reads a schedule such as `0 30 2 * * *`: every night at half past two, UTC.

    Raises:
      UserError: it is none, or never comes.
    """
    fields = text.split()
    if len(fields) != len(_FIELDS):
        short = len(fields) == len(_FIELDS) - 1
        fix = f"put the second in front: '0 {text}'" if short else "as in '0 30 2 * * *'"
        names = ", ".join(name for name, *_ in _FIELDS)
        raise UserError(
            f"expected six fields ({names}), received {len(fields)} in {text!r}", where="--cron", fix=fix
        )
    values = tuple(_field(field, *spec) for field, spec in zip(fields, _FIELDS))
    cron = Cron(text, values, (fields[3] in _ANY, fields[5] in _ANY))
    if next(cron.times(datetime(2000, 1, 1)), None) is None:
        raise UserError(f"{text!r} never comes", where="--cron", fix="look at the day and the month")
    return cron


def _field(text: str, name: str, least: int, greatest: int, words: dict[str, int]) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        if span in _ANY:
            low, high = least, greatest
        else:
            first, dash, last = span.partition("-")
            low = _value(first, text, name, least, greatest, words)
            high = _value(last, text, name, least, greatest, words) if dash else (greatest if slash else low)
        every = _value(step, text, name, 1, greatest, {}) if slash else 1
        if low > high:
            raise UserError(f"{name}: {span!r} goes backwards", where="--cron")
        found.update(range(low, high + 1, every))
    return frozenset(found)


def _value(text: str, whole: str, name: str, least: int, greatest: int, words: dict[str, int]) -> int:
    number = words.get(text.lower(), int(text) if text.isascii() and text.isdigit() else -1)
    if not least <= number <= greatest:
        known = f", or {', '.join(words)}" if words else ""
        raise UserError(
            f"{name}: expected {least} to {greatest}{known}, received {text!r} in {whole!r}", where="--cron"
        )
    return number
