"""Who trains together: the workers' addresses and this process's place among them.

TF_CONFIG (Kubeflow's TFJob) says both. PyTorchJob's variables say how many workers there are and where
the first is; the rest they tell each other here, once, before TensorFlow starts.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from absl import logging

from components.errors import UserError

TF_CONFIG = "TF_CONFIG"
_TORCH = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
_ROLES = ("chief", "worker")
_WAIT_SECONDS = 600.0
_HEAR_SECONDS = 10.0
_RETRY_SECONDS = 0.5


class Place(NamedTuple):
    """A process among the workers.

    Attributes:
      number: from 0; worker 0 writes what the run leaves.
      workers: how many there are.
    """

    number: int
    workers: int


ALONE = Place(0, 1)


def place(environment: Mapping[str, str]) -> Place:
    """This process's place, as its environment says; ALONE where it says nothing.

    Raises:
      UserError: what it says makes no sense.
    """
    if environment.get(TF_CONFIG, "").strip() not in ("", "{}"):
        return _by_tf_config(environment[TF_CONFIG])
    if all(environment.get(name) for name in _TORCH):
        return _by_torch(environment)
    return ALONE


def _by_tf_config(text: str) -> Place:
    try:
        config: dict[str, Any] = json.loads(text)
        cluster, task = config["cluster"], config["task"]
        role, index = task["type"], int(task["index"])
        sizes = {each: len(cluster.get(each, ())) for each in _ROLES}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"no cluster and task can be read from it: {error!r}",
            where=TF_CONFIG,
            fix='expected {"cluster": {"worker": ["host:port", …]}, "task": {"type": "worker", "index": 0}}',
        ) from None
    if role not in _ROLES or not 0 <= index < sizes[role]:
        raise UserError(
            f"the task is {role} {index}, of {sizes['chief']} chief and {sizes['worker']} workers",
            where=TF_CONFIG,
            fix="give the job workers, and at most one chief; no parameter servers, no evaluator",
        )
    return Place(index if role == "chief" else index + sizes["chief"], sum(sizes.values()))


def _by_torch(environment: Mapping[str, str]) -> Place:
    try:
        number, workers = int(environment["RANK"]), int(environment["WORLD_SIZE"])
        int(environment["MASTER_PORT"])
    except ValueError as error:
        raise UserError(f"no number: {error}", where="MASTER_PORT, RANK, WORLD_SIZE") from None
    if not 0 <= number < workers:
        raise UserError(f"RANK {number} is none of 0 to {workers - 1}", where="RANK, WORLD_SIZE")
    return Place(number, workers)


def gather() -> None:
    """Sets TF_CONFIG from PyTorchJob's variables, once all workers have told the first their addresses.

    Raises:
      UserError: some did not come in ten minutes.
    """
    here = place(os.environ)
    if here.workers == 1 or os.environ.get(TF_CONFIG):
        return
    master = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    # Held until the addresses are known, so that no other process of this host gets the port.
    with socket.socket() as held:
        held.bind(("", 0))
        port = held.getsockname()[1]
        meet = _host(master[1], port, here.workers) if here.number == 0 else _join(master, port, here.number)
    os.environ[TF_CONFIG] = json.dumps(
        {"cluster": {"worker": meet}, "task": {"type": "worker", "index": here.number}}
    )
    logging.info("worker %d of %s", here.number, ", ".join(meet))


def _host(meeting_port: int, port: int, workers: int) -> list[str]:
    """Worker 0: hears every worker's number and port, and tells all of them the addresses."""
    addresses: dict[int, str] = {}
    lines: dict[int, socket.socket] = {}
    until = time.monotonic() + _WAIT_SECONDS
    with socket.create_server(("", meeting_port)) as server:
        while len(lines) < workers - 1:
            server.settimeout(max(0.001, until - time.monotonic()))
            try:
                line, (host, _) = server.accept()
            except TimeoutError:
                missing = sorted(set(range(1, workers)) - lines.keys())
                raise _absent(f"workers {missing} did not come to port {meeting_port}") from None
            heard = _hear(line)
            if heard is None:
                continue
            number, theirs = heard
            addresses[number] = f"{host}:{theirs}"
            addresses[0] = f"{line.getsockname()[0]}:{port}"
            lines[number] = line
    meet = [addresses[number] for number in range(workers)]
    for line in lines.values():
        with line:
            line.sendall(f"{json.dumps(meet)}\n".encode())
    return meet


def _hear(line: socket.socket) -> tuple[int, int] | None:
    """A worker's number and port; None from whoever is no worker, such as a port's probe."""
    line.settimeout(_HEAR_SECONDS)
    try:
        number, port = map(int, json.loads(line.makefile().readline()))
        return number, port
    except (OSError, ValueError, TypeError):
        line.close()
        return None


def _join(master: tuple[str, int], port: int, number: int) -> list[str]:
    """Another worker: says its number and port to worker 0, and hears the addresses of all."""
    until = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            line = socket.create_connection(master, timeout=_WAIT_SECONDS)
            break
        except OSError as error:
            if time.monotonic() > until:
                raise _absent(f"worker 0 does not answer at {master[0]}:{master[1]}: {error}") from None
            time.sleep(_RETRY_SECONDS)
    with line:
        line.sendall(f"{json.dumps([number, port])}\n".encode())
        answer = line.makefile().readline()
    if not answer:
        raise _absent("worker 0 went away before all workers had come")
    return json.loads(answer)


def _absent(what: str) -> UserError:
    return UserError(what, where="train.strategy", fix="look at the log of the worker that is missing")
