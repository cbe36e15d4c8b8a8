"""What makes a model learn, each in a file of its own, and how many steps make an epoch."""

from __future__ import annotations

import math

from components.trainer.losses import class_weights, loss
from components.trainer.metrics import compiled_metrics, metrics
from components.trainer.optimizers import optimizer
from components.trainer.schedules import learning_rate

__all__ = [
    "class_weights",
    "compiled_metrics",
    "learning_rate",
    "loss",
    "metrics",
    "optimizer",
    "steps_of_an_epoch",
]


def steps_of_an_epoch(rows: int, batch_size: int, most_at_once: int) -> tuple[int, int]:
    """How many steps see every row, and how many of them go into one call into TensorFlow.

    Keras makes whole calls only, so the steps are a multiple of those of a call.
    """
    needed = max(1, math.ceil(rows / batch_size))
    calls = math.ceil(needed / most_at_once)
    at_once = math.ceil(needed / calls)
    return calls * at_once, at_once
