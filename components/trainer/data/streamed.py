"""Rows that are not kept in memory: blocks are shuffled, then the rows of a window of blocks."""

from __future__ import annotations

import math

import tensorflow as tf

from components.trainer.data.blocks import Rows

# The lots that an epoch draws: the order of blocks, that of rows within a window, and what fills up.
_BLOCKS, _WITHIN, _FILL = range(3)
# Blocks are skipped by reading them.
_MOST_SKIPPED = 64


def batches_from_blocks(
    parsed: tf.data.Dataset,
    *,
    rows: int,
    block_rows: int,
    window_rows: int,
    batch_size: int,
    steps: int,
    seed: int,
    first_epoch: int = 0,
) -> tf.data.Dataset:
    """Endless shuffled batches of rows that are read anew in each epoch; `steps` of them are an epoch.

    No row is handled by itself: the order of the blocks is drawn, then that of the rows within each
    window of `window_rows`. About twice that many rows are in memory. Of the batches of an epoch all
    are full: after every row, rows of a place by lot come once more.

    Args:
      parsed: blocks of `block_rows` rows, the same ones in each epoch.
      first_epoch: the number of the epoch to begin with; the batches of an epoch do not depend on it.
    """
    missing = steps * batch_size - rows
    blocks = math.ceil(rows / block_rows)
    at_once = max(1, min(blocks, window_rows // block_rows))

    def one_epoch(epoch: tf.Tensor) -> tf.data.Dataset:
        seeds = tf.random.stateless_uniform([3], [seed, epoch], minval=None, maxval=None, dtype=tf.int64)

        def shuffled(window: tf.Tensor, values: Rows) -> Rows:
            here = tf.shape(values[1])[0]
            lots = tf.random.stateless_uniform(
                [here], [seeds[_WITHIN], window], minval=None, maxval=None, dtype=tf.int32
            )
            order = tf.argsort(lots, stable=True)
            return tf.nest.map_structure(lambda tensor: tf.gather(tensor, order), values)

        mixed = (
            parsed.shuffle(at_once, seed=seeds[_BLOCKS], reshuffle_each_iteration=False)
            .rebatch(max(window_rows, batch_size))
            .enumerate()
            .map(shuffled)
        )
        if missing > 0:
            first = tf.math.floormod(seeds[_FILL], min(blocks, _MOST_SKIPPED))
            # One more, since the last block may be a small one.
            mixed = mixed.concatenate(parsed.repeat().skip(first).take(missing // block_rows + 2))
        return mixed.rebatch(batch_size, drop_remainder=True).take(steps)

    return tf.data.Dataset.range(first_epoch, tf.int64.max).flat_map(one_epoch)
