"""The most frequent value of columns of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import apache_beam as beam
import numpy as np
import tensorflow as tf
import tensorflow_transform as tft
import tensorflow_transform.beam as tft_beam

_Key = tuple[int, float]


def most_frequent(matrix: tf.Tensor, columns: int) -> tf.Tensor:
    """The value that each column has most often, the least of several; 0 for a column without any.

    Args:
      matrix: float32 [batch, columns], NaN where missing.
      columns: how many there are.

    Returns:
      Float32 [columns].
    """
    (found,) = tft.experimental.ptransform_analyzer(
        [matrix], _MostFrequent(columns), [tf.float32], [[columns]], name="most_frequent"
    )
    return tf.ensure_shape(found, [columns])


class _MostFrequent(tft_beam.experimental.PTransformAnalyzer):
    """Batches of columns to one array with a value for each."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self._columns = columns

    def expand(self, batches: beam.PCollection) -> tuple[beam.PCollection, ...]:
        best = (
            batches
            | "Count" >> beam.FlatMap(_count)
            | "Sum" >> beam.CombinePerKey(sum)
            | "Together" >> beam.CombineGlobally(_Best(self._columns))
        )
        return (best,)


def _count(batch: tuple[np.ndarray, ...]) -> Iterator[tuple[_Key, int]]:
    (matrix,) = batch
    for column, values in enumerate(matrix.T):
        for value, count in Counter(values[~np.isnan(values)].tolist()).items():
            yield (column, value), count


class _Best(beam.CombineFn):
    """The most frequent value of each column, as an array."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self._columns = columns

    def create_accumulator(self) -> dict[int, tuple[int, float]]:
        return {}

    def add_input(
        self, best: dict[int, tuple[int, float]], element: tuple[_Key, int]
    ) -> dict[int, tuple[int, float]]:
        (column, value), count = element
        # The larger count, and of equal ones the lesser value.
        best[column] = max(best.get(column, (0, 0.0)), (count, -value))
        return best

    def merge_accumulators(
        self, accumulators: Iterable[dict[int, tuple[int, float]]]
    ) -> dict[int, tuple[int, float]]:
        merged: dict[int, tuple[int, float]] = {}
        for best in accumulators:
            for column, found in best.items():
                merged[column] = max(merged.get(column, (0, 0.0)), found)
        return merged

    def extract_output(self, best: dict[int, tuple[int, float]]) -> np.ndarray:
        return np.array([-best.get(column, (0, 0.0))[1] for column in range(self._columns)], np.float32)
