"""The embedded server: starts, watches for new versions, and ends without a dropped request."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import ssl
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from serving import memory
from serving.access import AccessLogger, access_log, is_loopback, log_lightly, ssl_context, tells_more
from serving.config_files import read_models
from serving.core import Core
from serving.errors import ServingError
from serving.listen import bind, listen_error, reachable
from serving.model import import_tensorflow
from serving.models import Models
from serving.options import ServerOptions
from serving.rest_server import RestHandler
from serving.status import StatusError

log = logging.getLogger("serving")


@dataclass(frozen=True)
class Ready:
    """A server that accepts requests: its URL, gRPC's HOST:PORT ("" without), and its models."""

    url: str
    grpc: str
    models: Models


def run_server(
    options: ServerOptions,
    on_ready: Callable[[Ready], None] = lambda ready: None,
    stop_when: Callable[[], Coroutine[Any, Any, None]] | None = None,
) -> None:
    """Serves until SIGTERM or SIGINT, then lets the requests under way end.

    Args:
      options: what to serve, and how.
      on_ready: called when the server accepts requests.
      stop_when: a coroutine function; the server stops when it ends, too.

    Raises:
      ServingError: a model cannot be loaded, a port is taken, or a file of the options is bad.
    """
    log_lightly()
    asyncio.run(_serve(options, on_ready, stop_when))


async def _serve(
    options: ServerOptions,
    on_ready: Callable[[Ready], None],
    stop_when: Callable[[], Coroutine[Any, Any, None]] | None,
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    tls = ssl_context(options.tls_cert, options.tls_key) if options.tls_cert and options.tls_key else None
    if not options.token and not is_loopback(options.host):
        log.warning("anyone who reaches %s may ask and change what is served: set a token", options.host)
    threads = options.batching.num_batch_threads
    async with contextlib.AsyncExitStack() as stack:
        listener = bind(options.host, options.port)  # before the models: a taken port shows at once
        stack.callback(listener.close)
        grpc_server, grpc_port = _bind_grpc(options)
        loader = stack.enter_context(ThreadPoolExecutor(1, "loader"))
        workers = stack.enter_context(ThreadPoolExecutor(threads, "model"))
        models = Models(options.models)
        await loop.run_in_executor(loader, models.check)  # before the libraries, which take seconds
        await loop.run_in_executor(loader, _import_libraries)
        await loop.run_in_executor(loader, models.start)
        if stop.is_set():
            return
        core = Core(models, options, loader, workers)
        stack.callback(core.close)
        grpc_place = ""
        if grpc_server:
            from serving.grpc_server import add_services

            add_services(grpc_server, core)
            await grpc_server.start()
            grpc_place = reachable(options.host, grpc_port)
        handler = RestHandler(core, grpc_place)
        runner = await _start_http(handler, options, listener, tls)
        host, port = listener.getsockname()[:2]
        watchers = [loop.create_task(_watch(core))]
        if options.models_file and options.reload_seconds:
            watchers.append(loop.create_task(_watch_config(core)))
        if stop_when:
            watchers.append(loop.create_task(_end_with(stop_when, stop)))
        on_ready(Ready(f"{'https' if tls else 'http'}://{reachable(host, port)}", grpc_place, models))
        await stop.wait()
        log.info("stopping: no new requests, those under way may end")
        for watcher in watchers:
            watcher.cancel()
        for site in list(runner.sites):
            await site.stop()
        draining = [
            handler.drain(options.drain_seconds)
        ]  # the runner's own would drop bodies that still arrive
        if grpc_server:
            draining.append(grpc_server.stop(options.drain_seconds))
        await asyncio.gather(*draining)
        await runner.cleanup()


def _import_libraries() -> None:
    """Loads TensorFlow before any model, and takes it out of the garbage collector's rounds.

    A full round over its objects stops every thread for a third of a second. Models are loaded after this,
    and are collected when they are let go.
    """
    import_tensorflow()
    memory.settle()


async def _start_http(
    handler: RestHandler, options: ServerOptions, listener: socket.socket, tls: ssl.SSLContext | None
) -> web.AppRunner:
    app = web.Application(client_max_size=options.max_body)
    app.router.add_route("*", "/{path:.*}", handler.handle)
    logging.getLogger("aiohttp.server").addFilter(tells_more)
    runner = web.AppRunner(app, access_log=access_log, access_log_class=AccessLogger, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.SockSite(runner, listener, ssl_context=tls).start()
    except OSError as error:
        raise listen_error(error, options.host, options.port) from error
    return runner


def _bind_grpc(options: ServerOptions) -> tuple[Any, int]:
    """A gRPC server bound to its port, not yet started."""
    if options.grpc_port is None:
        return None, 0
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    import grpc

    # gRPC's own error does not say why a port cannot be had.
    bind(options.host, options.grpc_port, "--grpc-port").close()
    server = grpc.aio.server(
        options=[
            ("grpc.max_receive_message_length", options.max_body),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 0),  # else a second server would share the port in silence
        ]
    )
    host = f"[{options.host}]" if ":" in options.host else options.host
    place = f"{host}:{options.grpc_port}"
    try:
        if options.tls_cert and options.tls_key:
            pair = (options.tls_key.read_bytes(), options.tls_cert.read_bytes())
            port = server.add_secure_port(place, grpc.ssl_server_credentials([pair]))
        else:
            port = server.add_insecure_port(place)
    except RuntimeError as error:
        raise ServingError("cannot listen here for gRPC", place, "choose another with --grpc-port") from error
    return server, port


async def _watch(core: Core) -> None:
    """Looks for new versions for as long as the server runs, whatever goes wrong in between."""
    said = ""
    while True:
        await asyncio.sleep(core.options.poll_seconds)
        try:
            await asyncio.get_running_loop().run_in_executor(core.loader, core.models.poll)
            said = ""
        except Exception as error:
            if repr(error) != said:  # once, not every second
                log.exception("cannot look for new versions")
            said = repr(error)


async def _watch_config(core: Core) -> None:
    """Reads models.config again and again; a bad one is said, and changes nothing."""
    path = core.options.models_file
    assert path is not None
    text = await asyncio.to_thread(path.read_bytes)
    while True:
        await asyncio.sleep(core.options.reload_seconds)
        try:
            new = await asyncio.to_thread(path.read_bytes)
            if new == text:
                continue
            text = new
            configs = read_models(path)
            await asyncio.get_running_loop().run_in_executor(core.loader, core.models.apply, configs)
            log.info("%s was read again", path)
        except (ServingError, StatusError, OSError) as error:
            log.error("%s is not applied, what was served goes on: %s", path, error)


async def _end_with(wait: Callable[[], Coroutine[Any, Any, None]], stop: asyncio.Event) -> None:
    await wait()
    stop.set()
