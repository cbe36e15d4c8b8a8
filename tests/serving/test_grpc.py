"""The served model over gRPC, asked with TensorFlow Serving's own stubs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import grpc
import numpy as np
import pytest
import tensorflow as tf
from serve_process import Running
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)


@pytest.fixture(scope="module")
def stubs(server: Running) -> Iterator[Any]:
    with grpc.insecure_channel(server.grpc) as channel:
        yield SimpleNamespace(
            predictions=prediction_service_pb2_grpc.PredictionServiceStub(channel),
            models=model_service_pb2_grpc.ModelServiceStub(channel),
        )


def predict_request(signature: str = "", filter: Any = (), **inputs: Any) -> Any:
    request = predict_pb2.PredictRequest(output_filter=filter)
    request.model_spec.name, request.model_spec.signature_name = "tips", signature
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return request


def example(**features: float) -> tf.train.Example:
    message = tf.train.Example()
    for name, value in features.items():
        message.features.feature[name].float_list.value.append(value)
    return message


def test_predict(stubs: Any) -> None:
    serialized = [example(trip_miles=9).SerializeToString(), b""]
    answer = stubs.predictions.Predict(predict_request(examples=serialized), timeout=20)
    assert answer.model_spec.name == "tips"
    assert (answer.model_spec.version.value, answer.model_spec.signature_name) == (17, "serving_default")
    assert set(answer.outputs) == {"probabilities", "classes", "predicted_class"}
    assert tf.make_ndarray(answer.outputs["predicted_class"]).tolist() == [b"yes", b"no"]
    assert np.allclose(tf.make_ndarray(answer.outputs["probabilities"]), [[0.1, 0.9], [1, 0]])


def test_predict_with_a_filter_a_version_and_other_types(stubs: Any) -> None:
    request = predict_request("logarithm", ["twice"], x=np.array([1, 2], np.float32))
    request.model_spec.version.value = 17
    answer = stubs.predictions.Predict(request)
    assert {name: tf.make_ndarray(tensor).tolist() for name, tensor in answer.outputs.items()} == {
        "twice": [2, 4]
    }
    kinds = {
        "small": np.array([-5], np.int8),
        "flag": np.array([True]),
        "wide": np.array([0.1]),
        "count": np.array([4_000_000_000], np.uint32),
    }
    answer = stubs.predictions.Predict(predict_request("kinds", **kinds))
    for name, sent in kinds.items():
        got = tf.make_ndarray(answer.outputs[name])
        assert (got.dtype, got.tolist()) == (sent.dtype, sent.tolist())
    half = stubs.predictions.Predict(predict_request("half", x=np.array([1.5], np.float16)))  # not for JSON
    assert tf.make_ndarray(half.outputs["y"]).tolist() == [1.5]


def infer_request(kind: Any, signature: str, *examples: tf.train.Example, context: Any = None) -> Any:
    request = kind()
    request.model_spec.name, request.model_spec.signature_name = "tips", signature
    target = request.input.example_list
    if context:
        target = request.input.example_list_with_context
        target.context.CopyFrom(context)
    target.examples.extend(examples)
    return request


def test_classify(stubs: Any) -> None:
    request = infer_request(
        classification_pb2.ClassificationRequest, "classify", example(trip_miles=7), example()
    )
    answer = stubs.predictions.Classify(request)
    assert (answer.model_spec.signature_name, answer.model_spec.version.value) == ("classify", 17)
    first, second = answer.result.classifications
    assert [one.label for one in first.classes] == ["no", "yes"]
    assert [one.score for one in first.classes] == pytest.approx([0.3, 0.7])
    assert [one.score for one in second.classes] == [1, 0]
    request.model_spec.signature_name = "only_scores"
    assert [one.label for one in stubs.predictions.Classify(request).result.classifications[0].classes] == [
        "",
        "",
    ]


def test_regress_with_a_context(stubs: Any) -> None:
    request = infer_request(
        regression_pb2.RegressionRequest, "regress", example(), example(), context=example(trip_miles=4)
    )
    answer = stubs.predictions.Regress(request)
    assert [one.value for one in answer.result.regressions] == pytest.approx([0.4, 0.4])


def multi_request(*tasks: tuple[str, str, str]) -> Any:
    request = inference_pb2.MultiInferenceRequest()
    for name, signature, method in tasks:
        task = request.tasks.add(method_name=f"tensorflow/serving/{method}")
        task.model_spec.name, task.model_spec.signature_name = name, signature
    request.input.example_list.examples.extend([example(trip_miles=7)])
    return request


def test_multi_inference(stubs: Any) -> None:
    request = multi_request(("tips", "classify", "classify"), ("tips", "regress", "regress"))
    first, second = stubs.predictions.MultiInference(request).results
    assert first.classification_result.classifications[0].classes[1].score == pytest.approx(0.7)
    assert second.regression_result.regressions[0].value == pytest.approx(0.7)
    assert (first.model_spec.signature_name, second.model_spec.version.value) == ("classify", 17)


def test_metadata(stubs: Any) -> None:
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "tips"
    answer = stubs.predictions.GetModelMetadata(request)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert answer.metadata["signature_def"].Unpack(signatures)
    raw = signatures.signature_def["serving_raw"]
    assert raw.method_name == "tensorflow/serving/predict"
    assert raw.inputs["hour"].dtype == tf.int64.as_datatype_enum
    assert answer.model_spec.version.value == 17


def test_status(stubs: Any) -> None:
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "tips"
    (version,) = stubs.models.GetModelStatus(request).model_version_status
    assert (version.version, version.state, version.status.error_code) == (
        17,
        get_model_status_pb2.ModelVersionStatus.AVAILABLE,
        0,
    )


def changed(request: Any, **spec: Any) -> Any:
    """The request for another model, version or label."""
    for name, value in spec.items():
        if name == "version":
            request.model_spec.version.value = value
        else:
            setattr(request.model_spec, name, value)
    return request


def broken_tensor() -> Any:
    request = predict_request("matrix")
    tensor = request.inputs["x"]
    tensor.dtype = tf.float32.as_datatype_enum
    tensor.tensor_shape.dim.add(size=3)
    tensor.tensor_content = b"123"
    return request


def huge_tensor() -> Any:
    request = predict_request("logarithm", x=np.array([1], np.float32))
    request.inputs["x"].tensor_shape.dim[0].size = 2**40
    return request


CLASSIFY, REGRESS = classification_pb2.ClassificationRequest, regression_pb2.RegressionRequest
ONE = np.array([[1, 2]], np.float32)
BAD: dict[str, tuple[str, Callable[[], Any], str, str]] = {
    "no name": (
        "Predict",
        lambda: changed(predict_request(), name=""),
        "INVALID_ARGUMENT",
        "ModelSpec has no name specified.",
    ),
    "model": (
        "Predict",
        lambda: changed(predict_request(), name="foo"),
        "NOT_FOUND",
        "Servable not found for request: Latest(foo)",
    ),
    "version": (
        "Predict",
        lambda: changed(predict_request(), version=3),
        "NOT_FOUND",
        "Servable not found for request: Specific(tips, 3)",
    ),
    "label": (
        "Predict",
        lambda: changed(predict_request(), version_label="stable"),
        "INVALID_ARGUMENT",
        "Unrecognized servable version label: stable",
    ),
    "signature": (
        "Predict",
        lambda: predict_request("foo"),
        "INVALID_ARGUMENT",
        'Serving signature name: "foo" not found in signature def',
    ),
    "input": (
        "Predict",
        lambda: predict_request("matrix", y=ONE),
        "INVALID_ARGUMENT",
        "Sent extra: {y}. Missing but required: {x}.",
    ),
    "type": (
        "Predict",
        lambda: predict_request("matrix", x=ONE.astype(np.int64)),
        "INVALID_ARGUMENT",
        "Expects arg[0] to be float but int64 is provided",
    ),
    "shape": (
        "Predict",
        lambda: predict_request("matrix", x=ONE[0]),
        "INVALID_ARGUMENT",
        "got shape [2], expected [-1,2]",
    ),
    "tensor": ("Predict", broken_tensor, "INVALID_ARGUMENT", "tensor parsing error: x"),
    "huge tensor": ("Predict", huge_tensor, "INVALID_ARGUMENT", "tensor parsing error: x"),
    "filter": (
        "Predict",
        lambda: predict_request("matrix", ["z"], x=ONE),
        "INVALID_ARGUMENT",
        "output tensor alias not found in signature: z Outputs expected to be in the set {y}.",
    ),
    "filter twice": (
        "Predict",
        lambda: predict_request("matrix", ["y", "y"], x=ONE),
        "INVALID_ARGUMENT",
        "duplicate output tensor alias: y",
    ),
    "graph": (
        "Predict",
        lambda: predict_request(examples=[b"no example"]),
        "INVALID_ARGUMENT",
        "Could not parse example input",
    ),
    "no examples": (
        "Classify",
        lambda: infer_request(CLASSIFY, "classify"),
        "INVALID_ARGUMENT",
        "Input is empty.",
    ),
    "no signature": (
        "Classify",
        lambda: infer_request(CLASSIFY, "foo", example()),
        "INVALID_ARGUMENT",
        "No signature was found with the name: foo",
    ),
    "two inputs": (
        "Classify",
        lambda: infer_request(CLASSIFY, "add", example()),
        "INVALID_ARGUMENT",
        "Expected one input Tensor.",
    ),
    "three outputs": (
        "Classify",
        lambda: infer_request(CLASSIFY, "", example()),
        "INVALID_ARGUMENT",
        "Expected one or two output Tensors, found 3",
    ),
    "input's name": (
        "Classify",
        lambda: infer_request(CLASSIFY, "scalar", example()),
        "FAILED_PRECONDITION",
        "No classification inputs found in SignatureDef: ",
    ),
    "outputs": (
        "Classify",
        lambda: infer_request(CLASSIFY, "wrong_outputs", example()),
        "FAILED_PRECONDITION",
        'Expected classification signature outputs to contain at least one of "classes" or "scores".',
    ),
    "no regression": (
        "Regress",
        lambda: infer_request(REGRESS, "classify", example()),
        "INVALID_ARGUMENT",
        "Expected one output Tensor.",
    ),
    "no output": (
        "Regress",
        lambda: infer_request(REGRESS, "wrong_outputs", example()),
        "FAILED_PRECONDITION",
        "No regression outputs found in SignatureDef: ",
    ),
    "no task": (
        "MultiInference",
        multi_request,
        "INVALID_ARGUMENT",
        "Inference request must have at least one task",
    ),
    "unnamed task": (
        "MultiInference",
        lambda: multi_request(("", "", "classify")),
        "INVALID_ARGUMENT",
        "Found ModelSpec with an empty model name.",
    ),
    "two models": (
        "MultiInference",
        lambda: multi_request(("tips", "", "classify"), ("foo", "", "regress")),
        "INVALID_ARGUMENT",
        "All ModelSpecs in a MultiInferenceRequest must access the same model name.",
    ),
    "task twice": (
        "MultiInference",
        lambda: multi_request(("tips", "regress", "regress"), ("tips", "regress", "regress")),
        "INVALID_ARGUMENT",
        "Duplicate evaluation of signature: regress",
    ),
    "task's method": (
        "MultiInference",
        lambda: multi_request(("tips", "regress", "predict")),
        "UNIMPLEMENTED",
        "Unsupported signature method_name: tensorflow/serving/predict",
    ),
    "no field": (
        "GetModelMetadata",
        lambda: get_model_metadata_pb2.GetModelMetadataRequest(model_spec=predict_request().model_spec),
        "INVALID_ARGUMENT",
        "GetModelMetadataRequest must specify at least one metadata_field",
    ),
    "field": (
        "GetModelMetadata",
        lambda: get_model_metadata_pb2.GetModelMetadataRequest(
            model_spec=predict_request().model_spec, metadata_field=["x"]
        ),
        "INVALID_ARGUMENT",
        "Metadata field x is not supported",
    ),
    "no spec": (
        "GetModelMetadata",
        get_model_metadata_pb2.GetModelMetadataRequest,
        "INVALID_ARGUMENT",
        "Missing ModelSpec",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_calls(stubs: Any, case: str) -> None:
    method, make, code, text = BAD[case]
    with pytest.raises(grpc.RpcError) as caught:
        getattr(stubs.predictions, method)(make(), timeout=20)
    assert caught.value.code().name == code
    assert text in caught.value.details()


def test_status_of_an_unknown_model(stubs: Any) -> None:
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "foo"
    with pytest.raises(grpc.RpcError) as caught:
        stubs.models.GetModelStatus(request)
    assert (caught.value.code(), caught.value.details()) == (
        grpc.StatusCode.NOT_FOUND,
        "Could not find any versions of model foo",
    )


def test_the_clients_deadline(stubs: Any, server: Running) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        stubs.predictions.Predict(predict_request("slow", x=np.array([300], np.float32)), timeout=0.1)
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert "Traceback" not in server.err.read_text(), server.err.read_text()


def test_a_large_message(stubs: Any) -> None:
    rows = np.ones([1_500_000], np.float32)
    answer = stubs.predictions.Predict(predict_request("scalar", x=rows), timeout=20)
    assert tf.make_ndarray(answer.outputs["total"]) == 1_500_000
