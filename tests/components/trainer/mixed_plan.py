"""Plans of chosen kinds of inputs, made by hand, with rows for them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf
from small_plan import small_plan

from components.trainer.model_inputs import model_inputs
from components.transform.plan import FeaturePlan, ModelInput

NUMBER = ModelInput(name="miles_xf")
CATEGORY = ModelInput(name="zone_xf", size=6)
WORDS = ModelInput(name="note_xf", size=6, length=5)
IMAGE = ModelInput(name="picture_xf", image=(8, 8, 3), length=8 * 8 * 3)
ALL_KINDS = (NUMBER, CATEGORY, WORDS, IMAGE)


def plan_of(*inputs: ModelInput, task: Any = "binary") -> FeaturePlan:
    """A plan whose model gets these."""
    return small_plan(task).model_copy(update={"own": inputs})


def rows_of(plan: FeaturePlan, count: int = 8, seed: int = 0) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
    """Rows by lot, each sequence followed by some padding, the last one of nothing else."""
    deal = np.random.default_rng(seed)
    transformed = {}
    for tensor in plan.inputs:
        shape = (count, tensor.length)
        if tensor.image:
            values = deal.integers(0, 256, shape)
        elif tensor.length > 1 and tensor.size:
            there = np.arange(tensor.length) < deal.integers(1, tensor.length, (count, 1))
            values = deal.integers(1, tensor.size, shape) * there
            values[-1] = 0
        elif tensor.size:
            values = deal.integers(0, tensor.size, shape)
        else:
            values = deal.normal(size=shape).astype(np.float32)
        transformed[tensor.name] = tf.constant(values)
    if plan.label.task == "regression":
        label = deal.normal(size=(count, 1)).astype(np.float32)
    else:
        label = deal.permutation(np.resize(np.arange(len(plan.label.classes)), count))[:, None]
    return model_inputs(plan, transformed), tf.constant(label)


def images(height: int, width: int, channels: int) -> ModelInput:
    """An image input of this size."""
    return ModelInput(
        name="picture_xf", image=(height, width, channels), length=math.prod((height, width, channels))
    )
