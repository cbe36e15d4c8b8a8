"""Rows that are kept in memory: indices are shuffled, and a batch is gathered at a time."""

from __future__ import annotations

import math

import tensorflow as tf

from components.trainer.data.blocks import Rows, blocks, row_bytes
from components.transform.plan import FeaturePlan


def load(files: list[str], plan: FeaturePlan, limit: int | None = None) -> Rows | None:
    """All rows: one tensor a model input [rows, ...], the labels [rows, width] and weights [rows, 1].

    Args:
      limit: None when they take more bytes than this, found out without holding more.
    """
    parts: list[Rows] = []
    size, held = row_bytes(plan), 0
    for part in blocks(files, plan).prefetch(1):
        held += int(part[1].shape[0]) * size
        if limit is not None and held > limit:
            return None
        parts.append(part)
    return tf.nest.map_structure(lambda *tensors: tf.concat(tensors, 0), *parts)


def batches_in_memory(
    rows: Rows, *, batch_size: int, steps: int, seed: int, first_epoch: int = 0
) -> tf.data.Dataset:
    """Endless shuffled batches of rows in memory.

    Endless, because a dataset that ends makes Keras run its optimizer once too often in each epoch.
    Of the batches of an epoch, `steps` of them, all are full: what is missing after every row, rows
    by lot fill up.

    Args:
      first_epoch: the number of the epoch to begin with; the batches of an epoch do not depend on it.
    """
    rows_in_all = int(rows[1].shape[0])
    rounds = math.ceil(steps * batch_size / rows_in_all)

    def indices(epoch: tf.Tensor) -> tf.data.Dataset:
        lots = tf.random.stateless_uniform(
            [rounds, rows_in_all], [seed, epoch], minval=None, maxval=None, dtype=tf.int32
        )
        order = tf.reshape(tf.argsort(lots, stable=True), [-1])[: steps * batch_size]
        return tf.data.Dataset.from_tensor_slices(tf.reshape(order, [steps, batch_size]))

    def gather(index: tf.Tensor) -> Rows:
        return tf.nest.map_structure(lambda tensor: tf.gather(tensor, index), rows)

    return (
        tf.data.Dataset.range(first_epoch, tf.int64.max)
        .flat_map(indices)
        .map(gather, num_parallel_calls=tf.data.AUTOTUNE)
    )
