"""The input pipeline: transformed TFRecords into batches, the same ones for the same seed.

files -> interleave -> blocks of records -> one parse a block -> cache -> shuffle, anew each epoch -> batches,
without end -> prefetch.

What the batches of an epoch are depends on the seed and the number of the epoch alone, so that a run
that was killed goes on with the batches that it would have seen.
"""

from components.trainer.data.blocks import Features, Rows, blocks, count, feature_spec, rows_a_block
from components.trainer.data.memory import batches_in_memory, load
from components.trainer.data.streamed import batches_from_blocks

__all__ = [
    "Features",
    "Rows",
    "batches_from_blocks",
    "batches_in_memory",
    "blocks",
    "count",
    "feature_spec",
    "load",
    "rows_a_block",
]
