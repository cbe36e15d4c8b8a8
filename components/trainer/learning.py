"""What makes a model learn: optimizer, schedule, loss and metrics."""

from __future__ import annotations

import math

import keras

from components.trainer.config import LearningRateConfig, TrainConfig
from components.transform.plan import FeaturePlan


def steps_of_an_epoch(rows: int, batch_size: int, most_at_once: int) -> tuple[int, int]:
    """How many steps see every row, and how many of them go into one call into TensorFlow.

    Keras makes whole calls only, so the steps are a multiple of those of a call.
    """
    needed = max(1, math.ceil(rows / batch_size))
    calls = math.ceil(needed / most_at_once)
    at_once = math.ceil(needed / calls)
    return calls * at_once, at_once


def learning_rate(
    config: LearningRateConfig, steps: int
) -> float | keras.optimizers.schedules.LearningRateSchedule:
    """The rate over the steps of the whole run."""
    if config.schedule == "constant":
        return config.peak
    warmup = min(config.warmup_steps, steps - 1)
    return keras.optimizers.schedules.CosineDecay(
        0.0 if warmup else config.peak,
        decay_steps=max(1, steps - warmup),
        warmup_target=config.peak if warmup else None,
        warmup_steps=warmup,
    )


def optimizer(config: TrainConfig, steps: int) -> keras.optimizers.Optimizer:
    """The optimizer of the config, with its schedule."""
    rate = learning_rate(config.learning_rate, steps)
    chosen = config.optimizer
    if chosen.name == "adamw":
        return keras.optimizers.AdamW(rate, weight_decay=chosen.weight_decay)
    if chosen.name == "adam":
        return keras.optimizers.Adam(rate)
    if chosen.name == "rmsprop":
        return keras.optimizers.RMSprop(rate, momentum=chosen.momentum)
    return keras.optimizers.SGD(rate, momentum=chosen.momentum)


def loss(plan: FeaturePlan, *, soft_labels: bool = False) -> keras.losses.Loss:
    """The task's loss on logits.

    Args:
      soft_labels: labels are [batch, classes] probabilities rather than [batch, 1] ids.
    """
    if plan.label.task == "binary":
        return keras.losses.BinaryCrossentropy(from_logits=True)
    if soft_labels:
        return keras.losses.CategoricalCrossentropy(from_logits=True)
    if plan.label.task == "multiclass":
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return keras.losses.MeanSquaredError()


def compiled_metrics(
    plan: FeaturePlan, *, soft_labels: bool = False
) -> dict[str, list[keras.metrics.Metric]]:
    """The metrics as `compile` takes them: weighted where the rows are."""
    return {"weighted_metrics" if plan.weight else "metrics": metrics(plan, soft_labels=soft_labels)}


def metrics(plan: FeaturePlan, *, soft_labels: bool = False) -> list[keras.metrics.Metric]:
    """What is followed on the eval split while training."""
    if plan.label.task == "binary":
        return [keras.metrics.AUC(from_logits=True, name="auc")]
    if soft_labels:
        return [keras.metrics.CategoricalAccuracy(name="accuracy")]
    if plan.label.task == "multiclass":
        return [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]
    return [keras.metrics.RootMeanSquaredError(name="rmse")]
