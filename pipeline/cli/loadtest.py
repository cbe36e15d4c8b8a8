"""`headrace loadtest`: how fast a server answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from components.errors import UserError
from pipeline.cli.model_path import find_model, newest_manifest
from pipeline.cli.options import home_option, json_option
from pipeline.cli.rows import form_of, no_row, read_given
from pipeline.cli.serve_options import token_option
from pipeline.exit_codes import FAILED
from serving.errors import ServingError

if TYPE_CHECKING:
    from serving.load_test import Measured

_BODIES = 64  # different requests, sent by turns


@click.command("loadtest")
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option("--url", default="", help="The server. [default: one is started for the model of PATH]")
@click.option(
    "--grpc",
    default="",
    metavar="HOST:PORT",
    help="Load the server of --url over gRPC, there; with TLS if --url is https://.",
)
@click.option(
    "--over",
    type=click.Choice(("rest", "grpc")),
    default="rest",
    show_default=True,
    help="What is loaded, of a server that is started here.",
)
@click.option("--name", default="", help="The model's name on the server. [default: as PATH says]")
@click.option(
    "--rows", "file", help="CSV, JSON Lines or Parquet with rows. [default: one row of missing values]"
)
@click.option("--batch", type=click.IntRange(1), default=1, show_default=True, help="Rows in a request.")
@click.option(
    "--clients", type=click.IntRange(1, 1000), default=32, show_default=True, help="So many ask at a time."
)
@click.option(
    "--seconds", type=click.FloatRange(0.1, 600), default=10.0, show_default=True, help="When to stop."
)
@click.option(
    "--requests",
    type=click.IntRange(1, 10_000_000),
    default=100_000,
    show_default=True,
    help="How many at most.",
)
@token_option
@home_option
@json_option
def command(
    path: Path,
    url: str,
    grpc: str,
    over: str,
    name: str,
    file: str | None,
    batch: int,
    clients: int,
    seconds: float,
    requests: int,
    token_file: Path | None,
    home: str | None,
    as_json: bool,
) -> None:
    """Ask a server for as long and as often as said, and tell how fast it answered.

    PATH is a project, a data file that was run without one, or a folder of version directories. [default: .]
    The load ends after --seconds or --requests, whichever comes first. Exit code 1 when a request failed.

    With --json, an object: requests, errors, seconds, requests_per_second, rows_per_second, p50_ms, p95_ms,
    p99_ms, max_ms, codes (code to number of requests).
    """
    from pipeline.cli.serve_options import token_of
    from serving.load_test import Load

    try:
        token = token_of(token_file)
        load = Load(clients=clients, seconds=seconds, requests=requests)
        rows = list(islice(read_given(file, form_of(path, home)), _BODIES * batch)) if file else [{}]
        if not rows:
            raise no_row(str(file))
        with _server(path, home, url, grpc, over, name) as (address, place, model):
            measured = _measure(address, place, model, rows, file or "", batch, load, token)
    except ServingError as error:
        raise UserError(error.what, where=error.where, fix=error.fix) from error
    _tell(measured, as_json)
    if measured.errors:
        raise SystemExit(FAILED)


@contextmanager
def _server(
    path: Path, home: str | None, url: str, grpc: str, over: str, name: str
) -> Iterator[tuple[str, str, str]]:
    """The server's URL, the place of gRPC where that is what is loaded, and the model's name."""
    if url:
        address, _, in_url = url.rstrip("/").partition("/v1/models/")
        model = name or in_url.removesuffix(":predict")
        if not model:
            found = find_model(path, home)
            manifest = newest_manifest(found)
            model = found.name or (manifest.name if manifest else found.path.resolve().name)
        yield address, grpc, model
        return
    from serving.process import ServerProcess

    found = find_model(path, home)
    with ServerProcess(found.path, name or found.name) as server:
        (model,) = server.models
        click.echo(f"started a server of {model}, which shares this machine with the load", err=True)
        yield server.url, server.grpc if over == "grpc" else "", model


def _measure(
    address: str,
    place: str,
    model: str,
    rows: list[dict[str, Any]],
    source: str,
    batch: int,
    load: Any,
    token: str,
) -> Measured:
    from serving.client import Client
    from serving.load_test import grpc_load, rest_load
    from serving.rows import to_columns
    from serving.signature import RAW_SIGNATURE

    inputs = Client(address, model, token=token).inputs()
    starts = range(0, max(1, len(rows) - batch + 1), batch)
    parts = [[rows[(start + index) % len(rows)] for index in range(batch)] for start in starts]
    columns = [to_columns(part, inputs, source=source).values for part in parts]
    if place:
        from serving.grpc_client import predict_request

        messages = [predict_request(model, RAW_SIGNATURE, values, inputs) for values in columns]
        return grpc_load(place, messages, batch, load, token, tls=address.startswith("https://"))
    bodies = [json.dumps({"signature_name": RAW_SIGNATURE, "inputs": values}).encode() for values in columns]
    return rest_load(address, f"/v1/models/{quote(model, safe='')}:predict", bodies, batch, load, token)


def _tell(measured: Measured, as_json: bool) -> None:
    figures = measured.to_json()
    if as_json:
        click.echo(json.dumps(figures))
        return
    click.echo(
        f"{figures['requests']:,} requests in {figures['seconds']:.1f} s: "
        f"{figures['requests_per_second']:,.0f} requests/s, {figures['rows_per_second']:,.0f} rows/s"
    )
    if len(measured.latencies):
        shown = ", ".join(f"{name} {measured.percentile(share):.2f}" for name, share in
                          (("p50", 50), ("p95", 95), ("p99", 99), ("max", 100)))  # fmt: skip
        click.echo(f"milliseconds: {shown}")
    failed = {code: count for code, count in measured.codes.items() if code != "200"}
    said = ", ".join(f"{count:,} with {code}" for code, count in sorted(failed.items()))
    click.echo(f"errors: {measured.errors:,}" + (f" ({said})" if said else ""))
