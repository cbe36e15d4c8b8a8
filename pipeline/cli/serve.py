"""`headrace serve`: the pushed model over TensorFlow Serving's REST API."""

from __future__ import annotations

import json
import logging
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from components.errors import UserError
from pipeline.cli.model_path import find_model
from pipeline.cli.options import home_option
from serving.errors import ServingError

if TYPE_CHECKING:
    from serving.model import Model

# A value for the example call, where the model does not say one, by the input's type.
_SAMPLE = {"DT_STRING": "", "DT_FLOAT": 1.0, "DT_INT64": 1}


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8501, show_default=True, help="0 takes a free one."
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address to listen on; 0.0.0.0 is all."
)
@click.option(
    "--name", default="", help="The model's name in URLs; left out: the name that it was trained as."
)
@home_option
def command(path: Path, port: int, host: str, name: str, home: str | None) -> None:
    """Serve the pushed model of PATH over TensorFlow Serving's REST API.

    PATH is a project, a data file that was run without one, a folder of version directories, or one version
    directory. [default: .]

    New versions are loaded as they appear, and switched to without a failed request.
    """
    found = find_model(path, home)
    _log_to_stderr()

    from serving.hosted import HostedModel
    from serving.server import run_server

    hosted = HostedModel(found.path, name or found.name)
    try:
        run_server(
            hosted, host=host, port=port, on_ready=lambda url: _greet(hosted.current, hosted.name, url)
        )
    except ServingError as error:
        raise UserError(error.what, where=error.where, fix=error.fix) from error


def _greet(model: Model, name: str, url: str) -> None:
    """Says what is served and how to ask it."""
    click.echo(f"Serving {name}, version {model.version}, at {url}")
    if call := _curl(model, url):
        click.echo(f"Try it:\n  {call}")


def _curl(model: Model, url: str) -> str:
    """A call to paste into a shell, with the model's own features; "" for a model without `serving_raw`."""
    from serving.signature import RAW_SIGNATURE

    signature = model.signatures.get(RAW_SIGNATURE)
    if signature is None:
        return ""
    sample = model.manifest.sample if model.manifest else {}
    row: dict[str, Any] = {
        name: sample.get(name, _SAMPLE.get(info.dtype)) for name, info in signature.inputs.items()
    }
    body = json.dumps({"signature_name": RAW_SIGNATURE, "instances": [row]}, ensure_ascii=False)
    return f"curl -d {shlex.quote(body)} {shlex.quote(url + ':predict')}"


def _log_to_stderr() -> None:
    """The server's lines, and only its, on stderr with the time."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log = logging.getLogger("serving")
    log.handlers[:] = [handler]
    log.setLevel(logging.INFO)
    log.propagate = False
