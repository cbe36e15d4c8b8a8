"""What happens beside the steps: logs, stopping, the best weights, checkpoints."""

from __future__ import annotations

import keras

from components.errors import UserError
from components.trainer.callbacks.checkpoint import Checkpoint
from components.trainer.callbacks.earlier_epochs import write_earlier_epochs
from components.trainer.callbacks.epoch_line import EpochLine
from components.trainer.callbacks.epoch_log import EpochLog
from components.trainer.callbacks.non_finite import StopOnNonFinite
from components.trainer.config import TrainConfig

__all__ = ["Checkpoint", "EpochLine", "EpochLog", "StopOnNonFinite", "callbacks", "write_earlier_epochs"]

# Monitors that look at the eval loss remember it from epoch to epoch, and checkpoints must hold that.
Watchers = dict[str, keras.callbacks.Callback]


def callbacks(
    train: TrainConfig, run_uri: str, calls: int
) -> tuple[list[keras.callbacks.Callback], Watchers]:
    """What the config asks for, and those of it whose state a checkpoint must hold.

    Args:
      run_uri: TensorBoard's logs go there.
      calls: into TensorFlow, over the whole run.

    Raises:
      UserError: the profile window lies beyond the end.
    """
    window = train.tensorboard.profile
    if window and window[1] > calls:
        raise UserError(
            f"the run makes {calls} calls into TensorFlow at most, received {list(window)}",
            where="train.tensorboard.profile",
            fix="choose an earlier window, more epochs or a smaller train.steps_per_execution",
        )
    made: list[keras.callbacks.Callback] = [
        keras.callbacks.TensorBoard(
            run_uri,
            write_graph=False,
            update_freq="epoch",
            histogram_freq=train.tensorboard.histograms,
            profile_batch=window or 0,
        )
    ]
    watchers: Watchers = {}
    if train.early_stopping or train.keep == "best":
        watchers["early_stopping"] = keras.callbacks.EarlyStopping(
            "val_loss",
            patience=train.early_stopping or train.epochs,
            restore_best_weights=train.keep == "best",
            mode="min",
        )
    if train.reduce_on_plateau:
        watchers["reduce_on_plateau"] = keras.callbacks.ReduceLROnPlateau(
            "val_loss",
            factor=train.reduce_on_plateau.factor,
            patience=train.reduce_on_plateau.patience,
            min_lr=train.reduce_on_plateau.min,
            min_delta=0.0,
            mode="min",
        )
    return [*made, *watchers.values()], watchers
