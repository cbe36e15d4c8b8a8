"""Categories, yes or no, and columns taken together: small sets of values, as ids or as 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping

import tensorflow as tf
import tensorflow_transform as tft

from components.transform.columns import as_float, as_text, finite
from components.transform.config import (
    BooleanFeature,
    CategoriesFeature,
    CategoryFeature,
    Constant,
    CrossFeature,
)
from components.transform.plan import ModelInput, bucket_name, input_name
from components.transform.vocabularies import Vocabulary
from components.transform.vocabularies import size as vocabulary_size

# Between the columns of a cross; no cell of a table holds it.
_SEPARATOR = "\x1f"
# A vocabulary's first value, the most frequent one; id 0 is a missing value.
_MOST_FREQUENT = 1


def category_input(name: str, config: CategoryFeature, graph: tft.TFTransformOutput) -> ModelInput:
    """The id: 0 is missing, then come the vocabulary and the buckets of what is outside it."""
    known = config.hash or vocabulary_size(graph, name) + config.oov
    return ModelInput(name=input_name(name), size=1 + known)


def vocabulary(column: tf.SparseTensor, config: CategoryFeature) -> Vocabulary | None:
    """What the column's vocabulary is made of; None for a hashed column."""
    if config.hash:
        return None
    return Vocabulary(_filled(column, config), config.vocabulary, config.min_count)


def category(column: tf.SparseTensor, config: CategoryFeature, path: tf.Tensor | None) -> tf.Tensor:
    """Ids, int64 [batch, 1].

    Args:
      column: the raw column.
      config: its options.
      path: of its vocabulary; None for a hashed column.
    """
    missing = _MOST_FREQUENT if config.impute == "most_frequent" else 0
    return ids(_filled(column, config), config, path, missing)[:, None]


def ids(
    text: tf.Tensor, config: CategoryFeature | CategoriesFeature, path: tf.Tensor | None, missing: int = 0
) -> tf.Tensor:
    """The id of each text, int64 of the same shape; `missing` for an empty one."""
    if path is None:
        found = 1 + tf.strings.to_hash_bucket_fast(text, config.hash)
    else:
        found = 1 + tft.apply_vocabulary(text, path, num_oov_buckets=config.oov)
    return tf.where(tf.equal(text, ""), tf.constant(missing, tf.int64), found)


def _filled(column: tf.SparseTensor, config: CategoryFeature) -> tf.Tensor:
    return as_text(column, config.impute.constant if isinstance(config.impute, Constant) else "")


def boolean(column: tf.SparseTensor, config: BooleanFeature) -> tf.Tensor:
    """1.0 or 0.0, float32 [batch, 1]."""
    value = finite(as_float(column))
    if config.impute == "most_frequent":
        fill = tf.cast(tft.mean(value) >= 0.5, tf.float32)
    else:
        fill = tf.constant({"half": 0.5, "false": 0.0, "true": 1.0}[config.impute])
    return tf.where(tf.math.is_nan(value), fill, value)


def cross(
    config: CrossFeature, inputs: Mapping[str, tf.SparseTensor], made: Mapping[str, tf.Tensor]
) -> tf.Tensor:
    """Ids of combinations, int64 [batch, 1]; 0 when any of the columns is missing.

    Args:
      config: the columns and the number of buckets.
      inputs: raw columns.
      made: what the other features became: a column that has quantile buckets takes part by its bucket.
    """
    texts, missing = [], tf.constant(False)
    for name in config.of:
        raw = as_text(inputs[name])
        bucket = made.get(bucket_name(name))
        texts.append(raw if bucket is None else tf.strings.as_string(bucket[:, 0]))
        missing = missing | tf.equal(raw, "")
    ids = 1 + tf.strings.to_hash_bucket_fast(tf.strings.join(texts, _SEPARATOR), config.buckets)
    return tf.where(missing, tf.constant(0, tf.int64), ids)[:, None]
