"""The input pipeline: transformed TFRecords into batches, parsed in large vectorised calls."""

from __future__ import annotations

import tensorflow as tf

from components.trainer.model_inputs import model_inputs
from components.transform.plan import FeaturePlan

Features = dict[str, tf.Tensor]
# Model inputs, labels, and weights where the rows have them, as Keras takes them.
Rows = tuple[Features, tf.Tensor] | tuple[Features, tf.Tensor, tf.Tensor]

# Compressed bytes up to which the rows are kept in memory, parsed. Parsed rows take about ten times as much.
MEMORY_LIMIT = 256 << 20
_PARSE_ROWS = 4096
_SHUFFLE_ROWS = 200_000
_READ_BUFFER = 8 << 20


def feature_spec(plan: FeaturePlan) -> dict[str, tf.io.FixedLenFeature]:
    """How the transformed examples parse: every model input [length], the label and the weight [1]."""
    spec = {tensor.name: tf.io.FixedLenFeature([tensor.length], tensor.dtype) for tensor in plan.inputs}
    dtype = tf.float32 if plan.label.task == "regression" else tf.int64
    spec[plan.label_input] = tf.io.FixedLenFeature([1], dtype)
    if plan.weight_input:
        spec[plan.weight_input] = tf.io.FixedLenFeature([1], tf.float32)
    return spec


def _records(files: list[str]) -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices(files).interleave(
        lambda file: tf.data.TFRecordDataset(file, compression_type="GZIP", buffer_size=_READ_BUFFER),
        cycle_length=4,
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=True,
    )


def _parse(records: tf.data.Dataset, plan: FeaturePlan, rows: int) -> tf.data.Dataset:
    spec = feature_spec(plan)

    def parse(serialized: tf.Tensor) -> Rows:
        features = tf.io.parse_example(serialized, spec)
        label = features.pop(plan.label_input)
        inputs = model_inputs(plan, features)
        if plan.weight_input:
            weight = features.pop(plan.weight_input)
            return inputs, label, weight
        return inputs, label

    return records.batch(rows).map(parse, num_parallel_calls=tf.data.AUTOTUNE)


def load(files: list[str], plan: FeaturePlan) -> Rows:
    """All rows in memory: one tensor a model input [rows, length], the labels and weights [rows, 1]."""
    parts = list(_parse(_records(files), plan, _PARSE_ROWS))
    return tf.nest.map_structure(lambda *tensors: tf.concat(tensors, 0), *parts)


def count(files: list[str]) -> int:
    """How many rows the files hold."""
    return sum(len(block) for block in _records(files).batch(_PARSE_ROWS).as_numpy_iterator())


def batches_in_memory(rows: Rows, *, batch_size: int, steps: int, seed: int) -> tf.data.Dataset:
    """Endless shuffled batches of rows in memory: indices are shuffled, rows are gathered a batch at a time.

    Endless, because a dataset that ends makes Keras run its optimizer once too often in each epoch.
    Of the batches of an epoch, `steps` of them, all are full: what is missing after every row, rows
    by lot fill up.
    """
    rows_in_all = int(rows[1].shape[0])
    shuffled = tf.data.Dataset.range(rows_in_all).shuffle(rows_in_all, seed=seed)
    again = tf.data.Dataset.range(rows_in_all).shuffle(rows_in_all, seed=seed + 1).repeat()

    def gather(index: tf.Tensor) -> Rows:
        return tf.nest.map_structure(lambda tensor: tf.gather(tensor, index), rows)

    return (
        shuffled.concatenate(again.take(steps * batch_size - rows_in_all))
        .batch(batch_size)
        .repeat()
        .map(gather, num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )


def batches_from_files(files: list[str], plan: FeaturePlan, *, batch_size: int, seed: int) -> tf.data.Dataset:
    """Endless shuffled batches of rows that do not fit in memory; they are parsed anew each epoch."""
    shuffled = _records(files).shuffle(_SHUFFLE_ROWS, seed=seed).repeat()
    return _parse(shuffled, plan, batch_size).prefetch(tf.data.AUTOTUNE)
