"""`headrace runs`: what has been run, and how it went."""

from __future__ import annotations

import json

import click

from pipeline.cli.options import home_option, json_option, path_argument
from pipeline.cli.text import duration, state, table, when
from pipeline.config import home_of
from pipeline.metadata.records import Run


@click.command("runs")
@path_argument
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="So many, the newest."
)
@home_option
@json_option
def command(path: str, limit: int, home: str | None, as_json: bool) -> None:
    """List the runs of the project in PATH, newest first. [default: .]

    With --json, a list of objects: id, pipeline, state, started, ended, seconds, counts (state to
    number of steps), outcome.
    """
    from pipeline.metadata.store import open_store

    runs = open_store(home_of(path, home)).runs(limit)
    if as_json:
        click.echo(json.dumps([run.as_dict() for run in runs], indent=2))
        return
    if not runs:
        click.echo("nothing has been run yet")
        return
    several = len({run.pipeline for run in runs}) > 1
    head = ["RUN", *(["PIPELINE"] if several else []), "WHEN", "TOOK", "STATE", "STEPS", "OUTCOME"]
    for line in table([head, *(_row(run, several) for run in runs)]):
        click.echo(line)


def _row(run: Run, with_pipeline: bool) -> list[str]:
    steps = ", ".join(f"{count} {name.lower()}" for name, count in run.counts.items())
    pipeline = [run.pipeline] if with_pipeline else []
    took = duration(run.seconds)
    return [run.id, *pipeline, when(run.started), took, state(run.state), steps or "-", run.outcome]
