"""The compiled pipeline before Kubeflow's own protos, loader and client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kfp
import kfp_server_api
import pytest
from google.protobuf import json_format
from kfp.pipeline_spec import pipeline_spec_pb2
from kfp_api import Api
from kubeflow_taxi import TAXI

from pipeline.config import load_config
from pipeline.kubeflow.compile import Compiled, compile_pipeline
from pipeline.kubeflow.simulate import driver
from pipeline.kubeflow.vertex import pipeline_job

NIGHTLY = "0 30 2 * * *"


@pytest.fixture
def client(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The SDK's client; it keeps things below the home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KF_PIPELINES_ENDPOINT", raising=False)
    return kfp.Client(host=api.url)


@pytest.fixture
def package(full: Compiled, tmp_path: Path) -> str:
    file = tmp_path / "taxi.yaml"
    file.write_text(full.text())
    return str(file)


def test_the_spec_is_one_of_kubeflows(full: Compiled) -> None:
    spec = json_format.ParseDict(full.spec, pipeline_spec_pb2.PipelineSpec())
    # What is written is what is read: no field of another name, no number that is taken for text.
    assert json_format.MessageToDict(spec) == full.spec
    deployment = json_format.ParseDict(
        full.spec["deploymentSpec"], pipeline_spec_pb2.PipelineDeploymentConfig()
    )
    assert json_format.MessageToDict(deployment) == full.spec["deploymentSpec"]


def test_the_platform_document_is_one_of_kubeflows(full: Compiled) -> None:
    platform = json_format.ParseDict(full.platform, pipeline_spec_pb2.PlatformSpec())
    assert json_format.MessageToDict(platform) == full.platform


def test_pods_are_as_kubeflows_extension_for_kubernetes_has_them(tmp_path: Path) -> None:
    kubernetes = pytest.importorskip("kfp.kubernetes.kubernetes_executor_config_pb2")
    everything = (
        "kubeflow={claims: [{name: models, mount: /models}], node_selector: {gpu: a100}, "
        "timeout_seconds: 60, pull_secrets: [registry], "
        "secrets: [{name: a, env: {TOKEN: key}}, {name: b, mount: /secrets/b}], "
        "tolerations: [{key: gpu, value: a, effect: NoExecute, seconds: 30}, {operator: Exists}]}"
    )
    compiled = compile_pipeline(load_config(TAXI, [everything], home=tmp_path))
    pods = compiled.platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
    for pod in pods.values():
        read = json_format.ParseDict(pod, kubernetes.KubernetesExecutorConfig())
        assert json_format.MessageToDict(read) == pod


def test_the_executor_input_of_the_simulation_is_kubeflows(full: Compiled) -> None:
    tasks, components = full.spec["root"]["dag"]["tasks"], full.spec["components"]
    made = {"name": "1", "uri": "s3://b/x", "metadata": {"rows": 3, "names": ["a"]}}
    given: dict[str, Any] = {
        name: {
            "artifacts": dict.fromkeys(declared.get("artifacts", {}), made),
            "parameters": dict.fromkeys(declared.get("parameters", {}), "x"),
        }
        for name in tasks
        for declared in [components[name].get("outputDefinitions", {})]
    }
    run = {"data_source": "x", "data_span": "latest"}
    for name, task in tasks.items():
        request = driver.executor_input(task, components[name], given, run, "s3://b/1")
        json_format.ParseDict(request, pipeline_spec_pb2.ExecutorInput())


def test_vertexs_job_is_one_of_its_protos(tmp_path: Path) -> None:
    compiled = compile_pipeline(load_config(TAXI, ["kubeflow.root=gs://bucket/x"], home=tmp_path))
    job = json_format.ParseDict(pipeline_job(compiled), pipeline_spec_pb2.PipelineJob())
    assert job.runtime_config.parameter_values["data_span"].string_value == "latest"


def test_kubeflows_sdk_loads_it_as_a_component(package: str, full: Compiled) -> None:
    component = kfp.components.load_component_from_file(package)
    assert component.name == "taxi"
    inputs = component.component_spec.inputs
    assert {name: each.default for name, each in inputs.items()} == {
        name: each["defaultValue"]
        for name, each in full.spec["root"]["inputDefinitions"]["parameters"].items()
    }
    assert component.platform_spec == json_format.ParseDict(full.platform, pipeline_spec_pb2.PlatformSpec())


def test_kubeflows_client_uploads_runs_and_schedules_it(
    api: Api, client: Any, package: str, full: Compiled
) -> None:
    pipeline = client.upload_pipeline(package)
    version = client.upload_pipeline_version(package, "second", pipeline_id=pipeline.pipeline_id)
    assert client.get_pipeline_id("taxi") == pipeline.pipeline_id
    with pytest.raises(kfp_server_api.ApiException) as refused:
        client.upload_pipeline(package)
    assert refused.value.status == 409

    where = {"pipeline_id": pipeline.pipeline_id, "version_id": version.pipeline_version_id}
    experiment = client.create_experiment("nightly").experiment_id
    run = client.run_pipeline(experiment, "one", params={"data_span": "3"}, pipeline_root="s3://b/r", **where)
    assert api.bodies["runs"][0]["runtime_config"] == {
        "parameters": {"data_span": "3"},
        "pipeline_root": "s3://b/r",
    }
    ended = client.wait_for_run_completion(run.run_id, timeout=30, sleep_duration=0)
    assert ended.state == "SUCCEEDED"
    for wrong in ({"data_span": 3}, {"data_spam": "3"}):
        with pytest.raises(kfp_server_api.ApiException) as refused:
            client.run_pipeline(experiment, "two", params=wrong, **where)
        assert refused.value.status == 400

    schedule = client.create_recurring_run(experiment, "nightly", cron_expression=NIGHTLY, **where)
    name = schedule.recurring_run_id
    client.disable_recurring_run(name)
    assert client.get_recurring_run(name).status == "DISABLED"
    client.enable_recurring_run(name)
    assert client.get_recurring_run(name).status == "ENABLED"
    client.delete_recurring_run(name)
    assert client.list_recurring_runs().recurring_runs is None
    with pytest.raises(kfp_server_api.ApiException) as refused:
        client.create_recurring_run(experiment, "nightly", cron_expression="30 2 * * *", **where)
    assert "6 fields" in refused.value.body


def test_kubeflows_client_runs_the_file_itself(api: Api, client: Any, package: str, full: Compiled) -> None:
    client.create_run_from_pipeline_package(package, arguments={"data_span": "latest"}, enable_caching=False)
    sent = api.bodies["runs"][0]["pipeline_spec"]
    assert set(sent) == {"pipeline_spec", "platform_spec"}
    assert sent["platform_spec"] == full.platform
    tasks = sent["pipeline_spec"]["root"]["dag"]["tasks"]
    assert not any(task.get("cachingOptions", {}).get("enableCache") for task in tasks.values())
    assert set(tasks) == set(full.spec["root"]["dag"]["tasks"])
