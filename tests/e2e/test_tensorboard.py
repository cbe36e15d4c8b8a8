"""`headrace tensorboard` shows the training of the runs that it is asked for."""

from __future__ import annotations

import json
import re
import signal
import urllib.request

import pytest
from headrace_calls import headrace, started

pytestmark = pytest.mark.slow


def shown(*arguments, cwd):
    """What the command says, and the runs of whose epochs it has the loss, over HTTP."""
    with started("tensorboard", *arguments, "--port", "0", cwd=cwd) as process:
        said = process.stdout.readline()
        found = re.search(r"at (http://127\.0\.0\.1:\d+/)$", said.strip())
        assert found, said + process.stderr.read()
        tags = {}
        while "epoch_loss" not in str(tags):
            with urllib.request.urlopen(f"{found[1]}data/plugin/scalars/tags", timeout=30) as answer:
                tags = json.load(answer)
        process.send_signal(signal.SIGINT)
        process.wait(20)
        assert process.returncode == 0
    return said, {name.split("/")[0] for name, each in tags.items() if "epoch_loss" in each}


def test_the_latest_run_one_by_name_and_several(own_model):
    folder = own_model.folder
    own_model.run("--to", "Transform")  # has no training: the one before it is shown
    runs = [run.id for run in own_model.store.runs() if own_model.store.steps(run.id)]
    trained = [
        run
        for run in runs
        if any(step.name == "Trainer" and step.outputs for step in own_model.store.steps(run))
    ]
    said, names = shown(cwd=folder)
    assert trained[0] in said
    assert names == {trained[0]}
    own_model.run("--to", "Trainer")
    latest = own_model.store.runs(1)[0].id
    _, names = shown(trained[-1], latest, folder, cwd=folder.parent)
    assert names == {trained[-1], latest}


def test_mistakes(own_model, tmp_path):
    done = headrace("tensorboard", "1999", cwd=own_model.folder)
    assert done.code == 2
    assert done.err.startswith("error: no run is called '1999'")
    done = headrace("tensorboard", cwd=tmp_path)
    assert done.code == 2
    assert "nothing has been run yet" in done.err
    own_model.run("--to", "SchemaGen")
    latest = own_model.store.runs(1)[0].id
    done = headrace("tensorboard", latest, cwd=own_model.folder)
    assert done.code == 2
    assert f"run {latest} has no logs of a training" in done.err
    assert "Traceback" not in done.err


def test_a_port_that_is_taken(own_model):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = headrace("tensorboard", "--port", port, cwd=own_model.folder)
    assert done.code == 2
    assert port in done.err
    assert "fix: choose another one" in done.err
