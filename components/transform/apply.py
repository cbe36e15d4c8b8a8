"""Apply a written transform graph to files of examples: one file in, one shard out, in large batches.

TFT's own TransformDataset loads the graph once a split and takes rows through several Beam stages. A map
over files needs neither, and the graph is the same one that serves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import tensorflow as tf
from apache_beam.utils import shared
from tfx_bsl.coders import example_coder

from components.ahead import ahead
from components.records import ShardWriter, read_serialized
from components.transform.on_the_fly import Reader, transformer

# Files of one process share the loaded graph.
_LOADED = shared.Shared()


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
        self._encoder = example_coder.RecordBatchToExamplesEncoder()

    def process(self, element: tuple[str, str]) -> Iterator[int]:
        source, shard = element
        writer, rows = ShardWriter(shard), 0
        # One batch is transformed while another is encoded and a third one compressed.
        for batch in ahead(self._transformed(source)):
            writer.write(self._encoder.encode(batch))
            rows += batch.num_rows
        writer.close()
        yield rows

    def _transformed(self, source: str) -> Iterator[pa.RecordBatch]:
        for serialized in read_serialized(source, self._batch_rows):
            yield record_batch(self._graph.apply(tf.constant(serialized)))


class _Graph:
    """A loaded graph, in a class of its own since Beam's shared handle needs a weak reference."""

    def __init__(self, apply: Reader) -> None:
        self.apply = apply


def record_batch(features: Mapping[str, Any]) -> pa.RecordBatch:
    """Tensors [rows, …], dense, sparse or ragged, as one list column each, in the order of their names."""
    names = sorted(features)
    return pa.RecordBatch.from_arrays([_lists(features[name]) for name in names], names)


def _lists(tensor: Any) -> pa.Array:
    if isinstance(tensor, tf.SparseTensor):
        # As TFT itself reads a feature of any length: what stands in a row, from the left.
        tensor = tf.RaggedTensor.from_sparse(tensor)
    if isinstance(tensor, tf.RaggedTensor):
        splits, values = tensor.row_splits.numpy(), tensor.flat_values.numpy()
        for inner in tensor.nested_row_splits[1:]:
            splits = inner.numpy()[splits]
    else:
        rows = int(tensor.shape[0])
        values = tensor.numpy().reshape(-1)
        splits = np.arange(rows + 1, dtype=np.int64) * (values.size // max(1, rows))
    kind = pa.large_binary() if values.dtype == object else None
    return pa.LargeListArray.from_arrays(pa.array(splits, pa.int64()), pa.array(values.ravel(), kind))
