"""Numbers: impute, scale and bucket all numeric columns at once.

One analyzer over a matrix costs Beam as much as one over a column, so the columns are stacked:
float32 [batch, columns], NaN where missing. TFX's analyzers pass over NaN.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import tensorflow as tf
import tensorflow_transform as tft

from components.transform.config import NumericFeature
from components.transform.plan import bucket_name, input_name

# Quantiles are exact to this share of the rows.
_EPSILON = 0.001
_INFINITY = float("inf")
_Columns = Sequence[NumericFeature]


def numeric_outputs(columns: Mapping[str, tuple[tf.SparseTensor, NumericFeature]]) -> dict[str, tf.Tensor]:
    """Of each column its value, float32 [batch, 1], and where asked its bucket, int64 [batch, 1]."""
    if not columns:
        return {}
    configs = [config for _, config in columns.values()]
    raw = tf.concat([_with_nan(column) for column, _ in columns.values()], axis=1)
    missing = tf.math.is_nan(raw)
    filled = tf.where(missing, _fill(raw, configs), raw)
    logged = tf.constant([config.log for config in configs])
    scaled = _scale(
        tf.where(logged, tf.math.log1p(tf.maximum(filled, 0.0)), filled),
        tf.where(missing, raw, tf.where(logged, tf.math.log1p(tf.maximum(raw, 0.0)), raw)),
        configs,
    )
    outputs = {input_name(name): scaled[:, i : i + 1] for i, name in enumerate(columns)}
    for i, ids in _buckets(raw, filled, missing, configs).items():
        outputs[bucket_name(list(columns)[i])] = ids
    return outputs


def _with_nan(column: tf.SparseTensor) -> tf.Tensor:
    single = tf.SparseTensor(column.indices, tf.cast(column.values, tf.float32), [column.dense_shape[0], 1])
    return tf.reshape(tf.sparse.to_dense(single, float("nan")), [-1, 1])


def _for_those(
    wanted: Callable[[NumericFeature], bool],
    configs: _Columns,
    default: tf.Tensor,
    analyze: Callable[[list[int]], tf.Tensor],
) -> tf.Tensor:
    """A value for each column: `analyze` says those of the wanted columns, `default` [columns] the rest."""
    chosen = [i for i, config in enumerate(configs) if wanted(config)]
    if not chosen:
        return default
    return tf.tensor_scatter_nd_update(default, [[i] for i in chosen], analyze(chosen))


def _fill(raw: tf.Tensor, configs: _Columns) -> tf.Tensor:
    fill = tf.constant([c.impute if isinstance(c.impute, float) else 0.0 for c in configs], tf.float32)
    fill = _for_those(
        lambda c: c.impute == "mean",
        configs,
        fill,
        lambda chosen: tft.mean(tf.gather(raw, chosen, axis=1), reduce_instance_dims=False),
    )
    return _for_those(
        lambda c: c.impute == "median",
        configs,
        fill,
        lambda chosen: tft.quantiles(tf.gather(raw, chosen, axis=1), 2, _EPSILON, reduce_instance_dims=False)[
            :, 0
        ],
    )


def _scale(values: tf.Tensor, present: tf.Tensor, configs: _Columns) -> tf.Tensor:
    """(value - offset) / width of each column; a width of 0 gives 0."""
    offset, width = tf.zeros(len(configs)), tf.ones(len(configs))

    def those(analyzer: Callable, replacement: float | None = None) -> Callable[[list[int]], tf.Tensor]:
        def analyze(chosen: list[int]) -> tf.Tensor:
            matrix = tf.gather(present, chosen, axis=1)
            if replacement is not None:
                matrix = tf.where(tf.math.is_nan(matrix), replacement, matrix)
            return analyzer(matrix, reduce_instance_dims=False)

        return analyze

    def z_score(config: NumericFeature) -> bool:
        return config.scale == "z_score"

    def min_max(config: NumericFeature) -> bool:
        return config.scale == "min_max"

    offset = _for_those(z_score, configs, offset, those(tft.mean))
    width = _for_those(z_score, configs, width, lambda chosen: tf.sqrt(those(tft.var)(chosen)))
    offset = _for_those(min_max, configs, offset, those(tft.min, _INFINITY))
    width = _for_those(
        min_max, configs, width, lambda chosen: those(tft.max, -_INFINITY)(chosen) - tf.gather(offset, chosen)
    )
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
        bounds = tft.quantiles(tf.gather(raw, chosen, axis=1), number, _EPSILON, reduce_instance_dims=False)
        for row, i in enumerate(chosen):
            bucket = tft.apply_buckets(filled[:, i : i + 1], bounds[row : row + 1])
            ids[i] = tf.where(missing[:, i : i + 1], tf.cast(number, tf.int64), bucket)
    return ids
