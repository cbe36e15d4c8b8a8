"""How a server starts, changes versions and ends."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
import tensorflow as tf
from http_calls import call
from serve_process import HEADRACE, Running, serving, wait_for
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from components.errors import UserError
from pipeline.cli.serve import command

REQUEST = {"signature_name": "serving_raw", "inputs": {"trip_miles": [0.0], "hour": [0]}}
REQUEST["inputs"] |= {"company": [""], "pickup_zone": [""]}


@pytest.fixture(scope="module")
def base(binary_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base folder of its own, in which versions come and go."""
    base = tmp_path_factory.mktemp("changing") / "tips"
    shutil.copytree(binary_base / "17", base / "17")
    return base


@pytest.fixture(scope="module")
def changing(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(
        tmp_path_factory.mktemp("changing-server"), str(base), "--name", "fares", "--poll", "0.2"
    ) as running:
        yield running


def states(server: Running) -> dict[str, str]:
    _, answer = call(f"{server.url}/v1/models/fares")
    return {one["version"]: one["state"] for one in answer["model_version_status"]}


def answered(server: Running) -> str:
    """Which model answers: version 17 says no, version 18 says yes."""
    code, answer = call(f"{server.url}/v1/models/fares:predict", REQUEST)
    assert code == 200, answer
    return answer["outputs"]["predicted_class"][0]


def test_a_damaged_version_is_skipped(changing: Running, base: Path) -> None:
    staged = base / ".18.tmp"
    shutil.copytree(base / "17", staged)
    (staged / "saved_model.pb").write_bytes(b"\x08\x01 damaged")
    staged.rename(base / "18")
    wait_for(lambda: "version 18 is skipped; version 17 goes on serving" in changing.err.read_text())
    assert states(changing) == {"18": "END", "17": "AVAILABLE"}
    assert answered(changing) == "no"
    assert changing.process.poll() is None
    assert changing.err.read_text().count("version 18 is skipped") == 1
    shutil.rmtree(base / "18")
    wait_for(lambda: "18" not in states(changing))


def test_a_new_version_takes_over_without_a_failed_request(
    changing: Running, base: Path, yes_version: Path
) -> None:
    shutil.copytree(yes_version, base / ".18.tmp")
    answers: list[str] = []
    failures: list[BaseException] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            try:
                answers.append(answered(changing))
            except BaseException as error:
                failures.append(error)

    clients = [threading.Thread(target=ask) for _ in range(3)]
    for client in clients:
        client.start()
    wait_for(lambda: len(answers) > 20)
    (base / ".18.tmp").rename(base / "18")
    wait_for(lambda: states(changing) == {"18": "AVAILABLE", "17": "END"})
    before = len(answers)
    wait_for(lambda: len(answers) > before + 20)
    done.set()
    for client in clients:
        client.join()
    assert failures == []
    assert (answers[0], answers[-1]) == ("no", "yes")
    assert "model fares: version 18 replaces version 17" in changing.err.read_text()
    code, answer = call(f"{changing.url}/v1/models/fares/versions/17:predict", REQUEST)
    assert (code, answer) == (404, {"error": "Servable not found for request: Specific(fares, 17)"})


def test_taking_the_newest_away_rolls_back(changing: Running, base: Path) -> None:
    shutil.rmtree(base / "18")
    wait_for(lambda: states(changing) == {"17": "AVAILABLE"})
    assert answered(changing) == "no"
    shutil.rmtree(base / "17")
    wait_for(lambda: "no version left" in changing.err.read_text())
    assert answered(changing) == "no"


def slow_call(channel: Any) -> Any:
    """A gRPC call that takes half a second, begun."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "fares", "slow"
    request.inputs["x"].CopyFrom(tf.make_tensor_proto(np.array([500], np.float32)))
    call = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict.future(request, timeout=20)
    time.sleep(0.2)
    assert not call.done()
    return call


def test_sigterm_lets_requests_end(changing: Running) -> None:
    body = json.dumps(REQUEST).encode()
    host, port = changing.url.removeprefix("http://").split(":")
    with (
        grpc.insecure_channel(changing.grpc) as channel,
        socket.create_connection((host, int(port)), timeout=20) as connection,
    ):
        head = f"POST /v1/models/fares:predict HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body[:10])
        wait_for(lambda: call(f"{changing.url}/v1/models/fares")[0] == 200)  # so the head has been read
        under_way = slow_call(channel)
        changing.process.send_signal(signal.SIGTERM)
        wait_for(lambda: "stopping" in changing.err.read_text())
        connection.sendall(body[10:])
        answer = connection.makefile("rb").read()
        assert list(under_way.result().outputs) == ["y"]
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b'"predicted_class":["no"]' in answer
    assert changing.process.wait(30) == 0
    assert "Traceback" not in changing.err.read_text()


def serve_fails(*arguments: str) -> str:
    """Runs `headrace serve`, which must end with 2 and one message; the message."""
    done = subprocess.run([*HEADRACE, "serve", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("error:") == 1
    return done.stderr


def test_a_taken_port(binary_base: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = serve_fails(str(binary_base), "--port", str(port))
    assert message == (
        f"error: 127.0.0.1:{port}: port {port} is taken by another process\n"
        "  fix: choose another with --port\n"
    )


def refuses(*arguments: str) -> str:
    """Runs the command in this process; its message."""
    with pytest.raises(UserError) as caught:
        command.main([*arguments, "--port", "0"], standalone_mode=False)
    return str(caught.value)


def test_an_address_of_another_machine(binary_base: Path) -> None:
    assert "cannot listen here" in refuses(str(binary_base), "--host", "192.0.2.1")


def test_nothing_to_serve(tmp_path: Path) -> None:
    assert "no such file or folder" in refuses(str(tmp_path / "absent"))
    message = refuses(str(tmp_path))
    assert "no model to serve: no pipeline.yaml, no version directory" in message
    assert "fix: run `headrace run PATH` first" in message
    (tmp_path / "pipeline.yaml").write_text("name: trips\ndata: {source: trips.csv}\nlabel: tipped\n")
    message = refuses(str(tmp_path))
    assert "no model of trips is pushed yet" in message
    assert f"fix: run `headrace run {tmp_path}` first" in message


def test_no_version_can_be_loaded(tmp_path: Path) -> None:
    for number in ("1", "2"):
        (tmp_path / number).mkdir()
        (tmp_path / number / "saved_model.pb").write_bytes(b"")
    message = refuses(str(tmp_path))
    assert "no version can be loaded\n  version 1: cannot load this SavedModel" in message


def test_imports_stay_light() -> None:
    code = (
        "import serving, serving.client, serving.hosted, serving.server, pipeline.cli.serve, "
        "pipeline.cli.predict, sys; assert not {'tensorflow', 'tfx', 'apache_beam'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
