"""The server of `headrace serve` in a process of its own, started as anyone can: `python -m serving`."""

from __future__ import annotations

import json
import re
import select
import subprocess
import sys
import tempfile
import time
import urllib.request
from typing import IO

from absl import logging

from components import processes
from components.infra_validator.failed import Failed

_METRICS = "/monitoring/prometheus/metrics"
_STOP_SECONDS = 15


class EmbeddedServer:
    """Starts at once, and is waited for by `wait`; it ends with `stop`, or when this process ends.

    Args:
      model: the folder of a SavedModel.
      name: the model's name in requests.

    Attributes:
      url, grpc: where it answers.
      load_seconds: how long loading took, without the libraries and the warm-up.
    """

    def __init__(self, model: str, name: str) -> None:
        self.url = self.grpc = ""
        self.load_seconds = 0.0
        self._log: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115
        # -I: neither the current folder nor PYTHON variables decide what the server imports.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-m", "serving", model, "--name", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def wait(self, seconds: float) -> None:
        """Returns when the model answers.

        Raises:
          Failed: it cannot be served.
          TimeoutError: it took longer.
        """
        stdout, began = self._process.stdout, time.monotonic()
        assert stdout is not None
        if not select.select([stdout], [], [], seconds)[0]:
            raise TimeoutError(f"the server was not ready within {time.monotonic() - began:.0f} s")
        line = stdout.readline()
        if not line:
            code = self._process.wait()
            _, said, why = f"\n{self.log()}".rpartition("\nerror: ")
            if said:
                raise Failed(f"the model cannot be loaded: {why.strip()}")
            last = (self.log().strip().splitlines() or ["no output"])[-1]
            raise Failed(f"the server's process ended with code {code}: {last}")
        ready = json.loads(line)
        self.url, self.grpc = ready["url"], ready["grpc"]
        ((_, versions),) = ready["models"].items()
        self.load_seconds = max(versions.values())

    def memory_bytes(self) -> int:
        """What the server's process holds; 0 where the system does not tell."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.url + _METRICS, timeout=10) as answer:
            found = re.search(r"^headrace_resident_bytes\S* (\S+)$", answer.read().decode(), re.M)
        return int(float(found[1])) if found else 0

    def log(self) -> str:
        """What the server has written to its log."""
        self._log.seek(0)
        return self._log.read()

    def stop(self) -> None:
        """Ends the server; at once when it was never ready."""
        if not self.url:
            self._process.kill()
        processes.end(self._process, _STOP_SECONDS)
        logging.info("server:\n%s", self.log())
        self._log.close()
