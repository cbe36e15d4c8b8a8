"""Raw columns as the kinds take them: SparseTensors with at most one value a row, made dense."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def dense(column: tf.SparseTensor, default: Any) -> tf.Tensor:
    """[batch, 1], with `default` where a row has no value."""
    single = tf.SparseTensor(column.indices, column.values, [column.dense_shape[0], 1])
    return tf.reshape(tf.sparse.to_dense(single, default), [-1, 1])


def as_text(column: tf.SparseTensor) -> tf.Tensor:
    """String [batch], empty where a row has no value; numbers as they are written."""
    values = column.values if column.dtype == tf.string else tf.strings.as_string(column.values)
    return dense(tf.SparseTensor(column.indices, values, column.dense_shape), "")[:, 0]


def as_float(column: tf.SparseTensor) -> tf.Tensor:
    """Float32 [batch, 1], NaN where a row has no value."""
    values = tf.cast(column.values, tf.float32)
    return dense(tf.SparseTensor(column.indices, values, column.dense_shape), float("nan"))
