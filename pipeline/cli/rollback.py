"""`headrace rollback`: the model that was served before is served again."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from components.errors import UserError
from components.pusher.rollback import roll_back
from pipeline.cli.model_path import place_of
from pipeline.cli.options import home_option, json_option


@click.command("rollback")
@click.argument("version", required=False)
@click.argument("path", default=".")
@home_option
@json_option
def command(version: str | None, path: str, home: str | None, as_json: bool) -> None:
    """Make VERSION the newest of the model in PATH; left out: the one before the newest.

    The versions above it are moved to .rolled_back/ in the same folder, where no server looks: a running
    `headrace serve`, and TensorFlow Serving, load the older one within seconds and switch without a failed
    request. `headrace rollback NUMBER` of one that was moved brings it back. A pipeline run does not push a
    rolled back model again.

    PATH is a project, a data file that was run without one, or a folder of version directories or its URL.
    [default: .]
    With --json, an object: serving, aside (a list), restored.
    """
    number = None
    if version is not None and version.isascii() and version.isdigit():
        number = int(version)
    elif version is not None:
        if path != ".":
            raise UserError(
                f"got {version!r}; expected a number", where="VERSION", fix="see `headrace versions`"
            )
        path = version  # `headrace rollback data/taxi`
    done = roll_back(place_of(path, home), number)
    click.echo(json.dumps(asdict(done)) if as_json else done.sentence)
