"""A trial as a pod."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import time
import uuid
from typing import Any

from absl import logging

from components.errors import UserError
from components.infra_validator.config import InfraValidateConfig
from components.infra_validator.engine import GRPC, PULL_SECONDS, REST, Container, ended, flags, run

_FOLDER = "/tmp/model"
_NOBODY = 65534
_COMMAND = f'mkdir -p {_FOLDER} && exec tensorflow_model_server "$@"'
# What a kubelet says of a container that it has given up, or will only try again.
_HOPELESS = (
    *("ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"),
    *("CreateContainerConfigError", "CreateContainerError", "RunContainerError"),
)


class PodServer(Container):
    """A pod that the model is copied into, reached by port forwarding, and deleted by `stop`.

    The server looks for versions again and again, and finds the model once it is whole.
    """

    def __init__(self, config: InfraValidateConfig, model: str, name: str) -> None:
        super().__init__(name)
        self._name, self._namespace = f"infra-validator-{uuid.uuid4().hex[:10]}", config.namespace
        self._image = config.image
        self._forward: subprocess.Popen[bytes] | None = None
        rest, grpc = _free_port(), _free_port()
        self._ports = [f"{rest}:{REST}", f"{grpc}:{GRPC}"]
        self.url, self.grpc = f"http://127.0.0.1:{rest}", f"127.0.0.1:{grpc}"
        # The kubelet ends it when nobody is left to: a step that is killed deletes nothing.
        longest = PULL_SECONDS + 3 * config.max_load_seconds + 1800
        spec = {"activeDeadlineSeconds": int(longest), **_hardened(self._name)}
        overrides = json.dumps({"apiVersion": "v1", "spec": spec})
        try:
            self._kubectl(
                *("run", self._name, f"--image={config.image}", "--restart=Never"),
                # Any other type would put the container of the overrides in the place of this one.
                *("--override-type=strategic", f"--overrides={overrides}", "--command", "--"),
                *("sh", "-c", _COMMAND, "sh", *flags(name, _FOLDER)),
            )
            self._until_ready()
            self._kubectl("cp", model, f"{self._name}:/tmp/staged", seconds=config.max_load_seconds)
            self._kubectl("exec", self._name, "--", "mv", "/tmp/staged", f"{_FOLDER}/1")
            self._watch()
        except BaseException:
            self.stop()
            raise

    def _kubectl(self, verb: str, *arguments: str, **limit: float) -> str:
        return run("kubectl", verb, "--namespace", self._namespace, *arguments, **limit)

    def _pod(self) -> dict[str, Any]:
        return dict(json.loads(self._kubectl("get", f"pod/{self._name}", "--output=json")).get("status", {}))

    def _until_ready(self) -> None:
        deadline = time.monotonic() + PULL_SECONDS
        while True:
            status = self._pod()
            conditions = {each["type"]: each for each in status.get("conditions", [])}
            if conditions.get("Ready", {}).get("status") == "True":
                return
            self._check(status)
            why = (
                _waiting(status) or conditions.get("PodScheduled", {}).get("message") or "nobody has said why"
            )
            if why.startswith(_HOPELESS) or time.monotonic() > deadline:
                raise UserError(
                    f"the pod of {self._image} does not start: {why}",
                    where=f"infra_validate.backend: kubernetes, namespace {self._namespace}",
                    fix="see infra_validate.image, and that the cluster can fetch and place it",
                )
            time.sleep(1)

    def _check(self, status: dict[str, Any]) -> None:
        """Raises when the pod has ended."""
        if status.get("phase") not in ("Failed", "Succeeded"):
            return
        (container,) = status.get("containerStatuses") or [{}]
        code = container.get("state", {}).get("terminated", {}).get("exitCode", 1)
        log = ""
        with contextlib.suppress(RuntimeError):
            log = self._kubectl("logs", self._name, "--tail=5")
        raise ended(code, log or status.get("message", ""), self._image)

    def _keep_up(self) -> None:
        """Looks whether the pod runs, and forwards its ports: kubectl ends while nobody listens there."""
        self._check(self._pod())
        if self._forward is None or self._forward.poll() is not None:
            self._forward = subprocess.Popen(
                ["kubectl", "port-forward", "--namespace", self._namespace, self._name, *self._ports],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def memory_bytes(self) -> int:
        """What the pod's control group counts; 0 where that cannot be read."""
        try:
            return int(self._kubectl("exec", self._name, "--", "cat", "/sys/fs/cgroup/memory.current"))
        except (RuntimeError, ValueError):
            return 0

    def stop(self) -> None:
        """Deletes the pod."""
        self._watch_no_more()
        if self._forward:
            self._forward.terminate()
            self._forward.wait()
        with contextlib.suppress(RuntimeError, TimeoutError):
            logging.info("server:\n%s", self._kubectl("logs", self._name))
        try:
            # TensorFlow Serving does not handle SIGTERM: without --now it would run for another 30 s.
            self._kubectl("delete", f"pod/{self._name}", "--now", "--wait=false", "--ignore-not-found")
        except (RuntimeError, TimeoutError) as error:
            logging.warning("pod %s/%s may be left: %s", self._namespace, self._name, error)


def _hardened(name: str) -> dict[str, Any]:
    """What a namespace with Pod Security `restricted` asks for; a deployed server runs as the same user."""
    return {
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _NOBODY,
            "runAsGroup": _NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": name,
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
    }


def _waiting(status: dict[str, Any]) -> str:
    """What its container waits for, as the kubelet says it."""
    for container in status.get("containerStatuses", []):
        waiting = container.get("state", {}).get("waiting", {})
        if waiting:
            return ": ".join(filter(None, (waiting.get("reason"), waiting.get("message"))))
    return ""


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
