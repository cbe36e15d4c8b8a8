"""Token ids, int64 [n, length], padded with 0 at the end: some left out, some swapped."""

from __future__ import annotations

import tensorflow as tf

from components.trainer.config import AugmentConfig


def augment_tokens(ids: tf.Tensor, config: AugmentConfig, seed: tf.Tensor) -> tf.Tensor:
    """The tokens after what the config asks for, in the same shape."""
    seeds = tf.random.experimental.stateless_split(seed, 3)
    shape = tf.shape(ids)
    if config.token_swap:
        odd = tf.random.stateless_uniform([shape[0], 1], seeds[0], 0, 2, dtype=tf.int32)
        swaps = tf.random.stateless_uniform(shape, seeds[1]) < config.token_swap
        ids = swap(ids, odd, swaps)
    if config.token_drop:
        ids = drop(ids, tf.random.stateless_uniform(shape, seeds[2]), config.token_drop)
    return ids


def drop(ids: tf.Tensor, lots: tf.Tensor, below: float) -> tf.Tensor:
    """Leaves out the tokens whose lot is below the number; those behind move up. Of a text one token stays.

    Args:
      lots: 0 to 1, [n, length].
    """
    there = ids != 0
    highest = tf.reduce_max(tf.where(there, lots, -1.0), axis=1, keepdims=True)
    stays = there & ((lots >= below) | (lots == highest))
    order = tf.argsort(tf.cast(~stays, tf.int32), stable=True)
    return tf.gather(tf.where(stays, ids, 0), order, batch_dims=1)


def swap(ids: tf.Tensor, odd: tf.Tensor, swaps: tf.Tensor) -> tf.Tensor:
    """Neighbours change places: tokens 0 and 1, 2 and 3, ... or, where `odd` is 1, 1 and 2, 3 and 4, ...

    Args:
      odd: 0 or 1, [n, 1].
      swaps: at the place of the pair's first token whether it is swapped, [n, length].
    """
    length = ids.shape[1]
    places = tf.range(length)[None, :]
    is_first = tf.equal(tf.math.floormod(places - odd, 2), 0)
    other = tf.where(is_first, places + 1, places - 1)
    inside = (other >= 0) & (other < length)
    other = tf.where(inside, other, places)
    asked = tf.gather(swaps, tf.minimum(places, other), batch_dims=1)
    both = inside & (ids != 0) & (tf.gather(ids, other, batch_dims=1) != 0)
    return tf.gather(ids, tf.where(both & asked, other, tf.broadcast_to(places, tf.shape(ids))), batch_dims=1)
