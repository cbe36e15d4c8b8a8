"""The architectures: their size by hand, that they learn, and that they can be built twice and exported."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from mixed_plan import ALL_KINDS, IMAGE, WORDS, plan_of, rows_of
from small_plan import small_plan, small_rows

from components.trainer import learning, models
from components.trainer.config import ModelConfig, OptimizerConfig, TrainConfig

TASKS = ("binary", "multiclass", "multilabel", "regression")
TABLES = ("mlp", "wide_deep", "dcn")
IMAGES = ("cnn", "resnet", "inception", "mobile")
SEQUENCES = ("transformer", "lstm", "gru")
# Sizes that build and run in a moment.
TINY_IMAGES = {
    "cnn": {"width": 2, "blocks": [1, 1]},
    "resnet": {"width": 2, "blocks": [1, 1]},
    "inception": {"width": 16, "blocks": [1]},
    "mobile": {"width": 2, "blocks": [1, 1]},
}
TINY_SEQUENCES = {
    "mean": {},
    "transformer": {"units": 4, "heads": 2},
    "lstm": {"units": 3},
    "gru": {"units": 3},
}


def tiny(architecture: str, image_net: str = "cnn", sequence_net: str = "mean", **options) -> ModelConfig:
    """A small model of this architecture, with these encoders where it does not say them itself."""
    image_net = architecture if architecture in IMAGES else image_net
    sequence_net = architecture if architecture in SEQUENCES else sequence_net
    sections = {
        "images": {"encoder": image_net, **TINY_IMAGES[image_net]},
        "sequences": {"encoder": sequence_net, **TINY_SEQUENCES[sequence_net]},
    }
    for key, section in sections.items():
        options[key] = {**section, **options.get(key, {})}
    return ModelConfig.model_validate({"architecture": architecture, "hidden": (4,), **options})


def compiled(plan, config):
    keras.utils.set_random_seed(1)
    model = models.build(plan, config)
    model.compile(
        learning.optimizer(TrainConfig(), 10),
        learning.loss(plan),
        metrics=learning.metrics(plan),
        run_eagerly=True,  # a graph for a few steps takes longer than they do
    )
    return model


def one_step(plan, config, rows):
    """The loss before and after a step on these rows."""
    model = compiled(plan, config)
    before = model.evaluate(*rows, verbose=0, return_dict=True)["loss"]
    model.fit(*rows, batch_size=len(rows[1]), epochs=1, verbose=0)
    return before, model.evaluate(*rows, verbose=0, return_dict=True)["loss"]


@pytest.fixture(autouse=True)
def _float32():
    yield
    keras.config.set_dtype_policy("float32")


class TestParameters:
    # Embedding of 6 ids: round(6 * 6**0.25) = 9 units. Deep: (2 + 9) * 8 + 8, 8 * 4 + 4, 4 + 1 each logit.
    # Wide: a weight for each number and each id, for each logit.
    # Cross: 2 layers of 11 * 11 + 11; of rank 3: 11 * 3 and 3 * 11 + 11. Beside the deep net, the output
    # takes 11 + 4.
    @pytest.mark.parametrize(
        ("options", "task", "parameters"),
        [
            ({"architecture": "mlp"}, "binary", 54 + 96 + 36 + 5),
            ({"architecture": "mlp"}, "multiclass", 54 + 96 + 36 + 15),
            ({"architecture": "mlp", "hidden": ()}, "binary", 54 + 12),
            # 3 units each: (2 + 3) * 8 + 8.
            ({"architecture": "mlp", "embedding": 3}, "binary", 18 + 48 + 36 + 5),
            # A normalized layer has 2 weights a unit, the batch's 2 statistics too but no bias.
            ({"architecture": "mlp", "normalization": "layer"}, "binary", 54 + 96 + 16 + 36 + 8 + 5),
            ({"architecture": "mlp", "normalization": "batch"}, "binary", 54 + 88 + 32 + 32 + 16 + 5),
            ({"architecture": "wide_deep"}, "binary", 54 + 96 + 36 + 5 + 2 + 6),
            ({"architecture": "wide_deep"}, "regression", 54 + 96 + 36 + 5 + 2 + 6),
            ({"architecture": "wide_deep"}, "multiclass", 54 + 96 + 36 + 15 + 6 + 18),
            ({"architecture": "dcn"}, "binary", 54 + 2 * 132 + 96 + 36 + 5),
            ({"architecture": "dcn", "cross": {"rank": 3}}, "binary", 54 + 2 * 77 + 96 + 36 + 5),
            (
                {"architecture": "dcn", "cross": {"structure": "parallel", "layers": 3}},
                "multiclass",
                54 + 3 * 132 + 96 + 36 + 3 * (11 + 4 + 1),
            ),
        ],
    )
    def test_of_tables(self, options, task, parameters):
        config = ModelConfig.model_validate({"hidden": (8, 4), **options})
        assert models.build(small_plan(task), config).count_params() == parameters

    # The stem is 3 * 3 * 3 -> 2 or 8 channels without bias, and each normalization 4 weights a channel.
    # cnn: 2 -> 2, 2 -> 4.
    # resnet: an identity block 2 -> 2 -> 2; then 2 -> 4 -> 4 with a projection 2 -> 4.
    # inception: 8 -> 4; 8 -> 6 -> 8; 8 -> 1 -> 2 -> 2; 8 -> 2 after pooling: 16 channels.
    # mobile: blocks 2 -> 8 -> 8 depthwise -> 2 and 2 -> 8 -> 8 depthwise -> 4; head 4 -> 16.
    # Then as many weights as there are channels, and a bias, for the logit.
    @pytest.mark.parametrize(
        ("architecture", "parameters"),
        [
            ("cnn", 54 + 8 + (36 + 8) + (72 + 16) + 5),
            ("resnet", 54 + 8 + 2 * (36 + 8) + (72 + 16) + (144 + 16) + (8 + 16) + 5),
            (
                "inception",
                (216 + 32) + (32 + 16) + (48 + 24 + 432 + 32) + (8 + 4 + 18 + 8 + 36 + 8) + (16 + 8) + 17,
            ),
            (
                "mobile",
                (54 + 8) + (16 + 32 + 72 + 32 + 16 + 8) + (16 + 32 + 72 + 32 + 32 + 16) + (64 + 64) + 17,
            ),
        ],
    )
    def test_of_image_nets(self, architecture, parameters):
        model = models.build(plan_of(IMAGE), tiny(architecture, hidden=()))
        assert model.count_params() == parameters

    # transformer: 6 ids and 5 places of 4 units; queries, keys, values and output 4 * 4 + 4 each; up to 16
    # units and down; 3 layer normalizations of 8; 4 + 1 for the logit.
    # lstm: 9 units of an embedding and 3 of a state; 4 gates of 3 * (9 + 3 + 1) in each direction.
    # gru: 3 gates of 3 * (9 + 3 + 2), since it has a bias for the input and one for the state.
    @pytest.mark.parametrize(
        ("architecture", "parameters"),
        [
            ("transformer", 24 + 20 + 4 * 20 + (80 + 68) + 3 * 8 + 5),
            ("lstm", 54 + 2 * 4 * 3 * 13 + 7),
            ("gru", 54 + 2 * 3 * 3 * 14 + 7),
        ],
    )
    def test_of_sequence_nets(self, architecture, parameters):
        model = models.build(plan_of(WORDS), tiny(architecture, hidden=()))
        assert model.count_params() == parameters

    def test_of_deeper_sequence_nets(self):
        # One direction, of which the second layer reads the state of the first: 4 * 3 * (3 + 3 + 1).
        config = tiny("lstm", hidden=(), sequences={"layers": 2, "bidirectional": False})
        assert models.build(plan_of(WORDS), config).count_params() == 54 + 4 * 3 * 13 + 4 * 3 * 7 + 4
        config = tiny("transformer", hidden=(), sequences={"layers": 2})
        layer = 4 * 20 + (80 + 68) + 2 * 8
        assert models.build(plan_of(WORDS), config).count_params() == 24 + 20 + 2 * layer + 8 + 5

    @pytest.mark.parametrize(
        ("side", "first_stage"), [(28, 28), (64, 64), (65, 33), (96, 48), (128, 64), (224, 56)]
    )
    def test_large_images_are_halved_until_they_suit_the_first_stage(self, side, first_stage):
        picture = IMAGE.model_copy(update={"image": (side, side, 1), "length": side * side})
        model = models.build(plan_of(picture), tiny("resnet"))
        for stage, expected in enumerate((first_stage, -(-first_stage // 2))):
            maps = model.get_layer(f"image_0_stage_{stage}_block_0_sum").output
            assert maps.shape[1:3] == (expected, expected)


class TestLearning:
    @pytest.mark.parametrize("task", TASKS)
    @pytest.mark.parametrize("architecture", TABLES)
    def test_one_step_on_eight_rows_lowers_the_loss(self, architecture, task):
        plan, rows = small_plan(task), small_rows(8, task)
        before, after = one_step(plan, tiny(architecture, hidden=(8, 4)), rows)
        assert after < before

    @pytest.mark.parametrize("architecture", IMAGES + SEQUENCES)
    def test_one_step_of_a_net_lowers_the_loss(self, architecture):
        plan = plan_of(IMAGE if architecture in IMAGES else WORDS)
        # The batch's statistics are not yet those that evaluation uses.
        images = {"normalization": "layer"} if architecture in IMAGES else {}
        before, after = one_step(plan, tiny(architecture, images=images), rows_of(plan))
        assert after < before

    @pytest.mark.parametrize(
        ("architecture", "image_net", "sequence_net", "task"),
        [
            ("wide_deep", "mobile", "gru", "binary"),
            ("dcn", "cnn", "transformer", "multiclass"),
            ("resnet", "resnet", "mean", "regression"),
            ("lstm", "inception", "lstm", "binary"),
        ],
    )
    def test_all_kinds_of_inputs_at_once(self, architecture, image_net, sequence_net, task):
        plan = plan_of(*ALL_KINDS, task=task)
        rows = rows_of(plan)
        config = tiny(architecture, image_net, sequence_net)
        model = compiled(plan, config)
        start = {weight.path: weight.numpy() for weight in model.trainable_weights}
        losses = [model.train_on_batch(*rows, return_dict=True)["loss"] for _ in range(10)]
        assert losses[-1] < losses[0]
        assert model(rows[0]).shape == (8, models.output_units(plan))
        # Every kind of input has a part in it.
        moved = {path for path, value in start.items() if np.abs(value - model_weight(model, path)).max() > 0}
        assert moved == set(start)

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
            # Embeddings are not decayed, a matrix is.
            train = TrainConfig(optimizer=OptimizerConfig(name=optimizer, weight_decay=0))
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


def model_weight(model, path):
    return next(weight.numpy() for weight in model.weights if weight.path == path)


class TestServing:
    @pytest.mark.parametrize(
        ("architecture", "image_net", "sequence_net"),
        [
            ("wide_deep", "mobile", "gru"),
            ("dcn", "inception", "transformer"),
            ("resnet", "resnet", "lstm"),
            ("transformer", "cnn", "transformer"),
        ],
    )
    def test_low_precision_is_served_in_float32(self, architecture, image_net, sequence_net):
        plan = plan_of(*ALL_KINDS)
        config = tiny(
            architecture,
            image_net,
            sequence_net,
            dropout=0.5,
            normalization="batch",
            sequences={"dropout": 0.5},
        )
        keras.config.set_dtype_policy("mixed_bfloat16")
        low = compiled(plan, config)
        rows = rows_of(plan)
        low.fit(*rows, epochs=1, verbose=0)
        assert low.get_layer("hidden_0").compute_dtype == "bfloat16"
        assert low(rows[0]).dtype == tf.float32
        keras.config.set_dtype_policy("float32")
        full = models.build(plan, config)
        full.set_weights(low.get_weights())
        assert full.get_layer("hidden_0").compute_dtype == "float32"
        np.testing.assert_allclose(low(rows[0]), full(rows[0]), atol=0.1)
        assert [weight.path for weight in full.weights] == [weight.path for weight in low.weights]
