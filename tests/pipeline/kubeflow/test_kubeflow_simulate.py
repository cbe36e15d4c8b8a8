"""The compiled pipeline run here as Kubeflow would run it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kubeflow_taxi import TAXI

from components.errors import UserError
from pipeline.config import load_config
from pipeline.kubeflow.compile import compile_pipeline
from pipeline.kubeflow.mounts import to_path
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


# What TFX's local runner notes down for itself.
LOCAL = {"tfx_version", "is_external"}
pods = pytest.mark.skipif(not _possible(), reason="this machine gives no mount namespaces")


@pods
def test_a_pod_sees_its_own_and_no_more(tmp_path: Path) -> None:
    claim, log = tmp_path / "claim", tmp_path / "log"
    (tmp_path / "trips.csv").write_text("a")
    # The projects of the checkout, someone's home, what other programs keep: none of it is in a pod.
    hidden = f". /tmp /gcs /dev/shm {tmp_path} {TAXI} /var/tmp /var/lib /opt /srv /mnt /run"
    # The Python that runs it, and Headrace, lie where they lie on this machine.
    pruned = " -o ".join(f"-path {path}" for path in _needed())
    needed = rf"\( {pruned} \) -prune -o -type f -print 2>/dev/null"
    with Pod(tmp_path / "pod", {"/models": claim}, {"TZ": "UTC"}) as pod:
        pod.path("/s3/bucket").mkdir()
        pod.path("/s3/bucket/in").write_text("fetched")
        lines = [
            "cat /s3/bucket/in",
            "echo; pwd",
            f"find {hidden} {needed}",
            "env",
            "touch /usr/x 2>&1",
            "echo kept >/models/x; echo out >/s3/bucket/out; echo lost >$HOME/x; echo lost >/dev/shm/x",
        ]
        assert pod.run(["sh", "-c", "\n".join(lines)], log) == 0
        assert pod.path("/s3/bucket/out").read_text() == "out\n"
    said = log.read_text().splitlines()
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


SETTINGS = (
    "train.epochs=2",
    "train.batch_size=64",
    "evaluate.gate={auc: {min: 0.6, max_drop: 0.3}}",
)
ON_CLAIM = ("kubeflow.claims=[{name: models, mount: /models}]", "push.to=/models/taxi")
FETCHED = "data.source=s3://rides/trips.csv"
HEADRACE = str(Path(sys.executable).parent / "headrace")


def _headrace(command: list[str], home: Path, settings: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    given = [word for each in settings for word in ("--set", each)]
    return subprocess.run(
        [HEADRACE, *command, "--home", str(home), *given], capture_output=True, text=True, timeout=1800
    )


def _simulate(home: Path) -> tuple[int, dict[str, Any], str]:
    command = ["kubeflow", "simulate", str(TAXI), "--json"]
    ended = _headrace(command, home, (*SETTINGS, *ON_CLAIM, FETCHED))
    shown = json.loads(ended.stdout) if ended.stdout.startswith("{") else {}
    return ended.returncode, shown, ended.stderr


def _states(shown: dict[str, Any]) -> dict[str, str]:
    return {task["name"]: task["state"] for task in shown["tasks"]}


def _csv(home: Path, rows: int = 4000) -> Path:
    """The first rows of taxi's data as an object in the simulated storage."""
    from components.example_gen.sources import _package_path

    source = next(line for line in (TAXI / "pipeline.yaml").read_text().splitlines() if "source:" in line)
    target = home / "kubeflow" / "objects" / "s3" / "rides" / "trips.csv"
    target.parent.mkdir(parents=True)
    lines = Path(_package_path(source.split()[1])).read_text().splitlines()
    target.write_text("\n".join(lines[: rows + 1]) + "\n")
    return target


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The home of a first run, and what it has printed."""
    home = tmp_path_factory.mktemp("simulated")
    _csv(home)
    code, shown, said = _simulate(home)
    assert code == 0, (shown, said)
    return home, shown


@pods
@pytest.mark.slow
def test_taxi_to_a_pushed_model_then_from_the_cache_then_with_new_data(
    simulated: tuple[Path, dict[str, Any]],
) -> None:
    home, first = simulated
    assert set(_states(first).values()) == {"RUN"}
    versions = home / "kubeflow" / "claims" / "models" / "taxi"
    pushed = [path for path in versions.iterdir() if path.name.isdigit()]
    assert len(pushed) == 1
    assert (pushed[0] / "saved_model.pb").is_file()
    logs = list((home / "kubeflow" / "objects").rglob("executor-logs"))
    assert {log.parents[1].name for log in logs} == set(_states(first)) - {"Source"}

    code, second, said = _simulate(home)
    assert code == 0, (second, said)
    anew = {name for name, state in _states(second).items() if state == "RUN"}
    assert anew == {"Source", "Data", "Previous-Find", "Baseline-Find"}

    data = home / "kubeflow" / "objects" / "s3" / "rides" / "trips.csv"
    data.write_text("\n".join(data.read_text().splitlines()[:-500]) + "\n")
    code, third, said = _simulate(home)
    assert code in (0, 3), (third, said)
    assert set(_states(third).values()) == {"RUN"}
    summaries = {task["name"]: task["summary"] for task in third["tasks"]}
    assert "no blessed model to compare with" not in summaries["Evaluator"]
    assert len(first["tasks"]) == len(third["tasks"])


def _files(folder: Path) -> set[str]:
    """The files below a folder; times, machines and processes in a name do not count."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {re.sub(r"tfevents\..*", "tfevents", name) for name in found}


@pods
@pytest.mark.slow
def test_artifacts_are_those_of_a_local_run(simulated: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    home, _ = simulated
    _csv(tmp_path)
    source = f"data.source={tmp_path / 'kubeflow' / 'objects' / 's3' / 'rides' / 'trips.csv'}"
    ended = _headrace(["run", str(TAXI), "--json"], tmp_path, (*SETTINGS, source))
    assert ended.returncode == 0, ended.stderr
    shown = json.loads(_headrace(["show", str(TAXI), "--json"], tmp_path, ()).stdout)

    compiled = compile_pipeline(load_config(TAXI, [*SETTINGS, *ON_CLAIM, FETCHED], home=home))
    first = min((home / "kubeflow" / "logs").iterdir()).name
    store = json.loads((home / "kubeflow" / "cache.json").read_text())
    kept = {
        (artifact["uri"].split("/")[-3], key): artifact
        for given in store["cache"].values()
        for key, artifact in given["artifacts"].items()
        if f"/{first}/" in artifact["uri"]
    }
    for step in shown["steps"]:
        for key, (artifact,) in step["outputs"].items():
            other = kept[step["name"], key]
            declared = compiled.spec["components"][step["name"]]["outputDefinitions"]["artifacts"][key]
            assert f"title: tfx.{artifact['type']}\n" in declared["artifactType"]["instanceSchema"]
            for name, value in artifact["properties"].items():
                assert other["metadata"][name] == value, (step["name"], key, name)
            assert set(other["metadata"]) >= set(artifact["custom_properties"]) - LOCAL
            here, there = Path(artifact["uri"]), home / "kubeflow" / "objects" / to_path(other["uri"])[1:]
            assert _files(here) == _files(there), (step["name"], key)


@pods
@pytest.mark.slow
def test_a_task_that_fails_shows_its_log_and_how_to_go_on(tmp_path: Path) -> None:
    data = _csv(tmp_path)
    data.write_text("a,b\n1\n")
    ended = _headrace(["kubeflow", "simulate", str(TAXI)], tmp_path, (FETCHED,))
    assert ended.returncode == 1
    assert "ExampleGen" in ended.stdout
    assert "FAILED" in ended.stdout
    assert "error: ExampleGen: " in ended.stderr
    assert "go on with: headrace kubeflow simulate" in ended.stderr
