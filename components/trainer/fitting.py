"""Fit the model, from where an earlier process was stopped if one was."""

from __future__ import annotations

from typing import NamedTuple

import keras
import tensorflow as tf

from components.trainer import checkpoints, multi_worker
from components.trainer.callbacks import (
    Checkpoint,
    EpochLine,
    EpochLog,
    StopOnNonFinite,
    callbacks,
    write_earlier_epochs,
)
from components.trainer.config import TrainConfig
from components.trainer.feed import Fed
from components.trainer.rendezvous import ALONE, Place
from components.transform.plan import FeaturePlan


class Fitted(NamedTuple):
    """How it went.

    Attributes:
      history: what was measured to its value after each epoch, those of an earlier process included.
      resumed: how many epochs an earlier process had done.
      rows_a_second: in the steps of this process; 0 when it had none to do.
      seconds: of this process's epochs.
    """

    history: dict[str, list[float]]
    resumed: int
    rows_a_second: float
    seconds: float


def fit(
    model: keras.Model,
    fed: Fed,
    evaluation: tf.data.Dataset,
    plan: FeaturePlan,
    train: TrainConfig,
    run_uri: str,
    checkpoint: str | None,
    here: Place = ALONE,
) -> Fitted:
    """Trains the compiled model; afterwards it has the weights that `train.keep` asks for.

    Args:
      run_uri: logs go there.
      checkpoint: path of the checkpoint; None: keep none.
      here: this process's place among the workers. All go on from what worker 0 has kept: they may have
        been killed at different epochs, or have lost their disks.

    Raises:
      UserError: the loss or a weight is no number any more.
    """
    asked, watchers = callbacks(train, run_uri, train.epochs * fed.steps // fed.steps_at_once)
    found = checkpoints.read(checkpoint) if checkpoint else None
    if here.workers > 1:
        found = multi_worker.of_first(model.distribute_strategy, here, found)
    kept = Checkpoint(checkpoint if here.number == 0 else None, watchers, found)
    done = kept.epochs
    line = EpochLine(fed.steps * fed.batch_size, train.epochs)
    finite = StopOnNonFinite(fed)
    log = EpochLog(run_uri, kept.history)
    write_earlier_epochs(run_uri, kept.history)
    model.fit(
        fed.batches_from(done),
        initial_epoch=done,
        # Nothing is left to do when early stopping had its say before the process was killed.
        epochs=done if kept.stopped else train.epochs,
        steps_per_epoch=fed.steps,
        validation_data=evaluation,
        callbacks=[finite, *asked, line, log, kept],
        shuffle=False,
        verbose=0,
    )
    finite.explain(evaluation, plan)
    return Fitted(kept.history, done, line.rows_a_second, line.seconds)
