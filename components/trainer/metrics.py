"""What is followed on the eval split while training."""

from __future__ import annotations

from typing import Any

import keras

from components.label import LabelSpec
from components.trainer.target import central, in_units
from components.transform.plan import FeaturePlan


def compiled_metrics(
    plan: FeaturePlan, *, soft_labels: bool = False
) -> dict[str, list[keras.metrics.Metric]]:
    """The metrics as `compile` takes them: weighted where the rows are."""
    return {"weighted_metrics" if plan.weight else "metrics": metrics(plan, soft_labels=soft_labels)}


def metrics(plan: FeaturePlan, *, soft_labels: bool = False) -> list[keras.metrics.Metric]:
    """The task's metrics, on logits.

    Args:
      soft_labels: labels are [batch, classes] probabilities rather than [batch, 1] ids.
    """
    if plan.label.task == "binary":
        return [keras.metrics.AUC(from_logits=True, name="auc")]
    if plan.label.task == "multilabel":
        classes = len(plan.label.classes)
        return [
            # The mean of the classes' own.
            keras.metrics.AUC(multi_label=True, num_labels=classes, from_logits=True, name="auc"),
            keras.metrics.MeanMetricWrapper(_right_classes, name="accuracy"),
        ]
    if soft_labels:
        return [keras.metrics.CategoricalAccuracy(name="accuracy")]
    if plan.label.task == "multiclass":
        return [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]
    return [Rmse(plan.label)]


class Rmse(keras.metrics.RootMeanSquaredError):
    """Of the predictions, in the label's units, where the model answers in standard deviations."""

    def __init__(self, label: LabelSpec) -> None:
        super().__init__(name="rmse")
        self._label = label

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        return super().update_state(
            y_true, in_units(central(y_pred, self._label), self._label), sample_weight
        )


def _right_classes(y_true: Any, y_pred: Any) -> Any:
    """Of each row, the share of the classes that its logits, 0 or more for a yes, are right of."""
    right = keras.ops.equal(y_pred >= 0.0, keras.ops.cast(y_true, "float32") >= 0.5)
    return keras.ops.mean(keras.ops.cast(right, "float32"), axis=-1)
