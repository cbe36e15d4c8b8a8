"""Batches, schedules and devices: each against what it stands for."""

from __future__ import annotations

import math
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from small_plan import small_plan, small_rows

from components.trainer import data, devices, learning, models
from components.trainer.config import LearningRateConfig, ModelConfig, TrainConfig


@pytest.fixture(autouse=True)
def _float32():
    yield
    keras.config.set_dtype_policy("float32")


def _compiled(plan, config=None, **options):
    keras.utils.set_random_seed(1)
    model = models.build(plan, config or ModelConfig(hidden=(8, 4)))
    model.compile(
        learning.optimizer(TrainConfig(), 10), learning.loss(plan), metrics=learning.metrics(plan), **options
    )
    return model


class TestLearning:
    def test_constant(self):
        rate = learning.learning_rate(LearningRateConfig(schedule="constant", peak=0.5), 100)
        assert rate == 0.5

    def test_cosine_falls_from_the_peak_to_nothing(self):
        rate = learning.learning_rate(LearningRateConfig(peak=0.5), 100)
        values = [float(rate(step)) for step in (0, 25, 50, 100)]
        assert values == pytest.approx([0.5, 0.25 * (1 + math.cos(math.pi / 4)), 0.25, 0], abs=1e-6)

    def test_warm_up_rises_in_a_line_and_the_rest_falls_over_what_is_left(self):
        rate = learning.learning_rate(LearningRateConfig(peak=0.5, warmup_steps=20), 100)
        values = [float(rate(step)) for step in (0, 5, 20, 60, 100)]
        assert values == pytest.approx([0, 0.125, 0.5, 0.25, 0], abs=1e-6)

    def test_warm_up_longer_than_the_run(self):
        rate = learning.learning_rate(LearningRateConfig(peak=0.5, warmup_steps=1000), 10)
        assert float(rate(9)) == pytest.approx(0.5)
        assert float(learning.learning_rate(LearningRateConfig(warmup_steps=1000), 1)(0)) == pytest.approx(
            1e-3
        )

    @pytest.mark.parametrize(
        ("rows", "batch", "most", "expected"),
        [
            (1, 512, 32, (1, 1)),
            (512, 512, 32, (1, 1)),
            (513, 512, 32, (2, 2)),
            (32 * 512, 512, 32, (32, 32)),
            (33 * 512, 512, 32, (34, 17)),
            (101, 1, 32, (104, 26)),
            (7, 1, 1, (7, 1)),
        ],
    )
    def test_steps_see_every_row_and_make_whole_calls(self, rows, batch, most, expected):
        steps, at_once = learning.steps_of_an_epoch(rows, batch, most)
        assert (steps, at_once) == expected
        assert steps * batch >= rows
        assert at_once <= most
        assert steps % at_once == 0

    def test_keras_makes_exactly_these_steps_and_measures_every_eval_row(self):
        plan, rows, watched = small_plan(), small_rows(330), small_rows(77, seed=9)
        steps, at_once = learning.steps_of_an_epoch(330, 10, 8)
        model = _compiled(plan, steps_per_execution=at_once)
        batches = data.batches_in_memory(rows, batch_size=10, steps=steps, seed=1)
        evaluation = tf.data.Dataset.from_tensor_slices(watched).batch(10)
        history = model.fit(
            batches, epochs=2, steps_per_epoch=steps, validation_data=evaluation, verbose=0
        ).history
        assert int(model.optimizer.iterations.numpy()) == 2 * steps
        logits = model.predict(watched[0], verbose=0)
        plain = float(learning.loss(plan)(watched[1], logits))
        assert history["val_loss"][-1] == pytest.approx(plain, abs=1e-5)


class TestDevices:
    def test_low_precision_serves_float32(self):
        plan, (features, _) = small_plan(), small_rows(8)
        keras.config.set_dtype_policy("mixed_bfloat16")
        low = models.build(plan, ModelConfig(hidden=(8,)))
        assert low.get_layer("hidden_0").compute_dtype == "bfloat16"
        assert low(features).dtype == tf.float32
        keras.config.set_dtype_policy("float32")
        full = models.build(plan, ModelConfig(hidden=(8,)))
        full.set_weights(low.get_weights())
        np.testing.assert_allclose(low(features), full(features), atol=0.05)
        assert full.get_layer("hidden_0").compute_dtype == "float32"

    @pytest.mark.parametrize("wanted", ["float32", "mixed_bfloat16", "mixed_float16"])
    def test_a_precision_that_is_asked_for_is_taken(self, wanted):
        assert devices.precision(wanted) == wanted

    def test_auto_is_float32_without_a_gpu(self):
        if not tf.config.list_physical_devices("GPU"):
            assert devices.precision("auto") == "float32"

    @pytest.mark.slow
    def test_two_devices_learn_what_one_does(self):
        done = subprocess.run(
            [sys.executable, "-c", _TWO_DEVICES], capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert done.stdout.splitlines()[-1] == "replicas 2, same"


# The number of logical devices is fixed once TensorFlow has looked, so this runs in a process of its own.
_TWO_DEVICES = f"""
import sys
sys.path[:0] = {[str(p) for p in sys.path if p.endswith("tests/components")]!r}
import keras, numpy as np, tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from components.trainer import devices, learning, models
from components.trainer.config import ModelConfig, TrainConfig
from small_plan import small_plan, small_rows

plan, rows = small_plan(), small_rows(96)

def train(wanted):
    keras.utils.set_random_seed(1)
    strategy = devices.strategy(wanted)
    with strategy.scope():
        model = models.build(plan, ModelConfig(hidden=(8,)))
        model.compile(learning.optimizer(TrainConfig(), 12), learning.loss(plan))
    batches = tf.data.Dataset.from_tensor_slices(rows).batch(32).repeat()
    model.fit(batches, epochs=4, steps_per_epoch=3, verbose=0)
    return strategy.num_replicas_in_sync, [w.numpy() for w in model.trainable_variables]

one, weights = train("one_device")
two, mirrored = train("mirrored")
assert one == 1
for a, b in zip(weights, mirrored):
    np.testing.assert_allclose(a, b, atol=1e-6)
print(f"replicas {{two}}, same")
"""
