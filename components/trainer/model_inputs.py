"""What the model gets, from what Transform wrote: the same in training, evaluation and serving."""

from __future__ import annotations

from collections.abc import Mapping

import keras
import tensorflow as tf

from components.transform.plan import FeaturePlan


def model_inputs(plan: FeaturePlan, transformed: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Transformed features [batch, length] as the model gets them: pixels as uint8 [batch, h, w, c]."""
    inputs = {}
    for tensor in plan.inputs:
        values = transformed[tensor.name]
        if tensor.image:
            values = tf.reshape(tf.cast(values, tf.uint8), (-1, *tensor.image))
        inputs[tensor.name] = values
    return inputs


def keras_inputs(plan: FeaturePlan) -> dict[str, keras.KerasTensor]:
    """The symbolic inputs of a functional model."""
    return {
        tensor.name: keras.Input(tensor.model_shape, name=tensor.name, dtype=tensor.model_dtype)
        for tensor in plan.inputs
    }
