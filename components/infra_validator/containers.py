"""TensorFlow Serving's own image as the server of a trial: in Docker, or as a pod.

Both by their command-line programs, which know how to reach the engine or the cluster of whoever runs it.
"""

from __future__ import annotations

import shutil
from typing import Any

from components.errors import UserError
from components.infra_validator.config import InfraValidateConfig
from components.infra_validator.docker_server import DockerServer
from components.infra_validator.pod_server import PodServer


def start(config: InfraValidateConfig, model: str, name: str) -> Any:
    """The server that the config asks for, started."""
    program = {"docker": "docker", "kubernetes": "kubectl"}[config.backend]
    if not shutil.which(program):
        raise UserError(
            f"there is no program {program} here",
            where=f"infra_validate.backend: {config.backend}",
            fix=f"install {program}, or leave the backend out: it is embedded then",
        )
    kind = DockerServer if config.backend == "docker" else PodServer
    try:
        return kind(config, model, name)
    except RuntimeError as error:
        raise UserError(
            str(error),
            where=f"infra_validate.backend: {config.backend}",
            fix=f"see to {program} and infra_validate.image, or leave the backend out: it is embedded then",
        ) from error
