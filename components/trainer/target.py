"""A label that is a number, as the model meets it: around 0, of about 1.

Models begin with answers near 0 and learn in steps of a size; of prices in the hundred thousands they would
never hear. So the model answers z, and what is predicted is mean + spread * z, with the mean and the standard
deviation of the label over train.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from components.label import LabelSpec
from components.moments import Moments
from components.records import read_serialized
from components.trainer.config import LossConfig
from components.transform.on_the_fly import reader
from components.transform.plan import FeaturePlan


def with_target(plan: FeaturePlan, loss: LossConfig, train_files: Sequence[str]) -> FeaturePlan:
    """The plan with the scale of a label that is a number, and the quantiles that are asked for."""
    if plan.label.task != "regression":
        return plan
    mean, spread = _scale(plan, train_files)
    found = {"mean": mean, "spread": spread, "quantiles": loss.quantiles if loss.name == "quantile" else ()}
    return plan.model_copy(update={"label": plan.label.model_copy(update=found)})


def _scale(plan: FeaturePlan, files: Sequence[str]) -> tuple[float, float]:
    """Mean and standard deviation of the label over all rows of the files."""
    read = reader(plan, {plan.label_input: tf.io.FixedLenFeature([1], tf.float32)})
    found = Moments()
    for file in files:
        for serialized in read_serialized(file):
            found = found.plus(Moments.of(read(tf.constant(serialized))[plan.label_input].numpy()))
    return found.mean, found.deviation or 1.0


def central(answers: Any, label: LabelSpec) -> Any:
    """Of the model's answers [batch, units] the one that is the prediction, [batch, 1].

    Of several quantiles it is that nearest to the median.
    """
    nearest = min(range(len(label.quantiles)), key=lambda i: abs(label.quantiles[i] - 0.5), default=0)
    return answers[:, nearest : nearest + 1]


def in_units(answers: Any, label: LabelSpec) -> Any:
    """The model's answers in the label's own units."""
    return label.mean + label.spread * answers
