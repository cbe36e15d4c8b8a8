"""Apply a written transform graph to files of examples: one file in, one shard out, in large batches.

TFT's own TransformDataset loads the graph once a split and takes rows through several Beam stages. A map
over files needs neither, and the graph is the same one that serves.
"""

from __future__ import annotations

from collections.abc import Iterator

import apache_beam as beam
import pyarrow as pa
import tensorflow as tf
from apache_beam.utils import shared

from components.example_decoder import record_batch
from components.example_encoder import encode
from components.records import ShardWriter, batches_of
from components.transform.on_the_fly import Reader, transformer

# Files of one process share the loaded graph.
_LOADED = shared.Shared()
_MOST_BYTES = 512 << 20


class Apply(beam.DoFn):
    """Pairs of a file of raw examples and the shard to be written; gives the rows of each.

    Args:
      graph_uri: of the TransformGraph.
      batch_rows: rows in memory at a time.
    """

    def __init__(self, graph_uri: str, batch_rows: int) -> None:
        self._graph_uri, self._batch_rows = graph_uri, batch_rows

    def setup(self) -> None:
        self._graph = _LOADED.acquire(lambda: _Graph(transformer(self._graph_uri)), tag=self._graph_uri)

    def process(self, element: tuple[str, str]) -> Iterator[int]:
        source, shard = element
        writer, rows = ShardWriter(shard), 0
        # One batch is transformed while another is encoded and a third one compressed.
        for batch in self._transformed(source):
            step = _rows_within_bounds(batch)
            for start in range(0, batch.num_rows, step):
                writer.write(encode(batch.slice(start, step)))
            rows += batch.num_rows
        writer.close()
        yield rows

    def _transformed(self, source: str) -> Iterator[pa.RecordBatch]:
        rows = batches_of(source, self._batch_rows).map(self._graph.apply).prefetch(1)
        for features in rows:
            yield record_batch(dict(sorted(features.items())))


def _rows_within_bounds(batch: pa.RecordBatch) -> int:
    """Rows whose examples Arrow can hold as one array: batches of images or vectors can be too large."""
    return max(1, batch.num_rows * _MOST_BYTES // max(1, batch.nbytes))


class _Graph:
    """A loaded graph, in a class of its own since Beam's shared handle needs a weak reference."""

    def __init__(self, apply: Reader) -> None:
        self.apply = tf.function(apply, input_signature=[tf.TensorSpec([None], tf.string)])
