"""Each optimizer against its published formula in plain numpy, and what is added to Keras's."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from packaging.version import Version
from pydantic import ValidationError

from components.trainer import learning
from components.trainer.config import OptimizerConfig, TrainConfig

RATE, STEPS, EPSILON = 0.05, 5, 1e-7
CURRENT = Version(keras.__version__) >= Version("3.15")
NEEDS_CURRENT = pytest.mark.skipif(not CURRENT, reason="this Keras has no Muon that works")


def sgd(w, state, g, t, momentum=0.9, nesterov=False):
    v = state["v"] = momentum * state.get("v", 0) - RATE * g
    return w + (momentum * v - RATE * g if nesterov else v)


def adam(w, state, g, t, decay=0.0, beta_1=0.9, beta_2=0.999):
    m = state["m"] = beta_1 * state.get("m", 0) + (1 - beta_1) * g
    v = state["v"] = beta_2 * state.get("v", 0) + (1 - beta_2) * g * g
    # Kingma and Ba's section 2 has it in this order, with epsilon beside the uncorrected root.
    rate = RATE * np.sqrt(1 - beta_2**t) / (1 - beta_1**t)
    return w * (1 - RATE * decay) - rate * m / (np.sqrt(v) + EPSILON)


def rmsprop(w, state, g, t, rho=0.9, momentum=0.9):
    v = state["v"] = rho * state.get("v", 0) + (1 - rho) * g * g
    m = state["m"] = momentum * state.get("m", 0) + RATE * g / np.sqrt(v + EPSILON)
    return w - m


def lamb(w, state, g, t, beta_1=0.9, beta_2=0.999):
    m = state["m"] = beta_1 * state.get("m", 0) + (1 - beta_1) * g
    v = state["v"] = beta_2 * state.get("v", 0) + (1 - beta_2) * g * g
    update = m / (1 - beta_1**t) / (np.sqrt(v / (1 - beta_2**t)) + EPSILON)
    return w - RATE * np.linalg.norm(w) / np.linalg.norm(update) * update


def lion(w, state, g, t, decay=0.0, beta_1=0.9, beta_2=0.99):
    m = state.get("m", 0)
    state["m"] = beta_2 * m + (1 - beta_2) * g
    return w * (1 - RATE * decay) - RATE * np.sign(beta_1 * m + (1 - beta_1) * g)


def adafactor(w, state, g, t):
    remembered = 1 - t**-0.8
    square = g * g + 1e-30
    r = state["r"] = remembered * state.get("r", 0) + (1 - remembered) * square.mean(-1)
    c = state["c"] = remembered * state.get("c", 0) + (1 - remembered) * square.mean(-2)
    update = g / np.sqrt((r / r.mean())[:, None] * c)
    update /= max(1, np.sqrt((update**2).mean()))
    return w - max(1e-3, np.sqrt((w**2).mean())) * min(RATE, t**-0.5) * update


def muon(w, state, g, t, momentum=0.95, decay=0.0):
    m = state["m"] = momentum * state.get("m", 0) + g
    x = g + momentum * m
    flat = x.shape[0] <= x.shape[1]
    x = x if flat else x.T
    x = x / (np.linalg.norm(x) + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    # Scaled to the size of Adam's updates (Liu et al. 2025).
    return w * (1 - RATE * decay) - RATE * (x if flat else x.T) * 0.2 * max(w.shape) ** 0.5


CASES = [
    ({"name": "sgd"}, sgd),
    ({"name": "sgd", "momentum": 0.5, "nesterov": True}, lambda *a: sgd(*a, momentum=0.5, nesterov=True)),
    ({"name": "adam", "beta_1": 0.8, "beta_2": 0.99}, lambda *a: adam(*a, beta_1=0.8, beta_2=0.99)),
    ({"name": "adamw"}, lambda *a: adam(*a, decay=1e-4)),
    ({"name": "adamw", "weight_decay": 0.3}, lambda *a: adam(*a, decay=0.3)),
    ({"name": "adamw", "weight_decay": 0}, adam),
    ({"name": "rmsprop", "rho": 0.8}, lambda *a: rmsprop(*a, rho=0.8)),
    ({"name": "lamb"}, lamb),
    ({"name": "lion", "weight_decay": 0.1}, lambda *a: lion(*a, decay=0.1)),
    ({"name": "adafactor"}, adafactor),
    pytest.param({"name": "muon"}, muon, marks=NEEDS_CURRENT),
    pytest.param({"name": "muon", "weight_decay": 0.1}, lambda *a: muon(*a, decay=0.1), marks=NEEDS_CURRENT),
]


def made(options, **train):
    return learning.optimizer(
        TrainConfig(
            optimizer=OptimizerConfig(**options),
            learning_rate={"schedule": "constant", "peak": RATE},
            **train,
        ),
        100,
    )


@pytest.mark.parametrize(
    ("options", "formula"), CASES, ids=lambda each: "" if callable(each) else str(each)[:60]
)
def test_moves_weights_by_its_formula(options, formula):
    deal = np.random.default_rng(3)
    expected = deal.normal(size=(4, 3))
    goal = deal.normal(size=(4, 3))
    kernel = keras.Variable(expected.astype(np.float32), name="kernel")
    optimizer, state = made(options), {}
    start = expected.copy()
    for step in range(1, STEPS + 1):
        optimizer.apply([kernel.value - goal.astype(np.float32)], [kernel])
        expected = formula(expected, state, expected - goal, step)
    assert np.abs(expected - start).max() > 0.005
    # Muon's polynomial in float32 is not exact to the last digits.
    atol = 1e-4 if options["name"] == "muon" else 1e-5
    np.testing.assert_allclose(kernel.numpy(), expected, atol=atol)


@pytest.mark.parametrize("name", ["sgd", "adam", "adamw", "rmsprop", "lamb", "lion", "adafactor"])
def test_rows_of_an_id_that_a_batch_has_twice_are_summed(name):
    deal = np.random.default_rng(3)
    start = deal.normal(size=(5, 3)).astype(np.float32)
    ids = tf.constant(deal.integers(0, 5, 20))
    goal = tf.constant(deal.normal(size=(20, 3)).astype(np.float32))
    tables = []
    for look_up in (tf.gather, lambda table, ids: tf.one_hot(ids, 5) @ table):
        table, optimizer = keras.Variable(start), made({"name": name})
        for _ in range(10):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(look_up(table.value, ids) - goal))
            optimizer.apply(tape.gradient(loss, [table.value]), [table])
        tables.append(table.numpy())
    assert np.abs(tables[0] - start).max() > 0.005
    np.testing.assert_allclose(*tables, atol=2e-6)


class TestWeightDecay:
    @staticmethod
    def _decayed(**options):
        """Names of the weights that move when no gradient moves them."""
        inputs = keras.Input((3,), dtype="int32", name="ids")
        hidden = keras.layers.Flatten()(keras.layers.Embedding(5, 2, name="zone")(inputs))
        hidden = keras.layers.BatchNormalization(name="norm")(keras.layers.Dense(4, name="first")(hidden))
        model = keras.Model(inputs, keras.layers.Dense(1, name="last")(hidden))
        optimizer = made({"name": "adamw", "weight_decay": 0.5, **options})
        for weight in model.trainable_variables:
            weight.assign(tf.ones(weight.shape))
        optimizer.apply([tf.zeros(w.shape) for w in model.trainable_variables], model.trainable_variables)
        moved = {w.path: float(w.numpy().max()) for w in model.trainable_variables if w.numpy().max() < 1}
        assert all(value == pytest.approx(1 - RATE * 0.5) for value in moved.values())
        return set(moved)

    def test_matrices_alone_by_default(self):
        assert self._decayed() == {"first/kernel", "last/kernel"}

    def test_patterns(self):
        assert self._decayed(no_decay=["^last/", "beta"]) == {
            "zone/embeddings",
            "first/kernel",
            "first/bias",
            "norm/gamma",
        }
        assert len(self._decayed(no_decay=[])) == 7


class TestClip:
    GRADIENTS = (np.array([[3.0, -4.0]]), np.array([0.0, 12.0]))

    @pytest.mark.parametrize(
        ("clip", "expected"),
        [
            ({"norm": 2.5}, ([[1.5, -2.0]], [0, 2.5])),
            ({"global_norm": 6.5}, ([[1.5, -2.0]], [0, 6])),
            ({"value": 3.5}, ([[3.0, -3.5]], [0, 3.5])),
            ({"global_norm": 13.5}, ([[3.0, -4.0]], [0, 12])),
        ],
    )
    def test_bounds(self, clip, expected):
        variables = [keras.Variable(np.zeros(g.shape, np.float32)) for g in self.GRADIENTS]
        gradients = [tf.constant(g, tf.float32) for g in self.GRADIENTS]
        made({"name": "sgd", "momentum": 0, "clip": clip}).apply(gradients, variables)
        for variable, gradient in zip(variables, expected):
            np.testing.assert_allclose(variable.numpy(), -RATE * np.array(gradient), rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"clip": {"norm": 1, "value": 1}}, "expected one of norm, global_norm and value, received norm and"),
        ({"clip": {}}, "received nothing"),
        ({"clip": {"norm": 0}}, "greater than 0"),
        ({"name": "adam", "weight_decay": 0.1}, "adam with weight_decay is adamw"),
        ({"name": "lion", "momentum": 0.9}, "momentum is for muon, rmsprop, sgd, not for lion"),
        ({"name": "adam", "nesterov": True}, "nesterov is for muon, sgd, not for adam"),
        ({"name": "sgd", "beta_1": 0.9}, "beta_1 is for adam, adamw, lamb, lion, muon, not for sgd"),
        ({"name": "adafactor", "epsilon": 1e-8}, "epsilon is for"),
        ({"name": "adamw", "rho": 0.9}, "rho is for rmsprop, not for adamw"),
        ({"name": "sgd", "nesterov": True, "momentum": 0}, "nesterov needs a momentum above 0"),
        ({"no_decay": ["("]}, "is no regular expression"),
        ({"ema": 1.0}, "less than 1"),
    ],
)
def test_refused(options, said):
    with pytest.raises(ValidationError, match=said):
        OptimizerConfig(**options)


@pytest.mark.skipif(CURRENT, reason="this Keras has a Muon that works")
def test_muon_is_refused_with_the_reason_on_an_older_keras():
    with pytest.raises(ValidationError, match=r"muon needs Keras 3\.15, the current stack; this is Keras 3"):
        OptimizerConfig(name="muon")
