"""Stands in for kubectl: `kubectl.py STATE VERB --namespace NAMESPACE …`; a pod is a folder STATE/NAME."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from common import NOT_LOADED, STATE, fail, flag, free, serve


def create(pod: Path, args: list[str]) -> None:
    spec = json.loads(flag(args, "overrides"))["spec"]
    assert spec["activeDeadlineSeconds"] > 0
    refuse_what_is_not_restricted(pod.name, spec, args)
    pod.mkdir()
    (pod / "flags").write_text(json.dumps(args))
    (pod / "log").write_text("")
    print(f"pod/{pod.name} created")


def refuse_what_is_not_restricted(name: str, spec: dict[str, Any], args: list[str]) -> None:
    """As a namespace does whose Pod Security is `restricted`; the real one says the same at more length."""
    # Any other type would put these containers in the place of what the arguments say of them.
    containers = spec.get("containers", []) if flag(args, "override-type") == "strategic" else []
    own = next((each["securityContext"] for each in containers if each["name"] == name), {})
    pod = spec.get("securityContext", {})
    missing = [
        what
        for what, kept in {
            "allowPrivilegeEscalation != false": own.get("allowPrivilegeEscalation") is False,
            "unrestricted capabilities": own.get("capabilities") == {"drop": ["ALL"]},
            "runAsNonRoot != true": pod.get("runAsNonRoot") is True,
            "seccompProfile": pod.get("seccompProfile") == {"type": "RuntimeDefault"},
        }.items()
        if not kept
    ]
    if missing:
        fail(
            f'Error from server (Forbidden): pods "{name}" is forbidden: violates PodSecurity '
            f'"restricted:latest": {", ".join(missing)}'
        )


def delete(pod: Path, args: list[str]) -> None:
    if "--now" not in args:  # then the first process of a container is asked to end, and this one does not
        print(f'pod "{pod.name}" deleted')
        return
    if (pod / "pid").exists():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(int((pod / "pid").read_text()), signal.SIGKILL)
    shutil.rmtree(pod)
    print(f'pod "{pod.name}" deleted')


def status(image: str, log: str) -> dict[str, Any]:
    def ended(code: int) -> dict[str, Any]:
        return {
            "phase": "Failed",
            "containerStatuses": [{"state": {"terminated": {"exitCode": code}}}],
        }

    if image == "nosuch/image:1":
        waiting = {
            "reason": "ImagePullBackOff",
            "message": 'Back-off pulling image "nosuch/image:1": not found',
        }
        return {
            "phase": "Pending",
            "conditions": [{"type": "Ready", "status": "False"}],
            "containerStatuses": [{"state": {"waiting": waiting}}],
        }
    if image == "large":
        why = "0/1 nodes are available: 1 Insufficient memory."
        return {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "message": why}],
        }
    if image == "debian:trixie-slim":
        return ended(127)
    if NOT_LOADED in log:
        return ended(255)
    return {
        "phase": "Running",
        "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}],
    }


def place(pod: Path) -> None:
    """The model is where the server looks: from now on it loads it, in a process group of its own."""
    (pod / "model").mkdir()
    (pod / "staged").rename(pod / "model" / "1")
    (pod / "ports").write_text(json.dumps([free(), free()]))
    with open(pod / "log", "w") as log:
        command = [sys.executable, __file__, str(STATE), "serve", "--namespace", "-", pod.name]
        server = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    (pod / "pid").write_text(str(server.pid))


def run_server(pod: Path, flags: list[str]) -> None:
    rest, grpc = json.loads((pod / "ports").read_text())
    if serve(str(pod / "model" / "1"), flag(flags, "model_name"), str(rest), str(grpc)).wait() == 2:
        assert flag(flags, "max_num_load_retries") == "0", "would try again in a minute"
        fail(NOT_LOADED)


def forward(pod: Path, args: list[str]) -> None:
    """As the real one, ends when a call comes and nobody listens in the pod."""
    local = [int(each.split(":")[0]) for each in args[-2:]]
    for pair in zip(local, json.loads((pod / "ports").read_text()), strict=True):
        threading.Thread(target=_listen, args=pair, daemon=True).start()
    threading.Event().wait()


def _listen(here: int, there: int) -> None:
    with socket.create_server(("127.0.0.1", here)) as door:
        while True:
            client, _ = door.accept()
            try:
                server = socket.create_connection(("127.0.0.1", there))
            except OSError:
                print("error: lost connection to pod", file=sys.stderr, flush=True)
                os._exit(1)
            for pair in ((client, server), (server, client)):
                threading.Thread(target=_pump, args=pair, daemon=True).start()


def _pump(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    for each in (one, other):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def main(verb: str, args: list[str]) -> None:
    names = [each.removeprefix("pod/").split(":")[0] for each in args]
    pod = STATE / next(each for each in names if each.startswith("infra-validator-"))
    if verb == "run":
        return create(pod, args)
    if not pod.exists():
        fail(f'Error from server (NotFound): pods "{pod.name}" not found')
    flags = json.loads((pod / "flags").read_text())
    image, log = flag(flags, "image"), (pod / "log").read_text()
    if verb == "delete":
        delete(pod, args)
    elif verb == "get":
        print(json.dumps({"kind": "Pod", "status": status(image, log)}))
    elif verb == "logs":
        print("sh: 1: exec: tensorflow_model_server: not found" if image == "debian:trixie-slim" else log)
    elif verb == "cp":
        shutil.copytree(args[0], pod / "staged")
    elif verb == "exec" and "mv" in args:
        place(pod)
    elif verb == "exec":
        print(279_000_000)  # bytes, of the control group
    elif verb == "port-forward":
        forward(pod, args)
    elif verb == "serve":  # its own: the process of the pod
        run_server(pod, flags)
    return None


if __name__ == "__main__":
    _verb, (_, _, *_args) = sys.argv[2], sys.argv[3:]
    main(_verb, _args)
