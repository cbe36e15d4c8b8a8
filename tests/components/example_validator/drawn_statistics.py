"""TFDV's statistics of columns drawn at random, made by hand, so that no TensorFlow is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from tensorflow_metadata.proto.v0 import statistics_pb2

pb: Any = statistics_pb2
_BUCKETS = 100


def dataset(columns: Mapping[str, Any]) -> Any:
    """Statistics of columns of equal length: arrays of numbers with NaN, or lists of strings with None."""
    rows = len(next(iter(columns.values())))
    made = pb.DatasetFeatureStatistics(num_examples=rows)
    for name, values in columns.items():
        feature = _strings(values) if isinstance(values, list) else _numbers(np.asarray(values))
        feature.path.step.append(name)
        made.features.append(feature)
    return made


def _numbers(values: np.ndarray) -> Any:
    whole = np.issubdtype(values.dtype, np.integer)
    there = values[~np.isnan(values)] if not whole else values
    feature = pb.FeatureNameStatistics(
        type=pb.FeatureNameStatistics.INT if whole else pb.FeatureNameStatistics.FLOAT
    )
    stats = feature.num_stats
    _count(stats.common_stats, len(there), len(values))
    if len(there):
        stats.mean, stats.std_dev = float(there.mean()), float(there.std())
        stats.min, stats.max = float(there.min()), float(there.max())
        stats.num_zeros = int((there == 0).sum())
        edges = np.quantile(there, np.linspace(0, 1, _BUCKETS + 1), method="inverted_cdf")
        histogram = stats.histograms.add(type=pb.Histogram.QUANTILES)
        for low, high in pairwise(edges):
            histogram.buckets.add(low_value=low, high_value=high, sample_count=len(there) / _BUCKETS)
    return feature


def _strings(values: list[str | None]) -> Any:
    feature = pb.FeatureNameStatistics(type=pb.FeatureNameStatistics.STRING)
    there = [value for value in values if value is not None]
    stats = feature.string_stats
    _count(stats.common_stats, len(there), len(values))
    counts = Counter(there).most_common()
    stats.unique = len(counts)
    for rank, (value, number) in enumerate(counts[:1000]):
        stats.rank_histogram.buckets.add(low_rank=rank, high_rank=rank, label=value, sample_count=number)
    return feature


def _count(common: Any, present: int, rows: int) -> None:
    common.num_non_missing, common.num_missing = present, rows - present
    common.tot_num_values = present
