"""`headrace versions`: the pushed versions of a model, where they come from, and which one is served."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from components.errors import UserError
from components.pusher.places import open_versions
from components.pusher.remote import is_remote
from pipeline.cli.model_path import home_or_none, place_of
from pipeline.cli.options import home_option, json_option
from pipeline.cli.text import table, when

if TYPE_CHECKING:
    from pipeline.metadata.store import Store

_SHOWN = 3  # metrics in the table


@dataclass
class _Pushed:
    """One version.

    Attributes:
      when: it was pushed.
      run: that pushed it, and the metrics that its Evaluator measured; what is not known is empty.
      labels: that models.config gives it.
      state: served (the newest), kept, or rolled back; as the server says it with --url: there also failed,
        when it cannot be loaded.
    """

    version: int
    when: datetime
    state: str
    run: str = ""
    metrics: dict[str, float | None] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)


@click.command("versions")
@click.argument("path", default=".")
@click.option(
    "--config",
    "models_config",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A models.config; its labels are shown.",
)
@click.option("--url", default="", help="A server; it says which versions it serves.")
@home_option
@json_option
def command(path: str, models_config: Path | None, url: str, home: str | None, as_json: bool) -> None:
    """List the pushed versions of the model in PATH, newest first. [default: .]

    PATH is a project, a data file that was run without one, or a folder of version directories or its URL.
    Without --url, the newest counts as served: that is what a server does that is not told otherwise.

    With --json, a list of objects: version, when, state (served, kept, rolled back; with --url also loading,
    failed and such), run, metrics, labels.
    """
    place = place_of(path, home)
    found = _versions(place)
    if not found:
        raise UserError("no version is here", where=place, fix="run `headrace run` first")
    # Which project pushes to a URL, only the project itself can say.
    if (not is_remote(path) or home) and (folder := home_or_none(Path(path), home)):
        from pipeline.metadata.store import open_store

        _add_runs(found, open_store(folder))
    if models_config:
        _add_labels(found, Path(place), models_config)
    if url:
        _add_states(found, url, place.rstrip("/").rpartition("/")[2])
    if as_json:
        click.echo(json.dumps([{**asdict(each), "when": each.when.isoformat()} for each in found], indent=2))
        return
    for line in table([["VERSION", "WHEN", "STATE", "LABELS", "RUN", "METRICS"], *map(_row, found)]):
        click.echo(line)


def _versions(place: str) -> list[_Pushed]:
    versions = open_versions(place)
    there = versions.numbers()
    states = dict.fromkeys(there, "kept")
    if there:
        states[there[-1]] = "served"
    states.update(dict.fromkeys(versions.aside(), "rolled back"))
    found = [_Pushed(number, versions.moment(number), state) for number, state in states.items()]
    return sorted(found, key=lambda each: each.version, reverse=True)


def _add_runs(found: list[_Pushed], store: Store) -> None:
    """The run that pushed each version, out of ML Metadata."""
    missing = {str(each.version): each for each in found}
    for run in store.runs():
        if not missing:
            return
        steps = {step.type: step for step in store.steps(run.id)}
        pushed = _property(steps.get("Pusher"), "pushed_version")
        if (
            pushed in missing
            and _property(steps.get("Pusher"), "new") != 0
            and steps["Pusher"].state == "RUN"
        ):
            version = missing.pop(pushed)
            version.run = run.id
            version.metrics = json.loads(_property(steps.get("Evaluator"), "metrics") or "{}")


def _property(step: Any, name: str) -> Any:
    """A custom property of a step's outputs; None when no output has it."""
    outputs = step.outputs.values() if step else ()
    values = (artifact.custom_properties.get(name) for artifacts in outputs for artifact in artifacts)
    return next((value for value in values if value is not None), None)


def _add_labels(found: list[_Pushed], base: Path, file: Path) -> None:
    from serving.config_files import read_models
    from serving.errors import ServingError

    try:
        configs = read_models(file)
    except ServingError as error:
        raise UserError(error.what, where=error.where, fix=error.fix) from error
    for config in configs:
        if config.path.resolve() == base.resolve():
            for label, number in config.labels:
                for each in found:
                    if each.version == number:
                        each.labels.append(label)


def _add_states(found: list[_Pushed], url: str, folder: str) -> None:
    """What the server says of its versions; the rest is not served."""
    from serving.client import Client
    from serving.errors import ServingError

    address, _, name = url.partition("/v1/models/")
    try:
        status = Client(address, name.strip("/") or folder).status()
    except ServingError as error:
        raise UserError(error.what, where=error.where, fix=error.fix) from error
    states = {int(each["version"]): each["state"] for each in status}
    errors = {int(each["version"]): each["status"].get("error_message", "") for each in status}
    for each in found:
        state, said = states.get(each.version, ""), errors.get(each.version, "")
        if state == "END" and said and each.state != "rolled back":
            each.state = "failed"
            click.echo(f"version {each.version} is not served: {said}", err=True)
        elif state in ("", "END"):
            each.state = "kept" if each.state == "served" else each.state
        else:
            each.state = "served" if state == "AVAILABLE" else state.lower()


def _row(each: _Pushed) -> list[str]:
    metrics = [f"{name} {value:.4f}" for name, value in each.metrics.items() if value is not None]
    return [
        str(each.version),
        when(each.when),
        click.style(each.state, fg="green") if each.state == "served" else each.state,
        ", ".join(each.labels) or "-",
        each.run or "-",
        ", ".join(metrics[:_SHOWN]) or "-",
    ]
