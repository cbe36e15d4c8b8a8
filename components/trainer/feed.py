"""The train and eval rows as batches, in the way their size calls for."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf
from absl import logging

from components.trainer import data, learning
from components.trainer.augment import augmented, check_augment, with_soft_labels
from components.trainer.config import TrainConfig
from components.trainer.data.blocks import row_bytes, with_exact_size
from components.transform.plan import FeaturePlan

_MIB = 1 << 20
# Of the free space of the scratch folder's disk, what a cache that nobody asked for may take.
_SHARE_OF_DISK = 0.5


@dataclass(frozen=True)
class Fed:
    """The train rows in batches, and how many of those make an epoch.

    Attributes:
      batches_from: the number of an epoch to its batches and all that follow, without end.
      rows: train rows.
      steps: of an epoch.
      steps_at_once: steps in one call into TensorFlow.
      cache: where the parsed rows are kept: memory, file or off.
      soft_labels: labels are [batch, classes] probabilities, float32, rather than [batch, 1] ids.
    """

    batches_from: Callable[[int], tf.data.Dataset]
    rows: int
    batch_size: int
    steps: int
    steps_at_once: int
    cache: str
    soft_labels: bool

    @property
    def batches(self) -> tf.data.Dataset:
        """From the first epoch on."""
        return self.batches_from(0)


def feed(files: list[str], plan: FeaturePlan, train: TrainConfig, scratch: Path) -> Fed:
    """Chooses how the train files are read, and how many steps make an epoch.

    Args:
      scratch: a folder for this process; what is cached in files goes there, and goes with it.
    """
    check_augment(train.augment, plan)
    source = _Source(files, plan, train, scratch / "train")
    size = train.rows_a_step(source.rows)
    steps, at_once = learning.steps_of_an_epoch(source.rows, size, train.steps_per_execution)

    def batches_from(epoch: int) -> tf.data.Dataset:
        plain = source.batches(size, steps, epoch)
        made = augmented(plain, train.augment, plan, seed=train.seed, first=epoch * steps)
        return sharded_by_row(made.prefetch(tf.data.AUTOTUNE))

    return Fed(batches_from, source.rows, size, steps, at_once, source.cache, soft_labels(train, plan))


def evaluation(files: list[str], plan: FeaturePlan, train: TrainConfig, scratch: Path) -> tf.data.Dataset:
    """The eval rows once, in order, in blocks; labels as those of the train rows are."""
    source = _Source(files, plan, train, scratch / "eval")
    blocks = source.blocks
    if soft_labels(train, plan):
        blocks = blocks.map(with_soft_labels(plan), num_parallel_calls=tf.data.AUTOTUNE)
    return sharded_by_row(with_exact_size(blocks, source.rows, plan).prefetch(tf.data.AUTOTUNE))


class _Source:
    """The rows of some files, and where they are kept once parsed.

    Attributes:
      rows: how many there are.
      cache: memory, file or off; never auto.
      blocks: the rows in order.
    """

    def __init__(self, files: list[str], plan: FeaturePlan, train: TrainConfig, scratch: Path) -> None:
        self._plan, self._train = plan, train
        self._loaded = self._load(files)
        if self._loaded is not None:
            self.rows, self.cache = int(self._loaded[1].shape[0]), "memory"
            whole = tf.data.Dataset.from_tensors(self._loaded)
            self.blocks = whole.rebatch(data.rows_a_block(plan))
            return
        self.rows = data.count(files)
        self.cache = self._file_or_off(scratch)
        self.blocks = data.blocks(files, plan)
        if self.cache == "file":
            scratch.parent.mkdir(parents=True, exist_ok=True)
            self.blocks = self.blocks.cache(str(scratch))

    def _load(self, files: list[str]) -> data.Rows | None:
        wanted, limit = self._train.input.cache, self._train.input.memory * _MIB
        if wanted == "memory":
            return data.load(files, self._plan)
        # Parsed rows take more than compressed ones.
        compressed = sum(tf.io.gfile.stat(file).length for file in files)
        return data.load(files, self._plan, limit) if wanted == "auto" and compressed <= limit else None

    def _file_or_off(self, scratch: Path) -> str:
        wanted, needed = self._train.input.cache, self.rows * row_bytes(self._plan)
        if wanted != "auto":
            return wanted
        scratch.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(scratch.parent).free
        if needed <= free * _SHARE_OF_DISK:
            return "file"
        logging.warning(
            "rows are parsed anew in each epoch: a cache of %d MiB has no room in %s, where %d MiB are free",
            needed // _MIB, scratch.parent, free // _MIB,
        )  # fmt: skip
        return "off"

    def batches(self, size: int, steps: int, first_epoch: int) -> tf.data.Dataset:
        """Endless shuffled batches."""
        seed = self._train.seed
        if self._loaded is not None:
            return data.batches_in_memory(
                self._loaded, batch_size=size, steps=steps, seed=seed, first_epoch=first_epoch
            )
        window = self._train.input.shuffle * _MIB // row_bytes(self._plan)
        return data.batches_from_blocks(
            self.blocks,
            rows=self.rows,
            block_rows=data.rows_a_block(self._plan),
            window_rows=max(1, window),
            batch_size=size,
            steps=steps,
            seed=seed,
            first_epoch=first_epoch,
        )


def soft_labels(train: TrainConfig, plan: FeaturePlan) -> bool:
    """Whether labels are probabilities of the classes: blended, they are no ids any more."""
    return train.augment.mixes and plan.label.task == "multiclass"


def sharded_by_row(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Several workers part the rows, not the files: there may be fewer files than workers."""
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return dataset.with_options(options)
