"""A training that is killed goes on with the next run, and ends with the weights of an uninterrupted one."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from headrace_calls import started
from own_model import write_trips

pytestmark = pytest.mark.slow

CONFIG = """\
data: {source: trips.csv}
label: tip
model: {build: model.build_model}
train: {epochs: 5, batch_size: 32, steps_per_execution: 2, learning_rate: {peak: 0.01}}
"""
# Training waits in step 27, which is in the middle of the third of 5 epochs, for as long as the file exists.
MODEL = """\
import os
import time

import keras
import tensorflow as tf

HOLD, STEP = "@HOLD@", 27


def wait(step):
    if step == STEP and os.path.exists(HOLD):
        with open(HOLD, "w") as stream:
            stream.write(str(os.getpid()))
        while os.path.exists(HOLD):
            time.sleep(0.05)


class Held(keras.Model):
    def train_step(self, data):
        tf.py_function(wait, [self.optimizer.iterations.value], [])
        return super().train_step(data)


def build_model(plan, config):
    inputs = {each.name: keras.Input((1,), name=each.name) for each in plan.inputs if not each.size}
    hidden = keras.layers.Dense(8, "swish")(keras.layers.Concatenate()(list(inputs.values())))
    hidden = keras.layers.Dropout(0.2)(hidden)
    return Held(inputs, keras.layers.Dense(1)(hidden))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("resume") / "tips"
    folder.mkdir()
    write_trips(folder / "trips.csv")
    (folder / "pipeline.yaml").write_text(CONFIG)
    (folder / "model.py").write_text(MODEL.replace("@HOLD@", str(folder / "hold")))
    return folder


def weights(store):
    """The exported model's variables, and what the step said of itself."""
    import tensorflow as tf
    from tfx.utils import path_utils

    (step,) = (step for step in store.steps(store.runs(1)[0].id) if step.name == "Trainer")
    path = path_utils.serving_model_path(step.outputs["model"][0].uri)
    reader = tf.train.load_checkpoint(f"{path}/variables/variables")
    names = sorted(name for name in reader.get_variable_to_shape_map() if "_weights" in name)
    return {name: reader.get_tensor(name) for name in names}, step


def test_the_same_weights(project, warm):
    from pipeline.metadata.store import open_store

    whole = project.parent / "whole"
    done = warm("run", project, "--home", whole, "--to", "Trainer", "--json", cwd=project)
    assert done.code == 0, done.said
    expected, _ = weights(open_store(whole))
    assert len(expected) >= 4

    hold = project / "hold"
    hold.write_text("")
    home = project / ".headrace"
    with started("run", ".", "--to", "Trainer", cwd=project) as process:
        deadline = time.monotonic() + 120
        while not (held := hold.read_text()):
            assert time.monotonic() < deadline, "training did not begin"
            time.sleep(0.05)
        (checkpoint,) = home.rglob("checkpoints/*.npz")
        os.kill(int(held), signal.SIGKILL)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Trainer failed: its process was killed" in out
    assert checkpoint.exists()

    hold.unlink()
    done = warm("run", project, "--to", "Trainer", "--json", cwd=project)
    assert done.code == 0, done.said
    found, step = weights(open_store(home))
    assert "5 epochs, the first 2 before an interruption" in step.summary
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
    assert not checkpoint.parent.exists()
    table = Path(step.outputs["model_run"][0].uri, "epochs.csv").read_text().splitlines()
    assert len(table) == 1 + 5

    # With nothing left to go on from, the same training begins anew.
    done = warm("run", project, "--from", "Trainer", "--to", "Trainer", "--json", cwd=project)
    assert done.code == 0, done.said
    assert "interruption" not in done.step("Trainer")["summary"]
