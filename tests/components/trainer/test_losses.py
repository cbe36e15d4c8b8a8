"""Each loss against its formula in plain numpy, through Keras's own weighing and averaging."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from pydantic import ValidationError
from small_plan import small_plan

from components.errors import UserError
from components.records import ShardWriter
from components.trainer import learning
from components.trainer.config import LossConfig

LOGITS = np.array([[2.0, -1.0, 0.5], [0.1, 0.2, -3.0], [-1.0, 4.0, 1.0], [30.0, -30.0, 0.0]])
IDS = np.array([[0], [2], [1], [0]])
YES = np.array([[1], [0], [1], [0]])
ONE_LOGIT = np.array([[1.5], [-0.3], [-2.0], [25.0]])
HAS = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 1]])
NUMBERS, GUESSES = np.array([[1.0], [2.0], [-1.0], [0.0]]), np.array([[1.2], [0.0], [3.0], [0.0]])
WEIGHTS = np.array([[0.0], [1.0], [3.0], [0.5]])


def p_yes():
    p = 1 / (1 + np.exp(-ONE_LOGIT[:, 0]))
    return np.where(YES[:, 0] == 1, p, 1 - p)


def each_class():
    """-log of the probability of what is true, of every class of every row."""
    return np.log1p(np.exp(np.where(HAS == 1, -LOGITS, LOGITS)))


def p_true():
    e = np.exp(LOGITS - LOGITS.max(1, keepdims=True))
    return (e / e.sum(1, keepdims=True))[np.arange(4), IDS[:, 0]]


def log_softmax():
    e = LOGITS - LOGITS.max(1, keepdims=True)
    return e - np.log(np.exp(e).sum(1, keepdims=True))


def huber(delta):
    e = np.abs(NUMBERS - GUESSES)[:, 0]
    return np.where(e <= delta, e**2 / 2, delta * e - delta**2 / 2)


def pinball(q):
    e = (NUMBERS - GUESSES)[:, 0]
    return np.where(e > 0, q * e, (q - 1) * e)


def smoothed_yes(s):
    y = YES[:, 0] * (1 - s) + s / 2
    z = ONE_LOGIT[:, 0]
    return y * np.log1p(np.exp(-z)) + (1 - y) * np.log1p(np.exp(z))


def smoothed_classes(s):
    q = np.eye(3)[IDS[:, 0]] * (1 - s) + s / 3
    return -(q * log_softmax()).sum(1)


ALPHA = np.where(YES[:, 0] == 1, 0.3, 0.7)
CASES = [
    ("binary", {}, lambda: -np.log(p_yes())),
    ("binary", {"label_smoothing": 0.2}, lambda: smoothed_yes(0.2)),
    ("binary", {"name": "focal"}, lambda: (1 - p_yes()) ** 2 * -np.log(p_yes())),
    (
        "binary",
        {"name": "focal", "gamma": 0.5, "alpha": 0.3},
        lambda: ALPHA * (1 - p_yes()) ** 0.5 * -np.log(p_yes()),
    ),
    ("binary", {"name": "focal", "gamma": 0}, lambda: -np.log(p_yes())),
    (
        "binary",
        {"class_weights": {"no": 0.5, "yes": 4}},
        lambda: np.where(YES[:, 0], 4, 0.5) * -np.log(p_yes()),
    ),
    ("multiclass", {"name": "cross_entropy"}, lambda: -log_softmax()[np.arange(4), IDS[:, 0]]),
    ("multiclass", {"label_smoothing": 0.1}, lambda: smoothed_classes(0.1)),
    ("multiclass", {"name": "focal", "gamma": 3}, lambda: (1 - p_true()) ** 3 * -np.log(p_true())),
    (
        "multiclass",
        {"class_weights": {"c": 5}},
        lambda: np.where(IDS[:, 0] == 2, 5, 1) * -log_softmax()[np.arange(4), IDS[:, 0]],
    ),
    ("multilabel", {}, lambda: each_class().mean(1)),
    ("multilabel", {"name": "focal"}, lambda: ((1 - np.exp(-each_class())) ** 2 * each_class()).mean(1)),
    (
        "multilabel",
        {"name": "focal", "gamma": 0, "alpha": 0.3},
        lambda: (np.where(HAS, 0.3, 0.7) * each_class()).mean(1),
    ),
    (
        "multilabel",
        {"label_smoothing": 0.2},
        lambda: (0.9 * each_class() + 0.1 * np.log1p(np.exp(np.where(HAS == 1, LOGITS, -LOGITS)))).mean(1),
    ),
    (
        "multilabel",
        {"class_weights": {"b": 4}},
        lambda: (np.where(HAS * [0, 1, 0], 4, 1) * each_class()).mean(1),
    ),
    ("regression", {}, lambda: ((NUMBERS - GUESSES) ** 2)[:, 0]),
    ("regression", {"name": "mae"}, lambda: np.abs(NUMBERS - GUESSES)[:, 0]),
    ("regression", {"name": "huber"}, lambda: huber(1)),
    ("regression", {"name": "huber", "delta": 2.5}, lambda: huber(2.5)),
    ("regression", {"name": "quantile"}, lambda: np.abs(NUMBERS - GUESSES)[:, 0] / 2),
    ("regression", {"name": "quantile", "quantile": 0.9}, lambda: pinball(0.9)),
]


def made(task, options):
    plan, config = small_plan(task), LossConfig(**options)
    return learning.loss(plan, config, learning.class_weights(config, plan, ()))


@pytest.mark.parametrize(
    ("task", "options", "formula"), CASES, ids=lambda each: "" if callable(each) else str(each)[:50]
)
def test_is_its_formula(task, options, formula):
    labels, outputs = {
        "binary": (YES, ONE_LOGIT),
        "multiclass": (IDS, LOGITS),
        "multilabel": (HAS, LOGITS),
        "regression": (NUMBERS, GUESSES),
    }[task]
    loss = made(task, options)
    expected = formula()
    labels = tf.constant(labels, tf.float32 if task == "regression" else tf.int64)
    for dtype in (tf.float32, tf.float64):
        given = loss(labels, tf.constant(outputs, dtype))
        assert given.dtype == tf.float32
        assert float(given) == pytest.approx(expected.mean(), rel=1e-5)
    weighed = float(loss(labels, tf.constant(outputs, tf.float32), WEIGHTS.astype(np.float32)))
    assert weighed == pytest.approx((expected * WEIGHTS[:, 0]).mean(), rel=1e-5)
    twin = type(loss).from_config(loss.get_config())
    assert float(twin(labels, tf.constant(outputs, tf.float32))) == pytest.approx(expected.mean(), rel=1e-5)


@pytest.mark.parametrize("options", [{"name": "focal"}, {"name": "focal", "gamma": 0.5}, {}])
def test_a_sure_model_has_a_gradient_that_is_a_number(options):
    for task, labels, outputs in (
        ("binary", [[1], [0]], [[200.0], [200.0]]),
        ("multiclass", [[0], [1]], [[200.0, -200, 0]] * 2),
        ("multilabel", [[0, 1, 1], [1, 0, 0]], [[200.0, -200, 0]] * 2),
    ):
        logits = tf.constant(outputs)
        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = made(task, options)(tf.constant(labels, tf.int64), logits)
        assert np.isfinite(float(value))
        assert np.isfinite(tape.gradient(value, logits).numpy()).all()


def write_labels(folder, ids):
    files = []
    for name, part in (("a", ids[:5]), ("b", ids[5:])):
        files.append(str(folder / f"{name}.gz"))
        writer = ShardWriter(files[-1])
        feature = [tf.train.Feature(int64_list=tf.train.Int64List(value=np.ravel(i))) for i in part]
        writer.write(
            [
                tf.train.Example(features=tf.train.Features(feature={"y_xf": f})).SerializeToString()
                for f in feature
            ]
        )
        writer.close()
    return files


def test_balanced_weights_are_computed_from_the_train_rows(tmp_path):
    files = write_labels(tmp_path, [0] * 6 + [2] * 2 + [1] * 4)
    found = learning.class_weights(LossConfig(class_weights="balanced"), small_plan("multiclass"), files)
    assert found == pytest.approx([12 / (3 * 6), 12 / (3 * 4), 12 / (3 * 2)])


def test_a_class_without_train_rows_leaves_the_balance_of_the_others(tmp_path):
    files = write_labels(tmp_path, [0] * 9 + [1] * 3)
    found = learning.class_weights(LossConfig(class_weights="balanced"), small_plan("multiclass"), files)
    assert found == pytest.approx([12 / (2 * 9), 12 / (2 * 3), 1.0])


def test_balanced_weights_of_several_labels_make_up_for_the_rows_without_each(tmp_path):
    files = write_labels(tmp_path, [[1, 0, 1]] * 3 + [[0, 0, 1]] * 7 + [[0, 0, 0]] * 2)
    found = learning.class_weights(LossConfig(class_weights="balanced"), small_plan("multilabel"), files)
    # No row has the second class, so there is nothing to weigh.
    assert found == pytest.approx([9 / 3, 1.0, 2 / 10])


def test_a_class_that_is_not_there():
    config = LossConfig(class_weights={"maybe": 2.0})
    with pytest.raises(UserError, match="there is no class 'maybe'; the classes are 'no', 'yes'"):
        learning.class_weights(config, small_plan(), ())


def test_classes_that_yaml_reads_as_something_else():
    assert LossConfig(class_weights={0: 1, True: 2.5}).class_weights == {"0": 1.0, "true": 2.5}


@pytest.mark.parametrize(
    ("task", "options", "said"),
    [
        ("binary", {"name": "mse"}, "mse is no loss for task binary: choose cross_entropy, focal"),
        ("regression", {"name": "focal"}, "focal is no loss for task regression: choose mse, mae, huber"),
        ("regression", {"class_weights": "balanced"}, "need classes; the task is regression"),
        ("multiclass", {"name": "focal", "alpha": 0.25}, "for more of them use class_weights"),
    ],
)
def test_a_loss_that_does_not_fit_the_task(task, options, said):
    with pytest.raises(UserError, match=said):
        made(task, options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"name": "focal", "label_smoothing": 0.1},
            "label_smoothing is for name: cross_entropy, not for focal",
        ),
        ({"gamma": 1}, "gamma is for name: focal"),
        ({"name": "mse", "delta": 1}, "delta is for name: huber, not for mse"),
        (
            {"name": "mae", "class_weights": "balanced"},
            "class_weights needs classes; mae is a loss of numbers",
        ),
        ({"name": "quantile", "quantile": 1}, "less than 1"),
        ({"class_weights": {"yes": -1}}, "greater than or equal to 0"),
    ],
)
def test_refused(options, said):
    with pytest.raises(ValidationError, match=said):
        LossConfig(**options)
