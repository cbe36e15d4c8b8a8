"""What a run came to, for a person: the steps' accounts, the verdict, and what to do next."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from pipeline.steps import ALL_STEPS

if TYPE_CHECKING:
    from pipeline.config import PipelineConfig
    from pipeline.local.run import Report

_ACCOUNT_WIDTH = 300


def lines(
    report: Report,
    config: PipelineConfig,
    path: str,
    overrides: Sequence[str],
    label: str | None,
    home: str | None,
) -> Iterator[str]:
    """The summary's lines; `path` and what follows are what the command was called with."""
    again = _command("run", path, overrides, label, home)
    failed = report.failed
    if failed:
        yield ""
        yield click.style(f"{failed.name} failed: {failed.error}", fg="red")
        if failed.report:
            yield f"  its report: {failed.report}"
        elif not failed.user_error:
            yield f"  its log: {failed.log or config.home / 'logs' / report.run_id}"
        yield f"resume with: {again}" + (f" --from {failed.name}" if failed.name in ALL_STEPS else "")
        return
    yield ""
    for name in ALL_STEPS:
        record = report.records.get(name)
        if record and record.summary:
            yield f"{name}: {_shorten(record.summary)}"
    yield ""
    if all(outcome.state != "RUN" for outcome in report.outcomes):
        yield "Nothing changed: every step came from the cache, and nothing was pushed."
    version = report.artifact_property("Pusher", "pushed_model", "pushed_destination")
    yield f"run {report.run_id}" + (f", version {version}" if version else ", no version pushed")
    where = _arguments(path, home, label=None)
    if version:
        yield f"serve it:    {shlex.join(['headrace', 'serve', *where])}"
    yield f"look at it:  {shlex.join(['headrace', 'show', report.run_id, *where])}"


def _arguments(path: str, home: str | None, label: str | None) -> list[str]:
    arguments = [] if path == "." else [path]
    if label:
        arguments += ["--label", label]
    return arguments + (["--home", home] if home else [])


def _command(name: str, path: str, overrides: Sequence[str], label: str | None, home: str | None) -> str:
    sets = [part for override in overrides for part in ("--set", override)]
    return shlex.join(["headrace", name, *_arguments(path, home, label), *sets])


def _shorten(sentence: str) -> str:
    return textwrap.shorten(sentence, _ACCOUNT_WIDTH, placeholder=" …")
