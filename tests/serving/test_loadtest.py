"""`headrace loadtest`: bounded, and honest about what failed."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from serve_process import Running, serving

from components.errors import UserError
from pipeline.cli.loadtest import command
from serving.load_test import Load, rest_load


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(command, arguments)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def test_over_rest_and_grpc(server: Running, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("company,hour,trip_miles\nBlue,10,5.5\nRed,,1\n,3,\n")
    url = f"{server.url}/v1/models/tips"
    given = [url, "--rows", str(rows), "--clients", "4", "--requests", "200", "--batch", "2", "--json"]
    for more in ((), ("--grpc", server.grpc)):
        measured = json.loads(run("--url", *given, *more).stdout)
        assert measured["requests"] == 200
        assert measured["codes"] == {"200": 200}
        assert measured["errors"] == 0
        assert 0 < measured["p50_ms"] <= measured["p95_ms"] <= measured["p99_ms"] <= measured["max_ms"]
        assert measured["rows_per_second"] == pytest.approx(2 * measured["requests_per_second"], rel=1e-2)


def test_it_ends_in_time(server: Running) -> None:
    began = time.monotonic()
    said = run("--url", f"{server.url}/v1/models/tips", "--seconds", "0.5").stdout
    assert time.monotonic() - began < 5
    lines = said.splitlines()
    assert [line.split(":")[0] for line in lines[1:]] == ["milliseconds", "errors"]
    assert "requests/s" in lines[0]


def test_a_server_of_its_own(binary_base: Path) -> None:
    result = run(str(binary_base), "--requests", "20", "--clients", "2", "--json")
    assert json.loads(result.stdout)["codes"] == {"200": 20}
    assert "started a server of tips" in result.stderr


def test_refusals_are_errors(server: Running) -> None:
    bodies = [b'{"instances": 1}', b'{"signature_name": "copy", "inputs": {"data": ["x"]}}']
    load = Load(clients=1, requests=10, seconds=20)
    measured = rest_load(server.url, "/v1/models/tips:predict", bodies, 1, load)
    assert measured.codes == {"400": 5, "200": 5}
    assert measured.errors == 5
    assert len(measured.latencies) == 5


def test_a_server_that_ends_under_load(binary_base: Path, tmp_path: Path) -> None:
    with serving(tmp_path, str(binary_base), "--drain", "0") as running:
        threading.Timer(0.5, os.kill, (running.process.pid, signal.SIGKILL)).start()
        result = run("--url", f"{running.url}/v1/models/tips", "--seconds", "1.5", "--json", code=1)
    measured = json.loads(result.stdout)
    assert measured["codes"]["200"] > 10
    assert measured["codes"]["connection broke"] >= 32
    assert measured["errors"] < 5000  # no tight loop


def test_mistakes(server: Running, tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("hour\n")
    url = f"{server.url}/v1/models/tips"
    for arguments, message in (
        (("--url", "http://127.0.0.1:9/v1/models/tips"), "no server answers"),
        (("--url", url, "--grpc", "127.0.0.1:9"), "127.0.0.1:9: no server answers: "),
        (("--url", f"{server.url}/v1/models/foo"), "HTTP 404"),
        (("--url", url, "--rows", str(empty)), "there is no row"),
        ((str(tmp_path),), "no model to serve"),
    ):
        with pytest.raises(UserError, match=message):
            run(*arguments)
