"""A batch normalization on several devices sees the batch of all of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

# The number of logical devices is fixed once TensorFlow has looked, so this runs in a process of its own.
_TWO_DEVICES = f"""
import sys
sys.path[:0] = {[path for path in sys.path if "tests" in path]!r}
import keras, numpy as np, tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from components.trainer import devices, learning, models
from components.trainer.config import ModelConfig
from mixed_plan import ALL_KINDS, plan_of, rows_of

plan = plan_of(*ALL_KINDS)
rows = rows_of(plan, 64)
config = ModelConfig(
    hidden=(4,), normalization="batch", images=dict(encoder="resnet", width=2, blocks=(1, 1)), l2=0.01
)

def train(wanted):
    keras.utils.set_random_seed(1)
    strategy = devices.strategy(wanted)
    with strategy.scope():
        model = models.build(plan, config)
        model.compile(keras.optimizers.SGD(0.1), learning.loss(plan))
    batches = tf.data.Dataset.from_tensor_slices(rows).batch(32).repeat()
    model.fit(batches, epochs=1, steps_per_epoch=2, verbose=0)
    return strategy.num_replicas_in_sync, [weight.numpy() for weight in model.weights]

one, weights = train("one_device")
two, mirrored = train("mirrored")
assert one == 1
for a, b in zip(weights, mirrored):
    np.testing.assert_allclose(a, b, atol=2e-5)
print(f"replicas {{two}}, same")
"""


@pytest.mark.slow
def test_two_devices_normalize_as_one_does():
    done = subprocess.run(
        [sys.executable, "-c", _TWO_DEVICES], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "replicas 2, same"
