"""`python -m serving MODEL`: a server without the `headrace` command, for whoever starts it from a program.

It says where it listens in one line of JSON on stdout, and stops when its stdin ends: a server never outlives
who started it. `serving.process.ServerProcess` is the other side.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
import threading
from pathlib import Path

from serving.access import read_token
from serving.batching import BatchingParameters
from serving.errors import ServingError
from serving.options import ServerOptions, default_threads
from serving.server import Ready, run_server
from serving.spec import ModelConfig

_AT_FAULT = 2


def main() -> int:
    """Serves until stdin ends or SIGTERM comes; 2 when the model or an option is at fault."""
    parser = argparse.ArgumentParser(prog="python -m serving", description=__doc__)
    parser.add_argument("model", type=Path, help="a folder of version directories, or one of them")
    parser.add_argument("--name", default="", help="the model's name in requests")
    parser.add_argument("--port", type=int, default=0, help="of REST; 0 takes a free one")
    parser.add_argument("--grpc-port", type=int, default=0, help="of gRPC; 0 takes a free one")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds after which a request is a 504")
    parser.add_argument("--token-file", type=Path, help="what clients must send as a bearer token")
    parser.add_argument("--no-batching", action="store_true", help="answer each request by itself")
    parser.add_argument("--poll", type=float, default=1.0, help="seconds between looks for new versions")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    try:
        options = ServerOptions(
            models=[ModelConfig(given.name, given.model)],
            port=given.port,
            grpc_port=given.grpc_port,
            timeout_seconds=given.timeout,
            token=read_token(given.token_file) if given.token_file else "",
            poll_seconds=given.poll,
            batching=BatchingParameters(enabled=not given.no_batching, num_batch_threads=default_threads()),
        )
        run_server(options, on_ready=_say, stop_when=_stdin_ends)
    except ServingError as error:
        print(f"error: {error}", file=sys.stderr)
        return _AT_FAULT
    return 0


def _say(ready: Ready) -> None:
    models = {
        hosted.name: {str(number): model.load_seconds for number, model in hosted.loaded.items()}
        for hosted in ready.models
    }
    print(json.dumps({"url": ready.url, "grpc": ready.grpc, "models": models}), flush=True)


async def _stdin_ends() -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def read() -> None:  # a thread of its own that nothing waits for: a read cannot be interrupted
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, daemon=True).start()
    await ended.wait()


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # all is closed, and TensorFlow would take another second to come apart
