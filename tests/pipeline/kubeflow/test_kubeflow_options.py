"""Every other option of the commands, by their own door."""

from __future__ import annotations

import datetime
import json
import ssl
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from kfp_api import Api
from kubeflow_taxi import ALL_OF_IT, TAXI

from components.errors import UserError
from pipeline.cli import cli
from pipeline.kubeflow import client as clients
from pipeline.kubeflow.client import COOKIES, TOKEN, Client

CLAIM = ("--set", "kubeflow.claims=[{name: models, mount: /models}]")


def _call(command: str, *arguments: str, code: int = 0) -> Result:
    ended = CliRunner().invoke(cli, ["kubeflow", command, *arguments], standalone_mode=False)
    assert (ended.return_value or 0) == code, (ended.output, ended.exception)
    return ended


def test_compile_says_what_it_made_and_lint_passes_it(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    given = [str(TAXI), "--home", str(tmp_path), *CLAIM, "--set", "push.to=/models/taxi"]
    shown = json.loads(_call("compile", *given, "-o", str(file), "--json").output)
    assert (shown["file"], shown["pipeline"], shown["notes"]) == (str(file), "taxi", [])
    assert shown["parameters"]["data_span"] == "latest"
    assert "no problem" in _call("lint", str(file)).output
    text = file.read_text().replace("2.1.0", "2.0.0")
    file.write_text(text)
    ended = _call("lint", str(file))
    assert isinstance(ended.exception, UserError)
    assert "schemaVersion" in ended.output
    job = tmp_path / "t.json"
    bucket = ["--set", "kubeflow.root=gs://bucket/x", "--format", "vertex"]
    _call("compile", str(TAXI), "--home", str(tmp_path), *bucket, "-o", str(job))
    assert json.loads(job.read_text())["runtimeConfig"]["gcsOutputDirectory"] == "gs://bucket/x"


def test_schedules_by_interval_with_all_that_they_may_have(api: Api, tmp_path: Path) -> None:
    given = [str(TAXI), "--home", str(tmp_path), "--endpoint", api.url]
    more = ["--interval", "6h", "--catchup", "--max-concurrency", "3", "--name", "often", "--json"]
    shown = json.loads(_call("schedule", *given, *more).stdout)
    assert shown["name"] == "often"
    (body,) = api.bodies["recurringruns"]
    assert body["trigger"] == {"periodic_schedule": {"interval_second": "21600"}}
    assert (body["max_concurrency"], body["no_catchup"], body["display_name"]) == ("3", False, "often")
    _call("pause", *given, "--name", "often")
    assert api.items["recurringruns"][0]["status"] == "DISABLED"
    for wrong in (
        ["--interval", "often"],
        ["--cron", "* * *"],
        [],
        ["--interval", "1h", "--cron", "0 0 2 * * *"],
    ):
        assert isinstance(_call("schedule", *given, *wrong).exception, UserError)


def test_a_run_that_fails_is_exit_code_1_and_tells_the_error(api: Api, tmp_path: Path) -> None:
    api.states = ["RUNNING", "FAILED"]
    given = [str(TAXI), "--home", str(tmp_path), "--endpoint", api.url, "--wait", "--every", "0.01"]
    ended = _call("run", *given, "--param", "data_span=[1, 3]", code=1)
    assert "Trainer            FAILED" in ended.output
    assert "FAILED: task Trainer failed" in ended.output
    assert api.bodies["runs"][0]["runtime_config"]["parameters"] == {"data_span": "[1, 3]"}


def test_workers_come_as_yaml() -> None:
    options = [word for each in ALL_OF_IT for word in ("--set", each)]
    output = _call("tfjob", "/models/logs/T.json", str(TAXI), "--outputs", "/models/t", *options).output
    assert yaml.safe_load(output)["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 2


def test_cookies_and_the_token_of_a_pod_go_along(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TOKEN, raising=False)
    monkeypatch.setenv(COOKIES, "authservice_session=abc")
    mounted = tmp_path / "token"
    mounted.write_text("of-the-pod\n")
    monkeypatch.setattr(clients, "_IN_CLUSTER", mounted)
    Client(api.url).check()
    assert api.headers["Cookie"] == "authservice_session=abc"
    assert api.headers["Authorization"] == "Bearer of-the-pod"


def test_an_authority_of_ones_own_is_trusted_when_it_is_named(api: Api, tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    ca, private = tmp_path / "ca.pem", tmp_path / "key.pem"
    ca.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ca, private)
    api.encrypt(context)
    url = api.url.replace("http://127.0.0.1", "https://localhost")
    Client(url, ca=str(ca)).check()
    with pytest.raises(UserError, match="cannot be reached"):
        Client(url).check()
