"""One log line an epoch, with the time that is left."""

from __future__ import annotations

import time
from typing import Any

import keras
from absl import logging


class EpochLine(keras.callbacks.Callback):
    """Logs `epoch 3/20  1.2 s  84,000 rows/s  loss 0.2131  val_loss 0.2204  at most 20 s left`.

    Args:
      rows: that an epoch's steps see.
      epochs: that there are at most.
    """

    def __init__(self, rows: int, epochs: int) -> None:
        super().__init__()
        self._rows, self._epochs = rows, epochs
        self._epoch_began = self._steps_ended = 0.0
        # Of each epoch: the steps, and the whole with evaluation.
        self._steps: list[float] = []
        self._whole: list[float] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch_began = time.monotonic()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._steps_ended = time.monotonic()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._whole.append(time.monotonic() - self._epoch_began)
        self._steps.append(self._steps_ended - self._epoch_began)
        values = "  ".join(f"{name} {value:.4g}" for name, value in (logs or {}).items())
        left = (self._epochs - epoch - 1) * _mean(self._whole)
        logging.info(
            "epoch %d/%d  %.1f s  %s rows/s  %s  at most %.0f s left",
            epoch + 1, self._epochs, self._whole[-1], f"{self._rows / self._steps[-1]:,.0f}", values, left,
        )  # fmt: skip

    @property
    def rows_a_second(self) -> float:
        """Rows a second in the steps; 0 when no epoch was run."""
        return self._rows / _mean(self._steps) if self._steps else 0.0

    @property
    def seconds(self) -> float:
        """In all epochs, evaluation included."""
        return sum(self._whole)


def _mean(seconds: list[float]) -> float:
    """Of all epochs but the first, which traces the graph."""
    steady = seconds[1:] or seconds
    return max(sum(steady) / len(steady), 1e-9)
