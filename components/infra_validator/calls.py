"""Calls to a server on trial, as its clients will make them, over TensorFlow Serving's two APIs."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from components.infra_validator.exported import Answers
from components.infra_validator.failed import Failed

SECONDS = 60.0  # for one request: whoever takes longer hangs
_LATE = 504


class Rest:
    """REST over one connection that is kept, as a client's pool keeps it.

    Args:
      url: of the server.
      model: its name.
    """

    def __init__(self, url: str, model: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=SECONDS)
        self._path = f"/v1/models/{quote(model, safe='')}:predict"

    def predict(self, signature: str, instances: Any) -> tuple[int, Any]:
        """The code and the JSON document of an answer.

        Raises:
          TimeoutError: there was none in time.
          Failed: the connection broke, or the answer is not JSON.
        """
        body = json.dumps({"signature_name": signature, "instances": instances})
        try:
            self._connection.request("POST", self._path, body, {"Content-Type": "application/json"})
            response = self._connection.getresponse()
            code, text = response.status, response.read()
        except TimeoutError as error:
            raise TimeoutError(f"no answer to a REST request within {SECONDS:.0f} s") from error
        except (OSError, http.client.HTTPException) as error:
            raise Failed(f"the server broke the connection: {error!r}") from error
        if code == _LATE:
            raise TimeoutError(f"the server gave a REST request up: {text[:200].decode('utf-8', 'replace')}")
        try:
            return code, json.loads(text)
        except ValueError as error:
            raise Failed(f"a REST answer with code {code} is not JSON: {error}") from error

    def close(self) -> None:
        self._connection.close()


def rest_answers(document: Any, like: Answers) -> Answers:
    """The outputs in a REST answer in row format, in the types of other answers."""
    predictions = document["predictions"]
    if len(like) == 1:
        (name,) = like
        predictions = [{name: prediction} for prediction in predictions]
    return {
        name: _array([prediction[name] for prediction in predictions], like.get(name))
        for name in (predictions[0] if predictions else like)
    }


def _array(values: Any, like: np.ndarray | None) -> np.ndarray:
    if like is None or like.dtype.kind != "O":
        return np.asarray(values, None if like is None else like.dtype)
    texts = np.array(values, np.object_)
    return np.vectorize(str.encode, otypes=[np.object_])(texts) if texts.size else texts


class Grpc:
    """gRPC's PredictionService.

    Args:
      place: HOST:PORT.
      model: its name.
    """

    def __init__(self, place: str, model: str) -> None:
        import grpc
        from tensorflow_serving.apis import prediction_service_pb2_grpc

        options = [("grpc.max_receive_message_length", -1), ("grpc.enable_http_proxy", 0)]
        self._model, self._errors = model, grpc
        self._channel = grpc.insecure_channel(place, options=options)
        self._stub = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)

    def predict(self, signature: str, inputs: Mapping[str, Any]) -> Answers:
        """The outputs for inputs of any type that a tensor can have.

        Raises:
          TimeoutError: there was no answer in time.
          Failed: the server refused.
        """
        import tensorflow as tf

        request = predict_request(self._model, signature, inputs)
        try:
            answer = self._stub.Predict(request, timeout=SECONDS)
        except self._errors.RpcError as error:
            if error.code() is self._errors.StatusCode.DEADLINE_EXCEEDED:
                raise TimeoutError(f"no answer to a gRPC request within {SECONDS:.0f} s") from error
            raise Failed(f"{signature} by gRPC: {error.code().name}: {error.details()}") from error
        return {name: np.asarray(tf.make_ndarray(tensor)) for name, tensor in answer.outputs.items()}

    def close(self) -> None:
        self._channel.close()


def predict_request(model: str, signature: str, inputs: Mapping[str, Any]) -> Any:
    """A PredictRequest message."""
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2

    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.model_spec.signature_name = signature
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return request
