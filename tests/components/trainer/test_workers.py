"""Trainer as two processes that meet on 127.0.0.1: they agree, and learn what one device does."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
TRAIN = {
    "epochs": 2,
    "batch_size": 64,
    "learning_rate": {"peak": 0.01},
    "optimizer": {"name": "adamw", "clip": {"global_norm": 0.1}, "ema": 0.7},
}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def tfjob(number, ports):
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": "worker", "index": number}})}


def pytorchjob(number, ports):
    return {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(ports[0]),
        "RANK": str(number),
        "WORLD_SIZE": "2",
    }


def train_in_processes(folder, inputs, train, environments, *, until=None):
    """What each process logged, after all ended well; or were killed once the first had logged `until`."""
    running = []
    for number, environment in enumerate(environments):
        (folder / str(number)).mkdir(parents=True, exist_ok=True)
        request = folder / f"{number}.json"
        request.write_text(
            json.dumps({"folder": str(folder / str(number)), "inputs": inputs, "train": train})
        )
        log = (folder / f"{number}.log").open("w")
        running.append(
            subprocess.Popen(
                [sys.executable, HERE / "worker.py", request],
                env={**os.environ, "PYTHONPATH": str(HERE.parents[2]), **environment},
                stdout=log,
                stderr=log,
            )
        )
    try:
        while until and until not in (folder / "0.log").read_text():
            assert running[0].poll() is None
            time.sleep(0.02)
        codes = [0 if until else process.wait(timeout=900) for process in running]
    finally:
        for process in running:
            process.kill()
    logs = [(folder / f"{number}.log").read_text() for number in range(len(running))]
    assert codes == [0] * len(codes), "\n".join(log[-3000:] for log in logs)
    return logs


def epochs_told(log):
    """Loss and metrics of each epoch, without how long it took."""
    return re.findall(r"epoch \d+/\d+ .*? rows/s  (.*? val_loss [0-9.]+)", log)


def numbers(told):
    return [float(number) for number in re.findall(r"[0-9.]+", told)]


def answers(folder, rows):
    served = tf.saved_model.load(str(folder / "model" / "Format-Serving"))
    return served.signatures["serving_default"](examples=rows)["probabilities"].numpy()


@pytest.fixture(scope="module")
def inputs(trained):
    return {
        "examples": ("Examples", trained["transformed_examples"].uri, ["train", "eval", "test"]),
        "transform_graph": ("TransformGraph", trained["transform_graph"].uri),
        "schema": ("Schema", trained["schema"].uri),
    }


@pytest.fixture(scope="module")
def alone(inputs, tmp_path_factory):
    """What one process logs, and the folder of what it made."""
    folder = tmp_path_factory.mktemp("alone")
    return train_in_processes(folder, inputs, TRAIN, [{}])[0], folder / "0"


@pytest.mark.parametrize(
    ("job", "options"), [(tfjob, {"strategy": "multi_worker"}), (pytorchjob, {"accumulate": 2})]
)
def test_two_workers_agree_and_learn_what_one_device_does(trained, inputs, alone, tmp_path, job, options):
    ports = (free_port(), free_port())
    environments = [job(number, ports) for number in (0, 1)]
    first, second = train_in_processes(tmp_path, inputs, {**TRAIN, **options}, environments)
    single, made_alone = alone

    assert len(epochs_told(first)) == 2
    assert epochs_told(first) == epochs_told(second)
    assert epochs_told(first) == epochs_told(single)
    assert "float32 on 2 devices of 2 workers" in first
    # The first alone writes.
    assert list((tmp_path / "0" / "model_run").iterdir())
    assert not list((tmp_path / "1" / "model").iterdir())
    assert not list((tmp_path / "1" / "model_run").iterdir())
    file = next(Path(trained["examples"].uri, "Split-test").iterdir())
    rows = tf.constant(list(tf.data.TFRecordDataset(str(file), "GZIP").take(50).as_numpy_iterator()))
    np.testing.assert_allclose(answers(tmp_path / "0", rows), answers(made_alone, rows), atol=1e-5)


def test_killed_workers_go_on_from_what_the_first_has_kept(inputs, tmp_path):
    train = {**TRAIN, "epochs": 12}
    ports = (free_port(), free_port())
    environments = [tfjob(number, ports) for number in (0, 1)]
    train_in_processes(tmp_path, inputs, train, environments, until="epoch 3/12")
    first, second = train_in_processes(tmp_path, inputs, train, environments)
    (begun,) = re.findall(r"going on after epoch (\d+)", first)
    assert 2 <= int(begun) < 12
    assert f"going on after epoch {begun}\n" in second
    assert len(epochs_told(first)) == 12 - int(begun)
    assert epochs_told(first) == epochs_told(second)
    single = train_in_processes(tmp_path / "alone", inputs, train, [{}])[0]
    for told, expected in zip(epochs_told(first), epochs_told(single)[int(begun) :], strict=True):
        assert numbers(told) == pytest.approx(numbers(expected), abs=2e-3)
    # The second has kept nothing, and the first cleans up.
    assert not list(tmp_path.glob("*/.system/**/*.npz"))
