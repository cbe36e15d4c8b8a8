"""Images: encoded files as pixels of one size."""

from __future__ import annotations

import sys

import tensorflow as tf

from components.transform.columns import as_text
from components.transform.config import ImageFeature
from components.transform.plan import FeaturePlan, ModelInput, input_name

_PNG = b"\x89PNG"
# What the pixels of a batch may take: transformed, each is an int64.
_BATCH_BYTES, _PIXEL_BYTES = 64 << 20, 8
_WHITE = 255.0
# ITU-R BT.601, which JPEG uses.
_LUMA = (0.299, 0.587, 0.114)


def most_rows(plan: FeaturePlan) -> int:
    """How many rows at a time keep their decoded images within bounds."""
    shapes = [feature.config.shape for feature in plan.used if isinstance(feature.config, ImageFeature)]
    values = sum(height * width * channels for height, width, channels in shapes)
    return max(1, _BATCH_BYTES // (_PIXEL_BYTES * values)) if values else sys.maxsize


def image_input(name: str, config: ImageFeature) -> ModelInput:
    """The pixels, 0 to 255."""
    shape = config.shape
    return ModelInput(name=input_name(name), length=shape[0] * shape[1] * shape[2], image=shape)


def image(column: tf.SparseTensor, config: ImageFeature) -> tf.Tensor:
    """Pixels 0 to 255, int64 [batch, height * width * channels]; all 0 where no image can be decoded.

    Decoding is a tf.data pipeline inside the graph: only there may one element fail without the rest.
    """
    encoded = as_text(column)
    height, width, channels = config.shape
    length = height * width * channels
    rows = tf.shape(encoded, tf.int64)[0]

    def decode(row: tf.Tensor, file: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        pixels = _resize(_decode(file, channels), height, width)
        return row, tf.reshape(pixels, [length])

    decoded = (
        tf.data.Dataset.from_tensor_slices((tf.range(rows), encoded))
        .map(decode, num_parallel_calls=tf.data.AUTOTUNE)
        .ignore_errors()
    )
    # One row more, so that there is always one, however many cannot be decoded.
    nothing = tf.data.Dataset.from_tensors((rows, tf.zeros([length], tf.uint8)))
    found, pixels = decoded.concatenate(nothing).batch(rows + 1).get_single_element()
    placed = tf.scatter_nd(found[:, None], pixels, tf.stack([rows + 1, length]))
    return tf.ensure_shape(tf.cast(placed[:-1], tf.int64), [None, length])


def _decode(file: tf.Tensor, channels: int) -> tf.Tensor:
    """Float32 [height, width, channels]; what is transparent lies on white, as in ingest."""
    pixels = tf.cond(
        tf.equal(tf.strings.substr(file, 0, len(_PNG)), _PNG),
        lambda: _on_white(tf.io.decode_png(file, channels=4)),
        lambda: tf.cast(tf.io.decode_image(file, channels=3, expand_animations=False), tf.float32),
    )
    if channels == 1:
        pixels = tf.reduce_sum(pixels * tf.constant(_LUMA), axis=2, keepdims=True)
    return tf.ensure_shape(pixels, [None, None, channels])


def _on_white(pixels: tf.Tensor) -> tf.Tensor:
    colours = tf.cast(pixels[:, :, :3], tf.float32)
    opaque = tf.cast(pixels[:, :, 3:], tf.float32) / _WHITE
    return colours * opaque + _WHITE * (1.0 - opaque)


def _resize(pixels: tf.Tensor, height: int, width: int) -> tf.Tensor:
    """Uint8 [height, width, channels]: bilinear, over all pixels that one stands for when it gets smaller."""
    size = tf.shape(pixels)[:2]
    pixels = tf.cond(
        tf.reduce_all(tf.equal(size, [height, width])),
        lambda: pixels,
        lambda: tf.image.resize(pixels, [height, width], antialias=True),
    )
    return tf.cast(tf.clip_by_value(tf.round(pixels), 0.0, _WHITE), tf.uint8)
