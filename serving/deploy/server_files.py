"""The three files that TensorFlow Serving is configured with."""

from __future__ import annotations

from serving.deploy.settings import METRICS_PATH, Deployment

MODELS, BATCHING, MONITORING = "models.config", "batching.config", "monitoring.config"


def server_files(deployment: Deployment, threads: int = 4) -> dict[str, str]:
    """File name to text.

    Args:
      deployment: what is served.
      threads: how many batches are computed at a time.
    """
    name = deployment.model
    return {
        MODELS: f"""\
model_config_list {{
  config {{
    name: "{name}"
    base_path: "{deployment.base_path}"
    model_platform: "tensorflow"
    model_version_policy {{ latest {{ num_versions: 1 }} }}
  }}
}}
""",
        # A timer would make a lone client wait: 0 takes what is there.
        BATCHING: f"""\
max_batch_size {{ value: 256 }}
batch_timeout_micros {{ value: 0 }}
max_enqueued_batches {{ value: 100 }}
num_batch_threads {{ value: {threads} }}
""",
        MONITORING: f"""\
prometheus_config {{
  enable: true
  path: "{METRICS_PATH}"
}}
""",
    }


def arguments(folder: str) -> list[str]:
    """TensorFlow Serving's flags, with its files in a folder."""
    return [
        "--port=8500",
        "--rest_api_port=8501",
        f"--model_config_file={folder}/{MODELS}",
        "--model_config_file_poll_wait_seconds=10",
        "--file_system_poll_wait_seconds=5",
        # A label may be written together with the version that it names, before that is loaded.
        "--allow_version_labels_for_unavailable_models=true",
        "--enable_batching=true",
        f"--batching_parameters_file={folder}/{BATCHING}",
        f"--monitoring_config_file={folder}/{MONITORING}",
        "--rest_api_timeout_in_ms=60000",
    ]
