"""TensorFlow Serving on Kubernetes: `kubectl apply -k` of a folder with its files."""

from __future__ import annotations

from typing import Any

from serving.deploy.server_files import arguments, server_files
from serving.deploy.settings import (
    CONFIG_FOLDER,
    GRPC_PORT,
    METRICS_PATH,
    MODELS_FOLDER,
    REST_PORT,
    Deployment,
)
from serving.deploy.yaml_text import to_yaml
from serving.errors import ServingError

_USER = 65534  # nobody
_HEAD = "kubectl apply -k ."


def render(deployment: Deployment) -> dict[str, str]:
    """File name to text."""
    deployment.needs_gcs("kubernetes")
    if not deployment.claim and not deployment.is_remote:
        raise ServingError(
            f"got {deployment.store!r}, a folder of this machine, which pods cannot read",
            "--store",
            "give pvc://CLAIM/FOLDER, a volume that push.to writes to, or gs://BUCKET/FOLDER",
        )
    manifests = {
        "deployment.yaml": _deployment(deployment),
        "service.yaml": _service(deployment),
        "autoscaler.yaml": _autoscaler(deployment),
        "disruption-budget.yaml": _disruption_budget(deployment),
    }
    files = server_files(deployment)
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": deployment.namespace,
        "resources": list(manifests),
        # The same name for other content: servers read the files again, and need not be started again.
        "configMapGenerator": [
            {
                "name": f"{deployment.resource}-serving",
                "files": list(files),
                "options": {"disableNameSuffixHash": True},
            }
        ],
    }
    return {
        **files,
        **{name: to_yaml(manifest) for name, manifest in manifests.items()},
        "kustomization.yaml": to_yaml(kustomization, head=_HEAD),
    }


def _metadata(deployment: Deployment) -> dict[str, Any]:
    return {"name": f"{deployment.resource}-serving", "labels": _labels(deployment)}


def _labels(deployment: Deployment) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "tensorflow-serving",
        "app.kubernetes.io/instance": f"{deployment.resource}-serving",
    }


def _deployment(deployment: Deployment) -> dict[str, Any]:
    # Without `replicas`: that is the autoscaler's, and applying this again must not undo it.
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(deployment),
        "spec": {
            "selector": {"matchLabels": _labels(deployment)},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {
                "metadata": {
                    "labels": _labels(deployment),
                    "annotations": {
                        "prometheus.io/scrape": "true",
                        "prometheus.io/port": str(REST_PORT),
                        "prometheus.io/path": METRICS_PATH,
                    },
                },
                "spec": _pod(deployment),
            },
        },
    }


def _pod(deployment: Deployment) -> dict[str, Any]:
    volumes: list[dict[str, Any]] = [
        {"name": "config", "configMap": {"name": f"{deployment.resource}-serving"}},
        {"name": "tmp", "emptyDir": {}},
    ]
    if deployment.claim:
        claim = {"claimName": deployment.claim, "readOnly": True}
        volumes.append({"name": "models", "persistentVolumeClaim": claim})
    account = {"serviceAccountName": deployment.service_account} if deployment.service_account else {}
    return {
        **account,
        "automountServiceAccountToken": bool(deployment.service_account),
        "terminationGracePeriodSeconds": 40,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": _labels(deployment)},
            }
        ],
        "containers": [_container(deployment)],
        "volumes": volumes,
    }


def _container(deployment: Deployment) -> dict[str, Any]:
    # The status route answers 200 while a model still loads; the metadata route does not.
    loaded = {"httpGet": {"path": f"/v1/models/{deployment.model}/metadata", "port": "rest"}}
    resources = {"cpu": deployment.cpu, "memory": deployment.memory}
    mounts: list[dict[str, Any]] = [
        {"name": "config", "mountPath": CONFIG_FOLDER, "readOnly": True},
        {"name": "tmp", "mountPath": "/tmp"},
    ]
    if deployment.claim:
        mount = {"name": "models", "mountPath": f"{MODELS_FOLDER}/{deployment.model}", "readOnly": True}
        folder = {"subPath": deployment.claim_folder} if deployment.claim_folder else {}
        mounts.append({**mount, **folder})
    return {
        "name": "tensorflow-serving",
        "image": deployment.image,
        "command": ["tensorflow_model_server"],
        "args": arguments(CONFIG_FOLDER),
        "ports": [
            {"name": "grpc", "containerPort": GRPC_PORT},
            {"name": "rest", "containerPort": REST_PORT},
        ],
        "startupProbe": {**loaded, "periodSeconds": 5, "failureThreshold": 60},
        "readinessProbe": {**loaded, "periodSeconds": 5, "timeoutSeconds": 5, "failureThreshold": 3},
        "livenessProbe": {"tcpSocket": {"port": "rest"}, "periodSeconds": 20, "failureThreshold": 3},
        # Requests still arrive until every node knows that this pod ends.
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", "10"]}}},
        "resources": {"requests": resources, "limits": {"memory": deployment.memory}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }


def _service(deployment: Deployment) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(deployment),
        "spec": {
            "selector": _labels(deployment),
            "ports": [
                {"name": "grpc", "port": GRPC_PORT, "targetPort": "grpc", "appProtocol": "kubernetes.io/h2c"},
                {"name": "rest", "port": REST_PORT, "targetPort": "rest"},
            ],
        },
    }


def _autoscaler(deployment: Deployment) -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": _metadata(deployment),
        "spec": {
            "scaleTargetRef": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": f"{deployment.resource}-serving",
            },
            "minReplicas": deployment.replicas,
            "maxReplicas": deployment.most_replicas,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
                }
            ],
            # A new pod loads the model before it helps: going down fast would only bring it up again.
            "behavior": {"scaleDown": {"stabilizationWindowSeconds": 300}},
        },
    }


def _disruption_budget(deployment: Deployment) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(deployment),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": _labels(deployment)}},
    }
