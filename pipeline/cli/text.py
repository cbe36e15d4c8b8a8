"""Plain, aligned text: tables, times and durations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import click

_COLOURS = {
    "done": "green",
    "cached": "cyan",
    "failed": "red",
    "running": "yellow",
    "abandoned": "red",
    "run": "green",
}


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines, each column as wide as its widest cell; nothing trails."""
    widths = [max(len(click.unstyle(row[column])) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(_pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def state(name: str) -> str:
    """A state in its colour; click drops the colour when nobody looks."""
    return click.style(name, fg=_COLOURS.get(name.lower()))


def duration(seconds: float | None) -> str:
    """12.4 s, 3 min 05 s, 2 h 07 min; a dash when it is not known."""
    if seconds is None:
        return "-"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def when(moment: datetime) -> str:
    """A moment on this machine's clock."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _pad(cell: str, width: int) -> str:
    return cell + " " * (width - len(click.unstyle(cell)))
