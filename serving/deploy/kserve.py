"""TensorFlow Serving under KServe: an InferenceService, which fetches the model and scales itself."""

from __future__ import annotations

from serving.deploy.settings import Deployment
from serving.deploy.yaml_text import to_yaml
from serving.errors import ServingError

_SCHEMES = ("pvc", "gs", "s3", "hdfs", "webhdfs", "http", "https")  # KServe, "Storage containers"
_HEAD = """\
kubectl apply -f inference-service.yaml
KServe fetches the folder of versions when a pod starts: after a push or a rollback, change the annotation
headrace/pushed, which starts new pods and lets the old ones end. For a canary, point storageUri at a folder
with the new version alone and set canaryTrafficPercent below predictor."""


def render(deployment: Deployment) -> dict[str, str]:
    """File name to text."""
    if not deployment.claim and not deployment.is_remote:
        raise ServingError(
            f"got {deployment.store!r}, a folder of this machine, which KServe cannot read",
            "--store",
            "give pvc://CLAIM/FOLDER, or the URL of an object store, such as s3://BUCKET/FOLDER",
        )
    scheme = deployment.store.partition("://")[0]
    if scheme not in _SCHEMES:
        raise ServingError(
            f"got {deployment.store!r}; KServe's storage initializer reads {', '.join(_SCHEMES)}",
            "--store",
            "put the versions into one of these",
        )
    resources = {"cpu": deployment.cpu, "memory": deployment.memory}
    account = {"serviceAccountName": deployment.service_account} if deployment.service_account else {}
    service = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {
            "name": deployment.resource,
            "namespace": deployment.namespace,
        },
        "spec": {
            "predictor": {
                **account,
                "annotations": {"headrace/pushed": "1"},
                "minReplicas": deployment.replicas,
                "maxReplicas": deployment.most_replicas,
                "scaleMetric": "cpu",
                "scaleTarget": 70,
                "timeout": 60,
                "securityContext": {"runAsNonRoot": True, "runAsUser": 65534},
                "model": {
                    "modelFormat": {"name": "tensorflow", "version": "2"},
                    "protocolVersion": "v1",
                    "runtimeVersion": deployment.image.rpartition(":")[2],
                    "storageUri": deployment.store,
                    "resources": {"requests": resources, "limits": {"memory": deployment.memory}},
                },
            }
        },
    }
    return {"inference-service.yaml": to_yaml(service, head=_HEAD)}
