"""A small gRPC client for the embedded server and for TensorFlow Serving; tensors need TensorFlow."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

from serving.asking import check_address, raw_signature
from serving.errors import ServingError
from serving.model import import_tensorflow
from serving.retrying import Retries, TryAgain
from serving.rows import LIST, Columns, Prediction, Row, input_type, to_columns, to_predictions
from serving.signature import RAW_SIGNATURE

_PASSING = ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED")


class GrpcClient:
    """Talks to one model of a server; the channel stays open until `close`, or the end of a `with` block.

    Args:
      place: HOST:PORT.
      model: the model's name.
      timeout: seconds for an answer, with all tries; the server is told, and does not compute what is late.
      token: what the server asks for, if it does.
      version: which version is asked; None for the newest.
      label: which label is asked, instead of a version.
      retries: how many more tries after the first.
      tls: whether the server has a certificate; the authorities in the file that SSL_CERT_FILE names decide
        whether it is good, else those that gRPC brings.

    Example:
      ```python
      with GrpcClient("127.0.0.1:8500", "taxi") as client:
          print(client.predict([{"trip_miles": 2.5, "company": "Blue"}])[0].predicted_class)
      ```
    """

    def __init__(
        self,
        place: str,
        model: str,
        timeout: float = 30.0,
        token: str = "",
        *,
        version: int | None = None,
        label: str = "",
        retries: int = 3,
        tls: bool = False,
    ) -> None:
        import grpc

        import_tensorflow()  # else the stubs do, which then says much about this machine
        from tensorflow_serving.apis import prediction_service_pb2_grpc

        check_address(version, label)
        self.place, self.model, self.timeout = place, model, timeout
        self._version, self._label, self._retries = version, label, Retries(timeout, retries)
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        host = place.rpartition(":")[0].strip("[]")
        options: list[tuple[str, int]] = [("grpc.max_receive_message_length", -1)]
        if host in ("127.0.0.1", "::1", "localhost"):
            options.append(("grpc.enable_http_proxy", 0))  # a proxy cannot reach this machine's loopback
        self._channel = (
            grpc.secure_channel(place, channel_credentials(), options)
            if tls
            else grpc.insecure_channel(place, options)
        )
        self._errors = grpc.RpcError
        self._stub = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self._inputs: dict[str, str] | None = None

    def inputs(self) -> dict[str, str]:
        """The raw features that the model takes, and their types, as `to_columns` takes them."""
        if self._inputs is None:
            from tensorflow.core.framework import types_pb2
            from tensorflow_serving.apis import get_model_metadata_pb2

            request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
            self._address(request.model_spec)
            answer = self._call(self._stub.GetModelMetadata, request)
            found = get_model_metadata_pb2.SignatureDefMap()
            answer.metadata["signature_def"].Unpack(found)
            raw = raw_signature(found.signature_def, self.place)
            self._inputs = {
                name: input_type(types_pb2.DataType.Name(info.dtype), len(info.tensor_shape.dim))
                for name, info in sorted(raw.inputs.items())
            }
        return self._inputs

    def predict(self, rows: Sequence[Row]) -> list[Prediction]:
        """Answers for rows of raw columns; absent columns are missing values, unknown ones are ignored."""
        return self.predict_columns(to_columns(rows, self.inputs())) if rows else []

    def predict_columns(self, columns: Columns) -> list[Prediction]:
        """Answers for rows already cast by `to_columns`."""
        import tensorflow as tf

        request = predict_request(self.model, RAW_SIGNATURE, columns.values, self.inputs())
        self._address(request.model_spec)
        answer = self._call(self._stub.Predict, request)
        arrays = {name: tf.make_ndarray(tensor) for name, tensor in answer.outputs.items()}
        return to_predictions({name: _plain(array) for name, array in arrays.items()})

    def close(self) -> None:
        """Closes the channel."""
        self._channel.close()

    def __enter__(self) -> GrpcClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _address(self, spec: Any) -> None:
        spec.name = self.model
        if self._version is not None:
            spec.version.value = self._version
        if self._label:
            spec.version_label = self._label

    def _call(self, method: Any, request: Any) -> Any:
        def once(seconds: float) -> Any:
            try:
                return method(request, timeout=seconds, metadata=self._metadata)
            except self._errors as error:
                code = error.code().name
                details = error.details()
                if code == "DEADLINE_EXCEEDED":
                    said = f"no answer within {self.timeout:g} s"
                    raise ServingError(said, self.place, "ask for fewer rows") from error
                failed = ServingError(f"{code}: {details}", self.place)
                if code in _PASSING:
                    raise TryAgain(failed) from error
                raise failed from error

        return self._retries.call(once)


def channel_credentials() -> Any:
    """TLS that trusts whom SSL_CERT_FILE names, which gRPC by itself does not look at, and REST does."""
    import grpc

    file = os.environ.get("SSL_CERT_FILE")
    try:
        return grpc.ssl_channel_credentials(Path(file).read_bytes() if file else None)
    except OSError as error:
        raise ServingError(f"cannot read {file}: {error.strerror}", "SSL_CERT_FILE") from error


def predict_request(
    model: str, signature: str, values: Mapping[str, Sequence[Any]], types: Mapping[str, str]
) -> Any:
    """A PredictRequest message.

    Args:
      model: its name.
      signature: its name.
      values: input to one value a row, or one list of the same length; bytes as `{"b64": ...}`.
      types: input to its type, such as `DT_FLOAT`, or `DT_FLOAT[]` for lists.
    """
    import base64

    tf = import_tensorflow()
    from tensorflow_serving.apis import predict_pb2

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return base64.b64decode(value["b64"])
        return value.encode() if isinstance(value, str) else value

    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = model, signature
    for name, column in values.items():
        dtype = tf.dtypes.as_dtype(types[name].removesuffix(LIST).removeprefix("DT_").lower())
        shape, flat = [len(column)], column
        if types[name].endswith(LIST):
            shape, flat = [len(column), len(column[0])], list(chain.from_iterable(column))
        tensor = tf.make_tensor_proto([bare(value) for value in flat], dtype, shape)
        request.inputs[name].CopyFrom(tensor)
    return request


def _plain(array: Any) -> Any:
    """Strings as text, numbers as they are."""
    if array.dtype.kind != "O":
        return array.tolist()
    if array.ndim > 1:
        return [_plain(row) for row in array]
    return [value.decode("utf-8", "replace") for value in array]
