"""The container's entrypoint, with requests as the backend's driver makes them."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.config import load_config
from pipeline.kubeflow import entrypoint, mounts
from pipeline.kubeflow.compile import Compiled, compile_pipeline
from pipeline.kubeflow.container import INLINE, Declared
from pipeline.kubeflow.execution import _artifact, _fit, metadata_of
from pipeline.kubeflow.simulate import driver

ROOT = "s3://pipelines/root"


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that stands for the root of a pod's file system."""
    roots = {scheme: f"{tmp_path}{folder}" for scheme, folder in mounts._ROOTS.items()}
    monkeypatch.setattr(mounts, "_ROOTS", roots)
    return tmp_path


@pytest.fixture
def trips(pod: Path) -> Path:
    """Two days of trips on a claim."""
    rows = random.Random(7)
    for day in (1, 2):
        lines = [
            f"{rows.uniform(0, 9):.2f},{rows.choice(['cash', 'card'])},{rows.randint(0, 1)}"
            for _ in range(90)
        ]
        folder = pod / "claim" / f"day-{day}"
        folder.mkdir(parents=True)
        (folder / "trips.csv").write_text("\n".join(["miles,payment,tip", *lines]) + "\n")
    return pod / "claim" / "day-{SPAN}" / "*.csv"


@pytest.fixture
def compiled(trips: Path, pod: Path) -> Compiled:
    """The pipeline over them."""
    project = pod / "project"
    project.mkdir()
    claims = f"claims: [{{name: data, mount: {pod / 'claim'}}}], keep: {pod / 'claim' / 'kept'}"
    (project / "pipeline.yaml").write_text(
        f"name: trips\ndata: {{source: '{trips}'}}\nlabel: tip\ntask: binary\nkubeflow: {{{claims}}}\n"
    )
    return compile_pipeline(load_config(project))


class Backend:
    """Driver and launcher for one task after the other, in this process."""

    def __init__(self, compiled: Compiled, pod: Path) -> None:
        self._compiled, self._pod = compiled, pod
        self.given: dict[str, dict[str, Any]] = {}
        self.numbers = 0

    def request(self, task: str, **parameters: str) -> tuple[Declared, dict[str, Any]]:
        spec = self._compiled.spec
        defaults = spec["root"]["inputDefinitions"]["parameters"]
        values = {name: parameters.get(name, each["defaultValue"]) for name, each in defaults.items()}
        request = driver.executor_input(
            spec["root"]["dag"]["tasks"][task], spec["components"][task], self.given, values, f"{ROOT}/{task}"
        )
        request["outputs"]["outputFile"] = str(self._pod / "outputs" / task / "output_metadata.json")
        arguments = spec["deploymentSpec"]["executors"][f"{task}_executor"]["container"]["args"]
        return Declared.parse(arguments[1]), request

    def run(self, task: str, **parameters: str) -> dict[str, Any]:
        declared, request = self.request(task, **parameters)
        entrypoint.run(declared, request)
        said = json.loads(Path(request["outputs"]["outputFile"]).read_text())
        artifacts = {}
        for key, value in said.get("artifacts", {}).items():
            self.numbers += 1
            artifacts[key] = {"name": str(self.numbers), **value["artifacts"][0]}
        self.given[task] = {"artifacts": artifacts, "parameters": said.get("parameterValues", {})}
        return self.given[task]


@pytest.fixture
def backend(compiled: Compiled, pod: Path) -> Backend:
    return Backend(compiled, pod)


def _files(pod: Path, uri: str) -> list[str]:
    folder = pod / "s3" / uri.removeprefix("s3://")
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_the_data_is_looked_at_where_it_is(backend: Backend, trips: Path) -> None:
    first = backend.run("Data")["parameters"]
    assert json.loads(first["config"])["source"] == str(trips)
    assert backend.run("Data")["parameters"] == first
    other = backend.run("Data", data_span="1")["parameters"]
    assert json.loads(other["config"])["span"] == 1
    assert other["fingerprint"] != first["fingerprint"]
    newest = trips.parents[1] / "day-2" / "trips.csv"
    newest.write_text(newest.read_text() + "1.0,cash,1\n")
    assert backend.run("Data")["parameters"]["fingerprint"] != first["fingerprint"]


@pytest.mark.slow
def test_steps_hand_on_files_spans_and_properties(backend: Backend, pod: Path) -> None:
    fingerprint = backend.run("Data")["parameters"]["fingerprint"]
    examples = backend.run("ExampleGen")["artifacts"]["examples"]
    assert examples["uri"] == f"{ROOT}/ExampleGen/examples"
    assert examples["metadata"]["span"] == 2
    assert examples["metadata"]["input_fingerprint"] == fingerprint
    assert examples["metadata"]["rows"] == 90
    assert any(name.startswith("Split-train/") for name in _files(pod, examples["uri"]))
    statistics = backend.run("StatisticsGen")["artifacts"]["statistics"]
    assert statistics["metadata"]["span"] == 2
    assert json.loads(statistics["metadata"]["split_names"]) == ["train", "eval", "test"]
    backend.run("SchemaGen")

    assert backend.run("Previous-Find")["parameters"] == {"key": ""}
    assert backend.run("Previous")["artifacts"]["statistics"]["metadata"] == {"found": "no"}
    anomalies = backend.run("ExampleValidator")["artifacts"]["anomalies"]
    assert anomalies["metadata"]["data"] == statistics["metadata"]["data"]
    # What passed is there for other data, and not for the same again.
    assert backend.run("Previous-Find")["parameters"] == {"key": ""}
    backend.given["StatisticsGen"]["artifacts"]["statistics"]["metadata"]["data"] = "other"
    key = backend.run("Previous-Find")["parameters"]["key"]
    assert key
    found = backend.run("Previous")["artifacts"]["statistics"]
    assert found["metadata"]["kept_as"] == key
    assert _files(pod, found["uri"]) == _files(pod, statistics["uri"])


@pytest.mark.slow
def test_a_second_try_in_the_same_pod_starts_clean(backend: Backend, pod: Path) -> None:
    backend.run("Data")
    declared, request = backend.request("ExampleGen")
    stale = Path(request["outputs"]["outputFile"])
    stale.parent.mkdir(parents=True)
    stale.write_text('{"artifacts": {"examples": {"artifacts": [{"uri": "s3://old"}]}}}')
    left = pod / "s3" / "pipelines" / "root" / "ExampleGen" / "examples" / "Split-train" / "half.gz"
    left.parent.mkdir(parents=True)
    left.write_text("half")
    log = pod / "s3" / "pipelines" / "root" / "ExampleGen" / "executor-logs"
    log.write_text("the launcher's")
    entrypoint.run(declared, request)
    assert "s3://old" not in stale.read_text()
    assert not left.exists()
    assert log.read_text() == "the launcher's"


def test_code_and_the_place_of_versions_are_put_in() -> None:
    inline = INLINE + base64.b64encode(b"archive").decode()
    parameters = {"user_code": inline, "config": '{"keep": 5, "to": null}'}
    _fit(parameters, {"pushed_model": [SimpleNamespace(uri="/s3/b/pushed")]})
    assert Path(parameters["user_code"]).read_bytes() == b"archive"
    assert json.loads(parameters["config"]) == {"keep": 5, "to": "/s3/b/pushed"}
    again = {"user_code": inline}
    _fit(again, {})
    # A checkpoint is found by the parameters.
    assert again["user_code"] == parameters["user_code"]


def test_properties_come_back_as_the_steps_read_them() -> None:
    metadata = {
        "blessed": 1.0,
        "reason": "why",
        "share": 0.5,
        "split_rows": {"train": 3},
        "display_name": "x",
        "_kfp_schema_title": "y",
    }
    artifact = _artifact("ModelBlessing", {"name": "a-b", "uri": "s3://b/x", "metadata": metadata})
    assert artifact.uri == "/s3/b/x"
    assert artifact.get_int_custom_property("blessed") == 1
    assert artifact.get_string_custom_property("reason") == "why"
    assert artifact.get_float_custom_property("share") == 0.5
    assert artifact.get_json_value_custom_property("split_rows") == {"train": 3}
    assert metadata_of(artifact) == {
        "blessed": 1,
        "reason": "why",
        "share": 0.5,
        "split_rows": {"train": 3.0},
    }
    assert artifact.id == _artifact("ModelBlessing", {"name": "a-b", "uri": "s3://b/y"}).id < 2**53


def _main(declared: Declared, request: Mapping[str, Any]) -> int:
    return entrypoint.main(["--declared", declared.arguments()[1], "--input", json.dumps(request)])


def test_the_users_mistake_is_one_message(
    backend: Backend, trips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared, request = backend.request("Data", data_source=str(trips.parent / "gone.csv"))
    assert _main(declared, request) == 2
    said = capsys.readouterr().err
    assert "error: Data: " in said
    assert "Traceback" not in said
    assert not Path(request["outputs"]["outputFile"]).exists()


def test_what_breaks_is_told_with_its_trace(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from pipeline.kubeflow import tasks

    def breaks(*_: Any) -> Callable[..., Any]:
        raise RuntimeError("no more disk")

    monkeypatch.setitem(tasks.TASKS, "look_at_data", breaks)
    assert _main(*backend.request("Data")) == 1
    assert "no more disk" in caplog.text
