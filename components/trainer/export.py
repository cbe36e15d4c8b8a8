"""Export a trained model with the transform inside, for requests that hold raw columns.

Signatures:
  serving_default: `examples`, serialized tf.Examples, string [n]; any column may be left out.
  serving_raw: one tensor for each raw column the model uses, for plain JSON: [n], and [n, most] for a column
    of lists, filled up with what stands for a missing value.
  transform_features: `examples` to the transformed features, label and weight, for TFMA.
"""

from __future__ import annotations

import functools
from typing import Any

import keras
import tensorflow as tf
import tensorflow_transform as tft
from tensorflow_transform.saved import saved_transform_io_v2

from components import manifest
from components.served_names import input_names
from components.trainer.model_inputs import model_inputs
from components.trainer.target import central, in_units
from components.transform.plan import FeaturePlan

# A dense int64 tensor has no value that means missing, so the lowest does.
MISSING_INT64 = tf.int64.min
FORMAT = 1
# Nothing here branches on tensors in Python, and AutoGraph would rewrite all of Keras to find that out.
_function = functools.partial(tf.function, autograph=False)


class _Served(tf.Module):
    """The model with everything that a request needs."""

    def __init__(self, model: keras.Model, plan: FeaturePlan, transform: tft.TFTransformOutput) -> None:
        super().__init__()
        # A Keras model as an attribute would be saved, and loaded, with a signature and objects of its own.
        self._call = lambda inputs: model(inputs, training=False)
        self._weights = [weight.value for weight in model.variables]
        self._tables = [
            each
            for each in tf.train.TrackableView(model).descendants()
            if isinstance(each, tf.saved_model.experimental.TrackableResource)
        ]
        self._plan = plan
        # What transform_features_layer() holds, without that layer: it is a Keras 2 model, and saving
        # one of those takes longer than training on a small table.
        loader = saved_transform_io_v2.SavedModelLoader(transform.transform_savedmodel_dir)
        self._transform = loader.apply_transform_model
        # The vocabularies are in what the loader loaded, and a module saves what its attributes hold.
        self._loaded = vars(loader)
        raw = transform.raw_feature_spec()
        self._columns = {name: raw[name] for name in plan.columns}
        self._known_later = {name: raw[name] for name in plan.known_later}

    def _answer(self, columns: dict[str, tf.SparseTensor]) -> dict[str, tf.Tensor]:
        transformed = self._transform(columns)
        logits = self._call(model_inputs(self._plan, transformed))
        if self._plan.label.task == "regression":
            return self._numbers(in_units(logits, self._plan.label))
        names = tf.constant(self._plan.label.classes)
        classes = tf.tile(names[None, :], [tf.shape(logits)[0], 1])
        if self._plan.label.task == "multilabel":
            probabilities = tf.sigmoid(logits)
            # Names of as many classes as each row has would be a ragged answer, which no signature can give.
            predicted = tf.cast(probabilities >= 0.5, tf.int64)
            return {"probabilities": probabilities, "classes": classes, "predicted": predicted}
        if self._plan.label.task == "binary":
            positive = tf.sigmoid(logits)
            probabilities = tf.concat([1.0 - positive, positive], axis=1)
        else:
            probabilities = tf.nn.softmax(logits)
        return {
            "probabilities": probabilities,
            "classes": classes,
            "predicted_class": tf.gather(names, tf.argmax(probabilities, axis=1)),
        }

    def _numbers(self, numbers: tf.Tensor) -> dict[str, tf.Tensor]:
        label = self._plan.label
        if not label.quantiles:
            return {"predictions": tf.reshape(numbers, [-1])}
        # Each quantile is learned by itself, and in order they are no worse (Chernozhukov et al. 2010).
        numbers = tf.sort(numbers, axis=1)
        return {"predictions": tf.reshape(central(numbers, label), [-1]), "quantiles": numbers}

    def signatures(self) -> dict[str, Any]:
        """The concrete functions; as a module's attributes they would be saved, and loaded, a second time."""

        def serving_default(examples: tf.Tensor) -> dict[str, tf.Tensor]:
            return self._answer(tf.io.parse_example(examples, self._columns))

        def transform_features(examples: tf.Tensor) -> dict[str, tf.Tensor]:
            return self._transform(tf.io.parse_example(examples, {**self._columns, **self._known_later}))

        names = input_names(self._columns)

        def serving_raw(**tensors: tf.Tensor) -> dict[str, tf.Tensor]:
            return self._answer({column: _present(tensors[name]) for column, name in names.items()})

        examples = tf.TensorSpec([None], tf.string, name="examples")
        raw = {
            names[column]: tf.TensorSpec(
                [None, None] if column in self._plan.lists else [None], feature.dtype, name=names[column]
            )
            for column, feature in self._columns.items()
        }
        return {
            "serving_default": _function(serving_default).get_concrete_function(examples),
            "serving_raw": _function(serving_raw).get_concrete_function(**raw),
            "transform_features": _function(transform_features).get_concrete_function(examples),
        }


def _present(tensor: tf.Tensor) -> tf.SparseTensor:
    """[n] or [n, most] with missing markers to a SparseTensor [n, 1] or [n, most] without them."""
    if tensor.dtype == tf.string:
        there = tf.not_equal(tensor, "")
    elif tensor.dtype == tf.int64:
        there = tf.not_equal(tensor, MISSING_INT64)
    else:
        there = tf.logical_not(tf.math.is_nan(tensor))
    if tensor.shape.rank == 2:
        return tf.ragged.boolean_mask(tensor, there).to_sparse()
    rows = tf.where(there)
    shape = tf.stack([tf.size(tensor, tf.int64), 1])
    return tf.SparseTensor(tf.pad(rows, [[0, 0], [0, 1]]), tf.gather_nd(tensor, rows), shape)


def export(
    model: keras.Model, plan: FeaturePlan, transform: tft.TFTransformOutput, name: str, folder: str
) -> None:
    """Saves the model as a SavedModel with its signatures and a description in assets.extra/headrace.json."""
    served = _Served(model, plan, transform)
    tf.saved_model.save(served, folder, signatures=served.signatures())
    description: dict[str, Any] = {
        "format": FORMAT,
        "name": name,
        "task": plan.label.task,
        "label": plan.label.name,
        "label_type": plan.label.type,
        "label_input": plan.label_input,
        "features": {name: plan.types[name] for name in plan.columns},
    }
    if plan.weight:
        description["weight_input"] = plan.weight.input
    if plan.label.classes:
        description["classes"] = list(plan.label.classes)
    if plan.label.quantiles:
        description["quantiles"] = list(plan.label.quantiles)
    manifest.write(folder, description)
