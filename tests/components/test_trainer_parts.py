"""Models and batches: each against what it stands for."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from small_plan import small_plan, small_rows

from components.trainer import data, learning, models
from components.trainer.config import ModelConfig, OptimizerConfig, TrainConfig

TASKS = ("binary", "multiclass", "regression")


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


class TestModels:
    # Embedding of 6 ids: round(6 * 6**0.25) = 9 units. Deep: (2 + 9) * 8 + 8, 8 * 4 + 4, 4 + 1 each logit.
    @pytest.mark.parametrize(
        ("architecture", "task", "parameters"),
        [
            ("mlp", "binary", 54 + 96 + 36 + 5),
            ("mlp", "multiclass", 54 + 96 + 36 + 15),
            ("wide_deep", "binary", 54 + 96 + 36 + 5 + 2 + 6),
            ("wide_deep", "regression", 54 + 96 + 36 + 5 + 2 + 6),
            ("wide_deep", "multiclass", 54 + 96 + 36 + 15 + 6 + 18),
        ],
    )
    def test_parameters(self, architecture, task, parameters):
        model = models.build(small_plan(task), ModelConfig(architecture=architecture, hidden=(8, 4)))
        assert model.count_params() == parameters

    @pytest.mark.parametrize("task", TASKS)
    def test_one_step_on_eight_rows_lowers_the_loss(self, task):
        plan, rows = small_plan(task), small_rows(8, task)
        model = _compiled(plan)
        before = model.evaluate(*rows, verbose=0, return_dict=True)
        model.fit(*rows, batch_size=8, epochs=1, verbose=0)
        assert model(rows[0]).shape == (8, models.output_units(plan))
        assert model.evaluate(*rows, verbose=0, return_dict=True)["loss"] < before["loss"]

    @pytest.mark.parametrize("optimizer", ["adam", "adamw", "rmsprop", "sgd"])
    def test_an_embedding_learns_as_a_matrix_on_one_hot_rows_does(self, optimizer):
        deal = np.random.default_rng(3)
        start = deal.normal(size=(5, 3)).astype(np.float32)
        ids = tf.constant(deal.integers(0, 5, (20, 1)))  # more rows than ids: all are used more than once
        goal = tf.constant(deal.normal(size=(20, 3)).astype(np.float32))
        embedding = models.Embedding(5, 3)
        embedding.build((None, 1))
        embedding.set_weights([start])
        matrix = keras.Variable(start)

        def train(variable, predict):
            train = TrainConfig(optimizer=OptimizerConfig(name=optimizer))
            chosen = learning.optimizer(train, 100)
            for _ in range(20):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.square(predict() - goal))
                chosen.apply(tape.gradient(loss, [variable.value]), [variable])
            return variable.numpy()

        embedded = train(embedding.embeddings, lambda: embedding(ids)[:, 0])
        multiplied = train(matrix, lambda: tf.one_hot(ids[:, 0], 5) @ matrix.value)
        assert np.abs(embedded - start).max() > 0.005
        np.testing.assert_allclose(embedded, multiplied, atol=1e-6)


class TestBatches:
    @staticmethod
    def _epochs(rows, batch, steps, seed, epochs=3):
        features = {"n": tf.range(rows)[:, None]}
        batches = data.batches_in_memory(
            (features, features["n"]), batch_size=batch, steps=steps, seed=seed
        ).as_numpy_iterator()
        taken = [[next(batches) for _ in range(steps)] for _ in range(epochs)]
        for one in (b for epoch in taken for b in epoch):
            assert (one[0]["n"] == one[1]).all()
            assert len(one[1]) == batch
        return [[int(n) for b in epoch for n in b[1][:, 0]] for epoch in taken]

    @pytest.mark.parametrize(("rows", "batch", "steps"), [(50, 10, 5), (53, 10, 6), (53, 10, 8), (3, 10, 2)])
    def test_every_epoch_covers_all_rows_in_another_order(self, rows, batch, steps):
        epochs = self._epochs(rows, batch, steps, seed=1)
        for epoch in epochs:
            assert set(epoch) == set(range(rows))
            assert sorted(epoch[:rows]) == list(range(rows))
        assert epochs[0] != epochs[1] != epochs[2]

    def test_the_seed_decides(self):
        keras.utils.set_random_seed(1)
        first = self._epochs(53, 10, 6, seed=1)
        keras.utils.set_random_seed(1)
        assert self._epochs(53, 10, 6, seed=1) == first
        assert self._epochs(53, 10, 6, seed=2) != first
