"""The train rows as batches, in the way their size calls for."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from components.trainer import data, learning
from components.trainer.config import TrainConfig
from components.transform.plan import FeaturePlan


class Fed(NamedTuple):
    """The train rows in batches, and how many of those make an epoch."""

    batches: tf.data.Dataset
    batch_size: int
    steps: int
    steps_at_once: int


def feed(files: list[str], plan: FeaturePlan, train: TrainConfig) -> Fed:
    """Chooses how the files are read, and how many steps make an epoch."""
    in_memory = sum(tf.io.gfile.stat(file).length for file in files) <= data.MEMORY_LIMIT
    loaded = data.load(files, plan) if in_memory else None
    rows = data.count(files) if loaded is None else int(loaded[1].shape[0])
    size = train.rows_a_step(rows)
    steps, at_once = learning.steps_of_an_epoch(rows, size, train.steps_per_execution)
    if loaded is None:
        batches = data.batches_from_files(files, plan, batch_size=size, seed=train.seed)
    else:
        batches = data.batches_in_memory(loaded, batch_size=size, steps=steps, seed=train.seed)
    return Fed(batches, size, steps, at_once)
