"""TensorFlow Serving's own image as the server of a trial: in Docker, or as a pod.

Both by their command-line programs, which know how to reach the engine or the cluster of whoever runs it.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.request
import uuid
from typing import Any
from urllib.parse import quote

from absl import logging

from components.errors import UserError
from components.infra_validator.config import InfraValidateConfig
from components.infra_validator.failed import Failed

_REST, _GRPC = 8501, 8500
_CALL_SECONDS = 60.0
# What kubectl's libraries log before it says what is wrong, and docker's advice to read its help.
_NOISE = re.compile(r"[EIW]\d{4} |Run 'docker ")
_UNITS = {"B": 1, "kB": 1e3, "KiB": 2**10, "MB": 1e6, "MiB": 2**20, "GB": 1e9, "GiB": 2**30}


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
            fix=f"see that {program} works, or leave the backend out: it is embedded then",
        ) from error


class _Container:
    """What both share: waiting until the model is loaded, and for how long it took.

    Attributes:
      url, grpc: where it answers.
      load_seconds: from when the server answered to when the model did.
    """

    def __init__(self, name: str) -> None:
        self.url = self.grpc = ""
        self.load_seconds = 0.0
        self._status = f"/v1/models/{quote(name, safe='')}"
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def wait(self, seconds: float) -> None:
        """Returns when the model answers; Failed if it cannot be loaded, TimeoutError if it takes longer."""
        deadline = time.monotonic() + seconds
        answered = 0.0
        while time.monotonic() < deadline:
            if ended := self._ended():
                raise Failed(f"the model cannot be loaded: {ended}")
            with contextlib.suppress(OSError, ValueError, KeyError):
                with self._opener.open(self.url + self._status, timeout=5) as answer:
                    (version,) = json.loads(answer.read())["model_version_status"]
                answered = answered or time.monotonic()
                if version["state"] == "AVAILABLE":
                    self.load_seconds = time.monotonic() - answered
                    return
                if version["status"]["error_code"] != "OK":
                    raise Failed(f"the model cannot be loaded: {version['status']['error_message']}")
            time.sleep(0.1)
        raise TimeoutError(f"the server was not ready within {seconds:.0f} s")

    def _ended(self) -> str:
        """The end of the server's log when it has ended; "" while it runs."""
        raise NotImplementedError


class DockerServer(_Container):
    """A container on free ports of 127.0.0.1, removed by `stop`."""

    def __init__(self, config: InfraValidateConfig, model: str, name: str) -> None:
        super().__init__(name)
        self._id = _run(
            *(
                "docker",
                "run",
                "--detach",
                "--publish",
                f"127.0.0.1::{_REST}",
                "--publish",
                f"127.0.0.1::{_GRPC}",
            ),
            *("--volume", f"{model}:/models/{name}/1:ro", "--env", f"MODEL_NAME={name}", config.image),
            seconds=config.max_load_seconds,  # the image may have to be fetched
        )
        try:
            self.url = f"http://{self._place(_REST)}"
            self.grpc = self._place(_GRPC)
        except BaseException:
            self.stop()
            raise

    def _place(self, port: int) -> str:
        return _run("docker", "port", self._id, f"{port}/tcp").splitlines()[0]

    def _ended(self) -> str:
        if _run("docker", "inspect", "--format", "{{.State.Running}}", self._id) == "true":
            return ""
        return _last(_run("docker", "logs", "--tail", "5", self._id, both=True))

    def memory_bytes(self) -> int:
        """What the container holds."""
        used = _run("docker", "stats", "--no-stream", "--format", "{{.MemUsage}}", self._id).split("/")[0]
        found = re.match(r"([0-9.]+)([A-Za-z]+)", used.strip())
        return int(float(found[1]) * _UNITS.get(found[2], 0)) if found else 0

    def stop(self) -> None:
        """Removes the container."""
        logging.info("server:\n%s", _run("docker", "logs", self._id, both=True))
        _run("docker", "rm", "--force", self._id)


class PodServer(_Container):
    """A pod that the model is copied into, reached by port forwarding, and deleted by `stop`.

    The server looks for versions again and again, and finds the model once it is whole.
    """

    def __init__(self, config: InfraValidateConfig, model: str, name: str) -> None:
        super().__init__(name)
        self._name, self._namespace = f"infra-validator-{uuid.uuid4().hex[:10]}", config.namespace
        self._forward: subprocess.Popen[str] | None = None
        flags = f"--port={_GRPC} --rest_api_port={_REST} --file_system_poll_wait_seconds=1"
        folder = "/tmp/model"
        command = f"mkdir -p {folder} && exec tensorflow_model_server {flags}"
        command += f" --model_name={name} --model_base_path={folder}"
        try:
            self._kubectl(
                *("run", self._name, f"--image={config.image}", "--restart=Never", "--command", "--"),
                *("sh", "-c", command),
            )
            wait = f"--timeout={config.max_load_seconds:.0f}s"
            self._kubectl(
                "wait",
                f"pod/{self._name}",
                "--for=condition=Ready",
                wait,
                seconds=config.max_load_seconds + 10,
            )
            self._kubectl("cp", model, f"{self._name}:/tmp/staged", seconds=config.max_load_seconds)
            self._kubectl("exec", self._name, "--", "mv", "/tmp/staged", f"{folder}/1")
            rest, grpc = _free_port(), _free_port()
            self._forward = subprocess.Popen(
                ["kubectl", "--namespace", self._namespace, "port-forward", f"pod/{self._name}",
                 f"{rest}:{_REST}", f"{grpc}:{_GRPC}"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
        except BaseException:
            self.stop()
            raise
        self.url, self.grpc = f"http://127.0.0.1:{rest}", f"127.0.0.1:{grpc}"

    def _kubectl(self, *arguments: str, seconds: float = _CALL_SECONDS, both: bool = False) -> str:
        return _run("kubectl", "--namespace", self._namespace, *arguments, seconds=seconds, both=both)

    def _ended(self) -> str:
        phase = self._kubectl("get", f"pod/{self._name}", "--output", "jsonpath={.status.phase}")
        return (
            _last(self._kubectl("logs", self._name, "--tail=5")) if phase in ("Failed", "Succeeded") else ""
        )

    def memory_bytes(self) -> int:
        """What the pod's control group counts; 0 where that cannot be read."""
        try:
            return int(self._kubectl("exec", self._name, "--", "cat", "/sys/fs/cgroup/memory.current"))
        except (RuntimeError, ValueError):
            return 0

    def stop(self) -> None:
        """Deletes the pod."""
        if self._forward:
            self._forward.terminate()
            self._forward.wait()
        with contextlib.suppress(RuntimeError):
            logging.info("server:\n%s", self._kubectl("logs", self._name))
        with contextlib.suppress(RuntimeError):
            self._kubectl("delete", f"pod/{self._name}", "--wait=false", "--ignore-not-found")


def _run(*command: str, seconds: float = _CALL_SECONDS, both: bool = False) -> str:
    """What a program prints, without the white space around it; `both`: with what it says on stderr."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"`{' '.join(command[:3])} …` took longer than {seconds:.0f} s") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if not _NOISE.match(line)]
        said = " ".join(" ".join(lines).split())
        raise RuntimeError(f"`{' '.join(command[:3])} …` failed: {said[:300] or 'it says nothing'}")
    return (done.stdout + (done.stderr if both else "")).strip()


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["no output"])[-1]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
