"""What both programs share: a server that ends when it cannot load its model."""

from __future__ import annotations

import pathlib
import socket
import subprocess
import sys
from typing import Any, NoReturn

STATE = pathlib.Path(sys.argv[1])
NOT_LOADED = "Failed to start server. Error: Unknown: 1 servable(s) did not become available"


def flag(args: list[str], name: str) -> str:
    """The value of --NAME=VALUE."""
    return next((each.split("=", 1)[1] for each in args if each.startswith(f"--{name}=")), "")


def fail(text: str, code: int = 1) -> NoReturn:
    print(text, file=sys.stderr)
    sys.exit(code)


def free() -> int:
    """A port that nobody has."""
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return int(each.getsockname()[1])


def serve(model: str, name: str, rest: str, grpc: str) -> subprocess.Popen[Any]:
    """The embedded server, as tensorflow_model_server would be started; it ends with 2 without a model."""
    command = [
        sys.executable,
        "-I",
        "-m",
        "serving",
        model,
        "--name",
        name,
        "--port",
        rest,
        "--grpc-port",
        grpc,
    ]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
