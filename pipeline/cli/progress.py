"""The steps as they run: a live list on a terminal, a plain line each otherwise."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.text import duration, state
from pipeline.steps import ALL_STEPS

if TYPE_CHECKING:
    from pipeline.local.launch import Outcome

_NAME_WIDTH = max(map(len, ALL_STEPS))
# The last line that training logs of an epoch, and the most of a log's end that is looked at for it.
_EPOCH = re.compile(r"\b(epoch \d+/\d+) .* (at most .+ left)$", re.MULTILINE)
_END_OF_LOG = 4096


class Progress:
    """Says what runs and what is done.

    Args:
      name: the pipeline's.
      steps: their names; other nodes of the graph are heard of only when they fail.
      quiet: say nothing.
    """

    def __init__(self, name: str, steps: Collection[str], *, quiet: bool = False) -> None:
        self._steps = steps
        self._quiet = quiet
        self._done = 0
        self._running: dict[str, tuple[float, str, Path]] = {}
        self._live: Any = None
        self._head = f"headrace {name}: {len(steps)} steps"

    def __enter__(self) -> Progress:
        if not self._quiet and sys.stdout.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(
                console=Console(highlight=False),
                get_renderable=self._now,
                refresh_per_second=4,
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def started(self, name: str, reason: str, log: Path) -> None:
        """A step begins to run; what it says of itself goes into its log."""
        self._say_head()
        self._running[name] = (time.monotonic(), reason, log)

    def ended(self, outcome: Outcome) -> None:
        """A step is done, from the cache or by itself."""
        self._say_head()
        self._running.pop(outcome.name, None)
        if outcome.name not in self._steps:
            if outcome.state == "FAILED":
                self._say(f"     {outcome.name}  {state('FAILED')}: {outcome.error}")
            return
        self._done += 1
        why = f": {outcome.reason}" if outcome.reason else ""
        self._say(
            f"{self._done:{len(str(len(self._steps)))}}/{len(self._steps)}  {outcome.name:<{_NAME_WIDTH}}  "
            f"{duration(outcome.seconds):>8}  {state(outcome.state)}{why}"
        )

    def _say_head(self) -> None:
        """What runs; not before something does, since a mistake may be found first."""
        head, self._head = self._head, ""
        if head:
            self._say(head)

    def _say(self, line: str) -> None:
        if self._quiet:
            return
        if self._live:
            from rich.text import Text

            self._live.console.print(Text.from_ansi(line))
        else:
            click.echo(line)
            sys.stdout.flush()

    def _now(self) -> Any:
        """What runs at this moment, for the live list."""
        from rich.text import Text

        if not self._running:
            return Text("     loading the libraries …" if not self._done else "", style="dim")
        now = time.monotonic()
        return Text(
            "\n".join(
                f"     {name:<{_NAME_WIDTH}}  {duration(now - began):>8}  running: {reason}{_epoch(log)}"
                for name, (began, reason, log) in list(self._running.items())
            ),
            style="yellow",
        )


def _epoch(log: Path) -> str:
    """How far a training is, by the end of its log; empty for a step that does not say."""
    try:
        with open(log, "rb") as stream:
            stream.seek(max(0, log.stat().st_size - _END_OF_LOG))
            found = _EPOCH.findall(stream.read().decode(errors="replace"))
    except OSError:
        return ""
    return f" ({', '.join(found[-1])})" if found else ""
