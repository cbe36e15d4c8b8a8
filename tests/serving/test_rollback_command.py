"""`headrace versions` and `headrace rollback` beside a server that goes on answering."""

from __future__ import annotations

import json
import re
import shutil
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from http_calls import call
from serve_process import serving, wait_for

from components.errors import UserError
from pipeline.cli import rollback, versions


def run(command: object, *arguments: str) -> Result:
    result = CliRunner().invoke(command, arguments)  # type: ignore[arg-type]
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def states(*arguments: str) -> dict[int, str]:
    listed = json.loads(run(versions.command, *arguments, "--json").stdout)
    return {each["version"]: each["state"] for each in listed}


def test_a_running_server_follows(binary_base: Path, yes_version: Path, tmp_path: Path) -> None:
    base = tmp_path / "tips"
    shutil.copytree(binary_base / "17", base / "17")
    shutil.copytree(yes_version, base / "18")
    codes: list[int] = []
    answers: list[str] = []
    stop = threading.Event()

    def ask(url: str) -> None:
        body = {"signature_name": "serving_raw", "instances": [
            {"company": "", "pickup_zone": "", "hour": 1, "trip_miles": 1.0}
        ]}  # fmt: skip
        while not stop.is_set():
            code, answer = call(url, body)
            codes.append(code)
            answers.append(answer["predictions"][0]["predicted_class"] if code == 200 else str(answer))

    with serving(tmp_path, "--poll", "0.2", str(base)) as server:
        client = threading.Thread(target=ask, args=(f"{server.url}/v1/models/tips:predict",))
        client.start()
        try:
            assert states(str(base), "--url", server.url) == {18: "served", 17: "kept"}
            began = time.monotonic()
            said = run(rollback.command, str(base)).stdout
            assert said == "version 17 is the newest now; version 18 moved to .rolled_back/\n"
            wait_for(lambda: answers[-1:] == ["no"])
            assert time.monotonic() - began < 10
            assert states(str(base), "--url", server.url) == {18: "rolled back", 17: "served"}
            done = json.loads(run(rollback.command, "18", str(base), "--json").stdout)
            assert done == {"serving": 18, "aside": [], "restored": True}
            wait_for(lambda: answers[-1:] == ["yes"])
        finally:
            stop.set()
            client.join()
    assert set(codes) == {200}
    assert re.fullmatch(r"(yes)+(no)+(yes)+", "".join(answers))


def test_the_list(binary_base: Path, yes_version: Path, tmp_path: Path) -> None:
    base = tmp_path / "tips"
    shutil.copytree(binary_base / "17", base / "17")
    shutil.copytree(yes_version, base / "18")
    config = tmp_path / "models.config"
    config.write_text(
        f'model_config_list {{ config {{ name: "tips" base_path: "{base}" model_platform: "tensorflow" '
        'version_labels { key: "stable" value: 17 } version_labels { key: "canary" value: 18 } } }'
    )
    listed = run(versions.command, str(base), "--config", str(config)).stdout.splitlines()
    assert re.split(r"  +", listed[0]) == ["VERSION", "WHEN", "STATE", "LABELS", "RUN", "METRICS"]
    assert [re.split(r"  +", line)[::2] for line in listed[1:]] == [
        ["18", "served", "-"],
        ["17", "kept", "-"],
    ]
    assert [re.split(r"  +", line)[3] for line in listed[1:]] == ["canary", "stable"]
    run(rollback.command, "17", str(base))
    assert states(str(base)) == {18: "rolled back", 17: "served"}


def test_a_version_that_no_server_can_load(binary_base: Path, tmp_path: Path) -> None:
    base = tmp_path / "tips"
    shutil.copytree(binary_base / "17", base / "17")
    (base / "18").mkdir()
    (base / "18" / "saved_model.pb").write_bytes(b"broken")
    with serving(tmp_path, str(base)) as server:
        assert states(str(base), "--url", server.url) == {18: "failed", 17: "served"}
        said = run(versions.command, str(base), "--url", server.url).stderr
    assert said.startswith("version 18 is not served: cannot load this SavedModel")


def test_a_folder_that_is_no_version(binary_base: Path, tmp_path: Path) -> None:
    base = tmp_path / "tips"
    for number in ("17", "19"):
        shutil.copytree(binary_base / "17", base / number)
    (base / "18").mkdir()
    assert states(str(base)) == {19: "served", 17: "kept"}
    done = run(rollback.command, str(base)).stdout
    assert done == "version 17 is the newest now; versions 18, 19 moved to .rolled_back/\n"
    assert states(str(base)) == {19: "rolled back", 17: "served"}


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        (rollback.command, ("soon", "x"), "got 'soon'; expected a number"),
        (rollback.command, ("99", "{base}"), "there is no version 99"),
        (rollback.command, ("{base}/17",), "this is one version; expected the folder of versions"),
        (versions.command, ("{empty}",), "no model to serve"),
        (versions.command, ("{base}", "--url", "http://127.0.0.1:9"), "no server answers"),
    ],
)
def test_mistakes(
    binary_base: Path, tmp_path: Path, command: object, arguments: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UserError) as raised:
        run(command, *(each.format(base=binary_base, empty=tmp_path) for each in arguments))
    assert message in str(raised.value)
