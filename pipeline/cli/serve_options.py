"""The options of `headrace serve` about where it listens and what it may take."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from serving.batching import BatchingParameters

F = TypeVar("F", bound=Callable[..., Any])

TOKEN_VARIABLE = "HEADRACE_SERVE_TOKEN"
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


token_option = click.option(
    "--token-file",
    metavar="FILE",
    type=_FILE,
    help=f"Send the server the token in this file. [default: {TOKEN_VARIABLE}, else none]",
)


def token_of(file: Path | None) -> str:
    """The token that a client sends; "" is none."""
    from serving.access import read_token

    return read_token(file) if file else os.environ.get(TOKEN_VARIABLE, "").strip()


class PolicyParameter(click.ParamType):
    """latest, latest:N, all, or numbers with commas; becomes a VersionPolicy."""

    name = "POLICY"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from serving.spec import VersionPolicy

        if isinstance(value, VersionPolicy):
            return value
        if value == "all":
            return VersionPolicy("all")
        kind, _, count = value.partition(":")
        if kind == "latest" and (not count or (count.isdigit() and int(count) > 0)):
            return VersionPolicy("latest", int(count or 1))
        numbers = value.split(",")
        if all(number.strip().isdigit() for number in numbers):
            return VersionPolicy("specific", versions=tuple(sorted({int(number) for number in numbers})))
        self.fail(f"got {value!r}; expected latest, latest:N, all, or numbers such as 17,18", param, ctx)


class LabelParameter(click.ParamType):
    """LABEL=VERSION; becomes a pair."""

    name = "LABEL=VERSION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        label, _, version = value.partition("=")
        if not label or not version.isdigit():
            self.fail(f"got {value!r}; expected a label and a number, such as stable=17", param, ctx)
        return label, int(version)


def place_options(function: F) -> F:
    """Where the server listens, and whom it lets in."""
    return _add(
        function,
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=8501,
            show_default=True,
            help="0 takes a free one.",
        ),
        click.option(
            "--host", default="127.0.0.1", show_default=True, help="The address to listen on; 0.0.0.0 is all."
        ),
        click.option(
            "--grpc-port",
            type=click.IntRange(0, 65535),
            help="0 takes a free one. [default: one below --port; a free one with --port 0]",
        ),
        click.option("--grpc/--no-grpc", default=True, help="Whether gRPC is served. [default: it is]"),
        click.option(
            "--token-file",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help=f"Ask clients for the token in this file. [default: {TOKEN_VARIABLE}, else no token]",
        ),
        click.option(
            "--tls-cert",
            metavar="PEM",
            type=click.Path(path_type=Path),
            help="Serve over TLS: the certificate.",
        ),
        click.option(
            "--tls-key",
            metavar="PEM",
            type=click.Path(path_type=Path),
            help="Its private key, without password.",
        ),
    )


def limit_options(function: F) -> F:
    """What the server may take, how it batches, and how often it looks for new versions."""
    return _add(
        function,
        click.option(
            "--poll",
            "poll_seconds",
            type=click.FloatRange(0.1),
            default=1.0,
            show_default=True,
            help="Seconds between looks for new versions.",
        ),
        click.option(
            "--reload-config",
            "reload_seconds",
            type=click.FloatRange(0),
            default=0.0,
            help="Seconds between looks for a changed models.config. [default: never]",
        ),
        click.option(
            "--batching/--no-batching", default=True, help="Whether requests that wait are answered together."
        ),
        click.option("--batching-config", "batching_file", metavar="FILE", type=_FILE,
                     help="TensorFlow Serving's batching parameters; wins over the next three."),
        click.option("--max-batch", type=click.IntRange(1), default=256, show_default=True,
                     help="The most rows in one call of the model."),
        click.option("--max-queue", type=click.IntRange(1), default=16, show_default=True,
                     help="How many full batches may wait for one signature; more is a 503."),
        click.option("--threads", type=click.IntRange(1),
                     help="How many calls are computed at a time. [default: as many as cores]"),
        click.option("--max-requests", type=click.IntRange(1), default=2000, show_default=True,
                     help="How many requests may be under way; more is a 429."),
        click.option("--max-body", type=click.FloatRange(0, min_open=True), default=64.0, show_default=True,
                     help="The largest request in MiB; larger is a 413."),
        click.option("--timeout", "timeout_seconds", type=click.FloatRange(0, min_open=True), default=60.0,
                     show_default=True, help="Seconds after which a request is a 504."),
        click.option("--drain", "drain_seconds", type=click.FloatRange(0), default=10.0, show_default=True,
                     help="Seconds that requests under way get to end on SIGTERM."),
        click.option("--monitoring-config", "monitoring_file", metavar="FILE", type=_FILE,
                     help="TensorFlow Serving's monitoring config: whether and where there are metrics."),
    )  # fmt: skip


def batching_of(given: dict[str, Any]) -> BatchingParameters:
    """The batching parameters that the options and their file say."""
    from dataclasses import replace

    from serving.batching import BatchingParameters
    from serving.config_files import read_batching
    from serving.options import default_threads

    threads = given["threads"] or default_threads()
    parameters = BatchingParameters(
        max_batch_size=given["max_batch"], max_enqueued_batches=given["max_queue"], num_batch_threads=threads
    )
    if given["batching_file"]:
        parameters = read_batching(given["batching_file"], threads)
    return replace(parameters, enabled=given["batching"])


def _add(function: F, *options: Callable[[F], F]) -> F:
    for option in reversed(options):
        function = option(function)
    return function
