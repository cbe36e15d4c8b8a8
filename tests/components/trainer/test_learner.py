"""The learner's steps against Keras's own, and what of it is served."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from small_plan import small_plan, small_rows

from components.errors import UserError
from components.trainer import learning, models
from components.trainer.compiled import in_float32
from components.trainer.config import ModelConfig, TrainConfig
from components.trainer.learner import Learner, learner, weights_to_serve

PLAN, SMALL = small_plan(), ModelConfig(hidden=(8, 4))
ROWS = (*small_rows(64), tf.constant(np.random.default_rng(2).uniform(0, 2, (64, 1)).astype(np.float32)))
STEPS = 6


@pytest.fixture(autouse=True)
def _float32():
    yield
    keras.config.set_dtype_policy("float32")


def trained(wrap=True, **train):
    config = TrainConfig(learning_rate={"schedule": "constant", "peak": 0.02}, **train)
    precision = "float32" if config.precision == "auto" else config.precision
    keras.config.set_dtype_policy(precision)
    keras.utils.set_random_seed(1)
    plain = models.build(PLAN, SMALL)
    model = learner(plain, config) if wrap else plain
    model.compile(
        learning.optimizer(config, STEPS, precision),
        learning.loss(PLAN, config.loss),
        **learning.compiled_metrics(PLAN),
        steps_per_execution=3,
    )
    batches = tf.data.Dataset.from_tensor_slices(ROWS).batch(16).repeat()
    history = model.fit(batches, steps_per_epoch=STEPS, validation_data=batches.take(4), verbose=0).history
    return model, {name: values[-1] for name, values in history.items()}


def test_nothing_is_wrapped_that_keras_trains_by_itself():
    plain = models.build(PLAN, SMALL)
    assert learner(plain, TrainConfig()) is plain
    assert isinstance(learner(plain, TrainConfig(accumulate=2)), Learner)
    assert isinstance(learner(plain, TrainConfig(), replicas=2), Learner)


@pytest.mark.parametrize("parts", [2, 4, 16])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_accumulating_is_the_step_of_the_whole_batch(parts, optimizer):
    whole, told = trained(wrap=False, optimizer={"name": optimizer})
    split, also_told = trained(optimizer={"name": optimizer}, accumulate=parts)
    assert isinstance(split, Learner)
    for a, b in zip(whole.get_weights(), weights_to_serve(split), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert also_told == pytest.approx(told, abs=1e-5)
    assert int(split.optimizer.iterations.numpy()) == STEPS


def test_a_batch_that_has_no_equal_parts_fails():
    model, _ = trained(accumulate=4)
    with pytest.raises(tf.errors.InvalidArgumentError):
        model.fit(tf.data.Dataset.from_tensor_slices(ROWS).batch(18), steps_per_epoch=1, verbose=0)


class TestAverage:
    MOMENTUM = 0.7

    def _replayed(self):
        """The average after each step, from Keras's own steps taken one by one."""
        keras.utils.set_random_seed(1)
        model = models.build(PLAN, SMALL)
        train = TrainConfig(learning_rate={"schedule": "constant", "peak": 0.02})
        model.compile(learning.optimizer(train, STEPS), learning.loss(PLAN))
        average = None
        batches = tf.data.Dataset.from_tensor_slices(ROWS).batch(16).repeat().take(STEPS)
        for step, batch in enumerate(batches, 1):
            model.train_on_batch(*batch)
            now = [v.numpy() for v in model.trainable_variables]
            if average is None:
                average = now
            momentum = min(self.MOMENTUM, (1 + step) / (10 + step))
            average = [momentum * a + (1 - momentum) * w for a, w in zip(average, now)]
        model.set_weights(average)
        return model

    def test_is_what_is_evaluated_and_served(self):
        model, told = trained(optimizer={"ema": self.MOMENTUM})
        expected = self._replayed()
        for a, b in zip(weights_to_serve(model), expected.get_weights(), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)
        logits = expected.predict(ROWS[0], verbose=0)
        np.testing.assert_allclose(model.predict(ROWS[0], verbose=0), logits, atol=1e-5)
        assert told["val_loss"] == pytest.approx(
            float(learning.loss(PLAN)(ROWS[1], logits, ROWS[2])), abs=1e-5
        )
        served = in_float32(model, models.build, PLAN, SMALL)
        np.testing.assert_allclose(served(ROWS[0]), logits, atol=1e-5)
        # The weights that learn are others.
        assert np.abs(model.inner(ROWS[0]) - logits).max() > 1e-3

    def test_comes_back_with_the_weights(self):
        model, _ = trained(optimizer={"ema": self.MOMENTUM}, accumulate=2)
        kept, served = model.get_weights(), weights_to_serve(model)
        model.set_weights([np.zeros_like(weight) for weight in kept])
        model.set_weights(kept)
        for a, b in zip(weights_to_serve(model), served, strict=True):
            np.testing.assert_array_equal(a, b)

    def test_of_layers_with_a_state(self):
        """Batch normalisation's moving statistics are served as they are."""
        inputs = keras.Input((2,))
        output = keras.layers.Dense(1)(keras.layers.BatchNormalization()(inputs))
        model = learner(keras.Model(inputs, output), TrainConfig(optimizer={"ema": 0.5}))
        model.compile(keras.optimizers.SGD(0.1), "mse")
        x = np.random.default_rng(1).normal(3, 2, (32, 2)).astype(np.float32)
        model.fit(x, x[:, :1], batch_size=32, epochs=4, verbose=0)
        served = keras.models.clone_model(model.inner)
        served.set_weights(weights_to_serve(model))
        np.testing.assert_allclose(served(x), model.predict(x, verbose=0), atol=1e-5)
        assert float(served.layers[1].moving_mean.numpy().max()) > 0.01


@pytest.mark.parametrize("precision", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("more", [{}, {"accumulate": 2, "optimizer": {"ema": 0.5, "clip": {"norm": 1}}}])
def test_low_precision_serves_float32(precision, more):
    model, _ = trained(precision=precision, **more)
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer) == (precision == "mixed_float16")
    inner = model.inner if more else model
    assert inner.get_layer("hidden_0").compute_dtype == precision.removeprefix("mixed_")
    low = model.predict(ROWS[0], verbose=0)
    served = in_float32(model, models.build, PLAN, SMALL)
    assert served.get_layer("hidden_0").compute_dtype == "float32"
    assert served(ROWS[0]).dtype == tf.float32
    np.testing.assert_allclose(served(ROWS[0]), low, atol=0.05)


def test_a_step_that_overflows_is_left_out_and_the_scale_halved():
    model, _ = trained(precision="mixed_float16", optimizer={"name": "sgd"})
    before, scale = model.get_weights(), float(model.optimizer.dynamic_scale.numpy())
    model.train_on_batch(ROWS[0], ROWS[1], ROWS[2] * 1e9)
    for a, b in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(a, b)
    assert float(model.optimizer.dynamic_scale.numpy()) == scale / 2


class OwnStep(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, inputs):
        return self.dense(inputs["x"])

    def train_step(self, data):
        return super().train_step(data)


def test_a_step_of_the_users_own_is_not_replaced():
    model = OwnStep()
    assert learner(model, TrainConfig(), replicas=2) is model
    with pytest.raises(UserError, match="the model has a train_step of its own, which accumulate and ema"):
        learner(model, TrainConfig(accumulate=2, optimizer={"ema": 0.9}))


def test_xla_makes_the_same_steps():
    plain, _ = trained(wrap=False)
    keras.utils.set_random_seed(1)
    config = TrainConfig(learning_rate={"schedule": "constant", "peak": 0.02}, accumulate=2, xla=True)
    model = learner(models.build(PLAN, SMALL), config)
    model.compile(learning.optimizer(config, STEPS), learning.loss(PLAN), jit_compile=config.xla)
    model.fit(tf.data.Dataset.from_tensor_slices(ROWS).batch(16).repeat(), steps_per_epoch=STEPS, verbose=0)
    assert model.jit_compile
    for a, b in zip(plain.get_weights(), weights_to_serve(model), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
