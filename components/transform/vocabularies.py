"""The vocabularies of all columns that need one, in one pass.

tft.vocabulary adds some seventy Beam transforms to the graph for each column, which for a table with
ten of them is most of what Transform costs; this analyzer adds ten for all columns together.
"""

from __future__ import annotations

import heapq
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import tensorflow as tf
import tensorflow_transform as tft
import tensorflow_transform.beam as tft_beam
from tfx.dsl.io import fileio

# A lookup table cannot be empty. This is no value of anybody's.
_NOTHING = b"\x00 no value was frequent enough"
_Spec = tuple[str, int, int]  # file name, most values, least count


def file_name(column: str) -> str:
    """A vocabulary's file name among the graph's assets; column names may hold anything."""
    return "vocabulary_" + "".join(c if c.isalnum() and c.isascii() else f"_{ord(c):x}_" for c in column)


def size(graph: tft.TFTransformOutput, column: str) -> int:
    """How many values a column's vocabulary holds."""
    with fileio.open(f"{graph.transform_savedmodel_dir}/assets/{file_name(column)}", "rb") as stream:
        return stream.read().count(b"\n")


class Vocabulary(NamedTuple):
    """What a vocabulary is made of.

    Attributes:
      values: strings [n]; empty ones are missing.
      most: how many values to keep at most.
      least: how often a value must be there.
    """

    values: tf.Tensor
    most: int
    least: int


def vocabularies(columns: Mapping[str, Vocabulary]) -> dict[str, tf.Tensor]:
    """Column to its vocabulary's asset path: values by falling count, equal counts by value."""
    if not columns:
        return {}
    specs = [(file_name(name), wanted.most, wanted.least) for name, wanted in columns.items()]
    paths = tft.experimental.ptransform_analyzer(
        [wanted.values for wanted in columns.values()],
        _Vocabularies(specs),
        [tf.string] * len(specs),
        [[]] * len(specs),
        output_asset_default_values=[_NOTHING] * len(specs),
        name="vocabularies",
    )
    return dict(zip(columns, paths))


class _Vocabularies(tft_beam.experimental.PTransformAnalyzer):
    """Batches of columns to a vocabulary file for each."""

    def __init__(self, specs: list[_Spec]) -> None:
        super().__init__()
        self._specs = specs

    def expand(self, batches: beam.PCollection) -> tuple[beam.PCollection, ...]:
        counted = batches | "Count" >> beam.FlatMap(_count) | "Sum" >> beam.CombinePerKey(sum)
        # A column without any value must get a file, too.
        every = batches.pipeline | "Columns" >> beam.Create([(i, (0, b"")) for i in range(len(self._specs))])
        tags = [str(i) for i in range(len(self._specs))]
        files = (
            (counted | "ByColumn" >> beam.MapTuple(lambda key, count: (key[0], (count, key[1]))), every)
            | "All" >> beam.Flatten()
            | "Group" >> beam.GroupByKey()
            | "Write" >> beam.ParDo(_Write(self._specs, self.base_temp_dir)).with_outputs(*tags)
        )
        return tuple(files[tag] for tag in tags)


def _count(batch: tuple[np.ndarray, ...]) -> Iterator[tuple[tuple[int, bytes], int]]:
    for column, values in enumerate(batch):
        for value, count in Counter(values.tolist()).items():
            # A line of the file is a value, so one with a line break stays out of the vocabulary.
            if value and b"\n" not in value and b"\r" not in value:
                yield (column, value), count


class _Write(beam.DoFn):
    """All counts of a column to its file; gives the path, under the column's tag."""

    def __init__(self, specs: list[_Spec], folder: str) -> None:
        self._specs, self._folder = specs, folder

    def process(self, element: tuple[int, Iterable[tuple[int, bytes]]]) -> Iterator[Any]:
        column, counts = element
        name, most, least = self._specs[column]
        kept = heapq.nsmallest(most, ((-count, value) for count, value in counts if value and count >= least))
        fileio.makedirs(self._folder)
        path = os.path.join(self._folder, name)
        with fileio.open(path, "wb") as stream:
            stream.write(b"".join(value + b"\n" for _, value in kept) or _NOTHING + b"\n")
        yield beam.TaggedOutput(str(column), np.array(path.encode()))
