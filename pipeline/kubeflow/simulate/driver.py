"""What the driver does for a task: its executor input, and the fingerprint that its cache goes by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pipeline.kubeflow.artifact_types import SYSTEM

OUTPUT_FILE = "/tmp/kfp_outputs/output_metadata.json"
# Since 2.15 the log is an output of every task.
LOGS = "executor-logs"


def order(tasks: Mapping[str, Any]) -> list[str]:
    """The tasks, each after those that it waits for; as they stand in the spec where that is open."""
    done: list[str] = []
    while len(done) < len(tasks):
        done.append(
            next(
                name
                for name, task in tasks.items()
                if name not in done and set(task.get("dependentTasks", [])) <= set(done)
            )
        )
    return done


def executor_input(
    task: Mapping[str, Any],
    component: Mapping[str, Any],
    given: Mapping[str, Mapping[str, Any]],
    parameters: Mapping[str, Any],
    folder: str,
) -> dict[str, Any]:
    """KFP's ExecutorInput of a task.

    Args:
      task: as the spec has it.
      component: the task's.
      given: task to what it gave: artifacts and parameters.
      parameters: of the run.
      folder: URI below which its outputs go.
    """
    inputs = task.get("inputs", {})
    artifacts = {}
    for key, value in inputs.get("artifacts", {}).items():
        source = value["taskOutputArtifact"]
        artifact = given[source["producerTask"]]["artifacts"][source["outputArtifactKey"]]
        # The driver knows the type by its name only, and leaves the schema empty. Among the properties it has
        # what it keeps for itself in the metadata store.
        metadata = {**artifact["metadata"], "display_name": key, "store_session_info": "{}"}
        artifacts[key] = {"artifacts": [{**artifact, "metadata": metadata, "type": {"instanceSchema": ""}}]}
    outputs = component.get("outputDefinitions", {})
    types = {key: each["artifactType"] for key, each in outputs.get("artifacts", {}).items()}
    return {
        "inputs": {
            "artifacts": artifacts,
            "parameterValues": {
                key: _value(value, given, parameters) for key, value in inputs.get("parameters", {}).items()
            },
        },
        "outputs": {
            "artifacts": {
                key: {"artifacts": [{"name": key, "type": kind, "uri": f"{folder}/{key}", "metadata": {}}]}
                for key, kind in {**types, LOGS: SYSTEM}.items()
            },
            "parameters": {
                key: {"outputFile": f"/tmp/kfp/outputs/{key}"} for key in outputs.get("parameters", {})
            },
            "outputFile": OUTPUT_FILE,
        },
    }


def merged(artifact: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """An output as the executor's answer has changed it: its URI and metadata.

    Args:
      artifact: KFP's RuntimeArtifact, as the executor was told it.
      said: what the answer has under the output's key; may be empty.
    """
    own: Mapping[str, Any] = next(iter(said.get("artifacts", [])), {})
    return {
        "uri": own.get("uri") or artifact["uri"],
        "metadata": {**artifact["metadata"], **(own.get("metadata") or {})},
    }


def output_parameters(
    outputs: Mapping[str, Any], said: Mapping[str, Any], path: Callable[[str], Path]
) -> dict[str, Any]:
    """Output parameters: what the executor's answer says, else what is in their files; None: in neither.

    Args:
      outputs: of the executor input.
      said: the executor's answer.
      path: where a path in the pod lies.
    """
    found = dict(said.get("parameterValues", {}))
    for key, value in outputs["parameters"].items():
        file = path(value["outputFile"])
        if key not in found:
            found[key] = file.read_text() if file.is_file() else None
    return found


def _value(
    value: Mapping[str, Any], given: Mapping[str, Mapping[str, Any]], parameters: Mapping[str, Any]
) -> Any:
    if "taskOutputParameter" in value:
        source = value["taskOutputParameter"]
        return given[source["producerTask"]]["parameters"][source["outputParameterKey"]]
    if "componentInputParameter" in value:
        return parameters[value["componentInputParameter"]]
    return value["runtimeValue"]["constant"]


def fingerprint(
    pipeline: str,
    request: Mapping[str, Any],
    component: Mapping[str, Any],
    container: Mapping[str, Any],
    claims: list[str],
) -> str:
    """What the driver's cache goes by: inputs by name, parameters, outputs, image, command, claims.

    See GenerateCacheKey in backend/src/v2/cacheutils/cache.go of Kubeflow Pipelines.
    """
    outputs = component.get("outputDefinitions", {}).get("parameters", {})
    key = {
        "inputArtifactNames": {
            name: {"artifactNames": [each["name"] for each in value["artifacts"]]}
            for name, value in request["inputs"]["artifacts"].items()
        },
        "inputParameterValues": request["inputs"]["parameterValues"],
        "outputArtifactsSpec": {
            name: {part: value["artifacts"][0][part] for part in ("name", "type", "metadata")}
            for name, value in request["outputs"]["artifacts"].items()
        },
        "outputParametersSpec": {name: value["parameterType"] for name, value in outputs.items()},
        "containerSpec": {
            "image": container["image"],
            "cmdArgs": [*container.get("command", []), *container.get("args", [])],
            "pvcNames": sorted(set(claims)),
            "env": container.get("env", []),
        },
    }
    text = json.dumps([pipeline, key], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
