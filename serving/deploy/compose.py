"""TensorFlow Serving in Docker Compose, with Prometheus and Grafana on request."""

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

_PROMETHEUS, _GRAFANA = "prom/prometheus:v2.55.1", "grafana/grafana:11.3.1"
_FOLDER = "config"
_HEAD = """\
docker compose up -d
docker compose --profile monitoring up -d      (with Prometheus, and Grafana at http://127.0.0.1:3000)"""


def render(deployment: Deployment) -> dict[str, str]:
    """File name to text."""
    deployment.needs_gcs("compose")
    if deployment.claim:
        raise ServingError("pvc:// is Kubernetes' own", "--store", "give a folder of this machine, or gs://")
    source = {
        "name": "Prometheus",
        "type": "prometheus",
        "uid": "prometheus",
        "access": "proxy",
        "url": "http://prometheus:9090",
        "isDefault": True,
    }
    provider = {"name": "headrace", "type": "file", "options": {"path": "/dashboards"}}
    scrape = {
        "job_name": "tensorflow-serving",
        "metrics_path": METRICS_PATH,
        "static_configs": [{"targets": [f"serving:{REST_PORT}"]}],
    }
    return {
        # In a folder of their own, which is mounted: a file that is mounted by itself would never change.
        **{f"{_FOLDER}/{file}": text for file, text in server_files(deployment).items()},
        "compose.yaml": to_yaml(_services(deployment), head=_HEAD),
        "prometheus.yml": to_yaml({"global": {"scrape_interval": "15s"}, "scrape_configs": [scrape]}),
        "grafana-source.yaml": to_yaml({"apiVersion": 1, "datasources": [source]}),
        "grafana-dashboards.yaml": to_yaml({"apiVersion": 1, "providers": [provider]}),
    }


def _services(deployment: Deployment) -> dict[str, Any]:
    name = deployment.model
    volumes = [f"./{_FOLDER}:{CONFIG_FOLDER}:ro"]
    if not deployment.is_remote:
        volumes.append(f"{deployment.folder()}:{MODELS_FOLDER}/{name}:ro")
    # The image has no HTTP client, but its shell has sockets. $$ is Compose's way to write $.
    ask = (
        f"exec 3<>/dev/tcp/127.0.0.1/{REST_PORT}; "
        f"printf 'GET /v1/models/{name}/metadata HTTP/1.0\\r\\n\\r\\n' >&3; head -1 <&3 | grep -q ' 200 '"
    )
    hardened = {
        "read_only": True,
        "tmpfs": ["/tmp"],
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
    }
    serving = {
        "image": deployment.image,
        "entrypoint": ["tensorflow_model_server"],
        "command": arguments(CONFIG_FOLDER),
        "user": "65534:65534",
        # TensorFlow Serving does not handle SIGTERM, and a container's first process has no default for it:
        # without this, stopping would take the whole grace period.
        "init": True,
        **hardened,
        "ports": [f"127.0.0.1:{REST_PORT}:{REST_PORT}", f"127.0.0.1:{GRPC_PORT}:{GRPC_PORT}"],
        "volumes": volumes,
        "healthcheck": {
            "test": ["CMD", "bash", "-c", ask],
            "interval": "10s",
            "timeout": "5s",
            "start_period": "60s",
        },
        "stop_grace_period": "30s",
        "restart": "unless-stopped",
        "cpus": _cores(deployment.cpu),
        "mem_limit": _bytes(deployment.memory),
    }
    prometheus = {
        "image": _PROMETHEUS,
        "profiles": ["monitoring"],
        "volumes": ["./prometheus.yml:/etc/prometheus/prometheus.yml:ro", "prometheus:/prometheus"],
        "restart": "unless-stopped",
    }
    grafana = {
        "image": _GRAFANA,
        "profiles": ["monitoring"],
        "ports": ["127.0.0.1:3000:3000"],
        "volumes": [
            "./grafana-source.yaml:/etc/grafana/provisioning/datasources/source.yaml:ro",
            "./grafana-dashboards.yaml:/etc/grafana/provisioning/dashboards/dashboards.yaml:ro",
            "./dashboard.json:/dashboards/dashboard.json:ro",
        ],
        "restart": "unless-stopped",
    }
    return {
        "name": f"{deployment.resource}-serving",
        "services": {"serving": serving, "prometheus": prometheus, "grafana": grafana},
        "volumes": {"prometheus": {}},
    }


def _cores(cpu: str) -> str:
    return str(float(cpu.removesuffix("m")) / 1000) if cpu.endswith("m") else cpu


def _bytes(memory: str) -> str:
    """2Gi as Compose writes it: 2g, which is 1024 to the third there, too."""
    return memory.removesuffix("i").lower()
