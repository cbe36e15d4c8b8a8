"""`headrace show`: one run, step by step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from pipeline.cli.options import home_option, json_option
from pipeline.cli.text import duration, state, table, when
from pipeline.config import home_of
from pipeline.metadata.records import Run, StepRecord


@click.command("show")
@click.argument("run", required=False)
@click.argument("path", required=False, type=click.Path())
@home_option
@json_option
def command(run: str | None, path: str | None, home: str | None, as_json: bool) -> None:
    """Show a run of the project in PATH: its steps, what each made, and where.

    RUN is a run's id or the start of one; left out: the latest run. [default PATH: .]

    With --json, an object: that of `headrace runs --json`, with home, and with steps as a list of objects:
    name, id, type, state, started, seconds, summary, error, system, log, properties, inputs and outputs
    (key to list of artifacts: id, type, uri, properties, custom_properties).
    """
    from pipeline.metadata.store import open_store

    if run is not None and path is None and Path(run).exists():
        run, path = None, run
    folder = home_of(path or ".", home)
    store = open_store(folder)
    found = store.find(run)
    steps = store.steps(found.id)
    if as_json:
        click.echo(json.dumps(_as_dict(found, steps, folder), indent=2))
        return
    for line in _lines(found, steps, folder):
        click.echo(line)


def _log(home: Path, run: Run, step: StepRecord) -> Path | None:
    file = home / "logs" / run.id / f"{step.name}.log"
    return file if file.is_file() else None


def _as_dict(run: Run, steps: list[StepRecord], home: Path) -> dict[str, Any]:
    logs = {step.name: _log(home, run, step) for step in steps}
    listed = [{**step.as_dict(), "log": logs[step.name] and str(logs[step.name])} for step in steps]
    return {**run.as_dict(), "home": str(home), "steps": listed}


def _lines(run: Run, steps: list[StepRecord], home: Path) -> Iterator[str]:
    yield f"run       {run.id}"
    yield f"pipeline  {run.pipeline}"
    yield f"state     {state(run.state)}"
    yield f"started   {when(run.started)}"
    yield f"took      {duration(run.seconds)}"
    yield f"home      {home}"
    if run.outcome:
        yield f"outcome   {run.outcome}"
    for step in steps:
        if step.system and step.state != "FAILED":
            continue
        yield ""
        said = step.reason or step.summary
        yield f"{step.name}  {state(step.state)}  {duration(step.seconds)}" + (f"  {said}" if said else "")
        rows = [
            [f"  {key}", f"#{artifact.id}", artifact.type, artifact.uri]
            for key, artifacts in step.outputs.items()
            for artifact in artifacts
        ]
        log = _log(home, run, step)
        if log:
            rows.append(["  log", "", "", str(log)])
        if rows:
            yield from table(rows)
