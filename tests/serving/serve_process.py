"""Runs `headrace serve` as a process of its own, on a free port."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HEADRACE = [sys.executable, "-c", "from pipeline.cli import main; main()"]
_START_SECONDS = 90


@dataclass
class Running:
    """A running `headrace serve`."""

    process: subprocess.Popen[str]
    url: str  # of the server, without the model
    out: Path
    err: Path

    @property
    def grpc(self) -> str:
        """HOST:PORT of gRPC."""
        found = re.search(r"gRPC: (\S+)", self.out.read_text())
        assert found
        return found[1]


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Returns when the condition holds; fails when it does not come to hold."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Running]:
    """Runs `headrace serve ARGUMENTS` on a free port; its output goes to files in `folder`."""
    out, err = folder / "serve.out", folder / "serve.err"
    with open(out, "w") as stdout, open(err, "w") as stderr:
        process = subprocess.Popen(
            [*HEADRACE, "serve", "--port", "0", *arguments], stdout=stdout, stderr=stderr, text=True
        )
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not (found := re.search(r"at (https?://\S+)/v1/models/.*Look at it", out.read_text(), re.S)):
            assert process.poll() is None, err.read_text()
            assert time.monotonic() < deadline, err.read_text()
            time.sleep(0.05)
        yield Running(process, found[1], out, err)
    finally:
        process.kill()
        process.wait()
