"""Numbers: impute, clip, scale and bucket all numeric columns at once.

One analyzer over a matrix costs Beam as much as one over a column, so the columns are stacked:
float32 [batch, columns], NaN where missing. TFX's analyzers pass over NaN.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import tensorflow as tf
import tensorflow_transform as tft

from components.transform.columns import as_float, finite, log1p
from components.transform.config import NumbersFeature, NumericFeature
from components.transform.most_frequent import most_frequent
from components.transform.plan import ModelInput, bucket_name, input_name, missing_name

# Quantiles are exact to this share of the rows.
_EPSILON = 0.001
_INFINITY = float("inf")
_Columns = Sequence[NumericFeature]
Scaled = Sequence[NumericFeature] | Sequence[NumbersFeature]
_T = TypeVar("_T")


def model_inputs(name: str, config: NumericFeature) -> tuple[ModelInput, ...]:
    """The scaled number, and where asked its bucket and whether it was missing."""
    inputs = [ModelInput(name=input_name(name))]
    if config.buckets:
        # The last bucket is a missing value.
        inputs.append(ModelInput(name=bucket_name(name), size=config.buckets + 1))
    if config.indicator:
        inputs.append(ModelInput(name=missing_name(name)))
    return tuple(inputs)


def outputs(columns: Mapping[str, tuple[tf.SparseTensor, NumericFeature]]) -> dict[str, tf.Tensor]:
    """The model inputs of each column: float32 [batch, 1], and int64 [batch, 1] for buckets."""
    if not columns:
        return {}
    names, configs = list(columns), [config for _, config in columns.values()]
    raw = _clip(finite(tf.concat([as_float(column) for column, _ in columns.values()], axis=1)), configs)
    missing = tf.math.is_nan(raw)
    filled = tf.where(missing, _clip(_fill(raw, configs)[None, :], configs), raw)
    scaled = _scale(_log(filled, configs), _log(raw, configs), configs)
    found = {input_name(name): scaled[:, i : i + 1] for i, name in enumerate(names)}
    for i, ids in _buckets(raw, filled, missing, configs).items():
        found[bucket_name(names[i])] = ids
    for i, config in enumerate(configs):
        if config.indicator:
            found[missing_name(names[i])] = tf.cast(missing[:, i : i + 1], tf.float32)
    return found


def scaled(values: tf.Tensor, configs: Scaled) -> tf.Tensor:
    """Clipped, logged and scaled, float32 [batch, columns]; undefined where the value is NaN."""
    there = _log(_clip(values, configs), configs)
    return _scale(there, there, configs)


def _clip(values: tf.Tensor, configs: Scaled) -> tf.Tensor:
    if not any(config.clip for config in configs):
        return values
    bounds = [config.clip or (None, None) for config in configs]
    low = tf.constant([-_INFINITY if low is None else low for low, _ in bounds])
    high = tf.constant([_INFINITY if high is None else high for _, high in bounds])
    clipped = tf.clip_by_value(values, low, high)
    return tf.where(tf.math.is_nan(values), values, clipped)


def _log(values: tf.Tensor, configs: Scaled) -> tf.Tensor:
    logged = tf.constant([config.log for config in configs]) & ~tf.math.is_nan(values)
    return tf.where(logged, log1p(tf.maximum(values, 0.0)), values)


def _chosen(configs: Sequence[_T], wanted: Callable[[_T], bool]) -> list[int]:
    return [i for i, config in enumerate(configs) if wanted(config)]


def _put(target: tf.Tensor, chosen: list[int], values: tf.Tensor) -> tf.Tensor:
    """`target` [columns] with the values of the chosen columns."""
    return tf.tensor_scatter_nd_update(target, [[i] for i in chosen], values)


def _quantiles(matrix: tf.Tensor, number: int) -> tf.Tensor:
    """The boundaries of so many quantiles, [columns, number - 1]."""
    return tft.quantiles(matrix, number, _EPSILON, reduce_instance_dims=False)


def _fill(raw: tf.Tensor, configs: _Columns) -> tf.Tensor:
    """What missing values become, [columns]."""
    fill = tf.constant([c.impute if isinstance(c.impute, float) else 0.0 for c in configs], tf.float32)
    if chosen := _chosen(configs, lambda c: c.impute == "mean"):
        means = tft.mean(tf.gather(raw, chosen, axis=1), reduce_instance_dims=False)
        fill = _put(fill, chosen, means)
    if chosen := _chosen(configs, lambda c: c.impute == "median"):
        fill = _put(fill, chosen, _quantiles(tf.gather(raw, chosen, axis=1), 2)[:, 0])
    if chosen := _chosen(configs, lambda c: c.impute == "most_frequent"):
        fill = _put(fill, chosen, most_frequent(tf.gather(raw, chosen, axis=1), len(chosen)))
    return fill


def _scale(values: tf.Tensor, present: tf.Tensor, configs: Scaled) -> tf.Tensor:
    """(value - offset) / width of each column, by what is present; a width of 0 gives 0."""
    scales = [config.scale for config in configs]
    offset, width = tf.zeros(len(configs)), tf.ones(len(configs))
    if chosen := _chosen(scales, lambda scale: scale == "z_score"):
        matrix = tf.gather(present, chosen, axis=1)
        offset = _put(offset, chosen, tft.mean(matrix, reduce_instance_dims=False))
        width = _put(width, chosen, tf.sqrt(tft.var(matrix, reduce_instance_dims=False)))
    if chosen := _chosen(scales, lambda scale: scale == "min_max"):
        matrix = tf.gather(present, chosen, axis=1)
        gone = tf.math.is_nan(matrix)
        low = tft.min(tf.where(gone, _INFINITY, matrix), reduce_instance_dims=False)
        high = tft.max(tf.where(gone, -_INFINITY, matrix), reduce_instance_dims=False)
        offset, width = _put(offset, chosen, low), _put(width, chosen, high - low)
    if chosen := _chosen(scales, lambda scale: scale == "robust"):
        quartiles = _quantiles(tf.gather(present, chosen, axis=1), 4)
        offset = _put(offset, chosen, quartiles[:, 1])
        width = _put(width, chosen, quartiles[:, 2] - quartiles[:, 0])
    return tf.math.divide_no_nan(values - offset, width)


def _buckets(
    raw: tf.Tensor, filled: tf.Tensor, missing: tf.Tensor, configs: _Columns
) -> dict[int, tf.Tensor]:
    """Quantile bucket ids by the column's position; the id after the last bucket is a missing value."""
    by_number: defaultdict[int, list[int]] = defaultdict(list)
    for i, config in enumerate(configs):
        if config.buckets:
            by_number[config.buckets].append(i)
    ids = {}
    for number, chosen in by_number.items():
        bounds = _quantiles(tf.gather(raw, chosen, axis=1), number) if number > 1 else None
        for row, i in enumerate(chosen):
            value = filled[:, i : i + 1]
            bucket = (
                tft.apply_buckets(value, bounds[row : row + 1])
                if bounds is not None
                else tf.zeros_like(value, tf.int64)
            )
            ids[i] = tf.where(missing[:, i : i + 1], tf.cast(number, tf.int64), bucket)
    return ids
