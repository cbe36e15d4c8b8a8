"""A project that is served while it is run again, and while its model is taken back."""

from __future__ import annotations

import csv
import json
import shlex
import shutil
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import pytest
from headrace_calls import HEADRACE, environment

pytestmark = pytest.mark.slow

TRIPS = files("tfx") / "examples/chicago_taxi_pipeline/data/big_tipper_label/data.csv"
CONFIG = """\
name: taxi
data: {source: trips.csv, exclude: [tips, trip_start_timestamp]}
label: big_tipper
model: {hidden: [8]}
train: {epochs: 6, batch_size: 32, learning_rate: {peak: 0.05}}
evaluate: {gate: {auc: {min: 0.1}}}
infra_validate: {rows: 16}
"""


def write_trips(path: Path, tipped: Callable[[str], str], rows: int = 500) -> None:
    """The first trips of the taxi example, with a label of our own by the way it was paid."""
    with TRIPS.open(newline="") as stream:
        trips = [trip for trip, _ in zip(csv.DictReader(stream), range(rows))]
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(trips[0]))
        writer.writeheader()
        writer.writerows({**trip, "big_tipper": tipped(trip["payment_type"])} for trip in trips)


@dataclass
class Server:
    """`headrace serve` of the project.

    Attributes:
      url: of the model.
      grpc: HOST:PORT.
      curl: the call that it printed.
    """

    url: str
    grpc: str
    curl: str


@contextmanager
def served(project: Path):
    """The command as a person starts it; it must end well, too."""
    out, err = project / "serve.out", project / "serve.err"
    with out.open("w") as stdout, err.open("w") as stderr:
        process = subprocess.Popen(
            [HEADRACE, "serve", ".", "--port", "0", "--poll", "0.2"],
            cwd=project, env=environment(), stdout=stdout, stderr=stderr,
        )  # fmt: skip
    try:
        until(lambda: "curl" in out.read_text() or process.poll() is not None, 90)
        assert process.poll() is None, err.read_text()
        first, second, _, call = out.read_text().splitlines()
        yield Server(first.split(" at ")[1], second.split("gRPC: ")[1], call.strip())
        process.terminate()
        assert process.wait(30) == 0, err.read_text()
    finally:
        process.kill()
        process.wait()


@dataclass
class Client:
    """Asks about one row, over REST and gRPC by turns, until it is told to stop.

    Attributes:
      answers: version, predicted class and its probability.
      failures: whatever else came.
    """

    server: Server
    row: dict[str, object]
    answers: list[tuple[int, str, float]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @contextmanager
    def asking(self):
        stop = threading.Event()
        thread = threading.Thread(target=self._ask, args=(stop,))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def version(self) -> int:
        """Which answered last."""
        return self.answers[-1][0] if self.answers else 0

    def _ask(self, stop: threading.Event) -> None:
        import grpc
        import tensorflow as tf
        from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

        from serving.client import Client as Rest
        from serving.rows import to_columns

        rest = Rest(self.server.url.partition("/v1/")[0], "taxi", retries=0)
        columns = to_columns([self.row], rest.inputs())
        request = predict_pb2.PredictRequest()
        request.model_spec.name, request.model_spec.signature_name = "taxi", "serving_raw"
        types = {"DT_STRING": tf.string, "DT_FLOAT": tf.float32, "DT_INT64": tf.int64}
        for name, dtype in rest.inputs().items():
            request.inputs[name].CopyFrom(tf.make_tensor_proto(columns.values[name], types[dtype]))
        with grpc.insecure_channel(self.server.grpc) as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            while not stop.is_set():
                try:
                    rest.predict_columns(columns)
                    answer = stub.Predict(request, timeout=30)
                except Exception as error:
                    self.failures.append(repr(error))
                    continue
                named = tf.make_ndarray(answer.outputs["predicted_class"])[0].decode()
                probability = float(tf.make_ndarray(answer.outputs["probabilities"]).max())
                self.answers.append((answer.model_spec.version.value, named, probability))
                time.sleep(0.05)


def call_as_printed(curl: str) -> str:
    """What a call prints that a person pastes into a shell; on a machine without curl, the same request."""
    if shutil.which("curl"):
        return subprocess.run(["sh", "-c", curl], capture_output=True, text=True, check=True).stdout
    _, _, body, url = shlex.split(curl)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, body.encode(), timeout=60) as answer:
        return answer.read().decode()


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_new_model_goes_live_and_back(tmp_path, warm):
    project = tmp_path / "taxi"
    project.mkdir()
    (project / "pipeline.yaml").write_text(CONFIG)
    write_trips(project / "trips.csv", lambda paid: "big" if paid == "Credit Card" else "small")

    def run() -> int:
        done = warm("run", project, "--json", cwd=tmp_path)
        assert done.code == 0, done.said
        return int(Path(done.json["version_path"]).name)

    def states() -> dict[int, str]:
        listed = warm("versions", project, "--url", server.url, "--json", cwd=tmp_path).json
        assert all(each["run"] and each["metrics"]["auc"] > 0.1 for each in listed)
        return {each["version"]: each["state"] for each in listed}

    first = run()
    with served(project) as server:
        (prediction,) = json.loads(call_as_printed(server.curl))["predictions"]
        assert prediction["predicted_class"] in prediction["classes"] == ["big", "small"]
        assert sum(prediction["probabilities"]) == pytest.approx(1)

        client = Client(server, {"payment_type": "Credit Card", "fare": 12.5, "company": "Blue"})
        with client.asking():
            until(lambda: client.version() == first)
            write_trips(project / "trips.csv", lambda paid: "small" if paid == "Credit Card" else "big")
            second = run()
            until(lambda: client.version() == second)
            assert states() == {second: "served", first: "kept"}

            back = warm("rollback", project, cwd=tmp_path)
            assert back.out == f"version {first} is the newest now; version {second} moved to .rolled_back/\n"
            until(lambda: client.version() == first)
            assert states() == {second: "rolled back", first: "served"}
            # Nothing else changed, and what was taken back is not pushed again.
            done = warm("run", project, cwd=tmp_path)
            assert done.code == 3, done.said
            assert f"`headrace rollback {second}` brings it back" in done.out
            assert client.version() == first
            warm("rollback", second, project, cwd=tmp_path)
            until(lambda: client.version() == second)
    assert not client.failures
    seen = [client.answers[0][0]]
    seen += [after[0] for before, after in zip(client.answers, client.answers[1:]) if before[0] != after[0]]
    assert seen == [first, second, first, second]
    # A card is what one model learned from to say big, and the other to say small.
    assert {(version, named) for version, named, _ in client.answers} == {(first, "big"), (second, "small")}
