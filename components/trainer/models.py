"""The architectures, in Keras's functional API: model inputs in, logits out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from components import user_code
from components.errors import UserError
from components.trainer.config import ModelConfig
from components.trainer.model_inputs import keras_inputs
from components.transform.plan import FeaturePlan

_MOST_EMBEDDING_UNITS = 32
Builder = Callable[[FeaturePlan, ModelConfig], keras.Model]


class Embedding(keras.layers.Embedding):
    """An embedding whose gradient sums the rows that a batch uses more than once.

    Keras hands the optimizer one gradient row for each use, and Adam and its kin square each by
    itself; the sum of the rows is what the loss's gradient is. A multiplication in the way makes
    TensorFlow sum them.
    """

    def call(self, inputs: Any) -> Any:
        table = self.embeddings * 1.0
        return keras.ops.cast(keras.ops.take(table, inputs, axis=0), self.compute_dtype)


class OverTokens(keras.layers.Layer):
    """Reduces the vectors of a row's ids to one: `[batch, length, units]` to `[batch, units]`.

    Args:
      how: "mean" or "sum". In sequences 0 is padding and does not count; a row of nothing else gives 0.
    """

    def __init__(self, how: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._how = how

    def call(self, ids: Any, vectors: Any) -> Any:
        if ids.shape[1] == 1:
            return keras.ops.squeeze(vectors, 1)
        there = keras.ops.cast(keras.ops.not_equal(ids, 0), vectors.dtype)[:, :, None]
        total = keras.ops.sum(vectors * there, axis=1)
        if self._how == "sum":
            return total
        return total / keras.ops.maximum(keras.ops.sum(there, axis=1), 1)


def output_units(plan: FeaturePlan) -> int:
    """Logits of the model: one for two classes and for a number, else one a class."""
    return len(plan.label.classes) if plan.label.task == "multiclass" else 1


def builder(config: ModelConfig, code_uri: str) -> Builder:
    """What builds the model: the user's function, where the config names one, else `build`."""
    if not config.build:
        return build
    function = user_code.load(code_uri, config.build, ("plan", "config"))

    def checked(plan: FeaturePlan, config: ModelConfig) -> keras.Model:
        model = function(plan, config)
        _check(model, plan, config.build or "")
        return model

    return checked


def _check(model: Any, plan: FeaturePlan, where: str) -> None:
    if not isinstance(model, keras.Model):
        raise UserError(f"returned {type(model).__name__}, expected a keras.Model", where=where)
    units = output_units(plan)
    shape = getattr(model, "output_shape", None) if getattr(model, "outputs", None) else (None, units)
    if shape != (None, units):
        raise UserError(
            f"the model's output has shape {shape}, expected (None, {units})",
            where=where,
            fix=f"end it with Dense({units}) and no activation: logits for task {plan.label.task}",
        )


def build(plan: FeaturePlan, config: ModelConfig) -> keras.Model:
    """The model of the config: a dict of [batch, length] tensors to float32 logits [batch, units]."""
    inputs = keras_inputs(plan)
    numbers = [inputs[tensor.name] for tensor in plan.inputs if not tensor.size]
    ids = [(tensor, inputs[tensor.name]) for tensor in plan.inputs if tensor.size]
    units = output_units(plan)

    embedded = [
        OverTokens("mean", name=f"mean_{i}")(
            x, Embedding(t.size, _embedding_units(t.size), name=f"embedding_{i}")(x)
        )
        for i, (t, x) in enumerate(ids)
    ]
    hidden = _join(numbers + embedded)
    for i, width in enumerate(config.hidden):
        hidden = keras.layers.Dense(
            width, activation=config.activation, kernel_initializer=config.initializer, name=f"hidden_{i}"
        )(hidden)
        if config.dropout:
            hidden = keras.layers.Dropout(config.dropout, name=f"dropout_{i}")(hidden)
    # float32, so that a low-precision policy does not round the loss.
    logits = [keras.layers.Dense(units, dtype="float32", name="deep")(hidden)]
    if config.architecture == "wide_deep":
        if numbers:
            wide = keras.layers.Dense(units, use_bias=False, dtype="float32", name="wide_numbers")
            logits.append(wide(_join(numbers)))
        for i, (t, x) in enumerate(ids):
            weights = Embedding(
                t.size, units, embeddings_initializer="zeros", dtype="float32", name=f"wide_{i}"
            )
            logits.append(OverTokens("sum", dtype="float32", name=f"wide_sum_{i}")(x, weights(x)))
    total = keras.layers.Add(dtype="float32", name="logits")(logits) if len(logits) > 1 else logits[0]
    return keras.Model(inputs, total, name=config.architecture)


def _embedding_units(size: int) -> int:
    """Six times the fourth root of the number of ids, at most 32 (Google's rule of thumb)."""
    return min(_MOST_EMBEDDING_UNITS, max(1, round(6 * size**0.25)))


def _join(tensors: list[Any]) -> Any:
    return keras.layers.Concatenate()(tensors) if len(tensors) > 1 else tensors[0]
