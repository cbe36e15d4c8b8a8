"""`headrace schema`: the schema that a person has reviewed, and that the data is held against."""

from __future__ import annotations

import difflib
import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from components.errors import UserError
from pipeline.cli.options import json_option, project_options
from pipeline.config import PipelineConfig, load_config


@click.group("schema")
def command() -> None:
    """Export, edit or accept the reviewed schema: schema.pbtxt beside pipeline.yaml.

    Without one, each run infers its schema from the data. With one, what it says wins, and data that
    does not fit it is treated as the `validate` section says.
    """


@command.command("export")
@project_options
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@json_option
def export(force: bool, as_json: bool, **project: Any) -> None:
    """Write the schema that the latest run inferred from its data to schema.pbtxt.

    PATH is as for `headrace run`. [default: .]

    With --json, an object: file, run_id, features (number of them).
    """
    config = load_config(**project)
    file = config.schema_file
    if file.exists() and not force:
        raise UserError(
            "there is a reviewed schema already",
            where=str(file),
            fix="change it with `headrace schema edit` or `accept`, or write over it with --force",
        )
    from pipeline.latest_data import latest_data

    data = latest_data(config)
    _write(file, _first_text(data.run_id, data.inferred))
    if as_json:
        shown = {"file": str(file), "run_id": data.run_id, "features": len(data.inferred.feature)}
        click.echo(json.dumps(shown, indent=2))
        return
    click.echo(f"{file}: {len(data.inferred.feature)} features, as the data of run {data.run_id} looks")
    click.echo("from the next run on the data is held against it; review it with `headrace schema edit`")


@command.command("edit")
@project_options
def edit(**project: Any) -> None:
    """Open schema.pbtxt in $VISUAL or $EDITOR, and check it before it takes effect.

    PATH is as for `headrace run`. [default: .]
    """
    from components.schema_gen.pbtxt import parse

    file = load_config(**project).schema_file
    if not file.is_file():
        raise UserError(f"there is no {file}", fix="write it with `headrace schema export`")
    before = file.read_text(encoding="utf-8")
    draft = file.with_name(f"{file.name}.draft")
    draft.write_text(before, encoding="utf-8")
    while True:
        click.edit(filename=str(draft))
        text = draft.read_text(encoding="utf-8")
        try:
            schema = parse(text, str(draft))
            break
        except UserError as error:
            if not (sys.stdin.isatty() and sys.stdout.isatty()):
                error.fix = f"{error.fix}; {file.name} stays as it was, what you wrote is in {draft.name}"
                raise
            click.echo(f"error: {error}", err=True)
            click.confirm("Edit it again?", default=True, abort=True)
    draft.unlink()
    if text == before:
        click.echo("nothing changed")
        return
    _write(file, text)
    click.echo(f"{file}: {len(schema.feature)} features")


@command.command("accept")
@project_options
@click.option("--yes", is_flag=True, help="Write without asking.")
@json_option
def accept(yes: bool, as_json: bool, **project: Any) -> None:
    """Change schema.pbtxt so that the data of the latest run fits it, and show the difference.

    New columns are added, columns that are gone taken out, types, sets of values and ranges changed to
    what the data has; comments stay. Where there is no schema.pbtxt, it is written as by `export`.

    PATH is as for `headrace run`. [default: .]

    With --json, which needs --yes to write: file, run_id, changes (column, kind, change), written.
    """
    config = load_config(**project)
    from pipeline.latest_data import latest_data

    data = latest_data(config)
    file = config.schema_file
    before, after, changes = _accepted(config, data)
    write = bool(after != before) and (
        yes or (not as_json and _shown_and_wanted(file, before, after, changes))
    )
    if write:
        _write(file, after)
    if as_json:
        shown = {"file": str(file), "run_id": data.run_id, "changes": changes, "written": write}
        click.echo(json.dumps(shown, indent=2))
    elif after == before:
        click.echo(f"nothing to accept: the data of run {data.run_id} fits {file}")
    elif write:
        if yes:
            _show(file, before, after, changes)
        click.echo(f"{file} is changed; the next run is held against it")


def _accepted(config: PipelineConfig, data: Any) -> tuple[str, str, list[dict[str, str]]]:
    """The text of the file before and after, and what is changed."""
    file = config.schema_file
    if not file.is_file():
        return "", _first_text(data.run_id, data.inferred), []
    from pipeline.latest_data import quiet_libraries
    from pipeline.reviewed_schema import read

    reviewed = read(file)
    text = file.read_text(encoding="utf-8")
    with quiet_libraries():
        from components.schema_gen import accept as accepting
        from components.schema_gen.patch import patch

        schema, changes = accepting.accept(reviewed, data.inferred, data.statistics, data.found)
    if schema == reviewed:
        return text, text, []
    return text, patch(text, reviewed, schema), [vars(change) for change in changes]


def _shown_and_wanted(file: Path, before: str, after: str, changes: list[dict[str, str]]) -> bool:
    _show(file, before, after, changes)
    if not sys.stdin.isatty():
        raise UserError("nothing was written", fix="add --yes to accept this")
    return click.confirm(f"Write this to {file}?")


def _show(file: Path, before: str, after: str, changes: list[dict[str, str]]) -> None:
    for change in changes:
        click.echo(f"{change['kind']}: {change['column']!r}: {change['change']}")
    if not before:
        click.echo(f"there is no {file.name} yet; the schema that the data looks like becomes it:")
    lines = difflib.unified_diff(
        before.splitlines(),
        after.splitlines(),
        f"{file.name} as it is",
        f"{file.name} as accepted",
        lineterm="",
    )
    colours = {"+": "green", "-": "red"}
    for line in lines:
        click.echo(click.style(line, fg=colours.get(line[:1])))


def _first_text(run_id: str, schema: Any) -> str:
    from components.schema_gen.pbtxt import render

    return (
        f"# The reviewed schema: what `headrace run` holds the data against. Inferred from run {run_id}.\n"
        "# The fields: https://www.tensorflow.org/tfx/tf_metadata/api_docs/python/tfmd/proto/schema_pb2\n"
        f"\n{render(schema)}"
    )


def _write(file: Path, text: str) -> None:
    """Writes the file whole or not at all."""
    partial = file.with_name(f"{file.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, file)
