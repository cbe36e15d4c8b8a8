"""A trial in Docker."""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
import time
import uuid
from typing import IO

from absl import logging

from components import processes
from components.infra_validator.config import InfraValidateConfig
from components.infra_validator.engine import (
    GRPC,
    PULL_SECONDS,
    REST,
    Container,
    complaint,
    ended,
    flags,
    run,
)

_UNITS = {"B": 1, "kB": 1e3, "KiB": 2**10, "MB": 1e6, "MiB": 2**20, "GB": 1e9, "GiB": 2**30}
_STOP_SECONDS = 15
_FOLDER = "/models/trial"
# The server ends when stdin does, which this process holds: a step that is killed leaves no container behind.
_GUARDED = """\
exec 3<&0
tensorflow_model_server "$@" </dev/null &
server=$!
{ cat <&3 >/dev/null; kill -9 $server; } &
wait $server"""


class DockerServer(Container):
    """A container on free ports of 127.0.0.1; it ends with `stop`, or when this process ends."""

    def __init__(self, config: InfraValidateConfig, model: str, name: str) -> None:
        super().__init__(name)
        self._name, self._image = f"headrace-trial-{uuid.uuid4().hex[:10]}", config.image
        self._log: IO[str] = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        # One field of the CSV that --mount takes: a path may hold commas, quotes and colons.
        source = '"source=' + model.replace('"', '""') + '"'
        self._process = subprocess.Popen(
            [
                *("docker", "run", "--name", self._name, "--rm", "--interactive"),
                *("--publish", f"127.0.0.1::{REST}", "--publish", f"127.0.0.1::{GRPC}"),
                *("--mount", f"type=bind,{source},target={_FOLDER}/1,readonly"),
                *("--entrypoint", "sh", config.image, "-c", _GUARDED, "sh", *flags(name, _FOLDER)),
            ],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            text=True,
        )
        try:
            self._find()
            self._watch()
        except BaseException:
            self.stop()
            raise

    def _find(self) -> None:
        """Waits until the container runs, and learns its ports."""
        deadline = time.monotonic() + PULL_SECONDS
        while True:
            with contextlib.suppress(RuntimeError):  # there is none yet, or it has ended
                self.url, self.grpc = f"http://{self._place(REST)}", self._place(GRPC)
                return
            if self._process.poll() == 125:  # docker's own
                raise RuntimeError(f"`docker run …` failed: {complaint(self._said())}")
            self._keep_up()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._image} was not there within {PULL_SECONDS:.0f} s")
            time.sleep(0.2)

    def _place(self, port: int) -> str:
        return run("docker", "port", self._name, f"{port}/tcp").splitlines()[0]

    def _keep_up(self) -> None:
        code = self._process.poll()
        if code is not None:
            raise ended(code, self._said(), self._image)

    def _said(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def memory_bytes(self) -> int:
        """What the container holds."""
        used = run("docker", "stats", "--no-stream", "--format", "{{.MemUsage}}", self._name).split("/")[0]
        found = re.match(r"([0-9.]+)([A-Za-z]+)", used.strip())
        return int(float(found[1]) * _UNITS.get(found[2], 0)) if found else 0

    def stop(self) -> None:
        """Ends the server, and removes the container."""
        self._watch_no_more()
        processes.end(self._process, _STOP_SECONDS)
        try:
            run("docker", "rm", "--force", self._name)
        except (RuntimeError, TimeoutError) as error:
            if not re.search("no such container|already in progress", str(error), re.I):
                logging.warning("container %s may be left: %s", self._name, error)
        logging.info("server:\n%s", self._said())
        self._log.close()
