"""Who may ask, how much, how many and how long; over TLS."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner
from serve_process import Running, serving
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from components.errors import UserError
from pipeline.cli import loadtest
from pipeline.cli.serve import command
from serving.grpc_client import GrpcClient

TOKEN = "s3cret-token"
TIPS = "/v1/models/tips"
SECONDS = 1.0


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with cert.pem for 127.0.0.1, its key.pem, and another key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    folder = tmp_path_factory.mktemp("pem")
    keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("key", "other")}
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(keys["key"].public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(keys["key"], hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    for key, private in keys.items():
        (folder / f"{key}.pem").write_bytes(
            private.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    return folder


@pytest.fixture(scope="module")
def limited(binary_base: Path, pem: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("limited")
    (folder / "token").write_text(TOKEN + "\n")
    with serving(
        folder, str(binary_base), "--token-file", str(folder / "token"),
        "--tls-cert", str(pem / "cert.pem"), "--tls-key", str(pem / "key.pem"),
        "--max-body", "0.01", "--timeout", str(SECONDS), "--max-batch", "1", "--max-queue", "2",
        "--max-requests", "5",
    ) as running:  # fmt: skip
        yield running


def call(server: Running, pem: Path, path: str, content: Any = None, token: str = TOKEN) -> Any:
    """The code, the JSON and the headers of an answer over TLS."""
    url = server.url.replace("127.0.0.1", "localhost") + path
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    body = None if content is None else json.dumps(content).encode()
    context = ssl.create_default_context(cafile=str(pem / "cert.pem"))
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    try:
        with opener.open(urllib.request.Request(url, body, headers), timeout=20) as response:
            return response.status, response.read().decode(), response.headers
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())["error"], error.headers


def slow(milliseconds: float) -> dict[str, Any]:
    return {"signature_name": "slow", "instances": [milliseconds]}


def test_without_the_token(limited: Running, pem: Path) -> None:
    for path in (TIPS, TIPS + "/metadata", "/headrace/models", "/monitoring/prometheus/metrics"):
        code, text, headers = call(limited, pem, path, token="")
        assert (code, headers["WWW-Authenticate"]) == (401, "Bearer")
        assert text.startswith("This server asks for a token: send the header")
        assert call(limited, pem, path)[0] == 200
    assert call(limited, pem, TIPS + ":predict", slow(0), token="wrong")[0] == 401
    assert call(limited, pem, TIPS + ":predict", slow(0))[0] == 200
    code, page, headers = call(limited, pem, "/", token="")  # which asks for it
    assert (code, headers.get_content_type()) == (200, "text/html")
    assert TOKEN not in page + limited.err.read_text() + limited.out.read_text()


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_the_printed_call_over_tls(limited: Running) -> None:
    printed = limited.out.read_text().splitlines()[-1].strip()
    assert printed.startswith("curl --cacert ")
    shell = printed.replace("127.0.0.1", "localhost")  # as the certificate says
    environment = {**os.environ, "HEADRACE_SERVE_TOKEN": TOKEN, "no_proxy": "localhost"}
    said = subprocess.run(
        ["sh", "-c", shell.replace("curl ", "curl -sS ", 1)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(said.stdout)["predictions"][0]["predicted_class"]


def test_grpc_with_tls_and_token(limited: Running, pem: Path) -> None:
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "tips", "slow"
    request.inputs["x"].CopyFrom(tf.make_tensor_proto(np.array([0], np.float32)))
    credentials = grpc.ssl_channel_credentials((pem / "cert.pem").read_bytes())
    with grpc.secure_channel(limited.grpc.replace("127.0.0.1", "localhost"), credentials) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        with pytest.raises(grpc.RpcError) as caught:
            stub.Predict(request, timeout=20)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        answer = stub.Predict(request, timeout=20, metadata=[("authorization", f"Bearer {TOKEN}")])
    assert tf.make_ndarray(answer.outputs["y"]).tolist() == [0]


@pytest.mark.parametrize("over", ["rest", "grpc"])
def test_commands_over_tls(limited: Running, pem: Path, over: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = limited.url.replace("127.0.0.1", "localhost") + TIPS
    place = ("--grpc", limited.grpc.replace("127.0.0.1", "localhost")) if over == "grpc" else ()
    monkeypatch.setenv("HEADRACE_SERVE_TOKEN", TOKEN)
    given = ["--url", url, *place, "--clients", "1", "--requests", "20", "--json"]
    refused = CliRunner().invoke(loadtest.command, given).exception
    assert isinstance(refused, UserError)
    assert "certificate" in refused.what
    assert "SSL_CERT_FILE" in refused.fix
    monkeypatch.setenv("SSL_CERT_FILE", str(pem / "cert.pem"))
    result = CliRunner().invoke(loadtest.command, given)
    assert json.loads(result.stdout)["codes"] == {"200": 20}, result.output


def test_the_grpc_client_trusts_the_same_authorities(
    limited: Running, pem: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(pem / "cert.pem"))
    place = limited.grpc.replace("127.0.0.1", "localhost")
    with GrpcClient(place, "tips", token=TOKEN, tls=True) as client:
        assert client.predict([{"hour": 1}])[0].predicted_class


def test_too_large(limited: Running, pem: Path) -> None:
    code, text, _ = call(limited, pem, TIPS + ":predict", {"instances": "a" * 20_000})
    assert (code, text.startswith("Request body is too large")) == (413, True)


def test_too_long(limited: Running, pem: Path) -> None:
    started = time.monotonic()
    code, text, _ = call(limited, pem, TIPS + ":predict", slow(3000))
    assert (code, text) == (504, "Deadline exceeded")
    assert time.monotonic() - started < SECONDS + 1.5


def test_a_body_that_does_not_arrive(limited: Running, pem: Path) -> None:
    host, port = limited.url.removeprefix("https://").split(":")
    context = ssl.create_default_context(cafile=str(pem / "cert.pem"))
    head = (
        f"POST {TIPS}:predict HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nAuthorization: Bearer {TOKEN}\r\n"
    )
    with (
        socket.create_connection((host, int(port)), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        connection.sendall(f"{head}\r\n{{".encode())
        answer = connection.makefile("rb").readline()
    assert answer.startswith(b"HTTP/1.1 504 ")


def test_too_many(limited: Running, pem: Path) -> None:
    """One is computed, two wait, two more find the queue full, and no more than five may be under way."""
    time.sleep(1)  # what the last test asked for is still computed
    answers: list[tuple[int, str, Any]] = []
    clients = [
        threading.Thread(target=lambda: answers.append(call(limited, pem, TIPS + ":predict", slow(900))))
        for _ in range(12)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    codes = {code for code, _, _ in answers}
    assert codes <= {200, 429, 503, 504}
    assert 503 in codes
    for code, text, headers in answers:
        if code == 503:
            assert text.startswith("The batch scheduling queue to which this task was submitted is full")
        if code == 429:
            assert text.startswith("Too many requests: 5 are under way and 5 may be")
        assert headers["Retry-After"] == ("1" if code in (429, 503) else None)
    time.sleep(2)
    assert call(limited, pem, TIPS + ":predict", slow(0))[0] == 200


BAD_OPTIONS = {
    "cert without key": (["--tls-cert", "{pem}/cert.pem"], "--tls-cert is there without --tls-key"),
    "absent key": (["--tls-cert", "{pem}/cert.pem", "--tls-key", "{pem}/x"], "no such file"),
    "another key": (
        ["--tls-cert", "{pem}/cert.pem", "--tls-key", "{pem}/other.pem"],
        "not a certificate and its private key",
    ),
    "no token": (["--token-file", "{pem}/x"], "cannot read the token"),
    "token with spaces": (["--token-file", "{pem}/cert.pem"], "expected one word"),
    "absent version": (["--versions", "3"], "the policy asks for 3; received 17"),
    "absent label": (["--label", "stable=3"], "label to version 3 of model tips, which is not currently"),
    "no models.config": (["--reload-config", "1"], "--reload-config is for a models.config"),
    "log into a file": (["--log-requests", "{pem}/cert.pem"], "cannot write here"),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_bad_options(binary_base: Path, pem: Path, case: str) -> None:
    options, text = BAD_OPTIONS[case]
    arguments = [str(binary_base), "--port", "0", *(option.format(pem=pem) for option in options)]
    result = CliRunner().invoke(command, arguments)
    assert isinstance(result.exception, UserError), result.output
    assert text in str(result.exception)


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("--versions", "newest", "expected latest, latest:N, all, or numbers such as 17,18"),
        ("--versions", "latest:0", "expected latest, latest:N"),
        ("--label", "stable", "expected a label and a number, such as stable=17"),
    ],
)
def test_bad_values(option: str, value: str, text: str) -> None:
    result = CliRunner().invoke(command, [".", option, value])
    assert result.exit_code == 2
    assert text in " ".join(result.output.split())
