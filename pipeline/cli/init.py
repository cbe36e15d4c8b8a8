"""`headrace init`: a commented pipeline.yaml for a data file."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from pathlib import Path

import click

from components.errors import UserError


@click.command("init")
@click.argument("data")
@click.option("--label", metavar="COLUMN", required=True, help="The column to predict.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Where to write it. [default: pipeline.yaml beside the data]",
)
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
@click.option(
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    help="An option to read the data with and to write down, such as data.delimiter=';'. Repeatable.",
)
def command(data: str, label: str, output: Path | None, force: bool, overrides: tuple[str, ...]) -> None:
    """Write a commented pipeline.yaml for DATA: a file, a folder, a glob, package:PATH or a URL.

    It reads all of the data, and names each column with its type and what would become of it. Other options
    stand beside with their defaults and what they mean.
    """
    from pipeline.starter import starter

    target = output or _beside(data)
    if target.is_dir():
        target = target / "pipeline.yaml"
    if target.exists() and not force:
        raise UserError(f"{target} exists", fix="replace it with --force, or write elsewhere with -o FILE")
    config, given, look = _look(data, label, overrides, target)
    again = shlex.join(["headrace", "init", data, "--label", label])
    text = starter(config, given, look, again)
    _write(target, text)
    plan = look.plan
    click.echo(
        f"wrote {target}: {look.survey.rows:,} rows, label {label} ({plan.label.task}), "
        f"{len(plan.used)} columns used, {len(plan.dropped)} dropped"
    )
    for note in look.notes:
        click.echo(f"note: {note}")
    project = target.parent if target.name == "pipeline.yaml" else target
    click.echo(f"run it:  {shlex.join(['headrace', 'run', str(project)])}")


def _beside(data: str) -> Path:
    """The folder that holds the data; this one when it is not on this machine."""
    if "://" in data or data.startswith("package:"):
        return Path()
    path = Path(data)
    fixed = [part for part in path.parts if not any(sign in part for sign in "*?[{")]
    folder = Path(*fixed) if len(fixed) < len(path.parts) else path.parent
    return Path() if path.resolve() == Path.cwd() else folder


def _look(data: str, label: str, overrides: tuple[str, ...], target: Path) -> tuple:
    """The checked config, the options that were given, and what all the rows have shown."""
    from components.example_gen.found import Found
    from components.example_gen.notes import notes
    from components.example_gen.opened import label_of, list_columns, open_source, written_types
    from components.example_gen.survey import column_types
    from components.transform.infer import make_plan
    from pipeline.config import config_of
    from pipeline.starter import Look
    from pipeline.yaml_lines import Document

    project = Path(os.path.abspath(target)).parent
    document = Document(str(target), {"data": {"source": _source(data, project)}})
    name = _name(data) or project.name
    config = config_of(document, project, name, overrides, label=label)
    with tempfile.TemporaryDirectory() as scratch:
        source = open_source(config.located_data, label, scratch)
        survey = source.survey()
        types = column_types(survey, source.config, source.reader, source.pieces)
        spec = label_of(label, config.task, survey, types)
        said = notes(survey, types, source.config, source.reader, source.pieces)
    used = written_types(types, source.config.exclude)
    columns = survey.columns
    found = Found(
        label=spec,
        types=used,
        lists=list_columns(survey, used, spec),
        values={name: columns[name].distinct_count if name in columns else None for name in used},
        rows={"train": survey.rows},
        classes={},
        present={name: columns[name].present if name in columns else survey.rows for name in used},
        words={name: columns[name].words / max(1, columns[name].present) for name in used if name in columns},
        notes=[],
        weight=config.data.weight,
    )
    return (
        config,
        document.data,
        Look(survey, source.inputs.format, types, make_plan(found, config.features), said),
    )


def _name(data: str) -> str:
    """What the data is called: trips, of data/trips.csv.gz."""
    last = data.rstrip("/").rsplit("/", 1)[-1]
    return "" if "://" in data else re.sub(r"[^A-Za-z0-9]+", "-", last.split(".")[0]).strip("-")


def _source(data: str, project: Path) -> str:
    """The source as the file is to name it: relative to it where both are on this machine."""
    if "://" in data or data.startswith("package:"):
        return data
    relative = os.path.relpath(data, project)
    return os.path.abspath(data) if relative.startswith("..") else relative


def _write(target: Path, text: str) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror or error}", where=str(target)) from error
