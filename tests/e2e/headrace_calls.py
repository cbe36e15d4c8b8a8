"""Calls of the real `headrace` command: each in a process of its own, or many in one that stays warm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEADRACE = str(Path(sys.executable).parent / "headrace")
_LIMIT = 300

# Reads a line of JSON a call, and answers with one that holds the exit code.
_LOOP = """
import json, os, sys
sys.path.remove("")
from pipeline.cli import main

answers = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    call = json.loads(line)
    for descriptor, path in ((1, call["out"]), (2, call["err"])):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, descriptor)
        os.close(file)
    os.chdir(call["cwd"])
    sys.argv = ["headrace", *call["arguments"]]
    try:
        main()
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    sys.stderr.flush()
    print(json.dumps(code), file=answers, flush=True)
"""


@dataclass(frozen=True)
class Done:
    """How a call ended."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def said(self) -> str:
        """All that a person saw."""
        return self.out + self.err

    @property
    def json(self) -> Any:
        """What --json printed: nothing else may stand on stdout."""
        return json.loads(self.out)

    def step(self, name: str) -> dict[str, Any]:
        """What `run --json` says of a step."""
        return next(step for step in self.json["steps"] if step["name"] == name)

    def states(self) -> dict[str, str]:
        """Step to state, of `run --json`."""
        return {step["name"]: step["state"] for step in self.json["steps"]}


def environment(**changes: str) -> dict[str, str]:
    """This process's environment without what would move the home."""
    kept = {name: value for name, value in os.environ.items() if name != "HEADRACE_HOME"}
    return {**kept, **changes}


def headrace(*arguments: object, cwd: Path, env: dict[str, str] | None = None) -> Done:
    """Calls the command in a process of its own."""
    began = time.monotonic()
    done = subprocess.run(
        [HEADRACE, *map(str, arguments)],
        cwd=cwd,
        env=environment() if env is None else env,
        capture_output=True,
        text=True,
        timeout=_LIMIT,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr, time.monotonic() - began)


class Warm:
    """Calls the command in one process again and again, so that the libraries load once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LOOP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=environment(),
            text=True,
        )

    def __call__(self, *arguments: object, cwd: Path) -> Done:
        assert self._process.stdin
        assert self._process.stdout
        out, err = self._folder / "out", self._folder / "err"
        call = {"arguments": [*map(str, arguments)], "cwd": str(cwd), "out": str(out), "err": str(err)}
        began = time.monotonic()
        self._process.stdin.write(json.dumps(call) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"{arguments}: the process died\n{err.read_text()}"
        return Done(json.loads(answer), out.read_text(), err.read_text(), time.monotonic() - began)

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(60)


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def started(*arguments: object, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """The command, running in a session of its own as under a terminal; killed in the end if need be."""
    process = subprocess.Popen(
        [HEADRACE, *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # What a shell starts in the background ignores Ctrl-C, and so would all that it starts.
        preexec_fn=_heed_interrupts,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
