"""Raw columns as the kinds take them: SparseTensors, made dense."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def dense(column: tf.SparseTensor, default: Any) -> tf.Tensor:
    """[batch, 1], with `default` where a row has no value."""
    single = tf.SparseTensor(column.indices, column.values, [column.dense_shape[0], 1])
    return tf.reshape(tf.sparse.to_dense(single, default), [-1, 1])


def as_texts(column: tf.SparseTensor) -> tf.SparseTensor:
    """The values as strings: numbers as they are written; NaN and infinity as "", which is missing."""
    values = column.values
    if column.dtype == tf.float32:
        values = tf.where(tf.math.is_finite(values), tf.strings.as_string(values), "")
    elif column.dtype != tf.string:
        values = tf.strings.as_string(values)
    return tf.SparseTensor(column.indices, values, column.dense_shape)


def as_text(column: tf.SparseTensor, fill: str = "") -> tf.Tensor:
    """String [batch]; `fill` where a row has no value, or one that is missing."""
    text = dense(as_texts(column), "")[:, 0]
    return tf.where(tf.equal(text, ""), fill, text) if fill else text


def as_float(column: tf.SparseTensor) -> tf.Tensor:
    """Float32 [batch, 1], NaN where a row has no value."""
    values = tf.cast(column.values, tf.float32)
    return dense(tf.SparseTensor(column.indices, values, column.dense_shape), float("nan"))


def finite(values: tf.Tensor) -> tf.Tensor:
    """Infinity as NaN, which is missing: ingest leaves neither in the rows that train a model."""
    return tf.where(tf.math.is_finite(values), values, float("nan"))


def padded(column: tf.SparseTensor, length: int, default: Any) -> tf.Tensor:
    """The first values of each row, [batch, length], with `default` where there are fewer."""
    first = column.indices[:, 1] < length
    kept = tf.SparseTensor(
        tf.boolean_mask(column.indices, first),
        tf.boolean_mask(column.values, first),
        tf.stack([column.dense_shape[0], length]),
    )
    return tf.ensure_shape(tf.sparse.to_dense(kept, default), [None, length])


def log_count(column: tf.SparseTensor) -> tf.Tensor:
    """log(1 + n) of the number of values, float32 [batch, 1]."""
    ones = tf.ones_like(column.indices[:, 0], tf.float32)
    rows = tf.cast(column.dense_shape[0], tf.int64)
    return log1p(tf.math.unsorted_segment_sum(ones, column.indices[:, 0], rows))[:, None]


def log1p(values: tf.Tensor) -> tf.Tensor:
    """log(1 + x), float32, the same whatever batch a value stands in.

    In float32 TensorFlow's vectorised logarithm and the one for the rest of a batch differ in the last bit.
    """
    return tf.cast(tf.math.log1p(tf.cast(values, tf.float64)), tf.float32)
