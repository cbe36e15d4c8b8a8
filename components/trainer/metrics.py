"""What is followed on the eval split while training."""

from __future__ import annotations

import keras

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
    if soft_labels:
        return [keras.metrics.CategoricalAccuracy(name="accuracy")]
    if plan.label.task == "multiclass":
        return [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]
    return [keras.metrics.RootMeanSquaredError(name="rmse")]
