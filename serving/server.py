"""The embedded server: TensorFlow Serving's REST API over one hosted model."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import json
import logging
import os
import re
import signal
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, unquote

from aiohttp import web
from aiohttp.abc import AbstractAccessLogger

from serving.errors import ServingError
from serving.hosted import HostedModel
from serving.rest_answer import write_error, write_predictions
from serving.rest_json import parse_predict
from serving.signature import DEFAULT_SIGNATURE, Signature, metadata_json
from serving.status import Code, StatusError, invalid

log = logging.getLogger("serving")
access_log = logging.getLogger("serving.access")

DEFAULT_PORT = 8501
MAX_BODY = 64 * 2**20  # bytes
_POLL_SECONDS = 1.0
_DRAIN_SECONDS = 10.0
_PREDICT = re.compile(r"(?i)/v1/models/([^/:]+)(?:/versions/(\d+))?:predict")
_DESCRIBE = re.compile(r"(?i)/v1/models(?:/([^/:]+))?(?:/versions/(\d+))?(/metadata)?")


def run_server(
    hosted: HostedModel,
    *,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    max_body: int = MAX_BODY,
    on_ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serves until SIGTERM or SIGINT, then lets the requests under way end.

    Args:
      hosted: the model.
      host: the address to listen on.
      port: the port; 0 takes a free one.
      max_body: the largest request body in bytes; a larger one is answered with 413.
      on_ready: called with the model's URL when the server accepts requests.
    """
    asyncio.run(_serve(hosted, host, port, max_body, on_ready))


async def _serve(
    hosted: HostedModel, host: str, port: int, max_body: int, on_ready: Callable[[str], None]
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    listener = _bind(host, port)  # before the model: a taken port shows at once
    with ThreadPoolExecutor(1, "loader") as loader, ThreadPoolExecutor(_threads(), "predict") as workers:
        await loop.run_in_executor(loader, hosted.start)
        if stop.is_set():
            listener.close()
            return
        handler = _Handler(hosted, workers)
        app = web.Application(client_max_size=max_body)
        app.router.add_route("*", "/{path:.*}", handler.handle)
        runner = web.AppRunner(app, access_log=access_log, access_log_class=_AccessLogger, shutdown_timeout=1)
        await runner.setup()
        site = web.SockSite(runner, listener)
        try:
            await site.start()
        except OSError as error:
            raise _listen_error(error, host, port) from error
        watcher = asyncio.create_task(_watch(hosted, loader))
        on_ready(_model_url(listener, hosted.name))
        await stop.wait()
        log.info("stopping: no new requests, those under way may end")
        watcher.cancel()
        await site.stop()
        await handler.drain(_DRAIN_SECONDS)  # the runner's own wait would drop bodies that still arrive
        await runner.cleanup()


def _threads() -> int:
    return max(2, os.cpu_count() or 1)


async def _watch(hosted: HostedModel, loader: ThreadPoolExecutor) -> None:
    """Looks for new versions for as long as the server runs, whatever goes wrong in between."""
    said = ""
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        try:
            await asyncio.get_running_loop().run_in_executor(loader, hosted.poll)
            said = ""
        except Exception as error:
            if repr(error) != said:  # once, not every second
                log.exception("model %s: cannot look for new versions in %s", hosted.name, hosted.path)
            said = repr(error)


class _Handler:
    """Answers requests; the work of a prediction is done in a worker thread."""

    def __init__(self, hosted: HostedModel, workers: ThreadPoolExecutor) -> None:
        self._hosted, self._workers = hosted, workers
        self._under_way = 0
        self._draining: asyncio.Event | None = None

    async def drain(self, seconds: float) -> None:
        """Waits until no request is under way; connections are closed after their answer from now on."""
        self._draining = asyncio.Event()
        if self._under_way:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._draining.wait(), seconds)

    async def handle(self, request: web.Request) -> web.Response:
        self._under_way += 1
        try:
            response = await self._respond(request)
        finally:
            self._under_way -= 1
        if self._draining:
            response.force_close()
            if not self._under_way:
                self._draining.set()
        return response

    async def _respond(self, request: web.Request) -> web.Response:
        try:
            body = await self._answer(request)
        except StatusError as error:
            return _json_response(write_error(error), error.code.http)
        except web.HTTPRequestEntityTooLarge as error:
            return _json_response(write_error(invalid(f"Request body is too large: {error.text}")), 413)
        except web.RequestPayloadError as error:
            return _json_response(write_error(invalid(f"Request body cannot be read: {error}")), 400)
        except ConnectionError:  # nobody will read this answer; it gives the access log its line
            return _json_response(
                write_error(StatusError(Code.CANCELLED, "The client went away.")), Code.CANCELLED.http
            )
        except Exception as error:
            log.exception("request failed: %s %s", request.method, request.path)
            unknown = StatusError(Code.INTERNAL, f"Internal error: {type(error).__name__}")
            return _json_response(write_error(unknown), 500)
        return _json_response(body, 200)

    async def _answer(self, request: web.Request) -> bytes:
        path = request.rel_url.raw_path
        if request.method == "POST" and (found := _PREDICT.fullmatch(path)):
            name, version = unquote(found[1]), _version(found[2])
            body = await request.read()
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._workers, self._predict, name, version, body)
        if request.method == "GET" and (found := _DESCRIBE.fullmatch(path)):
            if not found[1]:
                raise invalid("Missing model name in request.")
            name, version = unquote(found[1]), _version(found[2])
            if not found[3]:
                return json.dumps(self._hosted.status_json(name, version), indent=1).encode()
            model = self._hosted.find(name, version)
            return json.dumps(metadata_json(name, model.version, model.signatures), indent=1).encode()
        if not path.lower().startswith("/v1/"):
            raise StatusError(Code.NOT_FOUND, f"Not found: {path}; the API is at /v1/models/NAME")
        raise invalid(f"Malformed request: {request.method} {path}")

    def _predict(self, name: str, version: int | None, body: bytes) -> bytes:
        find = functools.cache(lambda: self._hosted.find(name, version))  # one version for the whole request

        def find_signature(signature: str) -> Signature:
            return find().signature(signature or DEFAULT_SIGNATURE)

        asked = parse_predict(body, find_signature)
        return write_predictions(find().call(asked.signature, asked.inputs), asked.row_format)


class _AccessLogger(AbstractAccessLogger):
    """One line a request: who, what, the answer's code and size, and how long it took."""

    @property
    def enabled(self) -> bool:
        return self.logger.isEnabledFor(logging.INFO)

    def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:
        self.logger.info(
            "%s %s %s %d %d B %.1f ms",
            request.remote, request.method, request.rel_url.raw_path, response.status, response.body_length,
            time * 1e3,
        )  # fmt: skip


def _json_response(body: bytes, status: int) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


def _version(digits: str | None) -> int | None:
    if digits is None:
        return None
    if len(digits) > 19 or int(digits) >= 2**63:
        raise invalid(f"Failed to convert version: {digits[:40]} to numeric.")
    return int(digits)


def _bind(host: str, port: int) -> socket.socket:
    """A socket bound to the address, not yet listening."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise _listen_error(error, host, port) from error
    return listener


def _listen_error(error: OSError, host: str, port: int) -> ServingError:
    if error.errno == errno.EADDRINUSE:
        return ServingError(
            f"port {port} is taken by another process", f"{host}:{port}", "choose another with --port"
        )
    if error.errno == errno.EACCES:
        return ServingError(
            f"port {port} needs more rights than this user has",
            f"{host}:{port}",
            "choose one above 1023 with --port",
        )
    return ServingError(
        f"cannot listen here: {error.strerror or error}",
        f"{host}:{port}",
        "--host takes an address of this machine",
    )


def _model_url(listener: socket.socket, name: str) -> str:
    """The model's URL as a client on this machine reaches it."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1/models/{quote(name)}"
