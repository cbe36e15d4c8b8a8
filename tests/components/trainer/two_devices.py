"""Trains each case on one device and on two logical CPUs, and prints how far the weights lie apart.

A process of its own, since the number of logical devices is fixed once TensorFlow has looked. The last
line of its output is JSON: case to the greatest difference, and how far the weights moved.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import keras
import numpy as np
import tensorflow as tf
from packaging.version import Version

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

from small_plan import small_plan, small_rows  # noqa: E402

from components.trainer import devices, learning, models  # noqa: E402
from components.trainer.config import ModelConfig, TrainConfig  # noqa: E402
from components.trainer.learner import learner, weights_to_serve  # noqa: E402

STEPS, BATCH = 8, 32
BASE: dict = {"learning_rate": {"schedule": "cosine", "peak": 0.01}}
ROWS = small_rows(96)
WEIGHTS = np.random.default_rng(5).uniform(0, 2, (96, 1)).astype(np.float32)
# Labels with a teacher's logits beside them.
TAUGHT = tf.concat(
    [tf.cast(ROWS[1], tf.float32), np.random.default_rng(6).normal(0, 2, (96, 1)).astype(np.float32)], 1
)
# One row's gradient is beyond float16: of two replicas, the one that has it overflows.
ONE_TOO_LARGE = np.where(np.arange(96)[:, None] == 50, np.float32(1e4), WEIGHTS)

CASES: dict[str, dict] = {
    "sgd, clip norm": {"optimizer": {"name": "sgd", "nesterov": True, "clip": {"norm": 0.05}}},
    "adamw, class weights": {
        "optimizer": {"name": "adamw", "weight_decay": 0.1},
        "loss": {"class_weights": {"yes": 3.0}},
    },
    "rmsprop, clip value": {"optimizer": {"name": "rmsprop", "clip": {"value": 0.01}}},
    "lamb, focal": {"optimizer": {"name": "lamb", "weight_decay": 0.01}, "loss": {"name": "focal"}},
    "adafactor": {"optimizer": {"name": "adafactor"}},
    "clip global norm, ema": {"optimizer": {"name": "adamw", "clip": {"global_norm": 0.1}, "ema": 0.7}},
    "accumulate, clip and ema": {
        "accumulate": 2,
        "optimizer": {"name": "sgd", "clip": {"global_norm": 0.1}, "ema": 0.7},
    },
    "distill": {"distill": {"teacher": "x", "temperature": 3.0, "weight": 0.4}, "accumulate": 2},
    "float16, overflow": {"precision": "mixed_float16", "optimizer": {"name": "sgd"}},
    "float16, accumulate and clip": {
        "precision": "mixed_float16",
        "accumulate": 2,
        "optimizer": {"name": "sgd", "clip": {"norm": 0.05}},
    },
}

if Version(keras.__version__) >= Version("3.15"):
    CASES["muon"] = {"optimizer": {"name": "muon", "weight_decay": 0.1}}


def train(wanted: str, config: TrainConfig, weights: np.ndarray) -> tuple[list, list]:
    """The model's weights before and after a few steps; with the latter, the losses told of them."""
    keras.config.set_dtype_policy(config.precision if config.precision != "auto" else "float32")
    keras.utils.set_random_seed(1)
    plan = small_plan()
    strategy = devices.strategy(wanted)
    assert strategy.num_replicas_in_sync == (2 if wanted == "mirrored" else 1)
    rows = tf.data.Dataset.from_tensor_slices((*ROWS, weights))
    told = rows if config.distill is None else tf.data.Dataset.from_tensor_slices((ROWS[0], TAUGHT, weights))
    batches = told.shuffle(96, seed=1).batch(BATCH).repeat()
    with strategy.scope():
        plain = models.build(plan, ModelConfig(hidden=(8,)))
        model = learner(plain, config, rows=batches.element_spec, replicas=strategy.num_replicas_in_sync)
        classes = learning.class_weights(config.loss, plan, ())
        model.compile(
            learning.optimizer(config, STEPS, config.precision),
            learning.loss(plan, config.loss, classes),
            steps_per_execution=2,
        )
    before = plain.get_weights()
    history = model.fit(
        batches, epochs=1, steps_per_epoch=STEPS, validation_data=rows.batch(BATCH), verbose=0
    ).history
    losses = np.array([history["loss"][-1], history["val_loss"][-1]])
    return before, [*weights_to_serve(model), losses]


def apart(one: list[np.ndarray], other: list[np.ndarray]) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))


def main(names: list[str]) -> None:
    found = {}
    for name, case in CASES.items():
        if names and name not in names:
            continue
        config = TrainConfig.model_validate({**BASE, **case})
        weights = ONE_TOO_LARGE if "overflow" in name else WEIGHTS
        before, one = train("one_device", config, weights)
        _, two = train("mirrored", config, weights)
        found[name] = {"apart": apart(one, two), "moved": apart(before, one[:-1])}
        if config.accumulate > 1:
            whole = config.model_copy(update={"accumulate": 1})
            found[name]["apart from the whole batch"] = apart(one, train("one_device", whole, weights)[1])
        print(name, found[name], file=sys.stderr, flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
