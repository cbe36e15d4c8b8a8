"""Stands in for docker: `docker.py STATE run|port|stats|rm …`; a container is a file STATE/NAME."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import threading

from common import NOT_LOADED, STATE, fail, flag, free, serve


def run(args: list[str]) -> int:
    name = args[args.index("--name") + 1]
    image = args[args.index("--entrypoint") + 2]
    if image == "nosuch/image:1":
        fail(
            "Unable to find image 'nosuch/image:1' locally\ndocker: Error response from daemon: pull access "
            "denied for nosuch/image\n\nRun 'docker run --help' for more information",
            125,
        )
    assert args[args.index(image) + 1] == "-c"
    assert "cat <&3" in args[args.index(image) + 2]
    if image == "debian:trixie-slim":
        fail("sh: 2: tensorflow_model_server: not found", 127)
    (mount,) = csv.reader([args[args.index("--mount") + 1]])
    source = dict(each.split("=", 1) for each in mount if "=" in each)["source"]
    if not os.path.isdir(source):
        fail(
            'docker: Error response from daemon: invalid mount config for type "bind": bind source path does '
            f"not exist: {source}",
            125,
        )
    ports = {"8501": str(free()), "8500": str(free())}
    if image == "hangs":
        server = subprocess.Popen(["sleep", "100"])
    else:
        server = serve(source, flag(args, "model_name"), ports["8501"], ports["8500"])
    container = STATE / name
    # Whoever sees the file reads it whole.
    written = STATE.parent / f"{name}.new"
    written.write_text(json.dumps({"ports": ports, "pid": server.pid}))
    written.rename(container)

    def end_with_stdin() -> None:
        sys.stdin.buffer.read()
        server.kill()

    threading.Thread(target=end_with_stdin, daemon=True).start()
    code = server.wait()
    if code == 2:
        assert flag(args, "max_num_load_retries") == "0", "would try again in a minute"
        print("[evhttp_server.cc : 261] NET_LOG: Entering the event loop ...")
        print(NOT_LOADED, file=sys.stderr, flush=True)
    container.unlink(missing_ok=True)
    return 255 if code == 2 else code % 256


def ask(verb: str, args: list[str]) -> None:
    name = args[-2] if verb == "port" else args[-1]
    path = STATE / name
    if not path.exists():
        fail(f"Error response from daemon: No such container: {name}")
    container = json.loads(path.read_text())
    if verb == "port":
        print(f"127.0.0.1:{container['ports'][args[-1].removesuffix('/tcp')]}")
    elif verb == "stats":
        print("266.3MiB / 23.5GiB")
    elif verb == "rm":
        os.kill(container["pid"], signal.SIGKILL)
        path.unlink()


if __name__ == "__main__":
    verb, args = sys.argv[2], sys.argv[3:]
    if verb == "run":
        code = run(args)
        sys.stdout.flush()
        os._exit(code)  # a thread still reads stdin
    ask(verb, args)
