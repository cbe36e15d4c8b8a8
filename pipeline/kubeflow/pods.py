"""What a step's pod gets, written as the spec and the platform document have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.config import PipelineConfig
from pipeline.kubeflow.config import PodConfig
from pipeline.kubeflow.graph_tasks import DATA_TASK
from pipeline.kubeflow.tasks import FIND

# Task beside the steps to the step for which it works, and whose secrets and claims it therefore needs.
_FOR = {DATA_TASK: "ExampleGen", "Previous": "ExampleValidator", "Base": "Trainer", "Baseline": "Evaluator"}
_UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def step_of(task: str) -> str:
    """The step whose pod a task's pod is like."""
    name = task.removesuffix(FIND)
    return _FOR.get(name, name)


def resources(pod: PodConfig) -> dict[str, Any]:
    """The container's `resources`, as the numbers that every backend, client and Vertex AI read.

    Cores, and memory in units of 1e9 bytes. The backend writes a number as Go's %v does, so none is so small
    that it would get an exponent.
    """
    found: dict[str, Any] = {}
    for key, value in (("cpuLimit", pod.cpu), ("cpuRequest", pod.cpu_request)):
        if value:
            found[key] = cores(value)
    for key, value in (("memoryLimit", pod.memory), ("memoryRequest", pod.memory_request)):
        if value:
            found[key] = round(quantity(value) / 1e9, 9)
    if pod.gpu:
        found["accelerator"] = {"count": str(pod.gpu), "type": pod.gpu_type}
    return {"resources": found} if found else {}


def cores(value: str) -> float:
    """A number of cores: 500m is 0.5."""
    return float(value[:-1]) / 1000 if value.endswith("m") else quantity(value)


def quantity(value: str) -> float:
    """A quantity of Kubernetes' as a number: 4Gi is 4294967296."""
    number = value.rstrip("".join(sorted({*"kMGTi"})))
    return float(number) * _UNITS[value[len(number) :]]


def environment(pod: PodConfig) -> dict[str, Any]:
    """The container's `env`."""
    return {"env": [{"name": name, "value": pod.env[name]} for name in sorted(pod.env)]} if pod.env else {}


def retry_policy(pod: PodConfig) -> dict[str, Any]:
    """The task's `retryPolicy`."""
    if not pod.retries:
        return {}
    return {
        "retryPolicy": {
            "maxRetryCount": pod.retries,
            "backoffDuration": f"{pod.backoff_seconds or 30}s",
            "backoffFactor": 2.0,
        }
    }


def platform_document(config: PipelineConfig, executors: Mapping[str, str]) -> dict[str, Any]:
    """The second document, empty when no pod needs it.

    Args:
      config: the resolved config.
      executors: executor label to the step whose pod it is.
    """
    found = {
        label: own
        for label, step in executors.items()
        if (own := _kubernetes(config.kubeflow.pod(step), config.kubeflow.pull_secrets))
    }
    return {"platforms": {"kubernetes": {"deploymentSpec": {"executors": found}}}} if found else {}


def _kubernetes(pod: PodConfig, pull_secrets: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "secretAsEnv": [
            {
                "secretName": secret.name,
                "keyToEnv": [{"secretKey": secret.env[name], "envVar": name} for name in sorted(secret.env)],
            }
            for secret in pod.secrets
            if secret.env
        ],
        "secretAsVolume": [
            {"secretName": secret.name, "mountPath": secret.mount} for secret in pod.secrets if secret.mount
        ],
        "pvcMount": [{"constant": claim.name, "mountPath": claim.mount} for claim in pod.claims],
        "nodeSelector": {"labels": dict(pod.node_selector)} if pod.node_selector else {},
        "tolerations": [_toleration(each.model_dump(exclude_none=True)) for each in pod.tolerations],
        "imagePullSecret": [{"secretName": name} for name in pull_secrets],
        "activeDeadlineSeconds": str(pod.timeout_seconds) if pod.timeout_seconds else "",
    }
    return {key: value for key, value in found.items() if value}


def _toleration(fields: dict[str, Any]) -> dict[str, Any]:
    seconds = fields.pop("seconds", None)
    return fields if seconds is None else {**fields, "tolerationSeconds": str(seconds)}
