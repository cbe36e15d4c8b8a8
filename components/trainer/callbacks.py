"""What happens beside the steps: stopping, logs, the pace."""

from __future__ import annotations

import math
import time
from typing import Any

import keras
from absl import logging

from components.errors import UserError
from components.trainer.config import TrainConfig


def callbacks(train: TrainConfig, run_uri: str) -> list[keras.callbacks.Callback]:
    """What the config asks for."""
    made: list[keras.callbacks.Callback] = [
        keras.callbacks.TerminateOnNaN(),
        keras.callbacks.TensorBoard(run_uri, write_graph=False, update_freq="epoch"),
    ]
    if train.early_stopping:
        made.append(
            keras.callbacks.EarlyStopping(
                "val_loss", patience=train.early_stopping, restore_best_weights=True, mode="min"
            )
        )
    return made


class Pace(keras.callbacks.Callback):
    """One log line an epoch, and the rows a second of all epochs but the first, which traces the graph."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self._rows = rows
        self._started = 0.0
        self._seconds: list[float] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._started = time.monotonic()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._seconds.append(time.monotonic() - self._started)
        values = "  ".join(f"{name} {value:.4f}" for name, value in (logs or {}).items())
        logging.info("epoch %d  %.1f s  %s", epoch + 1, self._seconds[-1], values)

    @property
    def rows_a_second(self) -> float:
        """Rows a second while training."""
        steady = self._seconds[1:] or self._seconds
        return self._rows * len(steady) / max(sum(steady), 1e-9)


def refuse_nan(history: dict[str, list[float]]) -> None:
    """Stops with the epoch in which a loss was no number any more."""
    for name in ("loss", "val_loss"):
        for epoch, value in enumerate(history.get(name, ()), start=1):
            if not math.isfinite(value):
                raise UserError(
                    f"the {name} became {value} in epoch {epoch}",
                    where="train.learning_rate.peak",
                    fix="lower the learning rate, or scale the numeric features",
                )
