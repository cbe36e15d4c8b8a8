"""`headrace kubeflow upload`: the pipeline to the cluster."""

from __future__ import annotations

import json
from typing import Any

import click

from pipeline.cli.kubeflow_connection import cluster_options, connect
from pipeline.cli.options import json_option


@click.command("upload")
@cluster_options
@json_option
def command(as_json: bool, **options: Any) -> None:
    """Compile the pipeline of the project in PATH, check it and send it to the cluster.

    A version is named by its content: what is there already is not sent again.

    With --json, an object: pipeline_id, version_id, name, new.
    """
    version = connect(**options).upload()
    if as_json:
        click.echo(json.dumps(vars(version), indent=2))
    else:
        click.echo(f"pipeline {version.pipeline_id}, version {version.version_id}")
