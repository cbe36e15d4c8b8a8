"""A version answers its recorded requests before it serves."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from serving.errors import ServingError
from serving.model import load_model
from serving.warmup import WARMUP_FILE


@pytest.fixture
def version(binary_base: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(binary_base / "17", tmp_path / "17"))


def write(version: Path, *records: bytes) -> None:
    with tf.io.TFRecordWriter(str(version / WARMUP_FILE)) as writer:
        for record in records:
            writer.write(record)


def predict(**inputs: Any) -> prediction_log_pb2.PredictionLog:
    record = prediction_log_pb2.PredictionLog()
    record.predict_log.request.model_spec.signature_name = "matrix"
    for name, value in inputs.items():
        record.predict_log.request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return record


def inference(kind: str, signature: str) -> prediction_log_pb2.PredictionLog:
    record = prediction_log_pb2.PredictionLog()
    request = getattr(record, kind).request
    request.model_spec.signature_name = signature
    request.input.example_list.examples.add()
    return record


def multi() -> prediction_log_pb2.PredictionLog:
    record = prediction_log_pb2.PredictionLog()
    task = record.multi_inference_log.request.tasks.add(method_name="tensorflow/serving/regress")
    task.model_spec.signature_name = "regress"
    record.multi_inference_log.request.input.example_list.examples.add()
    return record


ROW = np.array([[1, 2]], np.float32)


def test_every_kind_of_request(version: Path, caplog: pytest.LogCaptureFixture) -> None:
    records = [
        predict(x=ROW),
        inference("classify_log", "classify"),
        inference("regress_log", "regress"),
        multi(),
    ]
    write(version, *(record.SerializeToString() for record in records))
    with caplog.at_level("INFO", "serving"):
        model = load_model(version, 17)
    assert "warmed up with 4 requests" in caplog.text
    assert model.call("matrix", {"x": ROW})["y"].tolist() == [3]


def test_a_request_that_fails_keeps_the_version_out(version: Path) -> None:
    write(version, predict(x=ROW).SerializeToString(), predict(x=ROW[0]).SerializeToString())
    with pytest.raises(ServingError, match=r"warm-up request 2 failed: .*got shape \[2\]"):
        load_model(version, 17)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"no records", "no warm-up request can be read"),
        (None, "PredictionLog without a request"),
    ],
)
def test_a_bad_file_keeps_the_version_out(version: Path, content: bytes | None, text: str) -> None:
    if content is None:
        write(version, b"")
    else:
        (version / WARMUP_FILE).write_bytes(content)
    with pytest.raises(ServingError, match=text):
        load_model(version, 17)


def test_too_many(version: Path) -> None:
    write(version, *[predict(x=ROW).SerializeToString()] * 1001)
    with pytest.raises(ServingError, match="more than 1000 warm-up requests"):
        load_model(version, 17)
