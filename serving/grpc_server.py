"""The gRPC side: TensorFlow Serving's PredictionService and ModelService.

Only messages and `*_pb2_grpc` modules of tensorflow-serving-api are used: its service descriptors do not load
with every protobuf that it is installed beside.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_log_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

from serving import inference
from serving.access import check_token, log_call
from serving.config_files import models_of
from serving.core import Core
from serving.model import Model
from serving.signature import DEFAULT_SIGNATURE
from serving.spec import ModelSpec
from serving.status import Code, StatusError, invalid

log = logging.getLogger("serving")

_CODES = {code.value[0]: code for code in grpc.StatusCode}
_SIGNATURES = "signature_def"
Work = Callable[[], Awaitable[Any]]


def add_services(server: Any, core: Core) -> None:
    """Adds both services to a grpc.aio server."""
    door = _Door(core)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(_Predictions(core, door), server)
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(_ModelsService(core, door), server)


class _Door:
    """What every call goes through: the token, the limits, the errors and the access log."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def answer(self, context: Any, method: str, work: Work) -> Any:
        started, error = time.perf_counter(), StatusError(Code.OK, "")
        try:
            check_token(
                self._core.options.token, dict(context.invocation_metadata() or ()).get("authorization")
            )
            with self._core.admit():
                return await work()
        except StatusError as refused:
            error = refused
        except asyncio.CancelledError:
            error = StatusError(Code.CANCELLED, "The client went away.")
            raise
        except Exception as failed:
            log.exception("call failed: %s", method)
            error = StatusError(Code.INTERNAL, f"Internal error: {type(failed).__name__}")
        finally:
            peer = context.peer().split(":", 1)[-1].rsplit(":", 1)[0]
            log_call(peer, method, error.code.name, time.perf_counter() - started)
        await context.abort(_CODES[error.code], error.message)

    def deadline(self, context: Any) -> float:
        return self._core.deadline(context.time_remaining())


class _Predictions(prediction_service_pb2_grpc.PredictionServiceServicer):
    def __init__(self, core: Core, door: _Door) -> None:
        self._core, self._door = core, door

    async def Predict(self, request: Any, context: Any) -> Any:
        return await self._door.answer(context, "Predict", lambda: self._predict(request, context))

    async def Classify(self, request: Any, context: Any) -> Any:
        return await self._door.answer(context, "Classify", lambda: self._infer("classify", request, context))

    async def Regress(self, request: Any, context: Any) -> Any:
        return await self._door.answer(context, "Regress", lambda: self._infer("regress", request, context))

    async def MultiInference(self, request: Any, context: Any) -> Any:
        return await self._door.answer(context, "MultiInference", lambda: self._multi(request, context))

    async def GetModelMetadata(self, request: Any, context: Any) -> Any:
        return await self._door.answer(context, "GetModelMetadata", lambda: self._metadata(request))

    async def _predict(self, request: Any, context: Any) -> Any:
        spec = _spec(request.model_spec)
        with self._core.observe(spec.name, "Predict", "GRPC"):
            model = self._core.models.find(spec)
            signature = model.signature(request.model_spec.signature_name or DEFAULT_SIGNATURE)
            inference.check_filter(signature, request.output_filter)
            inputs = inference.predict_inputs(signature, request.inputs)
            outputs = await self._core.call(model, signature.name, inputs, self._door.deadline(context))
            response = predict_pb2.PredictResponse()
            _fill(response.model_spec, spec.name, model, signature.name)
            for name, tensor in inference.predict_outputs(outputs, request.output_filter).items():
                response.outputs[name].CopyFrom(tensor)
        self._log("predict_log", spec, model, request, response)
        return response

    async def _infer(self, kind: inference.Kind, request: Any, context: Any) -> Any:
        spec = _spec(request.model_spec)
        with self._core.observe(spec.name, kind.capitalize(), "GRPC"):
            model = self._core.models.find(spec)
            job = inference.job(kind, model, request.model_spec)
            result = await self._result(job, model, request.input, context)
            response: Any = (
                classification_pb2.ClassificationResponse(result=result)
                if kind == "classify"
                else regression_pb2.RegressionResponse(result=result)
            )
            _fill(response.model_spec, spec.name, model, job.signature.name)
        self._log("classify_log" if kind == "classify" else "regress_log", spec, model, request, response)
        return response

    async def _multi(self, request: Any, context: Any) -> Any:
        specs = [_spec(task.model_spec) for task in request.tasks]
        if not specs:
            raise invalid("Inference request must have at least one task")
        for spec in specs:
            if not spec.name:
                raise invalid("Found ModelSpec with an empty model name.")
            if spec.name != specs[0].name:
                raise invalid("All ModelSpecs in a MultiInferenceRequest must access the same model name.")
        with self._core.observe(specs[0].name, "MultiInference", "GRPC"):
            model = self._core.models.find(specs[0])
            jobs = inference.jobs(model, request.tasks)
            response = inference_pb2.MultiInferenceResponse()
            results = await asyncio.gather(
                *(self._result(job, model, request.input, context) for job in jobs)
            )
            for job, result in zip(jobs, results, strict=True):
                added = response.results.add()
                _fill(added.model_spec, specs[0].name, model, job.signature.name)
                if job.kind == "classify":
                    added.classification_result.CopyFrom(result)
                else:
                    added.regression_result.CopyFrom(result)
        self._log("multi_inference_log", specs[0], model, request, response)
        return response

    async def _result(self, job: inference.Job, model: Model, given: Any, context: Any) -> Any:
        examples = inference.examples(given)
        outputs = await self._core.call(
            model, job.signature.name, job.inputs(examples), self._door.deadline(context)
        )
        return job.result(outputs, len(examples))

    async def _metadata(self, request: Any) -> Any:
        if not request.HasField("model_spec"):
            raise invalid("Missing ModelSpec")
        if not request.metadata_field:
            raise invalid("GetModelMetadataRequest must specify at least one metadata_field")
        for field in request.metadata_field:
            if field != _SIGNATURES:
                raise invalid(f"Metadata field {field} is not supported")
        spec = _spec(request.model_spec)
        model = self._core.models.find(spec)
        signatures = get_model_metadata_pb2.SignatureDefMap()
        for name, definition in model.definitions.items():
            signatures.signature_def[name].CopyFrom(definition)
        response = get_model_metadata_pb2.GetModelMetadataResponse()
        _fill(response.model_spec, spec.name, model)
        response.metadata[_SIGNATURES].Pack(signatures)
        return response

    def _log(self, kind: str, spec: ModelSpec, model: Model, request: Any, response: Any) -> None:
        def record() -> Any:
            made = prediction_log_pb2.PredictionLog()
            getattr(made, kind).request.CopyFrom(request)
            getattr(made, kind).response.CopyFrom(response)
            return made

        self._core.offer_log(spec, model, record)


class _ModelsService(model_service_pb2_grpc.ModelServiceServicer):
    def __init__(self, core: Core, door: _Door) -> None:
        self._core, self._door = core, door

    async def GetModelStatus(self, request: Any, context: Any) -> Any:
        return await self._door.answer(context, "GetModelStatus", lambda: self._status(request))

    async def HandleReloadConfigRequest(self, request: Any, context: Any) -> Any:
        return await self._door.answer(context, "HandleReloadConfigRequest", lambda: self._reload(request))

    async def _status(self, request: Any) -> Any:
        if not request.HasField("model_spec"):
            raise invalid("Missing ModelSpec")
        response = get_model_status_pb2.GetModelStatusResponse()
        for number, state in self._core.models.status(_spec(request.model_spec)).items():
            added = response.model_version_status.add()
            added.version = number
            added.state = get_model_status_pb2.ModelVersionStatus.State.Value(state.state)
            added.status.error_code = int(state.code)
            added.status.error_message = state.message
        return response

    async def _reload(self, request: Any) -> Any:
        configs = models_of(request.config)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._core.loader, self._core.models.apply, configs)
        return model_management_pb2.ReloadConfigResponse()


def _spec(message: Any) -> ModelSpec:
    version = message.version.value if message.HasField("version") else None
    return ModelSpec(message.name, version, message.version_label)


def _fill(message: Any, name: str, model: Model, signature: str = "") -> None:
    message.name, message.signature_name = name, signature
    message.version.value = model.version
