"""The parts of the models: what each computes, and what is refused."""

from __future__ import annotations

import math
from typing import get_args

import keras
import numpy as np
import pytest
import tensorflow as tf
from mixed_plan import ALL_KINDS, CATEGORY, IMAGE, NUMBER, WORDS, plan_of, rows_of
from small_plan import small_plan, small_rows

from components.errors import UserError
from components.trainer import models
from components.trainer.config import ModelConfig
from components.trainer.config import model as sections
from components.trainer.models import style as styles

# A weight for each of 6 ids: the id itself.
IDS = np.arange(6.0)[:, None]


def config(**options) -> ModelConfig:
    return ModelConfig.model_validate(options)


def by_name(model):
    """The weights of each layer."""
    return {layer.name: layer.get_weights() for layer in model.layers}


class TestSequences:
    NETS = (
        {"encoder": "mean"},
        {"encoder": "transformer", "units": 8, "heads": 2, "layers": 2},
        {"encoder": "lstm", "units": 3, "layers": 2},
        {"encoder": "gru", "units": 3},
        {"encoder": "gru", "units": 3, "bidirectional": False},
    )
    TEXTS = ((3, 1, 5), (2,), (), (4, 4, 1, 2, 5))

    def _answers(self, options, length, weights=None):
        words = WORDS.model_copy(update={"length": length})
        model = models.build(plan_of(words), config(architecture="mlp", hidden=(4,), sequences=options))
        if weights:
            # A transformer has a vector for each place; the further ones are for padding.
            model.set_weights(
                [
                    np.concatenate([old, new[len(old) :]]) if old.shape != new.shape else old
                    for old, new in zip(weights, model.get_weights())
                ]
            )
        rows = np.zeros((len(self.TEXTS), length), np.int64)
        for row, text in zip(rows, self.TEXTS):
            row[: len(text)] = text
        return model({"note_xf": tf.constant(rows)}).numpy(), model.get_weights()

    @pytest.mark.parametrize("options", NETS, ids=str)
    def test_padding_does_not_change_the_answer(self, options):
        keras.utils.set_random_seed(2)
        short, weights = self._answers(options, 5)
        long, _ = self._answers(options, 9, weights)
        np.testing.assert_allclose(short, long, atol=1e-5)
        assert np.isfinite(short).all()
        assert len({round(value, 5) for value in short[:, 0].tolist()}) == len(self.TEXTS)

    @pytest.mark.parametrize("options", NETS, ids=str)
    def test_all_but_the_mean_heed_the_order(self, options):
        keras.utils.set_random_seed(2)
        model = models.build(plan_of(WORDS), config(architecture="mlp", hidden=(), sequences=options))
        one, other = model({"note_xf": tf.constant([[1, 2, 3, 4, 0], [4, 2, 3, 1, 0]])}).numpy()
        assert np.allclose(one, other, atol=1e-6) == (options["encoder"] == "mean")

    def test_padding_is_not_learned_from(self):
        # The gradient of what stands for padding is 0 in a transformer: it is attended to by nobody.
        model = models.build(
            plan_of(WORDS),
            config(architecture="transformer", hidden=(), sequences={"units": 4, "heads": 2}),
        )
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model({"note_xf": tf.constant([[3, 2, 0, 0, 0]])}))
        table = model.get_layer("embedding_0").embeddings
        gradient = tf.convert_to_tensor(tape.gradient(loss, table.value)).numpy()
        assert np.abs(gradient[0]).max() < 1e-7
        assert (np.abs(gradient[[2, 3]]).max(axis=1) > 1e-7).all()


class TestTables:
    @pytest.mark.parametrize("rank", [0, 2])
    def test_a_cross_layer_multiplies_the_inputs_by_a_map_of_them(self, rank):
        keras.utils.set_random_seed(1)
        model = models.build(
            small_plan(), config(architecture="dcn", hidden=(), cross={"layers": 2, "rank": rank})
        )
        deal = np.random.default_rng(1)
        model.set_weights([deal.normal(size=weight.shape) for weight in model.get_weights()])
        features, _ = small_rows(8)
        weights = by_name(model)
        (table,) = weights["embedding_0"]
        first = np.concatenate(
            [features["miles_xf"], features["fare_xf"], table[features["zone_xf"][:, 0]]], axis=1
        )
        x = first
        for layer in ("cross_0", "cross_1"):
            kernel, bias = weights[layer]
            if rank:
                kernel = weights[f"{layer}_down"][0] @ kernel
            x = first * (x @ kernel + bias) + x
        kernel, bias = weights["deep"]
        np.testing.assert_allclose(model(features), x @ kernel + bias, rtol=1e-4, atol=1e-3)

    def test_a_wide_model_adds_the_weights_of_its_ids_to_the_deep_logit(self):
        plan = plan_of(NUMBER, CATEGORY, WORDS)
        model = models.build(plan, config(architecture="wide_deep", hidden=(3,)))
        assert not any(np.any(model.get_layer(name).get_weights()) for name in ("wide_0", "wide_1"))
        features, _ = rows_of(plan)
        model.get_layer("wide_numbers").set_weights([np.zeros((1, 1))])
        deep = model(features)
        for name, weights in (("wide_numbers", [[2.0]]), ("wide_0", IDS), ("wide_1", 10 * IDS)):
            model.get_layer(name).set_weights([np.array(weights)])
        wide = 2 * features["miles_xf"] + tf.cast(features["zone_xf"], tf.float32)
        wide += 10 * tf.cast(tf.reduce_sum(features["note_xf"], 1, keepdims=True), tf.float32)
        np.testing.assert_allclose(model(features) - deep, wide, atol=1e-3)


class TestImages:
    @pytest.mark.parametrize("architecture", get_args(sections.ImageEncoder))
    def test_pixels_of_any_size_go_in_as_they_are(self, architecture):
        picture = IMAGE.model_copy(update={"image": (30, 19, 1), "length": 30 * 19})
        plan = plan_of(picture)
        model = models.build(plan, config(architecture=architecture))
        assert model.input["picture_xf"].dtype == "uint8"
        features, _ = rows_of(plan, 2)
        assert np.isfinite(model(features)).all()

    def test_pixels_are_scaled_to_between_minus_one_and_one(self):
        model = models.build(plan_of(IMAGE), config(architecture="cnn"))
        scaled = model.get_layer("image_0_scaled")(np.array([0, 51, 255], np.uint8))
        np.testing.assert_allclose(scaled, [-1, -0.6, 1], atol=1e-6)

    @pytest.mark.parametrize("initializer", get_args(sections.Initializer))
    def test_a_depthwise_kernel_is_begun_for_the_inputs_that_it_has(self, initializer):
        keras.utils.set_random_seed(1)
        style = styles.Style("relu", initializer, "none", 0.0)
        shape = (3, 3, 2000, 1)
        found = np.std(style._of_one_channel()(shape))
        # 9 inputs and 9 outputs of each weight: 2 / 9 for He, 1 / 9 for the others.
        variance = 2 / 9 if initializer.startswith("he") else 1 / 9
        assert found == pytest.approx(variance**0.5, rel=0.03)


class TestStyle:
    @pytest.mark.parametrize("activation", get_args(sections.Activation))
    @pytest.mark.parametrize("normalization", ["none", "batch"])
    def test_each_activation(self, activation, normalization):
        plan = plan_of(NUMBER)
        model = models.build(
            plan,
            config(architecture="mlp", hidden=(4,), activation=activation, normalization=normalization),
        )
        kernel = np.ones((1, 4), np.float32)
        layer = model.get_layer("hidden_0")
        layer.set_weights([kernel, *layer.get_weights()[1:]])
        x = np.linspace(-7, 7, 29, dtype=np.float32)[:, None]
        hidden = keras.Model(model.input, model.get_layer("deep").input)
        expected = FORMULAS[activation](x.astype(np.float64))
        # A batch normalization that has seen nothing divides by sqrt(1 + 0.001).
        np.testing.assert_allclose(
            hidden({"miles_xf": x})[:, :1], expected, atol=1e-4 if normalization == "none" else 1e-2
        )

    @pytest.mark.parametrize("initializer", get_args(sections.Initializer))
    def test_each_initializer(self, initializer):
        keras.utils.set_random_seed(1)
        plan = plan_of(NUMBER.model_copy(update={"length": 200}))
        model = models.build(plan, config(architecture="mlp", hidden=(300,), initializer=initializer))
        kernel, _ = model.get_layer("hidden_0").get_weights()
        variance = {"he": 2 / 200, "glorot": 2 / 500, "lecun": 1 / 200, "orthogonal": 1 / 300}
        assert kernel.var() == pytest.approx(variance[initializer.split("_")[0]], rel=0.03)

    @pytest.mark.parametrize("normalization", ["batch", "layer"])
    def test_each_normalization(self, normalization):
        keras.utils.set_random_seed(1)
        model = models.build(
            small_plan(), config(architecture="mlp", hidden=(16,), normalization=normalization)
        )
        features, _ = small_rows(64)
        normalized = keras.Model(model.input, model.get_layer("hidden_0_norm").output)
        axis = 0 if normalization == "batch" else 1
        found = normalized(features, training=True).numpy()
        np.testing.assert_allclose(found.mean(axis), 0, atol=1e-3)
        np.testing.assert_allclose(found.std(axis), 1, atol=0.1)
        if normalization == "batch":
            # After 100 batches a row alone is normalized as these were.
            for _ in range(100):
                normalized(features, training=True)
            np.testing.assert_allclose(normalized(features).numpy(), found, atol=0.05)

    def test_l2_adds_the_squared_weights_to_the_loss(self):
        model = models.build(plan_of(*ALL_KINDS), config(architecture="dcn", hidden=(4,), l2=0.5))
        penalized = [
            weight.numpy()
            for layer in model.layers
            if isinstance(layer, (keras.layers.Dense, keras.layers.Conv2D)) and layer.name != "deep"
            for weight in layer.weights
            if weight.name == "kernel"
        ]
        assert len(penalized) == 2 + 1 + 4
        expected = 0.5 * sum(np.sum(np.square(weight)) for weight in penalized)
        assert float(sum(model.losses)) == pytest.approx(expected, rel=1e-4)
        assert not models.build(plan_of(*ALL_KINDS), config(architecture="dcn")).losses

    def test_dropout_is_for_training_only(self):
        plan = plan_of(*ALL_KINDS)
        model = models.build(
            plan,
            config(
                architecture="transformer",
                dropout=0.5,
                images={"encoder": "mobile", "dropout": 0.5},
                sequences={"dropout": 0.5},
            ),
        )
        features, _ = rows_of(plan)
        assert np.array_equal(model(features), model(features))
        assert not np.array_equal(model(features, training=True), model(features, training=True))
        kinds = [type(layer).__name__ for layer in model.layers]
        # After each hidden layer, after each stage, on the embedding; after both sublayers.
        assert kinds.count("Dropout") == 2 + 2
        assert kinds.count("SpatialDropout2D") == 3
        assert kinds.count("SpatialDropout1D") == 1


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


# The papers' formulas; gelu is the exact one.
FORMULAS = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.2 * x),
    "swish": lambda x: x * _sigmoid(x),
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / 2**0.5)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "selu": lambda x: 1.05070098 * np.where(x > 0, x, 1.67326324 * np.expm1(x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "tanh": np.tanh,
}


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"architecture": "resnet", "images": {"encoder": "mobile"}},
                "images.encoder: mobile are two answers",
            ),
            (
                {"architecture": "lstm", "sequences": {"encoder": "mean"}},
                "sequences.encoder: mean are two answers",
            ),
            ({"architecture": "transformer", "sequences": {"heads": 5}}, "heads: 5 does not divide"),
            ({"sequences": {"encoder": "transformer", "units": 30}}, "does not divide sequences.units: 30"),
            ({"architecture": "inception", "images": {"width": 20}}, "width: 20 is no multiple of 16"),
            ({"architecture": "mlp", "cross": {"layers": 3}}, "cross is for architecture: dcn, not mlp"),
            ({"sequences": {"units": 32}}, "units is for transformer, lstm, gru, not mean"),
            ({"architecture": "gru", "sequences": {"heads": 2}}, "heads is for transformer, not gru"),
            (
                {"architecture": "transformer", "sequences": {"bidirectional": False}},
                "bidirectional is for lstm, gru, not transformer",
            ),
            ({"images": {"blocks": []}}, "at least 1 item"),
            ({"activation": "step"}, "'relu', 'relu6'"),
        ],
    )
    def test_in_the_config(self, options, message):
        with pytest.raises(ValueError, match=message):
            config(**options)

    def test_a_config_survives_being_written_and_read(self):
        for architecture in get_args(ModelConfig.model_fields["architecture"].annotation):
            chosen = config(architecture=architecture)
            assert ModelConfig.model_validate(chosen.model_dump(mode="json")) == chosen

    def test_a_model_of_the_users_own_may_read_the_keys_as_it_likes(self):
        config(build="model.build_model", cross={"layers": 3}, sequences={"units": 5})

    @pytest.mark.parametrize("architecture", ["cnn", "resnet", "inception", "mobile"])
    def test_an_image_net_without_an_image(self, architecture):
        with pytest.raises(UserError, match=f"{architecture} needs a column of kind image") as refused:
            models.build(plan_of(NUMBER, CATEGORY, WORDS), config(architecture=architecture))
        assert "it has 1 numeric, 1 category, 1 sequence" in refused.value.what
        assert "kind: image" in refused.value.fix
        assert "wide_deep" in refused.value.fix

    @pytest.mark.parametrize("architecture", ["transformer", "lstm", "gru"])
    def test_a_sequence_net_without_a_sequence(self, architecture):
        with pytest.raises(UserError, match=f"{architecture} needs a column of kind text"):
            models.build(plan_of(NUMBER, CATEGORY, IMAGE), config(architecture=architecture))
