"""A small plan made by hand, with rows for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from components.label import LabelSpec
from components.transform.config import CategoryFeature, NumericFeature
from components.transform.plan import FeaturePlan, ModelInput, PlannedFeature

_CLASSES = {
    "binary": ("no", "yes"),
    "multiclass": ("a", "b", "c"),
    "multilabel": ("a", "b", "c"),
    "regression": (),
}


def small_plan(task: Any = "binary") -> FeaturePlan:
    """Two numbers and a category of 6 ids."""
    text = task != "regression"
    return FeaturePlan(
        label=LabelSpec(name="y", type="text" if text else "float", task=task, classes=_CLASSES[task]),
        label_input="y_xf",
        features=tuple(
            PlannedFeature(
                name=name,
                type="text" if size else "float",
                config=CategoryFeature() if size else NumericFeature(),
                why="declared",
                inputs=(ModelInput(name=f"{name}_xf", size=size),),
            )
            for name, size in (("miles", 0), ("fare", 0), ("zone", 6))
        ),
        types={"miles": "float", "fare": "float", "zone": "text", "y": "text" if text else "float"},
    )


def small_rows(count: int, task: str = "binary", seed: int = 0) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
    """Rows in which all inputs tell something of the label."""
    deal = np.random.default_rng(seed)
    miles, fare = deal.normal(size=(2, count, 1)).astype(np.float32)
    zone = deal.integers(0, 6, (count, 1))
    score = miles - 0.5 * fare + 0.5 * (zone - 2.5)
    labels = {
        "binary": (score > 0).astype(np.int64),
        "multiclass": np.digitize(score, [-0.7, 0.7]),
        "multilabel": (score > np.array([-0.7, 0.0, 0.7])).astype(np.int64),
        "regression": score.astype(np.float32),
    }[task]
    features = {"miles_xf": miles, "fare_xf": fare, "zone_xf": zone}
    return {name: tf.constant(values) for name, values in features.items()}, tf.constant(labels)
