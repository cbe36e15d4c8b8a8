"""What `headrace kubeflow logs` finds, as the API server and the UI's server have it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from kfp_api import Api
from kubeflow_taxi import TAXI

from components.errors import UserError
from pipeline.cli import cli
from pipeline.kubeflow.client import Client
from pipeline.kubeflow.cluster import Cluster
from pipeline.kubeflow.compile import Compiled
from pipeline.kubeflow.logs import tasks_of


@pytest.fixture(params=["of the API", "of the UI"])
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    server = Api(as_ui=request.param == "of the UI")
    yield server
    server.stop()


def _run(api: Api, full: Compiled, state: str) -> str:
    cluster = Cluster(Client(api.url), "taxi")
    api.states = [state]
    return cluster.start(cluster.upload(full.text()), "taxi now", {}, None)


def _pod(api: Api, run_id: str, task: str) -> str:
    """The pod's name as Argo makes it of the node's."""
    (found,) = (each for each in tasks_of(_get(api, run_id)) if each.name == task)
    return found.pods[0]


def _get(api: Api, run_id: str) -> dict[str, object]:
    return Client(api.url).call("GET", f"/runs/{run_id}")


def _logs(api: Api, tmp_path: Path, *arguments: str) -> Result:
    given = ["kubeflow", "logs", *arguments, "--endpoint", api.url, "--home", str(tmp_path)]
    return CliRunner().invoke(cli, given, standalone_mode=False)


def test_a_run_that_failed_shows_the_log_of_the_task_that_did(
    api: Api, full: Compiled, tmp_path: Path
) -> None:
    run_id = _run(api, full, "FAILED")
    pod = _pod(api, run_id, "Trainer")
    assert pod.startswith("taxi-8hx2k-system-container-impl-10")
    api.pods[pod] = "epoch 1\nerror: Trainer: out of memory\n"
    ended = _logs(api, tmp_path, run_id, str(TAXI))
    assert ended.exit_code == 0, ended.exception
    assert f"run {run_id}: FAILED: task Trainer failed" in ended.output
    assert "ExampleGen         SUCCEEDED" in ended.output
    assert ended.output.endswith("--- Trainer\nepoch 1\nerror: Trainer: out of memory\n")
    assert "-driver" not in ended.output


def test_a_task_that_was_tried_again_has_its_log_by_the_other_template(
    api: Api, full: Compiled, tmp_path: Path
) -> None:
    run_id = _run(api, full, "SUCCEEDED")
    pod = _pod(api, run_id, "Pusher").replace("-system-", "-retry-system-")
    api.pods[pod] = "pushed\n"
    ended = _logs(api, tmp_path, run_id, "Pusher", str(TAXI), "--json")
    shown = json.loads(ended.output)
    logs = {task["name"]: task["log"] for task in shown["tasks"]}
    assert (shown["state"], logs["Pusher"], logs["Trainer"]) == ("SUCCEEDED", "pushed\n", None)


def test_without_a_log_the_command_that_asks_kubernetes_is_told(
    api: Api, full: Compiled, tmp_path: Path
) -> None:
    run_id = _run(api, full, "FAILED")
    ended = _logs(api, tmp_path, run_id, "Trainer", str(TAXI), "--namespace", "me")
    assert isinstance(ended.exception, UserError)
    pod = _pod(api, run_id, "Trainer")
    assert ended.exception.fix.startswith(f"kubectl -n me logs {pod} -c main")
    assert f"-l pipeline/runid={run_id}" in ended.exception.fix


def test_a_task_or_run_that_is_not_there_is_the_users_mistake(
    api: Api, full: Compiled, tmp_path: Path
) -> None:
    run_id = _run(api, full, "SUCCEEDED")
    ended = _logs(api, tmp_path, run_id, "Trainr", str(TAXI))
    assert isinstance(ended.exception, UserError)
    assert "Trainer" in ended.exception.fix
    ended = _logs(api, tmp_path, "gone", str(TAXI))
    assert isinstance(ended.exception, UserError)
    assert "404" in str(ended.exception)


def test_what_came_from_the_cache_had_no_pod() -> None:
    node = {
        "task_id": "1",
        "display_name": "Trainer",
        "state": "SKIPPED",
        "start_time": "2026-01-01T00:00:00Z",
    }
    tried = {"main_job": "new", "failed_main_jobs": ["old"]}
    run = {"run_details": {"task_details": [node, {**node, "task_id": "2", "executor_detail": tried}]}}
    assert [task.pods for task in tasks_of(run)] == [(), ("new", "old")]
