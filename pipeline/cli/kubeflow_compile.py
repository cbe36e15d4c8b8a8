"""`headrace kubeflow compile`: the pipeline as Kubeflow's YAML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pipeline.cli.options import json_option, project_options


@click.command("compile")
@project_options
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False), help="The file. [default: NAME.yaml or NAME.json]"
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["kfp", "vertex"]),
    default="kfp",
    show_default=True,
    help="kfp: PipelineSpec as YAML; vertex: a PipelineJob of Vertex AI as JSON.",
)
@json_option
def command(output: str | None, form: str, as_json: bool, **project: Any) -> None:
    """Write the pipeline of the project in PATH as a PipelineSpec, checked for what the backend breaks on.

    The user's code goes into the file; data does not: it is looked at where it is, in every run. What the
    pods get beyond a container (secrets, claims, node selectors, tolerations, time limits) is the second
    document in the file.

    With --json, an object: file, pipeline, tasks, parameters, notes.
    """
    from pipeline.config import load_config

    config = load_config(**project)
    from pipeline.latest_data import quiet_libraries

    with quiet_libraries():
        from pipeline.kubeflow import lint, vertex
        from pipeline.kubeflow.compile import compile_pipeline

        compiled = compile_pipeline(config)
    lint.check(compiled.spec, compiled.platform)
    text = vertex.as_text(vertex.pipeline_job(compiled)) if form == "vertex" else compiled.text()
    file = Path(output or f"{config.name}.{'json' if form == 'vertex' else 'yaml'}")
    file.write_text(text, encoding="utf-8")
    tasks = list(compiled.spec["root"]["dag"]["tasks"])
    parameters = compiled.spec["root"]["inputDefinitions"]["parameters"]
    if as_json:
        shown = {
            "file": str(file),
            "pipeline": compiled.spec["pipelineInfo"]["name"],
            "tasks": tasks,
            "parameters": {name: each["defaultValue"] for name, each in parameters.items()},
            "notes": list(compiled.notes),
        }
        click.echo(json.dumps(shown, indent=2))
        return
    click.echo(f"{file}: {len(tasks)} tasks, {len(lint.RULES)} rules checked")
    for name, each in parameters.items():
        click.echo(f"  --param {name}={each['defaultValue']}")
    for note in compiled.notes:
        click.echo(f"note: {note}")
