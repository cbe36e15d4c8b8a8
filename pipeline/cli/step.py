"""`headrace step`: one step by itself, from the invocation file that a run left."""

from __future__ import annotations

import os
from pathlib import Path

import click

from components.errors import UserError
from pipeline.exit_codes import DONE, FAILED


@click.command("step")
@click.argument("invocation", type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Write the outputs below this folder. [default: a new folder STEP.outputs here]",
)
def command(invocation: Path, output: Path | None) -> int:
    """Run one step again from INVOCATION, such as .headrace/logs/RUN/Trainer.json.

    The file holds all that the step needs: its executor, its section of the config and the URIs of its
    inputs. Nothing is written to ML Metadata, and the run's own artifacts stay as they are.
    """
    from pipeline.local import step

    if not invocation.is_file():
        raise UserError(
            f"no such file: {invocation}",
            where="INVOCATION",
            fix="name a file such as .headrace/logs/RUN/Trainer.json",
        )
    folder = (output or Path(f"{invocation.stem}.outputs")).absolute()
    if folder.exists() and any(folder.iterdir()):
        raise UserError("the folder is not empty", where=str(folder), fix="choose another with --output DIR")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    result, uris = step.run(invocation.absolute(), folder)
    if result.user_error:
        report = step.keep_files(result, folder)
        if report:
            click.echo(f"its report: {report}", err=True)
        raise result.user_error
    if result.error:
        click.echo(f"error: {result.error}", err=True)
        return FAILED
    for key, uri in uris.items():
        click.echo(f"{key}  {uri}")
    return DONE
