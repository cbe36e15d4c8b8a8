"""`headrace kubeflow tfjob`: a training on several workers."""

from __future__ import annotations

from typing import Any

import click

from pipeline.cli.options import project_options


@click.command("tfjob")
@click.argument("file")
@project_options
@click.option("--workers", type=int, default=2, show_default=True, help="How many.")
@click.option("--outputs", required=True, metavar="DIR", help="Folder on a claim for the model.")
def command(file: str, workers: int, outputs: str, **project: Any) -> None:
    """Print a TFJob that runs the Trainer on several workers, for `kubectl apply -f -`.

    FILE is a Trainer's invocation, as a run leaves it in its logs, on a claim that all workers see; what it
    names must lie there, too. train.strategy must be auto or multi_worker.
    """
    from pipeline.config import load_config
    from pipeline.kubeflow.tfjob import as_text, tfjob

    click.echo(as_text(tfjob(load_config(**project), file, outputs, workers)), nl=False)
