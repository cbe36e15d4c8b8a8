"""The HTTP side: TensorFlow Serving's REST API, the metrics, and the page at /."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from aiohttp import web

from serving import inference
from serving.access import check_token
from serving.core import Core
from serving.model import Model
from serving.page import describe, page_html
from serving.rest_answer import write_error, write_predictions
from serving.rest_examples import parse_examples, write_result
from serving.rest_json import parse_predict
from serving.rest_paths import Route, parse_path
from serving.signature import DEFAULT_SIGNATURE, Signature, metadata_json
from serving.spec import ModelSpec
from serving.status import Code, StatusError, invalid

log = logging.getLogger("serving")
T = TypeVar("T")

MODELS_PATH = "/headrace/models"
_SMALL = 2**16  # bytes of a body, or values of an answer, that the event loop can take in its stride
_PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_RETRY = {Code.RESOURCE_EXHAUSTED, Code.UNAVAILABLE}


class RestHandler:
    """Answers HTTP requests.

    Args:
      core: what answers.
      grpc: where gRPC is served, for the page; "" when it is not.
    """

    def __init__(self, core: Core, grpc: str = "") -> None:
        self._core, self._grpc = core, grpc
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
        self._core.metrics.http.add(str(response.status))
        if self._draining:
            response.force_close()
            if not self._under_way:
                self._draining.set()
        return response

    async def _respond(self, request: web.Request) -> web.Response:
        try:
            return await self._answer(request)
        except StatusError as error:
            return _error(error)
        except web.HTTPRequestEntityTooLarge as error:
            return _error(invalid(f"Request body is too large: {error.text}"), 413)
        except web.RequestPayloadError as error:
            response = _error(invalid(f"Request body cannot be read: {error}"))
            response.force_close()
            return response
        except asyncio.TimeoutError:
            return _error(StatusError(Code.DEADLINE_EXCEEDED, "The request's body did not arrive in time"))
        except ConnectionError:  # nobody will read this answer; it gives the access log its line
            return _error(StatusError(Code.CANCELLED, "The client went away."))
        except Exception as error:
            log.exception("request failed: %s %s", request.method, request.path)
            return _error(StatusError(Code.INTERNAL, f"Internal error: {type(error).__name__}"))

    async def _answer(self, request: web.Request) -> web.Response:
        path = request.rel_url.raw_path
        if request.method == "GET" and path == "/":
            return web.Response(
                text=page_html(), content_type="text/html", headers={"Content-Security-Policy": _PAGE_POLICY}
            )
        check_token(self._core.options.token, request.headers.get("Authorization"))
        if request.method == "GET" and path == MODELS_PATH:
            return _json(json.dumps(describe(self._core.models, self._grpc)).encode())
        if request.method == "GET" and self._core.options.metrics_path == path:
            return web.Response(
                text=self._core.metrics.text(),
                headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"},
            )
        route = parse_path(request.method, path)
        if route.verb == "status":
            return _json(self._status(route.spec))
        if route.verb == "metadata":
            model = self._core.models.find(route.spec)
            content = metadata_json(route.spec.name, model.version, model.signatures)
            return _json(json.dumps(content, indent=1).encode())
        with self._core.admit():
            deadline = self._core.deadline()
            body = await self._body(request)
            with self._core.observe(route.spec.name, route.verb.capitalize(), "REST"):
                answer = self._predict if route.verb == "predict" else self._infer
                return _json(await answer(route, body, deadline))

    async def _body(self, request: web.Request) -> bytes:
        if request.content.is_eof():  # it came with the head, as small ones do
            return await request.read()
        timer = asyncio.get_running_loop().call_later(
            self._core.options.timeout_seconds, request.content.set_exception, asyncio.TimeoutError()
        )
        try:
            return await request.read()
        finally:
            timer.cancel()

    async def _predict(self, route: Route, body: bytes, deadline: float) -> bytes:
        # One version for the whole request; asked for after the JSON was read, as TensorFlow Serving does.
        find = functools.cache(lambda: self._core.models.find(route.spec))

        def find_signature(name: str) -> Signature:
            return find().signature(name or DEFAULT_SIGNATURE)

        asked = await _in_its_stride(len(body), lambda: parse_predict(body, find_signature))
        model = find()
        outputs = await self._core.call(model, asked.signature, asked.inputs, deadline)
        values = sum(array.size for array in outputs.values())
        answer = await _in_its_stride(values, lambda: write_predictions(outputs, asked.row_format))

        def record() -> Any:
            import tensorflow as tf
            from tensorflow_serving.apis import prediction_log_pb2

            made = prediction_log_pb2.PredictionLog()
            request, response = made.predict_log.request, made.predict_log.response
            request.model_spec.name, request.model_spec.signature_name = route.spec.name, asked.signature
            for name, array in asked.inputs.items():
                request.inputs[name].CopyFrom(tf.make_tensor_proto(array))
            for name, proto in inference.predict_outputs(outputs, ()).items():
                response.outputs[name].CopyFrom(proto)
            return made

        self._core.offer_log(route.spec, model, record)
        return answer

    async def _infer(self, route: Route, body: bytes, deadline: float) -> bytes:
        from tensorflow_serving.apis import classification_pb2, prediction_log_pb2, regression_pb2

        classify = route.verb == "classify"
        request: Any = (
            classification_pb2.ClassificationRequest() if classify else regression_pb2.RegressionRequest()
        )
        request.model_spec.name = route.spec.name
        await _in_its_stride(len(body), lambda: parse_examples(body, request))
        model: Model = self._core.models.find(route.spec)
        job = inference.job("classify" if classify else "regress", model, request.model_spec)
        examples = inference.examples(request.input)
        self._core.count_examples(route.spec.name, len(examples))
        outputs = await self._core.call(model, job.signature.name, job.inputs(examples), deadline)
        result = job.result(outputs, len(examples))

        def record() -> Any:
            made = prediction_log_pb2.PredictionLog()
            target = made.classify_log if classify else made.regress_log
            target.request.CopyFrom(request)
            target.response.result.CopyFrom(result)
            return made

        self._core.offer_log(route.spec, model, record)
        return write_result(route.verb, result)

    def _status(self, spec: ModelSpec) -> bytes:
        states = self._core.models.status(spec)
        versions = [
            {
                "version": str(number),
                "state": state.state,
                "status": {"error_code": state.code.name, "error_message": state.message},
            }
            for number, state in states.items()
        ]
        return json.dumps({"model_version_status": versions}, indent=1).encode()


async def _in_its_stride(size: int, work: Callable[[], T]) -> T:
    """Does small work here, and large work in a thread so that others are answered meanwhile."""
    if size <= _SMALL:
        return work()
    return await asyncio.get_running_loop().run_in_executor(None, work)


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


def _error(error: StatusError, status: int | None = None) -> web.Response:
    headers = {}
    if error.code in _RETRY:
        headers["Retry-After"] = "1"
    if error.code is Code.UNAUTHENTICATED:
        headers["WWW-Authenticate"] = "Bearer"
    return web.Response(
        body=write_error(error),
        status=status or error.code.http,
        content_type="application/json",
        headers=headers,
    )
