"""The taxi pipeline with everything that a pod can get."""

from __future__ import annotations

from pathlib import Path

TAXI = Path(__file__).parents[3] / "data" / "taxi"
ALL_OF_IT = (
    "kubeflow.image=registry.example/headrace:1",
    "kubeflow.root=s3://pipelines/root",
    "kubeflow.claims=[{name: models, mount: /models}]",
    "kubeflow.secrets=[{name: storage, env: {AWS_SECRET_ACCESS_KEY: key}}]",
    "kubeflow.memory=4Gi",
    "kubeflow.retries=2",
    "kubeflow.steps={Trainer: {gpu: 1, cpu: 500m, node_selector: {gpu: a100}, timeout_seconds: 3600, "
    "tolerations: [{key: gpu, operator: Exists}]}, ExampleGen: {memory: 8Gi, env: {TZ: UTC}}}",
    "push.to=/models/taxi",
    "train.warm_start=blessed",
)
