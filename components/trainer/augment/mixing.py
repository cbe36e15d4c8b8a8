"""Two rows blended into one, their labels too: mixup (Zhang et al. 2018) and cutmix (Yun et al. 2019)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from components.trainer.augment.images import as_pixels
from components.trainer.config import AugmentConfig
from components.trainer.data import Rows
from components.transform.plan import FeaturePlan


def with_soft_labels(plan: FeaturePlan) -> Callable[..., Rows]:
    """What turns the labels of rows, class ids [n, 1], into probabilities, float32 [n, classes]."""
    classes = len(plan.label.classes)

    def soften(inputs: Any, label: tf.Tensor, *weight: tf.Tensor) -> Rows:
        return inputs, tf.one_hot(label[:, 0], classes), *weight

    return soften


def mix(rows: Rows, config: AugmentConfig, plan: FeaturePlan, seed: tf.Tensor) -> Rows:
    """Each row blended with another of the batch, its partner, which is drawn like the shares."""
    seeds = tf.random.experimental.stateless_split(seed, 6)
    count = tf.shape(rows[1])[0]
    lots = tf.random.stateless_uniform([count], seeds[0])
    partner = tf.argsort(lots, stable=True)
    if plan.label.task == "multiclass":
        rows = with_soft_labels(plan)(*rows)

    def blend() -> Rows:
        return mixup(rows, beta(count, config.mixup, seeds[1]), partner)

    def paste() -> Rows:
        centre = tf.random.stateless_uniform([2, count], seeds[3])
        return cutmix(rows, beta(count, config.cutmix, seeds[2]), centre, partner)

    if config.mixup and config.cutmix:
        return tf.cond(tf.random.stateless_uniform([], seeds[4]) < 0.5, blend, paste)
    return blend() if config.mixup else paste()


def beta(count: tf.Tensor, a: float, seed: tf.Tensor) -> tf.Tensor:
    """Lots [count] from Beta(a, a): X / (X + Y) of two from Gamma(a)."""
    lots = tf.random.stateless_gamma([2, count], seed, alpha=a)
    # A small `a` makes both so small that float32 has only 0 for them.
    return tf.math.divide_no_nan(lots[0], lots[0] + lots[1])


def mixup(rows: Rows, share: tf.Tensor, partner: tf.Tensor) -> Rows:
    """`share` of the row and `1 - share` of its partner, of every input that is pixels or numbers.

    Args:
      share: [n].
      partner: index of another row, [n].
    """

    def blend(values: tf.Tensor) -> tf.Tensor:
        own = tf.reshape(share, [-1] + [1] * (values.shape.rank - 1))
        mixed = tf.cast(values, tf.float32)
        mixed = own * mixed + (1 - own) * tf.gather(mixed, partner)
        return as_pixels(mixed) if values.dtype == tf.uint8 else mixed

    return {name: blend(values) for name, values in rows[0].items()}, *_labels(rows, share, partner)


def cutmix(rows: Rows, share: tf.Tensor, centre: tf.Tensor, partner: tf.Tensor) -> Rows:
    """A box of the partner's image in the row's, of `1 - share` of its area, less what lies beyond the edge.

    Args:
      share: [n].
      centre: of the box, y and x as shares of height and width, [2, n].
      partner: index of another row, [n].
    """
    ((name, images),) = rows[0].items()
    height, width = images.shape[1:3]
    side = tf.sqrt(1 - share)
    inside_y = _within(height, centre[0], side)
    inside_x = _within(width, centre[1], side)
    box = inside_y[:, :, None] & inside_x[:, None, :]
    mixed = tf.where(box[..., None], tf.gather(images, partner), images)
    left = 1 - tf.reduce_mean(tf.cast(box, tf.float32), axis=(1, 2))
    return {name: mixed}, *_labels(rows, left, partner)


def _within(length: int, centre: tf.Tensor, side: tf.Tensor) -> tf.Tensor:
    """Which places of an axis a box covers, [n, length]."""
    middle, half = tf.floor(centre * length), side * length / 2
    places = tf.range(length, dtype=tf.float32)[None, :]
    # Half away from zero upwards, so that a box keeps its side wherever it lies.
    low, high = tf.floor(middle - half + 0.5)[:, None], tf.floor(middle + half + 0.5)[:, None]
    return (places >= low) & (places < high)


def _labels(rows: Rows, share: tf.Tensor, partner: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """The blended labels and weights: such that the loss is the blend of both rows' weighted losses."""
    own, label = share[:, None], tf.cast(rows[1], tf.float32)
    if len(rows) == 2:
        return (own * label + (1 - own) * tf.gather(label, partner),)
    first, second = own * rows[2], (1 - own) * tf.gather(rows[2], partner)
    weight = first + second
    return tf.math.divide_no_nan(first * label + second * tf.gather(label, partner), weight), weight
