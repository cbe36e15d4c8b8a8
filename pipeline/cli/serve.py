"""`headrace serve`: pushed models over TensorFlow Serving's REST and gRPC."""

from __future__ import annotations

import json
import logging
import os
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from components.errors import UserError
from pipeline.cli.model_path import find_model
from pipeline.cli.model_url import followed, url_of
from pipeline.cli.options import home_option
from pipeline.cli.serve_options import (
    TOKEN_VARIABLE,
    LabelParameter,
    PolicyParameter,
    batching_of,
    limit_options,
    place_options,
)
from serving.errors import ServingError

if TYPE_CHECKING:
    from serving.hosted import HostedModel
    from serving.options import ServerOptions
    from serving.server import Ready
    from serving.spec import ModelConfig

# A value for the example call, where the model does not say one, by the input's type.
_SAMPLE = {"DT_STRING": "", "DT_FLOAT": 1.0, "DT_INT64": 1}
_CONFIG_SUFFIXES = (".config", ".pbtxt", ".textproto", ".prototxt")


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=".")
@place_options
@click.option(
    "--name", default="", help="The model's name in URLs; left out: the name that it was trained as."
)
@click.option(
    "--versions",
    type=PolicyParameter(),
    default="latest",
    show_default=True,
    help="Which versions are served: latest, latest:N, all, or numbers such as 17,18.",
)
@click.option(
    "--label",
    "labels",
    type=LabelParameter(),
    multiple=True,
    help="A name for a version that is served, such as stable=17. Repeatable.",
)
@limit_options
@click.option(
    "--log-requests",
    "log_folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Log answered requests there, as gzip TFRecords of PredictionLog.",
)
@click.option(
    "--log-sample",
    type=click.FloatRange(0, 1),
    default=0.01,
    show_default=True,
    help="The share of the requests that are logged.",
)
@home_option
def command(path: Path, name: str, versions: Any, labels: Any, home: str | None, **given: Any) -> None:
    """Serve pushed models over TensorFlow Serving's REST and gRPC.

    PATH is a project, a data file that was run without one, a folder of version directories or its URL, one
    version directory, or a models.config of TensorFlow Serving with several models. [default: .]

    New versions are loaded and warmed up as they appear, and switched to without a failed request. A page to
    look at the models and to try a row is at /.
    """
    _log_to_stderr()
    from serving.server import run_server

    try:
        with ExitStack() as stack:
            models, file = _models(path, name, versions, labels, home, stack, given["poll_seconds"])
            options = _options(models, file, given)
            run_server(options, on_ready=lambda ready: _greet(ready, options))
    except ServingError as error:
        raise UserError(error.what, where=error.where, fix=error.fix) from error


def _models(
    path: Path, name: str, versions: Any, labels: Any, home: str | None, stack: ExitStack, seconds: float
) -> tuple[list[ModelConfig], Path | None]:
    """What to serve, and the models.config that says so, if one does."""
    from serving.spec import ModelConfig

    if path.is_file() and path.suffix in _CONFIG_SUFFIXES:
        from serving.config_files import read_models

        if name or labels or versions.kind != "latest" or versions.count != 1:
            raise UserError(
                "--name, --versions and --label are for one model",
                where=str(path),
                fix="write them into the file: name, model_version_policy, version_labels",
            )
        return read_models(path), path
    url, project = url_of(path, home)
    if url:
        found = stack.enter_context(followed(url, project, versions.numbers, seconds))
    else:
        found = find_model(path, home)
    return [ModelConfig(name or found.name, found.path, versions, tuple(labels))], None


def _options(models: list[ModelConfig], file: Path | None, given: dict[str, Any]) -> ServerOptions:
    from serving.access import read_token
    from serving.config_files import METRICS_PATH, read_monitoring
    from serving.options import ServerOptions

    monitoring, token_file = given["monitoring_file"], given["token_file"]
    cert, key = given["tls_cert"], given["tls_key"]
    if bool(cert) != bool(key):
        raise UserError(
            f"--tls-{'cert' if cert else 'key'} is there without --tls-{'key' if cert else 'cert'}",
            fix="give both, or neither",
        )
    if given["reload_seconds"] and not file:
        raise UserError("--reload-config is for a models.config", fix="leave it out")
    grpc_port = given["grpc_port"]
    if grpc_port is None:
        grpc_port = max(0, given["port"] - 1)
    return ServerOptions(
        models=models,
        host=given["host"],
        port=given["port"],
        grpc_port=grpc_port if given["grpc"] else None,
        models_file=file,
        reload_seconds=given["reload_seconds"],
        poll_seconds=given["poll_seconds"],
        batching=batching_of(given),
        max_body=int(given["max_body"] * 2**20),
        max_requests=given["max_requests"],
        timeout_seconds=given["timeout_seconds"],
        drain_seconds=given["drain_seconds"],
        token=read_token(token_file) if token_file else os.environ.get(TOKEN_VARIABLE, "").strip(),
        tls_cert=cert,
        tls_key=key,
        metrics_path=read_monitoring(monitoring) if monitoring else METRICS_PATH,
        log_folder=given["log_folder"],
        log_rate=given["log_sample"],
    )


def _greet(ready: Ready, options: ServerOptions) -> None:
    """Says what is served and how to ask it."""
    from urllib.parse import quote

    for hosted in ready.models:
        url = f"{ready.url}/v1/models/{quote(hosted.name)}"
        numbers = ", ".join(map(str, sorted(hosted.loaded)))
        plural = "s" if len(hosted.loaded) > 1 else ""
        click.echo(f"Serving {hosted.name}, version{plural} {numbers}, at {url}")
    click.echo(f"Look at it: {ready.url}/" + (f"   gRPC: {ready.grpc}" if ready.grpc else ""))
    for hosted in ready.models:
        if call := _curl(hosted, f"{ready.url}/v1/models/{quote(hosted.name)}", options):
            click.echo(f"Try it:\n  {call}")
            return


def _curl(hosted: HostedModel, url: str, options: ServerOptions) -> str:
    """A call to paste into a shell, with the model's own features; "" for a model without `serving_raw`."""
    from serving.signature import RAW_SIGNATURE

    model = hosted.current
    signature = model.signatures.get(RAW_SIGNATURE)
    if signature is None:
        return ""
    sample = model.manifest.sample if model.manifest else {}
    row: dict[str, Any] = {
        name: sample.get(name, _SAMPLE.get(info.dtype)) for name, info in signature.inputs.items()
    }
    row |= {name: [row[name]] for name, info in signature.inputs.items() if len(info.shape or ()) == 2}
    body = json.dumps({"signature_name": RAW_SIGNATURE, "instances": [row]}, ensure_ascii=False)
    header = f'-H "Authorization: Bearer ${TOKEN_VARIABLE}" ' if options.token else ""
    if options.tls_cert:
        header = f"--cacert {shlex.quote(str(options.tls_cert))} {header}"
    return f"curl {header}-d {shlex.quote(body)} {shlex.quote(url + ':predict')}"


def _log_to_stderr() -> None:
    """The server's lines, and only its, on stderr with the time."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log = logging.getLogger("serving")
    log.handlers[:] = [handler]
    log.setLevel(logging.INFO)
    log.propagate = False
