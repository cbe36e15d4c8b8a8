"""The Python clients over REST and gRPC: versions and labels, tries and deadlines, against real servers."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from http_calls import call
from serve_process import Running, serving, wait_for

from serving.client import Client
from serving.errors import ServingError
from serving.grpc_client import GrpcClient
from serving.retrying import Retries, TryAgain

TOKEN = "s3cret"
ROW = {"trip_miles": 2.5, "hour": 1}


@pytest.fixture(scope="module")
def two(binary_base: Path, yes_version: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Versions 17 (stable) and 18 (canary), for who has the token, one request at a time."""
    folder = tmp_path_factory.mktemp("two")
    base = folder / "tips"
    shutil.copytree(binary_base / "17", base / "17")
    shutil.copytree(yes_version, base / "18")
    (folder / "token").write_text(TOKEN)
    arguments = ["--versions", "all", "--label", "stable=17", "--label", "canary=18"]
    with serving(
        folder, str(base), *arguments, "--token-file", str(folder / "token"), "--max-requests", "1"
    ) as it:
        yield it


@pytest.mark.parametrize("kind", ["rest", "grpc"])
def test_answers_of_versions_and_labels(two: Running, kind: str) -> None:
    def client(**which: object) -> Client | GrpcClient:
        if kind == "rest":
            return Client(two.url, "tips", token=TOKEN, **which)  # type: ignore[arg-type]
        return GrpcClient(two.grpc, "tips", token=TOKEN, **which)  # type: ignore[arg-type]

    (newest,) = client().predict([ROW])
    (stable,) = client(label="stable").predict([ROW])
    (older,) = client(version=17).predict([ROW])
    assert [each.predicted_class for each in (newest, stable, older)] == ["yes", "no", "no"]
    assert stable.probabilities == pytest.approx({"no": 0.74, "yes": 0.26})
    assert client().inputs() == {
        "company": "DT_STRING", "hour": "DT_INT64", "pickup_zone": "DT_STRING", "trip_miles": "DT_FLOAT"
    }  # fmt: skip
    assert len(client().predict([ROW, {}, {"company": {"b64": "Qmx1ZQ=="}}])) == 3
    assert client().predict([]) == []
    with pytest.raises(ServingError, match="Unrecognized servable version label: gold"):
        client(label="gold").predict([ROW])
    with pytest.raises(ServingError, match="expected one of them"):
        client(label="stable", version=17)
    with pytest.raises(ServingError, match="row 1, column 'hour'"):
        client().predict([{"hour": "noon"}])


def test_without_the_token(two: Running) -> None:
    with GrpcClient(two.grpc, "tips") as client, pytest.raises(ServingError, match="UNAUTHENTICATED: This"):
        client.inputs()
    with pytest.raises(ServingError, match="HTTP 401"):
        Client(two.url, "tips").status()


def test_a_busy_server_is_asked_again(two: Running) -> None:
    """One request may be under way, and a long one is: who comes then is told to come again, and does."""
    url, headers = f"{two.url}/v1/models/tips:predict", {"Authorization": f"Bearer {TOKEN}"}
    client = Client(two.url, "tips", token=TOKEN)
    client.inputs()
    codes: list[int] = []

    def long() -> None:
        while 200 not in codes:  # it may itself come while another is under way
            codes.append(call(url, {"signature_name": "slow", "inputs": {"x": [1500.0]}}, headers=headers)[0])

    thread = threading.Thread(target=long)
    thread.start()
    once = Client(two.url, "tips", token=TOKEN, retries=0)
    once._inputs, once._outputs = client._inputs, client._outputs

    def refused() -> bool:
        try:
            once.predict([ROW])
        except ServingError as error:
            return "HTTP 429: Too many requests" in str(error)
        return False

    wait_for(refused)
    assert client.predict([ROW])[0].predicted_class == "yes"
    thread.join()
    assert codes[-1] == 200


def test_a_deadline_holds_for_all_tries() -> None:
    with socket.socket() as listener:  # takes connections and never answers
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        place = f"127.0.0.1:{listener.getsockname()[1]}"
        for silent in (
            Client(f"http://{place}", "tips", timeout=0.5),
            GrpcClient(place, "tips", timeout=0.5),
        ):
            began = time.monotonic()
            with pytest.raises(ServingError, match=r"no answer within 0\.5 s"):
                silent.inputs()
            assert time.monotonic() - began < 5


def test_nobody_there() -> None:
    for client in (Client("http://127.0.0.1:9", "tips"), GrpcClient("127.0.0.1:9", "tips")):
        began = time.monotonic()
        with pytest.raises(ServingError, match=r"no server answers|UNAVAILABLE"):
            client.inputs()
        assert 0.1 < time.monotonic() - began < 5  # three more tries


def test_tries_end_with_the_deadline() -> None:
    tries: list[float] = []

    def once(seconds: float) -> None:
        tries.append(seconds)
        raise TryAgain(ServingError("busy"), after=0.2)

    with pytest.raises(ServingError, match="busy"):
        Retries(timeout=0.5, count=100).call(once)
    assert 2 <= len(tries) <= 3
    assert tries == sorted(tries, reverse=True)
    tries.clear()
    with pytest.raises(ServingError, match="busy"):
        Retries(timeout=60, count=1).call(once)
    assert len(tries) == 2
