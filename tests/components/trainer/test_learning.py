"""Steps of an epoch, and that Keras makes exactly these."""

from __future__ import annotations

import keras
import pytest
import tensorflow as tf
from small_plan import small_plan, small_rows

from components.trainer import data, learning, models
from components.trainer.config import ModelConfig, TrainConfig


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
def test_steps_see_every_row_and_make_whole_calls(rows, batch, most, expected):
    steps, at_once = learning.steps_of_an_epoch(rows, batch, most)
    assert (steps, at_once) == expected
    assert steps * batch >= rows
    assert at_once <= most
    assert steps % at_once == 0


def test_keras_makes_exactly_these_steps_and_measures_every_eval_row():
    plan, rows, watched = small_plan(), small_rows(330), small_rows(77, seed=9)
    steps, at_once = learning.steps_of_an_epoch(330, 10, 8)
    keras.utils.set_random_seed(1)
    model = models.build(plan, ModelConfig(hidden=(8, 4)))
    model.compile(learning.optimizer(TrainConfig(), 10), learning.loss(plan), steps_per_execution=at_once)
    batches = data.batches_in_memory(rows, batch_size=10, steps=steps, seed=1)
    evaluation = tf.data.Dataset.from_tensor_slices(watched).batch(10)
    history = model.fit(
        batches, epochs=2, steps_per_epoch=steps, validation_data=evaluation, verbose=0
    ).history
    assert int(model.optimizer.iterations.numpy()) == 2 * steps
    logits = model.predict(watched[0], verbose=0)
    plain = float(learning.loss(plan)(watched[1], logits))
    assert history["val_loss"][-1] == pytest.approx(plain, abs=1e-5)
