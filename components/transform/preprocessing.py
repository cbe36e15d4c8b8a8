"""The preprocessing_fn of a feature plan.

Each raw column comes as a SparseTensor with at most one value a row; whatever a row lacks is
missing, and so is NaN. What is learned, is learned from the values that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf
import tensorflow_transform as tft

from components.label import LabelSpec
from components.transform.config import BooleanFeature, CategoryFeature, NumericFeature
from components.transform.numeric import numeric_outputs
from components.transform.plan import FeaturePlan, ModelInput, bucket_name, input_name
from components.transform.vocabularies import size as vocabulary_size
from components.transform.vocabularies import vocabularies


def sized(plan: FeaturePlan, output: tft.TFTransformOutput) -> FeaturePlan:
    """The plan with what only the analysis can tell: how many ids each category has."""
    features = []
    for feature in plan.features:
        config = feature.config
        inputs: tuple[ModelInput, ...] = ()
        if isinstance(config, CategoryFeature):
            # Id 0 is a missing value.
            ids = 1 + vocabulary_size(output, feature.name) + config.oov
            inputs = (ModelInput(name=input_name(feature.name), size=ids),)
        elif isinstance(config, NumericFeature):
            inputs = (ModelInput(name=input_name(feature.name)),)
            if config.buckets:
                # The last bucket is a missing value.
                inputs += (ModelInput(name=bucket_name(feature.name), size=config.buckets + 1),)
        elif config.kind == "boolean":
            inputs = (ModelInput(name=input_name(feature.name)),)
        features.append(feature.model_copy(update={"inputs": inputs}))
    return plan.model_copy(update={"features": tuple(features)})


def preprocessing_fn(plan: FeaturePlan) -> Callable[[Mapping[str, Any]], dict[str, tf.Tensor]]:
    """The function that tf.Transform turns into a graph: raw columns to model inputs [batch, 1]."""

    def preprocess(inputs: Mapping[str, tf.SparseTensor]) -> dict[str, tf.Tensor]:
        outputs = numeric_outputs(
            {
                feature.name: (inputs[feature.name], feature.config)
                for feature in plan.used
                if isinstance(feature.config, NumericFeature)
            }
        )
        outputs |= _category_outputs(
            {
                feature.name: (inputs[feature.name], feature.config)
                for feature in plan.used
                if isinstance(feature.config, CategoryFeature)
            }
        )
        for feature in plan.used:
            if isinstance(feature.config, BooleanFeature):
                outputs[input_name(feature.name)] = _yes_or_no(inputs[feature.name])
        outputs[plan.label_input] = _label(inputs[plan.label.name], plan.label)
        return outputs

    return preprocess


def _dense(column: tf.SparseTensor, default: Any) -> tf.Tensor:
    """[batch, 1] with `default` where a row has no value."""
    single = tf.SparseTensor(column.indices, column.values, [column.dense_shape[0], 1])
    return tf.reshape(tf.sparse.to_dense(single, default), [-1, 1])


def _yes_or_no(column: tf.SparseTensor) -> tf.Tensor:
    value = _dense(
        tf.SparseTensor(column.indices, tf.cast(column.values, tf.float32), column.dense_shape), 0.5
    )
    return tf.where(tf.math.is_nan(value), 0.5, value)


def _category_outputs(
    columns: Mapping[str, tuple[tf.SparseTensor, CategoryFeature]],
) -> dict[str, tf.Tensor]:
    """Ids, int64 [batch, 1]: 0 is missing, then the vocabulary, then the buckets of what is outside it."""
    dense = {name: (_as_text(column), config) for name, (column, config) in columns.items()}
    outputs = {}
    for name, path in vocabularies(dense).items():
        text, config = dense[name]
        ids = 1 + tft.apply_vocabulary(text, path, num_oov_buckets=config.oov)
        outputs[input_name(name)] = tf.where(tf.equal(text, ""), tf.constant(0, tf.int64), ids)[:, None]
    return outputs


def _as_text(column: tf.SparseTensor) -> tf.Tensor:
    """[batch], empty where a row has no value."""
    values = column.values if column.dtype == tf.string else tf.strings.as_string(column.values)
    return _dense(tf.SparseTensor(column.indices, values, column.dense_shape), "")[:, 0]


def _label(column: tf.SparseTensor, label: LabelSpec) -> tf.Tensor:
    """The class's id as int64, or the number as float32; -1 for a class that is not known."""
    if label.task == "regression":
        return _dense(
            tf.SparseTensor(column.indices, tf.cast(column.values, tf.float32), column.dense_shape), 0.0
        )
    known: Any
    if label.type == "boolean":
        known = tf.constant([0, 1], tf.int64)
    elif label.type == "integer":
        known = tf.constant([int(name) for name in label.classes], tf.int64)
    elif label.type == "float":
        known = tf.constant([float(name) for name in label.classes], tf.float32)
    else:
        known = tf.constant(label.classes, tf.string)
    match = tf.equal(column.values[:, None], known[None, :])
    ids = tf.where(tf.reduce_any(match, 1), tf.argmax(tf.cast(match, tf.int32), 1), -1)
    return _dense(tf.SparseTensor(column.indices, ids, column.dense_shape), tf.constant(-1, tf.int64))
