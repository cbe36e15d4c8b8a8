"""The epochs as a table."""

from __future__ import annotations

import csv
from typing import Any

import keras
from tfx.dsl.io import fileio

FILE_NAME = "epochs.csv"


class EpochLog(keras.callbacks.Callback):
    """Writes epochs.csv into the model run: the epoch's number, from 1, and what was measured.

    Args:
      history: of epochs that an earlier process has done.
    """

    def __init__(self, run_uri: str, history: dict[str, list[float]]) -> None:
        super().__init__()
        self._path = f"{run_uri}/{FILE_NAME}"
        done = len(next(iter(history.values()), []))
        self._rows = [{"epoch": i + 1, **{name: history[name][i] for name in history}} for i in range(done)]

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._rows.append(
            {"epoch": epoch + 1, **{name: float(value) for name, value in (logs or {}).items()}}
        )
        self._write()

    def on_train_end(self, logs: Any = None) -> None:
        # After a run that was stopped just before its end there is no further epoch.
        self._write()

    def _write(self) -> None:
        names = dict.fromkeys(name for row in self._rows for name in row)
        with fileio.open(self._path, "w") as stream:
            table = csv.DictWriter(stream, list(names), lineterminator="\n")
            table.writeheader()
            table.writerows(self._rows)
