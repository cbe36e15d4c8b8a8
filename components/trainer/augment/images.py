"""Images, uint8 [n, height, width, channels]: moved, turned and recoloured, each by its own lot."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from components.trainer.config import AugmentConfig

# Luma of red, green and blue (ITU-R BT.601).
_LUMA = (0.299, 0.587, 0.114)


def augment_image(images: tf.Tensor, config: AugmentConfig, seed: tf.Tensor) -> tf.Tensor:
    """The images after what the config asks for, in the same shape and dtype."""
    seeds = tf.random.experimental.stateless_split(seed, 8)
    count = tf.shape(images)[0]
    height, width, channels = images.shape[1:]

    def draw(which: int, most: float) -> tf.Tensor:
        return tf.random.stateless_uniform([count], seeds[which], -most, most)

    def whole(which: int, most: int) -> tf.Tensor:
        lots = tf.random.stateless_uniform([count], seeds[which], -most, most + 1, dtype=tf.int32)
        return tf.cast(lots, tf.float32)

    def sign(which: int, wanted: bool) -> tf.Tensor:
        return tf.where(draw(which, 1.0) < 0, -1.0, 1.0) if wanted else tf.ones([count])

    if config.bends_images:
        bent = transforms(
            height,
            width,
            flip_x=sign(0, config.flip in ("horizontal", "both")),
            flip_y=sign(1, config.flip in ("vertical", "both")),
            shift_x=whole(2, config.crop) + whole(3, round(config.translate * width)),
            shift_y=whole(4, config.crop) + whole(5, round(config.translate * height)),
            degrees=draw(6, config.rotate),
        )
        images = bend(images, bent, smooth=config.rotate > 0)
    color = config.color
    if color.brightness or color.contrast or (color.saturation and channels == 3):
        lots = tf.random.stateless_uniform([3, count], seeds[7], -1.0, 1.0)
        images = recolor(
            images,
            brightness=lots[0] * color.brightness,
            contrast=1 + lots[1] * color.contrast,
            saturation=1 + lots[2] * color.saturation if color.saturation and channels == 3 else None,
        )
    return images


def transforms(
    height: int,
    width: int,
    *,
    flip_x: Any,
    flip_y: Any,
    shift_x: Any,
    shift_y: Any,
    degrees: Any,
) -> tf.Tensor:
    """Flip, then turn about the centre, then shift, as one projective transform [n, 8] an image.

    It takes a place in the result to the place in the image whose pixel comes there, as
    `tf.raw_ops.ImageProjectiveTransformV3` has it.

    Args:
      flip_x, flip_y: -1 for mirrored, 1 for not; [n] as all that follow.
      shift_x, shift_y: where the result's corner is cut out, in pixels; black comes from beyond the edge.
      degrees: counter-clockwise.
    """
    x, y = (width - 1) / 2, (height - 1) / 2
    radians = degrees * (3.141592653589793 / 180)
    sine, cosine = tf.sin(radians), tf.cos(radians)
    right, down = shift_x - x, shift_y - y
    nothing = tf.zeros_like(sine)
    return tf.stack(
        [
            flip_x * cosine,
            -flip_x * sine,
            x + flip_x * (cosine * right - sine * down),
            flip_y * sine,
            flip_y * cosine,
            y + flip_y * (sine * right + cosine * down),
            nothing,
            nothing,
        ],
        axis=1,
    )


def bend(images: tf.Tensor, by: tf.Tensor, *, smooth: bool) -> tf.Tensor:
    """The images under their transforms; `smooth` blends neighbours where a place is between pixels."""
    given = tf.cast(images, tf.float32) if smooth else images
    bent = tf.raw_ops.ImageProjectiveTransformV3(
        images=given,
        transforms=by,
        output_shape=tf.shape(images)[1:3],
        fill_value=0.0,
        interpolation="BILINEAR" if smooth else "NEAREST",
        fill_mode="CONSTANT",
    )
    bent = tf.ensure_shape(bent, images.shape)
    return as_pixels(bent) if smooth else bent


def recolor(images: tf.Tensor, *, brightness: Any, contrast: Any, saturation: Any = None) -> tf.Tensor:
    """Saturation, then contrast, then brightness.

    `x = grey + s (x - grey)`, `x = mean + c (x - mean)` with the mean of each channel, `x = x + 255 b`.

    Args:
      brightness: b, -1 to 1, [n].
      contrast, saturation: c and s, 1 for as it was, [n]; saturation None: leave it.
    """
    values = tf.cast(images, tf.float32)

    def each(lots: Any) -> tf.Tensor:
        return tf.reshape(lots, [-1, 1, 1, 1])

    if saturation is not None:
        grey = tf.reduce_sum(values * tf.constant(_LUMA), axis=3, keepdims=True)
        values = grey + each(saturation) * (values - grey)
    mean = tf.reduce_mean(values, axis=(1, 2), keepdims=True)
    return as_pixels(mean + each(contrast) * (values - mean) + 255 * each(brightness))


def as_pixels(values: tf.Tensor) -> tf.Tensor:
    """Rounded, and cut to 0 to 255."""
    return tf.cast(tf.round(tf.clip_by_value(values, 0.0, 255.0)), tf.uint8)
