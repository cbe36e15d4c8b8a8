"""Several models from a models.config: versions, labels, changes while serving, metrics, logged requests."""

from __future__ import annotations

import re
import shutil
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import tensorflow as tf
from google.protobuf import text_format
from http_calls import call
from serve_process import Running, serving, wait_for
from tensorflow_serving.apis import (
    model_management_pb2,
    model_service_pb2_grpc,
    prediction_log_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

COLUMNS = {"trip_miles": [0.0], "hour": [0], "company": ["Red"], "pickup_zone": [""]}
REQUEST = {"signature_name": "serving_raw", "inputs": COLUMNS}


def config(folder: Path, versions: str, labels: str = "", fares: bool = True) -> str:
    """A models.config: `tips` as told, and `fares`."""
    text = f"""model_config_list {{
      config {{
        name: "tips" base_path: "{folder}/tips" model_platform: "tensorflow"
        model_version_policy {{ {versions} }} {labels}
      }}"""
    if fares:
        text += f"""
      config {{ name: "fares" base_path: "{folder}/fares" model_platform: "tensorflow"
                logging_config {{ sampling_config {{ sampling_rate: 0 }} }} }}"""
    return text + "}"


def label(name: str, version: int) -> str:
    return f'version_labels {{ key: "{name}" value: {version} }} '


BOTH = "specific { versions: 17 versions: 18 }"


@pytest.fixture(scope="module")
def folder(
    binary_base: Path, yes_version: Path, regression_base: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("several")
    shutil.copytree(binary_base / "17", folder / "tips" / "17")
    shutil.copytree(yes_version, folder / "tips" / "18")
    shutil.copytree(regression_base, folder / "fares")
    (folder / "models.config").write_text(config(folder, BOTH, label("stable", 17) + label("canary", 18)))
    (folder / "batching.config").write_text("max_batch_size { value: 32 } num_batch_threads { value: 2 }")
    (folder / "monitoring.config").write_text('prometheus_config { enable: true path: "/numbers" }')
    return folder


@pytest.fixture(scope="module")
def several(folder: Path) -> Iterator[Running]:
    with serving(
        folder, str(folder / "models.config"), "--reload-config", "0.2", "--poll", "0.2",
        "--batching-config", str(folder / "batching.config"),
        "--monitoring-config", str(folder / "monitoring.config"),
        "--log-requests", str(folder / "log"), "--log-sample", "1",
    ) as running:  # fmt: skip
        yield running


def answer(server: Running, path: str = "") -> str:
    """Which version answers: 17 says no, 18 says yes."""
    code, content = call(f"{server.url}/v1/models/tips{path}:predict", REQUEST)
    assert code == 200, content
    return content["outputs"]["predicted_class"][0]


def states(server: Running, name: str = "tips") -> dict[str, str]:
    _, found = call(f"{server.url}/v1/models/{name}")
    return {one["version"]: one["state"] for one in found["model_version_status"]}


def reload(server: Running, text: str) -> None:
    request = model_management_pb2.ReloadConfigRequest()
    text_format.Parse(text, request.config)
    with grpc.insecure_channel(server.grpc) as channel:
        model_service_pb2_grpc.ModelServiceStub(channel).HandleReloadConfigRequest(request, timeout=60)


def refused(server: Running, text: str) -> tuple[str, str]:
    with pytest.raises(grpc.RpcError) as caught:
        reload(server, text)
    return caught.value.code().name, caught.value.details()


def test_versions_and_labels(several: Running) -> None:
    assert "Serving tips, versions 17, 18, at" in several.out.read_text()
    assert "Serving fares, version 3, at" in several.out.read_text()
    assert (answer(several), answer(several, "/versions/17")) == ("yes", "no")
    assert (answer(several, "/labels/stable"), answer(several, "/labels/canary")) == ("no", "yes")
    assert states(several) == {"18": "AVAILABLE", "17": "AVAILABLE"}
    code, status = call(f"{several.url}/v1/models/tips/labels/stable")
    assert (code, [one["version"] for one in status["model_version_status"]]) == (200, ["17"])
    code, metadata = call(f"{several.url}/v1/models/tips/labels/stable/metadata")
    assert (code, metadata["model_spec"]["version"]) == (200, "17")
    code, content = call(f"{several.url}/v1/models/fares:predict", REQUEST)
    assert (code, content) == (200, {"outputs": [0.0]})


def test_bad_changes_change_nothing(several: Running, folder: Path) -> None:
    missing = "Request to assign label to version 19 of model tips, which is not currently available"
    code, text = refused(several, config(folder, BOTH, label("stable", 18) + label("new", 19)))
    assert (code, text.startswith(missing)) == ("FAILED_PRECONDITION", True)
    code, text = refused(several, config(folder, "specific { versions: 18 }", label("stable", 17)))
    assert (code, "version 17 of model tips, which" in text) == ("FAILED_PRECONDITION", True)
    code, text = refused(several, config(folder, "specific { versions: 99 }"))
    assert (code, text) == (
        "UNKNOWN",
        "Some models did not become available: {{name: tips version: 99}, }",
    )
    code, text = refused(several, config(folder, BOTH).replace("/fares", "/absent"))
    assert (code, "no version of a model here" in text) == ("UNKNOWN", True)
    code, text = refused(several, config(folder, BOTH).replace(str(folder), "models"))
    assert (code, "to have an absolute path" in text) == ("INVALID_ARGUMENT", True)
    code, text = refused(several, "")
    assert (code, "Only ModelConfigList is" in text) == ("INVALID_ARGUMENT", True)
    assert (answer(several, "/labels/stable"), answer(several, "/labels/canary")) == ("no", "yes")
    assert states(several, "fares") == {"3": "AVAILABLE"}
    assert "replaces" not in several.err.read_text()  # nothing was let go in between


def test_a_reload_moves_labels_and_versions(several: Running, folder: Path) -> None:
    reload(several, config(folder, BOTH, label("stable", 18), fares=False))
    assert answer(several, "/labels/stable") == "yes"
    gone = {"error": "Unrecognized servable version label: canary"}
    assert call(f"{several.url}/v1/models/tips/labels/canary:predict", REQUEST) == (400, gone)
    gone = {"error": "Servable not found for request: Latest(fares)"}
    assert call(f"{several.url}/v1/models/fares:predict", REQUEST) == (404, gone)
    reload(several, config(folder, "specific { versions: 17 }", label("stable", 17)))
    assert (answer(several), answer(several, "/labels/stable")) == ("no", "no")
    assert states(several) == {"18": "END", "17": "AVAILABLE"}
    assert states(several, "fares") == {"3": "AVAILABLE"}


def test_the_file_is_read_again(several: Running, folder: Path) -> None:
    file = folder / "models.config"
    file.write_text("model_config_list {")
    wait_for(lambda: "is not applied, what was served goes on" in several.err.read_text())
    assert answer(several) == "no"
    file.write_text(config(folder, "all {}", label("stable", 18)))
    wait_for(lambda: f"{file} was read again" in several.err.read_text())
    assert (answer(several), answer(several, "/labels/stable")) == ("yes", "yes")


def test_metrics(several: Running) -> None:
    code, _ = call(f"{several.url}/monitoring/prometheus/metrics")
    assert code == 404  # the monitoring config puts them elsewhere
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(several.url + "/numbers") as page:
        assert page.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        text = page.read().decode()
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert all(re.fullmatch(r'[a-zA-Z_:][\w:]*\{(\w+="[^"]*",?)*\}', name) for name in lines)
    assert float(lines[':tensorflow:serving:request_count{model_name="tips",status="OK"}']) > 5
    assert float(lines[':tensorflow:serving:request_count{model_name="",status="NOT_FOUND"}']) >= 1
    labels = 'model_name="tips",API="Predict",entrypoint="REST"'
    assert (
        lines[f":tensorflow:serving:request_latency_count{{{labels}}}"]
        == (lines[f':tensorflow:serving:request_latency_bucket{{{labels},le="+Inf"}}'])
    )
    assert lines['headrace_model_version_available{model_name="tips",version="18"}'] == "1"
    assert float(lines["headrace_resident_bytes{}"]) > 1e8


def logged(folder: Path) -> list[Any]:
    records = []
    for file in sorted((folder / "log").glob("*.tfrecord.gz")):
        for record in tf.data.TFRecordDataset(str(file), "GZIP").as_numpy_iterator():
            records.append(prediction_log_pb2.PredictionLog.FromString(record))
    return records


def test_logged_requests_are_whole_after_the_end(several: Running, folder: Path) -> None:
    """The last test of this server: a log file appears when it stops."""
    from components.example_validator.serving_log import statistics_of

    request = regression_pb2.RegressionRequest()
    request.model_spec.name, request.model_spec.signature_name = "tips", "regress"
    request.input.example_list.examples.add().features.feature["trip_miles"].float_list.value.append(4)
    with grpc.insecure_channel(several.grpc) as channel:
        prediction_service_pb2_grpc.PredictionServiceStub(channel).Regress(request, timeout=20)
    assert not list((folder / "log").glob("*.gz"))
    several.process.send_signal(signal.SIGTERM)
    assert several.process.wait(30) == 0, several.err.read_text()
    records = logged(folder)
    assert {record.log_metadata.model_spec.name for record in records} == {"tips"}  # fares asks for none
    last = records[-1]
    assert last.regress_log.request == request
    assert last.regress_log.response.result.regressions[0].value == 1
    first = records[0].predict_log
    assert tf.make_ndarray(first.request.inputs["company"]).tolist() == [b"Red"]
    assert tf.make_ndarray(first.response.outputs["predicted_class"]).tolist() == [b"yes"]
    assert records[0].log_metadata.model_spec.version.value == 18
    (file,) = (folder / "log").iterdir()
    statistics = statistics_of(str(file), {"company": "text", "trip_miles": "float"})
    assert statistics.num_examples == len(records)
