"""Distributions of columns, read from TFDV's statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from tensorflow_metadata.proto.v0 import statistics_pb2

pb: Any = statistics_pb2  # generated code, which says nothing of its types

# Whole numbers over at most so many consecutive values may be codes: their shares count as well.
_MOST_CODES = 50


@dataclass(frozen=True)
class Numbers:
    """How the numbers of a column are distributed, as its quantiles tell.

    Attributes:
      low, high: the bounds of each quantile bucket; equal where one value fills it.
      mass: each bucket's part of the whole.
      count: how many values there are.
      whole: they are whole numbers.
    """

    low: np.ndarray
    high: np.ndarray
    mass: np.ndarray
    count: int
    whole: bool
    mean: float
    std: float

    @property
    def least(self) -> float:
        return float(self.low[0])

    @property
    def largest(self) -> float:
        return float(self.high[-1])

    def below(self, points: np.ndarray) -> np.ndarray:
        """The share of values up to each of the points; a bucket's values lie evenly in it."""
        width = np.where(self.high > self.low, self.high - self.low, 1.0)
        inside = np.clip((points[:, None] - self.low) / width, 0.0, 1.0)
        within = np.where(self.high > self.low, inside, points[:, None] >= self.high)
        return within @ self.mass

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """The bucket bounds up to which at least these shares of the values lie."""
        ends = np.cumsum(self.mass)
        return self.high[np.minimum(np.searchsorted(ends, shares - 1e-9), len(self.high) - 1)]

    def codes(self) -> Shares | None:
        """The shares of the single values, of whole numbers of a small range."""
        if not self.whole or self.largest - self.least > _MOST_CODES:
            return None
        values = np.arange(int(self.least), int(self.largest) + 1)
        shares = np.diff(self.below(values.astype(float)), prepend=0.0)
        held = {str(value): float(share) for value, share in zip(values, shares) if share > 0}
        return Shares(share=held, count=self.count, complete=False, once=0.0)


@dataclass(frozen=True)
class Shares:
    """How often each value of a column occurs.

    Attributes:
      share: value to its part of all values.
      count: how many values there are.
      complete: `share` holds every value.
      once: the part of the values that occur once: by Good and Turing, that of values not seen yet.
    """

    share: Mapping[str, float]
    count: int
    complete: bool
    once: float


def features(dataset: Any) -> dict[str, Any]:
    """Column to its statistics."""
    return {each.path.step[0]: each for each in dataset.features}


def common(feature: Any) -> Any:
    """The counts that every kind of statistics has."""
    return getattr(feature, feature.WhichOneof("stats")).common_stats


def value_count(feature: Any | None) -> int:
    """How many values a column has; 0 when there is no such column."""
    return 0 if feature is None else int(common(feature).tot_num_values)


def missing_share(feature: Any | None, rows: int) -> float:
    """The part of the rows that have no value."""
    present = 0 if feature is None else int(common(feature).num_non_missing)
    return 1.0 - present / rows if rows else 0.0


def numbers(feature: Any) -> Numbers | None:
    """The distribution of a numeric column; None of other columns, and where there is no value."""
    if feature.WhichOneof("stats") != "num_stats":
        return None
    stats = feature.num_stats
    buckets = [
        bucket
        for histogram in stats.histograms
        if histogram.type == pb.Histogram.QUANTILES
        for bucket in histogram.buckets
    ]
    counts = np.array([bucket.sample_count for bucket in buckets])
    if not counts.sum() > 0:
        return None
    low = np.array([bucket.low_value for bucket in buckets])
    high = np.array([bucket.high_value for bucket in buckets])
    return Numbers(
        low=low,
        high=high,
        mass=counts / counts.sum(),
        count=value_count(feature),
        whole=feature.type == pb.FeatureNameStatistics.INT,
        mean=stats.mean,
        std=stats.std_dev,
    )


def truths(feature: Any) -> Shares | None:
    """The shares of 0 and 1 in a column that holds nothing else."""
    stats, count = feature.num_stats, value_count(feature)
    if not count or stats.min < 0 or stats.max > 1:
        return None
    zeros = stats.num_zeros / count
    return Shares(share={"false": zeros, "true": 1 - zeros}, count=count, complete=True, once=0.0)


def strings(feature: Any) -> Shares | None:
    """The shares of the values of a text column; None of other columns, and where there is no value."""
    if feature.WhichOneof("stats") != "string_stats":
        return None
    stats, count = feature.string_stats, value_count(feature)
    counts = {bucket.label: bucket.sample_count for bucket in stats.rank_histogram.buckets}
    if not count or not counts:
        return None
    single = sum(1 for number in counts.values() if number == 1)
    complete = len(counts) >= stats.unique
    return Shares(
        share={value: number / count for value, number in counts.items()},
        count=count,
        complete=complete,
        # Beyond the values that TFDV lists, each is as rare as the rarest of them.
        once=(single if complete else max(0, count - sum(counts.values()))) / count,
    )
