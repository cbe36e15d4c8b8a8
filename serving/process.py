"""A server in a process of its own: started, waited for, and stopped by a program."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from serving.errors import ServingError

_LAST_LINES = 5
# As `python -m serving`, but with this package, whatever the current folder has under that name.
_START = """\
import runpy, sys
sys.path[0] = sys.argv.pop(1)
runpy.run_module("serving", run_name="__main__", alter_sys=True)
"""


class ServerProcess:
    """The embedded server over one model, on free ports of 127.0.0.1.

    The constructor returns when the server answers. The server ends with `stop`, at the end of a `with`
    block, and when this process ends in whichever way.

    Args:
      model: a folder of version directories, or one version directory.
      name: the model's name in requests; "" takes it from the manifest, else from the folder.
      start_seconds: how long loading and warming up may take.
      options: more arguments of `python -m serving`.

    Attributes:
      url: of REST, `http://127.0.0.1:PORT`.
      grpc: of gRPC, `127.0.0.1:PORT`.
      models: name to version to the seconds that loading took.
      ready_seconds: from the start to the first answer.

    Raises:
      ServingError: the model cannot be served; says why.

    Example:
      ```python
      with ServerProcess(Path("models/taxi")) as server:
          answers = Client(server.url, "taxi").predict([{"trip_miles": 2.5}])
      ```
    """

    def __init__(
        self, model: Path, name: str = "", start_seconds: float = 120.0, options: Sequence[str] = ()
    ) -> None:
        root = str(Path(__file__).resolve().parent.parent)
        arguments = [sys.executable, "-c", _START, root, str(model), "--name", name, *options]
        started = time.monotonic()
        self._log: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        try:
            ready = json.loads(self._first_line(started + start_seconds, str(model)))
        except BaseException:
            self.stop(0)
            raise
        self.ready_seconds = time.monotonic() - started
        self.url: str = ready["url"]
        self.grpc: str = ready["grpc"]
        self.models: dict[str, dict[str, float]] = ready["models"]

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    def log(self) -> str:
        """What the server has written to its log."""
        self._log.seek(0)
        return self._log.read()

    def stop(self, seconds: float = 15.0) -> int:
        """Lets the requests under way end, for so long at most; the exit code, 0 when all went well."""
        if self._process.poll() is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                return self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                self._process.kill()
        return self._process.wait()

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._log.close()

    def _first_line(self, deadline: float, where: str) -> str:
        stdout = self._process.stdout
        assert stdout is not None
        if not select.select([stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise ServingError("the server does not get ready in time", where, self._tail())
        line = stdout.readline()
        if not line:
            self._process.wait()
            _, said, why = f"\n{self.log()}".rpartition("\nerror: ")
            ended = f"the server ended with {self._process.returncode}"
            raise (
                ServingError(f"{ended}: {why.strip()}") if said else ServingError(ended, where, self._tail())
            )
        return line

    def _tail(self) -> str:
        """The end of the server's log."""
        return "\n".join(["see its log:", *self.log().splitlines()[-_LAST_LINES:]])
