"""Trials in Docker and as a pod, from the start to what is left behind, with stand-ins for their programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

import engines
import pytest
from executors import artifact, execute

from components.errors import UserError
from components.infra_validator import pod_server
from components.infra_validator.config import InfraValidateConfig
from components.infra_validator.containers import start

pytestmark = pytest.mark.slow


@pytest.fixture
def running(tmp_path, monkeypatch):
    """The folder with one entry for each container or pod that there is."""
    state = engines.write(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return state


def _validate(model, examples, folder, backend):
    made = execute(
        "infra_validator",
        folder,
        {"model": model, "examples": examples},
        {"blessing": "InfraBlessing"},
        config={"rows": 16, "backend": backend},
    )
    return made["blessing"].get_string_custom_property("summary")


@pytest.fixture
def broken(serving_folder, tmp_path):
    model = artifact("Model", tmp_path / "model")
    shutil.copytree(serving_folder, tmp_path / "model" / "Format-Serving")
    (tmp_path / "model" / "Format-Serving" / "saved_model.pb").write_bytes(b"nothing of the kind")
    return model


@pytest.mark.parametrize(("backend", "held"), [("docker", "266 MiB"), ("kubernetes", "266 MiB")])
def test_a_trial(backend, held, trained, running, tmp_path):
    said = _validate(trained["model"], trained["examples"], tmp_path / "out", backend)
    assert said.startswith("passed: 16 rows by REST JSON, REST tf.Example and gRPC answered as by the model")
    assert "loaded in 0.0 s" not in said  # its ports open only when it is loaded: that is part of loading
    assert said.endswith(held)
    assert not list(running.iterdir())


@pytest.mark.parametrize("backend", ["docker", "kubernetes"])
def test_a_model_that_cannot_be_loaded_is_a_verdict(backend, trained, broken, running, tmp_path):
    said = _validate(broken, trained["examples"], tmp_path / "out", backend)
    assert said == (
        "failed: the model cannot be loaded: the server ended with code 255: "
        "Failed to start server. Error: Unknown: 1 servable(s) did not become available"
    )
    assert not list(running.iterdir())


@pytest.mark.parametrize(
    ("backend", "image", "said"),
    [
        (
            "docker",
            "nosuch/image:1",
            r"`docker run …` failed: Unable to find image .* pull access denied for",
        ),
        ("docker", "debian:trixie-slim", "debian:trixie-slim did not start: .* not found"),
        ("kubernetes", "nosuch/image:1", "does not start: ImagePullBackOff: Back-off pulling image"),
        ("kubernetes", "debian:trixie-slim", "debian:trixie-slim did not start: .* not found"),
        ("kubernetes", "large", "does not start: 0/1 nodes are available: 1 Insufficient memory"),
    ],
)
def test_an_image_that_is_none(backend, image, said, serving_folder, running, monkeypatch):
    monkeypatch.setattr(pod_server, "PULL_SECONDS", 0.5)
    with pytest.raises(UserError, match=said):
        start(InfraValidateConfig(backend=backend, image=image), str(serving_folder), "m")
    assert not list(running.iterdir())


def test_a_server_that_is_never_ready(serving_folder, running):
    server = start(InfraValidateConfig(backend="docker", image="hangs"), str(serving_folder), "m")
    with pytest.raises(TimeoutError, match="the server was not ready within 1 s"):
        server.wait(1)
    server.stop()
    assert not list(running.iterdir())


def test_a_folder_with_an_odd_name(serving_folder, running, tmp_path):
    odd = tmp_path / 'a, b:"c"'
    odd.symlink_to(serving_folder)
    server = start(InfraValidateConfig(backend="docker"), str(odd), "m")
    server.wait(60)
    server.stop()


def test_a_step_that_is_killed_leaves_no_container(serving_folder, running):
    """As Ctrl-C ends it: by SIGKILL, after which it cleans up nothing."""
    code = (
        "import sys, time; from components.infra_validator.config import InfraValidateConfig as Config; "
        "from components.infra_validator.containers import start; "
        "server = start(Config(backend='docker', image='hangs'), sys.argv[1], 'm'); time.sleep(60)"
    )
    step = subprocess.Popen([sys.executable, "-c", code, str(serving_folder)])
    try:
        _until(lambda: list(running.iterdir()))
    finally:
        step.kill()
        step.wait()
    _until(lambda: not list(running.iterdir()))


def _until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
