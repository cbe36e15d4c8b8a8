"""A server in a process of its own, and what it leaves behind."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from http_calls import call
from serve_process import wait_for

from serving.client import Client
from serving.errors import ServingError
from serving.hosted import HostedModel
from serving.model import load_model
from serving.process import ServerProcess
from serving.spec import VersionPolicy


def gone(pid: int) -> bool:
    """Whether a process has ended, waited for or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_start_ask_stop(binary_base: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    with ServerProcess(binary_base, "trips", options=["--token-file", str(token)]) as server:
        with pytest.raises(ServingError, match="HTTP 401: This server asks for a token"):
            Client(server.url, "trips").status()
        (prediction,) = Client(server.url, "trips", token="s3cret").predict([{"trip_miles": 8}])
        assert prediction.predicted_class == "yes"
        assert server.grpc.startswith("127.0.0.1:")
        assert 0 < server.models["trips"]["17"] < server.ready_seconds
        assert server.stop() == 0
        assert "Traceback" not in server.log()
    assert gone(server.pid)


def test_a_model_that_cannot_be_served(tmp_path: Path) -> None:
    with pytest.raises(ServingError, match=r"the server ended with 2: .*no version of a model here"):
        ServerProcess(tmp_path)


def test_a_package_of_the_same_name_beside(binary_base: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "serving").mkdir()
    (tmp_path / "serving" / "__init__.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    with ServerProcess(binary_base, "trips") as server:
        assert Client(server.url, "trips").status()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_it_ends_with_who_started_it(binary_base: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from serving.process import ServerProcess\n"
        "server = ServerProcess(Path(sys.argv[1])); print(server.pid, server.url, flush=True); input()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(binary_base)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout
    pid, url = parent.stdout.readline().split()
    assert call(f"{url}/v1/models/tips")[0] == 200
    os.kill(parent.pid, signal.SIGKILL)
    parent.communicate()
    wait_for(lambda: gone(int(pid)))


def test_versions_that_are_let_go_are_freed(binary_base: Path, tmp_path: Path) -> None:
    from tensorflow.python.eager import context
    from tensorflow.python.framework import ops

    graphs: list[weakref.ref[object]] = []

    def load(path: Path, number: int) -> object:
        model = load_model(path, number)
        (loaded,) = {id(f.__defaults__[0]): f.__defaults__[0] for f in model._functions.values()}.values()  # type: ignore
        graphs.append(weakref.ref(loaded))
        return model

    def functions() -> int:
        """How many functions TensorFlow holds, in Python and below."""
        gc.collect()
        return len(context.context().list_function_names()) + len(ops.gradient_registry.list())

    base = tmp_path / "tips"
    shutil.copytree(binary_base / "17", base / "1")
    hosted = HostedModel(base, load=load, policy=VersionPolicy("latest", 2))  # type: ignore[arg-type]
    hosted.start()
    shutil.copytree(base / "1", base / "2")
    assert hosted.poll()
    two = functions()
    shutil.copytree(base / "1", base / "3")
    assert hosted.poll()
    assert sorted(hosted.loaded) == [2, 3]
    assert [state.state for state in hosted.states.values()] == ["AVAILABLE", "AVAILABLE", "END"]
    assert [graph() is None for graph in graphs] == [True, False, False]
    assert functions() == two

    held = hosted.current  # as a request under way does
    shutil.rmtree(base / "3")
    hosted.poll()
    assert hosted.states[3].state == "UNLOADING"
    assert held.call("add", {"a": _one(), "b": _one()})["sum"].tolist() == [2]
    del held
    assert 3 not in hosted.states or hosted.states[3].state == "END"
    hosted.poll()
    gc.collect()
    assert graphs[2]() is None
    hosted.close()
    assert not hosted.loaded


def _one() -> object:
    import numpy as np

    return np.ones(1, np.float32)
