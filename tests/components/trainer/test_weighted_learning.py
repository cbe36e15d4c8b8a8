"""Loss and metrics while training weigh the rows, whatever the task."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.label import LabelSpec
from components.trainer import learning
from components.transform.plan import FeaturePlan, RowWeight

pytestmark = pytest.mark.slow

WEIGHTS = np.array([[0.0], [1.0], [3.0], [0.5]], np.float32)


def measured(
    task: str, classes: tuple[str, ...], outputs: list[list[float]], labels: list
) -> dict[str, float]:
    plan = FeaturePlan(
        label=LabelSpec(name="y", type="text", task=task, classes=classes),
        label_input="y_xf",
        features=(),
        types={},
        weight=RowWeight(column="w", input="w_xf", mean=1.0),
    )
    given = keras.Input((len(outputs[0]),), name="x")
    model = keras.Model({"x": given}, keras.layers.Identity()(given))
    model.compile("sgd", learning.loss(plan), **learning.compiled_metrics(plan))
    kind = np.float32 if task == "regression" else np.int64
    told = np.array(labels, kind).reshape(len(labels), -1)
    rows = ({"x": np.array(outputs, np.float32)}, told, WEIGHTS)
    return model.evaluate(tf.data.Dataset.from_tensor_slices(rows).batch(4), return_dict=True, verbose=0)


def test_binary() -> None:
    found = measured("binary", ("no", "yes"), [[9.0], [1.0], [2.0], [-1.0]], [0, 1, 0, 1])
    losses = np.log1p(np.exp(-np.array([-9.0, 1.0, -2.0, -1.0])))
    assert found["loss"] == pytest.approx((losses * WEIGHTS[:, 0]).sum() / 4, rel=1e-4)
    # Of the pairs of a yes and a no the model ranks none right, but for the one whose weight is 0.
    assert found["auc"] == pytest.approx(0.0, abs=1e-4)


def test_multiclass() -> None:
    outputs = [[9.0, 0, 0], [9.0, 0, 0], [0, 9.0, 0], [0, 0, 9.0]]
    found = measured("multiclass", ("a", "b", "c"), outputs, [1, 0, 0, 2])
    assert found["accuracy"] == pytest.approx((1.0 + 0.5) / 4.5, rel=1e-4)


def test_multilabel() -> None:
    outputs = [[9.0, 9.0], [2.0, -1.0], [-3.0, 1.0], [1.0, -2.0]]
    found = measured("multilabel", ("a", "b"), outputs, [[0, 0], [1, 1], [0, 0], [0, 0]])
    losses = np.log1p(np.exp([[9.0, 9.0], [-2.0, 1.0], [-3.0, 1.0], [1.0, -2.0]])).mean(1)
    assert found["loss"] == pytest.approx((losses * WEIGHTS[:, 0]).sum() / 4, rel=1e-4)
    assert found["accuracy"] == pytest.approx((1 * 0.5 + 3 * 0.5 + 0.5 * 0.5) / 4.5, rel=1e-4)
    # Of a every pair counts and is in order; of b the one whose weight is 3 is not, the one with 0.5 is.
    assert found["auc"] == pytest.approx((1 + 0.5 / 3.5) / 2, abs=1e-3)


def test_regression() -> None:
    found = measured("regression", (), [[9.0], [1.0], [2.0], [3.0]], [0, 1, 4, 4])
    assert found["rmse"] == pytest.approx(((3 * 4 + 0.5 * 1) / 4.5) ** 0.5, rel=1e-4)
