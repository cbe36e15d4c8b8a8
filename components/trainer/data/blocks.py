"""Files of examples, transformed or to be transformed now, as blocks of parsed rows."""

from __future__ import annotations

import math

import tensorflow as tf

from components.trainer.model_inputs import model_inputs
from components.transform.on_the_fly import reader
from components.transform.plan import FeaturePlan

Features = dict[str, tf.Tensor]
# Model inputs, labels, and weights where the rows have them, as Keras takes them.
Rows = tuple[Features, tf.Tensor] | tuple[Features, tf.Tensor, tf.Tensor]

_MOST_ROWS = 4096
# What the rows of a block may take while they are parsed, when pixels are 8 bytes each.
_BLOCK_BYTES = 32 << 20
_READ_BUFFER = 8 << 20
_FILES_AT_ONCE = 8


def feature_spec(plan: FeaturePlan) -> dict[str, tf.io.FixedLenFeature]:
    """How the transformed examples parse: each model input [length], the label [width] and the weight [1]."""
    spec = {tensor.name: tf.io.FixedLenFeature([tensor.length], tensor.dtype) for tensor in plan.inputs}
    dtype = tf.float32 if plan.label.task == "regression" else tf.int64
    spec[plan.label_input] = tf.io.FixedLenFeature([plan.label.width], dtype)
    if plan.weight_input:
        spec[plan.weight_input] = tf.io.FixedLenFeature([1], tf.float32)
    return spec


def row_bytes(plan: FeaturePlan) -> int:
    """What a parsed row takes in memory: 1 byte a pixel, 8 an id or a label's value, 4 a number."""
    inputs = sum(tensor.length * tf.as_dtype(tensor.model_dtype).size for tensor in plan.inputs)
    return inputs + 8 * plan.label.width + (4 if plan.weight_input else 0)


def rows_a_block(plan: FeaturePlan) -> int:
    """Rows that are parsed in one call: few where they are large, as images are."""
    inputs = sum(tensor.length * tf.as_dtype(tensor.dtype).size for tensor in plan.inputs)
    while_parsed = inputs + 8 * plan.label.width
    return max(1, min(_MOST_ROWS, _BLOCK_BYTES // while_parsed))


def _records(files: list[str]) -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices(files).interleave(
        lambda file: tf.data.TFRecordDataset(file, compression_type="GZIP", buffer_size=_READ_BUFFER),
        cycle_length=min(_FILES_AT_ONCE, max(1, len(files))),
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=True,
    )


def blocks(files: list[str], plan: FeaturePlan) -> tf.data.Dataset:
    """The rows of the files, parsed, `rows_a_block` at a time; the last block may be smaller."""
    read = reader(plan, feature_spec(plan))

    def parse(serialized: tf.Tensor) -> Rows:
        features = read(serialized)
        label = features.pop(plan.label_input)
        inputs = model_inputs(plan, features)
        if plan.weight_input:
            weight = features.pop(plan.weight_input)
            return inputs, label, weight
        return inputs, label

    return _records(files).batch(rows_a_block(plan)).map(parse, num_parallel_calls=tf.data.AUTOTUNE)


def count(files: list[str]) -> int:
    """How many rows the files hold."""
    lengths = _records(files).batch(_MOST_ROWS).map(lambda block: tf.size(block, tf.int64))
    return int(lengths.reduce(tf.constant(0, tf.int64), lambda total, length: total + length))


def with_exact_size(dataset: tf.data.Dataset, rows: int, plan: FeaturePlan) -> tf.data.Dataset:
    """Tells tf.data how many blocks there are, without which Keras must find out."""
    return dataset.apply(tf.data.experimental.assert_cardinality(math.ceil(rows / rows_a_block(plan))))
