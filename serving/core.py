"""What REST and gRPC share: models, batching, limits, metrics and the request log."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from serving import memory
from serving.batching import Batcher, Outputs
from serving.metrics import Metrics
from serving.model import Arrays, Model
from serving.models import Models
from serving.options import ServerOptions
from serving.request_log import RequestLog
from serving.spec import ModelSpec
from serving.status import Code, StatusError

log = logging.getLogger("serving")


class Core:
    """Answers for the models of a server; belongs to one event loop.

    Args:
      models: what is served.
      options: the limits.
      loader: one thread, in which models are loaded.
      workers: where models compute.
    """

    def __init__(
        self, models: Models, options: ServerOptions, loader: ThreadPoolExecutor, workers: Executor
    ) -> None:
        self.models, self.options, self.loader, self.workers = models, options, loader, workers
        self.metrics = Metrics()
        self.under_way = 0
        self._batcher = Batcher(workers, options.batching, self._batched)
        self._log = RequestLog(options.log_folder, options.log_rate) if options.log_folder else None
        self.metrics.gauge("headrace_requests_under_way", (), lambda: {(): self.under_way})
        self.metrics.gauge("headrace_requests_waiting", (), lambda: {(): self._batcher.waiting})
        self.metrics.gauge("headrace_resident_bytes", (), lambda: {(): memory.resident_bytes()})
        self.metrics.gauge("headrace_model_version_available", ("model_name", "version"), self._available)
        self.metrics.gauge(
            ":tensorflow:cc:saved_model:load_latency", ("model_name", "version"), self._load_latency
        )

    def close(self) -> None:
        """Finishes the request log."""
        if self._log:
            self._log.close()

    @contextlib.contextmanager
    def admit(self) -> Iterator[None]:
        """A request under way; refused when there are too many."""
        if self.under_way >= self.options.max_requests:
            raise StatusError(
                Code.RESOURCE_EXHAUSTED,
                f"Too many requests: {self.under_way} are under way and {self.options.max_requests} may be",
            )
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1

    @contextlib.contextmanager
    def observe(self, name: str, api: str, entrypoint: str) -> Iterator[None]:
        """Counts a request of a model and how it ends."""
        started, status = time.perf_counter(), Code.OK
        try:
            yield
        except StatusError as error:
            status = error.code
            raise
        except BaseException:
            status = Code.INTERNAL
            raise
        finally:
            # A name that a stranger makes up must not become a label: memory would grow with each.
            known = name if any(model.name == name for model in self.models) else ""
            self.metrics.requests.add(known, status.name)
            micros = (time.perf_counter() - started) * 1e6
            self.metrics.latency.add(known, api, entrypoint, of=micros)

    async def call(self, model: Model, signature: str, inputs: Arrays, deadline: float) -> Outputs:
        """A signature's outputs, computed with those of other requests where it can be."""
        model.check(signature, inputs)
        return await self._batcher.call(model, signature, inputs, deadline)

    def deadline(self, seconds: float | None = None) -> float:
        """When an answer has no use any more: after the server's limit, or the client's shorter one."""
        limit = self.options.timeout_seconds
        return time.monotonic() + (limit if seconds is None else min(limit, seconds))

    def count_examples(self, name: str, count: int) -> None:
        """Counts the tf.Examples of a request."""
        self.metrics.examples.add(name, of=count)
        self.metrics.examples_total.add(name, by=count)

    def offer_log(self, spec: ModelSpec, model: Model, make: Callable[[], Any]) -> None:
        """Offers an answered request to the log; `make` gives its PredictionLog, later, in another thread."""
        if not self._log or not self._log.samples(self.models.sampling(spec.name)):
            return
        version, seconds = model.version, int(time.time())

        def record() -> Any:
            made = make()
            made.log_metadata.model_spec.name = spec.name
            made.log_metadata.model_spec.version.value = version
            made.log_metadata.timestamp_secs = seconds
            return made

        kept = self._log.offer(record)
        self.metrics.logged.add(spec.name, "kept" if kept else "dropped")

    def _batched(self, model: Model, rows: int, seconds: float) -> None:
        name = next((hosted.name for hosted in self.models if model in hosted.loaded.values()), "")
        self.metrics.batch_rows.add(name, of=rows)
        self.metrics.runtime.add(name, "Predict", "TF2", of=seconds * 1e6)

    def _available(self) -> dict[tuple[str, ...], float]:
        return {
            (hosted.name, str(number)): float(state.state == "AVAILABLE")
            for hosted in self.models
            for number, state in hosted.states.items()
        }

    def _load_latency(self) -> dict[tuple[str, ...], float]:
        return {
            (hosted.name, str(number)): model.load_seconds * 1e6
            for hosted in self.models
            for number, model in hosted.loaded.items()
        }
