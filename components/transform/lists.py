"""Columns of which a row has several values: numbers, or values of a set."""

from __future__ import annotations

import tensorflow as tf
import tensorflow_transform as tft

from components.transform import numeric
from components.transform.categories import ids
from components.transform.columns import as_texts, finite, log_count, padded
from components.transform.config import CategoriesFeature, NumbersFeature
from components.transform.plan import ModelInput, count_name, input_name
from components.transform.vocabularies import Vocabulary
from components.transform.vocabularies import size as vocabulary_size


def numbers_inputs(name: str, config: NumbersFeature) -> tuple[ModelInput, ...]:
    """The scaled numbers, 0 for padding; and how many there are, as log(1 + n)."""
    assert config.length
    return ModelInput(name=input_name(name), length=config.length), ModelInput(name=count_name(name))


def numbers(name: str, column: tf.SparseTensor, config: NumbersFeature) -> dict[str, tf.Tensor]:
    """Float32 [batch, length] and [batch, 1]. NaN and infinity in a list count as 0 after scaling, too."""
    assert config.length
    values = tf.SparseTensor(column.indices, finite(tf.cast(column.values, tf.float32)), column.dense_shape)
    matrix = padded(values, config.length, float("nan"))
    places = config.length if config.by_place else 1
    scaled = numeric.scaled(tf.reshape(matrix, [-1, places]), [config] * places)
    scaled = tf.reshape(scaled, [-1, config.length])
    return {
        input_name(name): tf.where(tf.math.is_nan(matrix), 0.0, scaled),
        count_name(name): log_count(column),
    }


def categories_inputs(
    name: str, config: CategoriesFeature, graph: tft.TFTransformOutput
) -> tuple[ModelInput, ...]:
    """The ids of the first values, 0 for padding; and how many values there are, as log(1 + n)."""
    assert config.length
    known = config.hash or vocabulary_size(graph, name) + config.oov
    sequence = ModelInput(name=input_name(name), size=1 + known, length=config.length)
    return sequence, ModelInput(name=count_name(name))


def vocabulary(column: tf.SparseTensor, config: CategoriesFeature) -> Vocabulary | None:
    """What the column's vocabulary is made of: every value of every list; None for a hashed column."""
    if config.hash:
        return None
    return Vocabulary(as_texts(column).values, config.vocabulary, config.min_count)


def categories(
    name: str, column: tf.SparseTensor, config: CategoriesFeature, path: tf.Tensor | None
) -> dict[str, tf.Tensor]:
    """Ids, int64 [batch, length], and the number of values, float32 [batch, 1]."""
    assert config.length
    texts = padded(as_texts(column), config.length, "")
    found = ids(tf.reshape(texts, [-1]), config, path)
    return {
        input_name(name): tf.reshape(found, [-1, config.length]),
        count_name(name): log_count(column),
    }
