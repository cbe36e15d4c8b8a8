"""A load test of a server: bounded in time and requests, with as little of its own as can be in the way.

The REST client is the least that speaks HTTP: one keep-alive connection a client, the bytes of requests made
once. A client library would be measured as well, and on one machine takes the time that the server needs.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from serving.errors import ServingError
from serving.model import import_tensorflow

OK = "200"
Call = Callable[[], Awaitable[str]]  # sends a request; the code of its answer


@dataclass(frozen=True)
class Load:
    """How much is asked.

    Args:
      clients: how many ask at a time, each waiting for its answer.
      seconds: when to stop.
      requests: how many at most; whichever comes first.
      timeout: seconds after which an answer is not waited for any more.
    """

    clients: int = 32
    seconds: float = 10.0
    requests: int = 100_000
    timeout: float = 30.0


@dataclass(frozen=True)
class Measured:
    """What came of it; latencies in milliseconds, of the requests that were answered with 200 or OK."""

    requests: int
    seconds: float
    rows: int
    latencies: np.ndarray = field(repr=False)
    codes: dict[str, int] = field(default_factory=dict)

    @property
    def errors(self) -> int:
        """Requests that were answered otherwise, or not at all."""
        return self.requests - self.codes.get(OK, 0)

    def percentile(self, share: float) -> float:
        """A percentile of the latencies; NaN when no request was answered."""
        return float(np.percentile(self.latencies, share)) if len(self.latencies) else float("nan")

    def to_json(self) -> dict[str, Any]:
        """The figures that a person looks at."""
        shares = {"p50_ms": 50, "p95_ms": 95, "p99_ms": 99, "max_ms": 100}
        latencies = {
            name: round(self.percentile(share), 3) if len(self.latencies) else None
            for name, share in shares.items()
        }
        answered = self.codes.get(OK, 0)
        return {
            "requests": self.requests,
            "errors": self.errors,
            "seconds": round(self.seconds, 3),
            "requests_per_second": round(answered / self.seconds, 1),
            "rows_per_second": round(answered * self.rows / self.seconds, 1),
            **latencies,
            "codes": self.codes,
        }


def rest_load(
    url: str, path: str, bodies: Sequence[bytes], rows: int, load: Load, token: str = ""
) -> Measured:
    """POSTs bodies, by turns, to a path of a server.

    Args:
      url: `http://HOST:PORT` or https.
      path: such as `/v1/models/taxi:predict`.
      bodies: of the requests.
      rows: how many rows are in one.
      load: how many requests, for how long.
      token: what the server asks for, if it does.

    Raises:
      ServingError: nobody listens there.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ServingError(f"got {url!r}; expected http://HOST:PORT", "the server's URL")
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    host, port = parts.hostname, parts.port or (443 if tls else 80)
    bearer = f"Authorization: Bearer {token}\r\n" if token else ""
    requests = [
        f"POST {quote(path, safe='/:')} HTTP/1.1\r\nHost: {parts.netloc}\r\n{bearer}"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
        for body in bodies
    ]

    async def connect(stack: AsyncExitStack, number: int) -> Call:
        connection: list[_Connection] = []
        turn = number

        async def call() -> str:
            nonlocal turn
            if not connection or connection[0].closed:
                _, opened = await asyncio.get_running_loop().create_connection(
                    _Connection, host, port, ssl=tls
                )
                connection[:] = [opened]
                stack.callback(opened.close)
            turn += 1
            return await connection[0].send(requests[turn % len(requests)])

        return call

    try:
        return asyncio.run(_run(connect, rows, load))
    except OSError as error:
        raise ServingError(f"no server answers: {error}", url, "start one with: headrace serve") from error


_GRPC_PLACE = "give what headrace serve prints after gRPC:, and --url with https:// if it serves with TLS"


def grpc_load(
    place: str, requests: Sequence[Any], rows: int, load: Load, token: str = "", tls: bool = False
) -> Measured:
    """Sends PredictRequests, by turns, over one channel; `place` is HOST:PORT."""
    import grpc

    import_tensorflow()  # else the stubs do, which then says much about this machine
    from tensorflow_serving.apis import prediction_service_pb2_grpc

    from serving.grpc_client import channel_credentials

    metadata = (("authorization", f"Bearer {token}"),) if token else ()

    async def main() -> Measured:
        options = [("grpc.max_receive_message_length", -1), ("grpc.enable_http_proxy", 0)]
        opened = (
            grpc.aio.secure_channel(place, channel_credentials(), options=options)
            if tls
            else grpc.aio.insecure_channel(place, options=options)
        )
        async with opened as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            try:
                await stub.Predict(requests[0], timeout=load.timeout, metadata=metadata)
            except grpc.aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.UNAVAILABLE:  # nobody, or not with TLS, or not without
                    raise ServingError(f"no server answers: {error.details()}", place, _GRPC_PLACE) from error

            async def connect(stack: AsyncExitStack, number: int) -> Call:
                turn = number

                async def call() -> str:
                    nonlocal turn
                    turn += 1
                    try:
                        await stub.Predict(
                            requests[turn % len(requests)], timeout=load.timeout, metadata=metadata
                        )
                    except grpc.aio.AioRpcError as error:
                        return str(error.code().name)
                    return OK

                return call

            return await _run(connect, rows, load)

    return asyncio.run(main())


async def _run(connect: Callable[[AsyncExitStack, int], Awaitable[Call]], rows: int, load: Load) -> Measured:
    latencies: list[float] = []
    codes: Counter[str] = Counter()
    left = load.requests
    async with AsyncExitStack() as stack:
        calls = [await connect(stack, number) for number in range(load.clients)]
        # What a first request pays for is not measured; a server that is not there shows here.
        await asyncio.gather(*(asyncio.wait_for(call(), load.timeout) for call in calls))
        began = time.perf_counter()
        deadline = began + load.seconds

        async def ask(call: Call) -> None:
            nonlocal left
            while left > 0 and time.perf_counter() < deadline:
                left -= 1
                started = time.perf_counter()
                try:
                    code = await asyncio.wait_for(call(), load.timeout)
                except asyncio.TimeoutError:
                    code = "no answer"
                except OSError:
                    code = "connection broke"
                    await asyncio.sleep(0.05)  # a server that is gone must not be asked in a tight loop
                codes[code] += 1
                if code == OK:
                    latencies.append((time.perf_counter() - started) * 1e3)

        await asyncio.gather(*(ask(call) for call in calls))
        seconds = time.perf_counter() - began
    return Measured(sum(codes.values()), seconds, rows, np.array(latencies), dict(codes))


class _Connection(asyncio.Protocol):
    """One HTTP/1.1 connection, one request at a time."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._answer: asyncio.Future[str] | None = None
        self._transport: asyncio.Transport | None = None
        self._end = -1  # of the answer in the buffer; -1 while its head is not there
        self.closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    async def send(self, request: bytes) -> str:
        """Sends a request; the code of its answer."""
        assert self._transport is not None
        self._buffer.clear()
        self._end = -1
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            return await self._answer
        except asyncio.CancelledError:
            self.close()  # a late answer must not be taken for that of the next request
            raise

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._end < 0:
            head = self._buffer.find(b"\r\n\r\n")
            if head < 0:
                return
            length = _content_length(bytes(self._buffer[:head]))
            if length is None:
                self._fail("an answer without Content-Length")
                return
            self._end = head + 4 + length
        if len(self._buffer) >= self._end and self._answer and not self._answer.done():
            self._answer.set_result(self._buffer[9:12].decode("ascii", "replace"))

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        self._fail(str(error or "the server closed it"))

    def close(self) -> None:
        self.closed = True
        if self._transport:
            self._transport.close()

    def _fail(self, why: str) -> None:
        self.closed = True
        if self._answer and not self._answer.done():
            self._answer.set_exception(ConnectionError(why))


def _content_length(head: bytes) -> int | None:
    for line in head.lower().split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return int(value)
    return None
