"""The pipeline for Vertex AI, a TFJob for its Trainer, and the commands that build its image."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml
from kubeflow_taxi import ALL_OF_IT, TAXI

from components.errors import UserError
from pipeline.cli.kubeflow_image import commands
from pipeline.config import load_config
from pipeline.kubeflow.compile import Compiled, compile_pipeline
from pipeline.kubeflow.tfjob import as_text as tfjob_text
from pipeline.kubeflow.tfjob import tfjob
from pipeline.kubeflow.vertex import as_text, pipeline_job


def test_vertex_gets_a_job_with_the_same_spec(tmp_path: Path) -> None:
    compiled = compile_pipeline(load_config(TAXI, ["kubeflow.root=gs://bucket/x"], home=tmp_path))
    job = json.loads(as_text(pipeline_job(compiled)))
    assert job["pipelineSpec"] == compiled.spec
    assert job["runtimeConfig"]["gcsOutputDirectory"] == "gs://bucket/x"
    assert job["runtimeConfig"]["parameterValues"]["data_span"] == "latest"


def test_vertex_has_no_claims_and_one_kind_of_storage(full: Compiled, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no claims"):
        pipeline_job(full)
    with pytest.raises(UserError, match="gs:// only"):
        pipeline_job(compile_pipeline(load_config(TAXI, home=tmp_path)))


def test_workers_get_the_trainers_pod() -> None:
    manifest = tfjob(load_config(TAXI, ALL_OF_IT), "/models/logs/Trainer.json", "/models/trained", 3)
    worker = manifest["spec"]["tfReplicaSpecs"]["Worker"]
    pod = worker["template"]["spec"]
    assert manifest["metadata"] == {"name": "taxi-trainer"}
    assert (worker["replicas"], worker["restartPolicy"]) == (3, "OnFailure")
    (container,) = pod["containers"]
    assert container["name"] == "tensorflow"
    assert container["command"][-2:] == ["/models/logs/Trainer.json", "/models/trained"]
    assert container["resources"]["limits"] == {"cpu": "500m", "memory": "4Gi", "nvidia.com/gpu": "1"}
    assert container["volumeMounts"] == [{"name": "volume-0", "mountPath": "/models"}]
    assert pod["volumes"] == [{"name": "volume-0", "persistentVolumeClaim": {"claimName": "models"}}]
    assert pod["nodeSelector"] == {"gpu": "a100"}
    assert pod["activeDeadlineSeconds"] == 3600


# What the custom resource has around the pods; manifests/base/crds/kubeflow.org_tfjobs.yaml of the operator.
TFJOB = {
    "type": "object",
    "additionalProperties": False,
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "kubeflow.org/v1"},
        "kind": {"const": "TFJob"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "additionalProperties": False,
            "required": ["tfReplicaSpecs"],
            "properties": {
                "runPolicy": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "cleanPodPolicy": {"enum": ["All", "Running", "None"]},
                        "backoffLimit": {"type": "integer"},
                        "activeDeadlineSeconds": {"type": "integer"},
                        "ttlSecondsAfterFinished": {"type": "integer"},
                    },
                },
                "tfReplicaSpecs": {
                    "type": "object",
                    "propertyNames": {"enum": ["Chief", "Master", "Worker", "PS", "Evaluator"]},
                    "additionalProperties": {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {
                            "replicas": {"type": "integer"},
                            "restartPolicy": {"enum": ["Always", "OnFailure", "Never", "ExitCode"]},
                            "template": {"type": "object"},
                        },
                    },
                },
            },
        },
    },
}


@pytest.mark.parametrize("more", [(), ("kubeflow.retries=null", "kubeflow.namespace=me")])
def test_workers_are_what_kubernetes_takes(more: tuple[str, ...]) -> None:
    everything = (
        "kubeflow.secrets=[{name: storage, env: {KEY: key}}, {name: files, mount: /secrets/files}]",
        "kubeflow.pull_secrets=[registry]",
        "kubeflow.tolerations=[{key: a, value: b, effect: NoExecute, seconds: 9}]",
        "kubeflow.memory_request=1Gi",
    )
    config = load_config(TAXI, [*ALL_OF_IT, *everything, *more])
    text = tfjob_text(tfjob(config, "/models/logs/Trainer.json", "/models/trained", 3))
    manifest = yaml.safe_load(text)
    jsonschema.validate(manifest, TFJOB)
    pod = {"apiVersion": "v1", "kind": "Pod", **manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]}
    kubernetes_validate.validate(pod, kubernetes_validate.latest_version(), strict=True)
    (container,) = pod["spec"]["containers"]
    assert {each["mountPath"] for each in container["volumeMounts"]} == {"/models", "/secrets/files"}
    pod["spec"]["containers"][0]["volumeMount"] = []
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(pod, kubernetes_validate.latest_version(), strict=True)


def test_workers_share_a_claim_and_are_several() -> None:
    config = load_config(TAXI, ALL_OF_IT)
    with pytest.raises(UserError, match="is on no claim"):
        tfjob(config, "/home/me/Trainer.json", "/models/trained", 2)
    with pytest.raises(UserError, match="at least 2"):
        tfjob(config, "/models/Trainer.json", "/models/trained", 1)


def test_the_image_is_built_by_what_there_is() -> None:
    (built, pushed) = commands("r/h:1", push=True, engine="/usr/bin/podman")
    assert built[:4] == ["/usr/bin/podman", "build", "--tag", "r/h:1"]
    assert Path(built[-1], "Dockerfile").is_file()
    assert pushed == ["/usr/bin/podman", "push", "r/h:1"]
    assert commands("r/h:1", push=True, engine="/kaniko/executor")[0][-2:] == ["--destination", "r/h:1"]
    with pytest.raises(UserError, match="only push"):
        commands("r/h:1", push=False, engine="/kaniko/executor")


def test_what_the_image_copies_is_there_and_locked() -> None:
    lines = (TAXI.parents[1] / "Dockerfile").read_text().splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    for name in (name for names in copied for name in names):
        assert (TAXI.parents[1] / name).exists(), name
    synced = [line for line in lines if "uv sync" in line]
    assert len(synced) == 2
    assert all("--frozen" in line and "--no-dev" in line for line in synced)
    assert any(line.startswith("USER 1000") for line in lines)
