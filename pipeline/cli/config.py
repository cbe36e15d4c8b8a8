"""`headrace config`: what a run would use."""

from __future__ import annotations

import json
from typing import Any

import click

from pipeline.cli.options import json_option, project_options
from pipeline.config import dump, json_schema, load_config


@click.command("config")
@project_options
@json_option
@click.option("--schema", is_flag=True, help="Print the JSON Schema of pipeline.yaml; needs no project.")
def command(as_json: bool, schema: bool, **project: Any) -> None:
    """Print the resolved configuration: every option, with its value.

    PATH is a folder with a pipeline.yaml, a YAML file, or a data file with --label. [default: .]
    """
    if schema:
        click.echo(json.dumps(json_schema(), indent=2))
        return
    config = load_config(**project)
    if as_json:
        click.echo(json.dumps(config.model_dump(mode="json"), indent=2))
    else:
        click.echo(dump(config), nl=False)
