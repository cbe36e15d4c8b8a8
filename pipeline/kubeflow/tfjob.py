"""A TFJob for a Trainer on several workers: the training operator starts them and tells each of the others.

https://www.kubeflow.org/docs/components/trainer/legacy-v1/user-guides/tensorflow/
"""

from __future__ import annotations

import io
from pathlib import PurePosixPath
from typing import Any

from components.errors import UserError
from pipeline.config import PipelineConfig

# The operator looks for a container of this name.
_CONTAINER = "tensorflow"
# A step wants an empty folder for its outputs: each worker, and each new try of one, has its own.
_COMMAND = 'exec headrace step "$0" --output "$1/$HOSTNAME-`date +%s`"'


def tfjob(config: PipelineConfig, invocation: str, outputs: str, workers: int) -> dict[str, Any]:
    """The manifest.

    Args:
      config: the resolved config; the Trainer's pod is as the `kubeflow` section says.
      invocation: the Trainer's invocation file, on a claim.
      outputs: the folder for what it makes, on a claim.
      workers: how many; the first of them writes.

    Raises:
      UserError: one worker is none too many for a step, or a path is on no claim.
    """
    if workers < 2:
        raise UserError(
            f"expected at least 2 workers, received {workers}",
            where="--workers",
            fix="one worker is the Trainer step as it is",
        )
    pod = config.kubeflow.pod("Trainer")
    for option, path in (("FILE", invocation), ("--outputs", outputs)):
        if not any(PurePosixPath(path).is_relative_to(claim.mount) for claim in pod.claims):
            raise UserError(
                f"{path} is on no claim that all workers see",
                where=option,
                fix="put it on a claim of kubeflow.claims, and name it as a path there",
            )
    # What is mounted: its volume, and where.
    mounted = [({"persistentVolumeClaim": {"claimName": claim.name}}, claim.mount) for claim in pod.claims]
    mounted += [
        ({"secret": {"secretName": secret.name}}, secret.mount) for secret in pod.secrets if secret.mount
    ]
    names = [f"volume-{number}" for number in range(len(mounted))]
    container: dict[str, Any] = {
        "name": _CONTAINER,
        "image": config.kubeflow.image,
        "command": ["sh", "-c", _COMMAND, invocation, outputs],
        "env": [
            *({"name": name, "value": value} for name, value in sorted(pod.env.items())),
            *(
                {"name": name, "valueFrom": {"secretKeyRef": {"name": secret.name, "key": key}}}
                for secret in pod.secrets
                for name, key in sorted(secret.env.items())
            ),
        ],
        "resources": _resources(pod),
        "volumeMounts": [{"name": name, "mountPath": path} for name, (_, path) in zip(names, mounted)],
    }
    spec: dict[str, Any] = {
        "containers": [{key: value for key, value in container.items() if value}],
        "volumes": [{"name": name, **volume} for name, (volume, _) in zip(names, mounted)],
        "nodeSelector": dict(pod.node_selector),
        "tolerations": [
            {("tolerationSeconds" if key == "seconds" else key): value for key, value in each}
            for each in (tuple(t.model_dump(exclude_none=True).items()) for t in pod.tolerations)
        ],
        "imagePullSecrets": [{"name": name} for name in config.kubeflow.pull_secrets],
        "activeDeadlineSeconds": pod.timeout_seconds,
    }
    metadata = {"name": f"{config.name.lower()}-trainer", "namespace": config.kubeflow.namespace}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {key: value for key, value in metadata.items() if value},
        "spec": {
            "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": pod.retries or 0},
            "tfReplicaSpecs": {
                "Worker": {
                    "replicas": workers,
                    "restartPolicy": "OnFailure" if pod.retries else "Never",
                    "template": {"spec": {key: value for key, value in spec.items() if value}},
                }
            },
        },
    }


def _resources(pod: Any) -> dict[str, Any]:
    limits = {"cpu": pod.cpu, "memory": pod.memory, pod.gpu_type: pod.gpu and str(pod.gpu)}
    requests = {"cpu": pod.cpu_request, "memory": pod.memory_request}
    both = {"limits": limits, "requests": requests}
    filled = {name: {key: value for key, value in each.items() if value} for name, each in both.items()}
    return {name: each for name, each in filled.items() if each}


def as_text(manifest: dict[str, Any]) -> str:
    """The manifest as YAML."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    stream = io.StringIO()
    yaml.dump(manifest, stream)
    return stream.getvalue()
