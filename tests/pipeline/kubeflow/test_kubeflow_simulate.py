"""The compiled pipeline run here as Kubeflow would run it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kubeflow_taxi import TAXI

from components.errors import UserError
from pipeline.kubeflow.simulate import driver, placeholders
from pipeline.kubeflow.simulate.pod import Pod, _needed, check_possible
from pipeline.kubeflow.simulate.run import Simulation
from pipeline.kubeflow.simulate.store import Store


def _possible() -> bool:
    try:
        check_possible()
    except UserError:
        return False
    return True


pods = pytest.mark.skipif(not _possible(), reason="this machine gives no mount namespaces")


@pods
def test_a_pod_sees_its_own_and_no_more(tmp_path: Path) -> None:
    claim, log = tmp_path / "claim", tmp_path / "log"
    (tmp_path / "trips.csv").write_text("a")
    # The projects of the checkout, someone's home, what other programs keep: none of it is in a pod.
    hidden = [str(tmp_path), str(TAXI), "/var/tmp", "/var/lib", "/opt", "/srv", "/mnt", "/run"]
    with Pod(tmp_path / "pod", {"/models": claim}, {"TZ": "UTC"}) as pod:
        pod.path("/s3/bucket").mkdir()
        pod.path("/s3/bucket/in").write_text("fetched")
        lines = [
            "cat /s3/bucket/in",
            f"echo; pwd; find . /tmp /gcs /dev/shm {' '.join(hidden)} -type f 2>/dev/null",
            "env",
            "touch /usr/x 2>&1",
            "echo kept >/models/x; echo out >/s3/bucket/out; echo lost >$HOME/x; echo lost >/dev/shm/x",
        ]
        assert pod.run(["sh", "-c", "\n".join(lines)], log) == 0
        assert pod.path("/s3/bucket/out").read_text() == "out\n"
    said = [
        line
        for line in log.read_text().splitlines()
        # The Python that runs it, and Headrace, lie where they lie on this machine.
        if not any(line.startswith(f"{each}/") for each in _needed())
    ]
    assert said[:2] == ["fetched", "/home/headrace"]
    assert sorted(line.split("=")[0] for line in said[2:-1]) == [
        *("HOME", "LANG", "PATH", "PWD", "PYTHONUNBUFFERED", "TZ"),
    ]
    assert "Read-only file system" in said[-1]
    assert (claim / "x").read_text() == "kept\n"
    assert not (tmp_path / "pod").exists()


@pods
def test_a_pod_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with Pod(tmp_path / "pod") as pod:
        assert pod.run(["sleep", "60"], tmp_path / "log", timeout=0.5) < 0
    assert "more than 0.5 s" in (tmp_path / "log").read_text()


def test_the_cache_goes_by_what_the_driver_goes_by(spec: dict[str, Any]) -> None:
    task, component = spec["root"]["dag"]["tasks"]["Data"], spec["components"]["Data"]
    container = spec["deploymentSpec"]["executors"]["Data_executor"]["container"]

    def fingerprint(source: str, image: str, claims: list[str], folder: str) -> str:
        request = driver.executor_input(
            task, component, {}, {"data_source": source, "data_span": "latest"}, folder
        )
        return driver.fingerprint("taxi", request, component, {**container, "image": image}, claims)

    first = fingerprint("a.csv", "i:1", ["c"], "s3://b/1")
    assert fingerprint("a.csv", "i:1", ["c"], "s3://b/2") == first
    assert fingerprint("b.csv", "i:1", ["c"], "s3://b/1") != first
    assert fingerprint("a.csv", "i:2", ["c"], "s3://b/1") != first
    assert fingerprint("a.csv", "i:1", ["d"], "s3://b/1") != first


def test_placeholders_are_filled_as_the_launcher_fills_them() -> None:
    request = {
        "inputs": {
            "artifacts": {"x": {"artifacts": [{"uri": "s3://b/x"}]}},
            "parameterValues": {"n": 3.0, "r": 0.5, "b": True, "l": [1, "a"], "s": "{{$}}"},
        },
        "outputs": {
            "artifacts": {"y": {"artifacts": [{"uri": "minio://b/y"}]}},
            "parameters": {"p": {"outputFile": "/tmp/p"}},
        },
    }
    places = [
        "{{$.inputs.artifacts['x'].uri}} {{$.inputs.artifacts['x'].path}}",
        "{{$.outputs.artifacts['y'].path}} {{$.outputs.parameters['p'].output_file}}",
        *(f"{{{{$.inputs.parameters['{key}']}}}}" for key in "nrbl"),
    ]
    filled = ["s3://b/x /s3/b/x", "/minio/b/y /tmp/p", "3", "0.5", "true", '[1,"a"]']
    assert placeholders.fill(places, request) == filled
    assert json.loads(placeholders.fill(["{{$}}"], request)[0]) == request


def test_an_output_parameter_is_in_the_answer_or_in_its_file(tmp_path: Path) -> None:
    outputs = {"parameters": {key: {"outputFile": f"/{key}"} for key in "abc"}}
    (tmp_path / "b").write_text("file")
    found = driver.output_parameters(
        outputs, {"parameterValues": {"a": "answer"}}, lambda path: tmp_path / path[1:]
    )
    assert found == {"a": "answer", "b": "file", "c": None}


def test_storage_keeps_files_and_no_folders(tmp_path: Path) -> None:
    store, pod = Store(tmp_path / "home"), Pod(tmp_path / "pod")
    made = pod.path("/s3/b/x")
    (made / "empty").mkdir(parents=True)
    (made / "deep").mkdir()
    (made / "deep" / "file").write_text("a")
    store.keep("s3://b/x", pod)
    other = Pod(tmp_path / "other")
    store.fetch("s3://b/x", other)
    assert [path.name for path in other.path("/s3/b/x").rglob("*")] == ["deep", "file"]


@pods
def test_unknown_parameters_and_missing_secrets_are_told(
    spec: dict[str, Any], platform: dict[str, Any], tmp_path: Path
) -> None:
    simulation = Simulation(spec, platform, tmp_path / "home")
    with pytest.raises(UserError, match="did you mean 'data_source'"):
        simulation.run("1", {"data_sorce": "x"})
    with pytest.raises(UserError, match="no secret storage with a key key") as refused:
        simulation.run("1", {})
    assert str(tmp_path / "home" / "secrets" / "storage" / "key") in refused.value.fix


def _simulate(home: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    command = [str(Path(sys.executable).parent / "headrace"), "kubeflow", "simulate", str(TAXI), "--json"]
    settings = ["kubeflow.claims=[{name: models, mount: /models}]", "push.to=/models/taxi", "train.epochs=2"]
    for each in settings:
        command += ["--set", each]
    ended = subprocess.run(
        [*command, "--home", str(home), *options], capture_output=True, text=True, timeout=900
    )
    shown = json.loads(ended.stdout) if ended.stdout.startswith("{") else {}
    return ended.returncode, shown, ended.stderr


def _states(shown: dict[str, Any]) -> dict[str, str]:
    return {task["name"]: task["state"] for task in shown["tasks"]}


def _csv(home: Path) -> Path:
    """Taxi's data as an object in the simulated storage."""
    from components.example_gen.sources import _package_path

    source = next(line for line in (TAXI / "pipeline.yaml").read_text().splitlines() if "source:" in line)
    target = home / "kubeflow" / "objects" / "s3" / "rides" / "trips.csv"
    target.parent.mkdir(parents=True)
    shutil.copy(_package_path(source.split()[1]), target)
    return target


@pods
@pytest.mark.slow
def test_taxi_to_a_pushed_model_then_from_the_cache_then_with_new_data(tmp_path: Path) -> None:
    data = _csv(tmp_path)
    source = ("--param", "data_source=s3://rides/trips.csv", "--set", "data.source=s3://rides/trips.csv")
    code, first, said = _simulate(tmp_path, *source)
    assert code == 0, (first, said)
    assert set(_states(first).values()) == {"RUN"}
    versions = tmp_path / "kubeflow" / "claims" / "models" / "taxi"
    pushed = [path for path in versions.iterdir() if path.name.isdigit()]
    assert len(pushed) == 1
    assert (pushed[0] / "saved_model.pb").is_file()

    code, second, said = _simulate(tmp_path, *source)
    assert code == 0, (second, said)
    anew = {name for name, state in _states(second).items() if state == "RUN"}
    assert anew == {"Source", "Data", "Previous-Find", "Baseline-Find"}

    lines = data.read_text().splitlines()
    data.write_text("\n".join(lines[:-2000]) + "\n")
    code, third, said = _simulate(tmp_path, *source)
    assert code in (0, 3), (third, said)
    assert set(_states(third).values()) == {"RUN"}
    summaries = {task["name"]: task["summary"] for task in third["tasks"]}
    assert "no blessed model to compare with" not in summaries["Evaluator"]
    assert len(first["tasks"]) == len(third["tasks"])


@pods
@pytest.mark.slow
def test_a_task_that_fails_shows_its_log_and_how_to_go_on(tmp_path: Path) -> None:
    data = _csv(tmp_path)
    data.write_text("a,b\n1\n")
    source = ("--set", "data.source=s3://rides/trips.csv")
    command = [str(Path(sys.executable).parent / "headrace"), "kubeflow", "simulate", str(TAXI), *source]
    ended = subprocess.run([*command, "--home", str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 1
    assert "ExampleGen" in ended.stdout
    assert "FAILED" in ended.stdout
    assert "error: ExampleGen: " in ended.stderr
    assert "go on with: headrace kubeflow simulate" in ended.stderr
