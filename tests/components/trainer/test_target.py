"""A label that is a number of any size is learned as well as one around 0, and so are its quantiles."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from executors import run_steps

STEPS = ("ExampleGen", "StatisticsGen", "SchemaGen", "Transform", "Trainer")
ROWS = 900
QUANTILES = [0.1, 0.5, 0.9]

pytestmark = pytest.mark.slow


@pytest.fixture
def houses(tmp_path):
    """Prices in the hundred thousands; the larger the house, the less certain its price."""
    deal = np.random.default_rng(5)
    area = deal.uniform(40, 240, ROWS)
    price = 900_000 + 3_000 * area + 400 * area * deal.normal(size=ROWS)
    path = tmp_path / "houses.csv"
    path.write_text("area,price\n" + "".join(f"{a:.2f},{p:.0f}\n" for a, p in zip(area, price)))
    return path


def run(houses, *steps, **train):
    import keras  # noqa: F401  before tensorflow_transform, as in a step's process

    return run_steps(
        houses,
        "price",
        *STEPS,
        *steps,
        model={"architecture": "mlp", "hidden": [16]},
        train={"epochs": 30, "batch_size": 32, **train},
    )


def answers(made, areas):
    import tensorflow as tf
    from tfx.utils import path_utils

    path = path_utils.serving_model_path(made["model"].uri)
    model = tf.saved_model.load(path)
    given = model.signatures["serving_raw"](area=tf.constant(areas, tf.float32))
    about = json.loads((Path(path) / "assets.extra" / "headrace.json").read_text())
    return {name: tensor.numpy() for name, tensor in given.items()}, about


def test_large_numbers_are_learned(houses):
    made = run(houses, "Evaluator")
    given, about = answers(made, [60.0, 200.0])
    assert given["predictions"] == pytest.approx([1_080_000, 1_500_000], rel=0.02)
    assert set(given) == {"predictions"}
    assert "quantiles" not in about
    # Training tells rmse in the label's units and the loss in its standard deviations.
    said = made["model"].get_string_custom_property("summary")
    loss, rmse = (float(said.split(f"{name} ")[1].split()[0].rstrip(",")) for name in ("loss", "rmse"))
    assert 0.0 < loss < 0.3
    assert 40_000 < rmse < 80_000
    verdict = made["blessing"].get_string_custom_property("reason")
    assert verdict.startswith("blessed: rmse ")
    assert "(always the mean 1" in verdict  # about 180,000


def test_several_quantiles(houses):
    made = run(houses, loss={"name": "quantile", "quantile": QUANTILES}, epochs=60)
    areas = np.linspace(50, 230, 50)
    given, about = answers(made, areas)
    assert about["quantiles"] == QUANTILES
    quantiles = given["quantiles"]
    assert quantiles.shape == (50, 3)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    np.testing.assert_array_equal(given["predictions"], quantiles[:, 1])
    # 1.2816 standard deviations on either side, which grow with the house.
    expected = 400 * areas * 1.2816 * 2
    width = quantiles[:, 2] - quantiles[:, 0]
    assert np.median(np.abs(width / expected - 1)) < 0.25
    assert width[-10:].mean() > 1.8 * width[:10].mean()
