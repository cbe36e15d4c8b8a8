"""The user's preprocessing_fn, instead of the plan's or on top of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
import tensorflow_transform as tft

from components.errors import UserError
from components.transform.columns import dense
from components.transform.plan import FeaturePlan, ModelInput
from components.transform.preprocessing import Columns, apply, known_later, preprocess, sized

_WHERE = "transform.function"


class Plan:
    """What the user's function gets to know.

    Attributes:
      features: the planned features, each with name, type, kind and why.
      label: the label's name, task and classes.
    """

    def __init__(self, plan: FeaturePlan) -> None:
        self._plan = plan
        self.features, self.label = plan.features, plan.label

    def apply(self, inputs: Columns) -> dict[str, tf.Tensor]:
        """The model inputs that the plan makes, to add to or to change."""
        return apply(self._plan, inputs)

    @staticmethod
    def dense(column: tf.SparseTensor, default: Any) -> tf.Tensor:
        """A column as [batch, 1], with `default` where a row has no value."""
        return dense(column, default)


def preprocessing_fn(
    plan: FeaturePlan, own: Callable[[Columns, Plan], dict[str, Any]] | None
) -> Callable[[Columns], dict[str, tf.Tensor]]:
    """The function that tf.Transform analyses: the plan's, or the user's with label and weight added."""
    if own is None:
        return lambda inputs: preprocess(plan, inputs)
    function = own

    def with_known_later(inputs: Columns) -> dict[str, tf.Tensor]:
        raw = {name: column for name, column in inputs.items() if name not in plan.known_later}
        outputs = function(raw, Plan(plan))
        for name, tensor in outputs.items():
            _check(name, tensor)
        return {**outputs, **known_later(plan, inputs)}

    return with_known_later


def _check(name: str, tensor: Any) -> None:
    fine = isinstance(tensor, tf.Tensor) and tensor.dtype in (tf.float32, tf.int64) and tensor.shape.rank == 2
    if not fine or tensor.shape[1] is None:
        raise UserError(
            f"output {name!r} is {tensor!r}; expected float32 or int64 of shape [batch, length]",
            where=_WHERE,
            fix="make it dense with plan.dense(column, default), of a fixed length, and cast it",
        )


def with_own_inputs(plan: FeaturePlan, output: tft.TFTransformOutput) -> FeaturePlan:
    """The plan with the model inputs that the user's function makes, as the transformed data describes them.

    Raises:
      UserError: for ids whose number is not known.
    """
    domains = {
        feature.name: feature.int_domain
        for feature in output.transformed_metadata.schema.feature
        if feature.HasField("int_domain")
    }
    # What the function took over from the plan is what it is there: ids of so many, or pixels.
    planned = {tensor.name: tensor for tensor in _planned(plan, output)}
    inputs = []
    for name, spec in output.transformed_feature_spec().items():
        if name in (plan.label_input, plan.weight_input):
            continue
        length = spec.shape[0] if spec.shape else 1
        if name in planned and (planned[name].dtype, planned[name].length) == (spec.dtype.name, length):
            inputs.append(planned[name])
            continue
        size = 0
        if spec.dtype == tf.int64:
            if name not in domains:
                raise UserError(
                    f"output {name!r} is int64, and nobody knows how many ids there are",
                    where=_WHERE,
                    fix="cast it to float32, or make it with tft.apply_vocabulary or tft.apply_buckets",
                )
            size = domains[name].max + 1
        inputs.append(ModelInput(name=name, size=size, length=length))
    return plan.model_copy(update={"own": tuple(inputs)})


def _planned(plan: FeaturePlan, output: tft.TFTransformOutput) -> tuple[ModelInput, ...]:
    try:
        return sized(plan, output).inputs
    except tf.errors.NotFoundError:  # without plan.apply there are no vocabularies
        return ()
