"""The files of an ExampleStatistics artifact."""

from __future__ import annotations

import tensorflow_data_validation as tfdv
from tensorflow_metadata.proto.v0 import statistics_pb2
from tfx.types import artifact_utils

# How many quantile buckets of numbers there are: the share of any value can be told to a percent.
QUANTILES = 100

_FILE = "FeatureStats.pb"
# What TFDV calls the slice of all rows.
_WHOLE = "All Examples"


def path_of(uri: str, split: str) -> str:
    """The file with the statistics of one split."""
    return f"{uri}/Split-{split}/{_FILE}"


def load_all(uri: str, split: str) -> statistics_pb2.DatasetFeatureStatisticsList:
    """The statistics of a split and of its slices."""
    return tfdv.load_stats_binary(path_of(uri, split))


def load(uri: str, split: str) -> statistics_pb2.DatasetFeatureStatistics:
    """The statistics of all rows of a split."""
    datasets = load_all(uri, split).datasets
    return next((each for each in datasets if each.name == _WHOLE), datasets[0])


def load_splits(artifact: object) -> dict[str, statistics_pb2.DatasetFeatureStatistics]:
    """Split to its statistics, of an ExampleStatistics artifact."""
    names = artifact_utils.decode_split_names(artifact.split_names)  # type: ignore[attr-defined]
    return {name: load(artifact.uri, name) for name in names}  # type: ignore[attr-defined]
