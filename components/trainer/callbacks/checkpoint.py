"""What a run has learned so far, kept after each epoch, so that a killed one goes on from there."""

from __future__ import annotations

import io
import json
import math
import time
from typing import Any

import keras
import numpy as np
from absl import logging
from tfx.dsl.io import fileio

# What EarlyStopping and ReduceLROnPlateau remember from epoch to epoch, beside weights.
_REMEMBERED = ("wait", "best", "best_epoch", "stopped_epoch", "cooldown_counter")
_BEST = "best_weights"
_VERSION = 1
# Writing that takes longer than these seconds must not take more than this share of the time.
_SOON, _SHARE = 1.0, 0.05


class Checkpoint(keras.callbacks.Callback):
    """Keeps the last epoch's end: weights, optimizer, seeds of dropout, history, and what others remember.

    Keras's BackupAndRestore keeps the first three, so that after it early stopping counts anew and the
    best weights of the time before are lost. Here the run ends with the weights that it would have
    had without the interruption, bit by bit. It must come last among the callbacks. Where writing takes
    seconds and epochs are short, some are passed over.

    Args:
      path: of the one file, which is replaced as a whole; None: remember the history alone.
      watchers: name to callback that looks at the eval loss.
      found: what the file held when the run began; None: nothing to go on from.
    """

    def __init__(
        self, path: str | None, watchers: dict[str, keras.callbacks.Callback], found: bytes | None
    ) -> None:
        super().__init__()
        self._path, self._watchers = path, watchers
        self._arrays: dict[str, np.ndarray] = {}
        self._written, self._took = -math.inf, 0.0
        self._saved: dict[str, Any] = {"epochs": 0, "stopped": False, "history": {}, "watchers": {}}
        if found:
            with np.load(io.BytesIO(found)) as file:
                arrays = {name: file[name] for name in file.files}
            saved = json.loads(str(arrays.pop("saved")))
            if saved["version"] == _VERSION:
                self._saved, self._arrays = saved, arrays
                logging.info("going on after epoch %d", self.epochs)

    @property
    def epochs(self) -> int:
        """How many are done: the number of the next one."""
        return int(self._saved["epochs"])

    @property
    def stopped(self) -> bool:
        """Whether early stopping has ended the training."""
        return bool(self._saved["stopped"])

    @property
    def history(self) -> dict[str, list[float]]:
        """Of the epochs that are done, those before the interruption included."""
        return self._saved["history"]

    def on_train_begin(self, logs: Any = None) -> None:
        if not self.epochs:
            return
        with self.model.distribute_strategy.scope():
            if not self.model.optimizer.built:
                self.model.optimizer.build(self.model.trainable_variables)
            for i, variable in enumerate(_variables(self.model)):
                variable.assign(self._arrays[f"variable_{i}"])
        for name, watcher in self._watchers.items():
            for attribute, value in self._saved["watchers"][name].items():
                setattr(watcher, attribute, value)
            best = [key for key in self._arrays if key.startswith(f"{name}_{_BEST}_")]
            if best:
                ordered = [self._arrays[f"{name}_{_BEST}_{i}"] for i in range(len(best))]
                setattr(watcher, _BEST, ordered)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        values = {name: float(value) for name, value in (logs or {}).items()}
        for name, value in values.items():
            self.history.setdefault(name, []).append(value)
        began = time.monotonic()
        too_soon = self._took > _SOON and began - self._written < self._took / _SHARE
        if not self._path or too_soon:
            return
        self._saved.update(
            version=_VERSION,
            epochs=epoch + 1,
            stopped=bool(self.model.stop_training),
            watchers={name: _remembered(watcher) for name, watcher in self._watchers.items()},
        )
        arrays = {
            f"variable_{i}": keras.ops.convert_to_numpy(variable)
            for i, variable in enumerate(_variables(self.model))
        }
        losses = np.array([values.get("loss", 0.0), values.get("val_loss", 0.0)])
        if not all(
            np.isfinite(array).all() for array in (losses, *arrays.values()) if array.dtype.kind == "f"
        ):
            return
        for name, watcher in self._watchers.items():
            for i, weights in enumerate(getattr(watcher, _BEST, None) or ()):
                arrays[f"{name}_{_BEST}_{i}"] = weights
        self._write(self._path, arrays)
        self._written = time.monotonic()
        self._took = self._written - began

    def _write(self, path: str, arrays: dict[str, np.ndarray]) -> None:
        content = io.BytesIO()
        np.savez(content, saved=np.array(json.dumps(self._saved)), **arrays)
        fileio.makedirs(path.rpartition("/")[0])
        partial = f"{path}.partial"
        with fileio.open(partial, "wb") as stream:
            stream.write(content.getvalue())
        fileio.rename(partial, path, overwrite=True)


def _variables(model: keras.Model) -> list[Any]:
    """Weights, states of random seeds, and everything of the optimizer: its moments, step and rate."""
    return [*model.variables, *model.optimizer.variables]


def _remembered(watcher: keras.callbacks.Callback) -> dict[str, Any]:
    values = {name: getattr(watcher, name, None) for name in _REMEMBERED}
    return {name: value.item() if hasattr(value, "item") else value for name, value in values.items()
            if value is not None}  # fmt: skip
