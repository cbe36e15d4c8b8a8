"""How a server is set up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from serving.batching import BatchingParameters
from serving.config_files import METRICS_PATH
from serving.spec import ModelConfig

DEFAULT_PORT = 8501
DEFAULT_GRPC_PORT = 8500
MAX_BODY = 64 * 2**20  # bytes


def default_threads() -> int:
    """How many calls of models are computed at a time where nothing says it."""
    return max(2, os.cpu_count() or 1)


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """What a server serves, where, and within which limits.

    Args:
      models: what to serve.
      host: the address to listen on.
      port: of REST; 0 takes a free one.
      grpc_port: of gRPC; 0 takes a free one, None is without gRPC.
      models_file: the models.config that `models` come from; None when there is none.
      reload_seconds: how often `models_file` is read again; 0 is never.
      poll_seconds: how often the folders are looked through for new versions.
      batching: how requests are put together.
      max_body: the largest request in bytes; a larger one is refused with 413.
      max_requests: how many requests may be under way; more are refused with 429.
      timeout_seconds: after which a request is answered with 504.
      drain_seconds: how long requests under way may take to end when the server stops.
      token: what clients must send as `Authorization: Bearer TOKEN`; "" lets everyone in.
      tls_cert, tls_key: PEM files; None is without TLS.
      metrics_path: where Prometheus reads; "" turns it off.
      log_folder: where answered requests are logged; None is nowhere.
      log_rate: the share of the requests that are logged.
    """

    models: Sequence[ModelConfig]
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    grpc_port: int | None = None
    models_file: Path | None = None
    reload_seconds: float = 0.0
    poll_seconds: float = 1.0
    batching: BatchingParameters = field(
        default_factory=lambda: BatchingParameters(num_batch_threads=default_threads())
    )
    max_body: int = MAX_BODY
    max_requests: int = 2000
    timeout_seconds: float = 60.0
    drain_seconds: float = 10.0
    token: str = field(default="", repr=False)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    metrics_path: str = METRICS_PATH
    log_folder: Path | None = None
    log_rate: float = 0.01
