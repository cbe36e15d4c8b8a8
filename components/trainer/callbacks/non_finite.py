"""Stop when the loss or a weight is no number any more, and say what made it so."""

from __future__ import annotations

import math
from typing import Any

import keras
import tensorflow as tf

from components.errors import UserError
from components.trainer.feed import Fed
from components.transform.plan import FeaturePlan

_SHOWN = 3


class StopOnNonFinite(keras.callbacks.Callback):
    """Ends the training when the loss or a weight becomes NaN or infinite; `explain` then says why.

    The weights are looked at after each epoch: relu makes 0 of NaN, so that a layer may be lost without
    a trace in the loss.

    Args:
      fed: the train rows.
    """

    def __init__(self, fed: Fed) -> None:
        super().__init__()
        self._fed = fed
        self._epoch = 0
        # What became no number, and in which of the epoch's steps at the latest; 0: in evaluation.
        self._found: tuple[str, int] | None = None

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._look("loss", logs, batch + 1)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._look("val_loss", logs, 0)
        weights = _not_finite(self.model)
        if weights and not self._found:
            self._stop(f"{weights} became nan or infinite", self._fed.steps)

    def _look(self, name: str, logs: Any, steps: int) -> None:
        value = float((logs or {}).get(name, 0.0))
        if not self._found and not math.isfinite(value):
            self._stop(f"the {name} became {value}", steps)

    def _stop(self, found: str, steps: int) -> None:
        self._found = (found, steps)
        self.model.stop_training = True

    def explain(self, evaluation: tf.data.Dataset, plan: FeaturePlan) -> None:
        """Nothing when all went well.

        Looks through the batches once more, which are the same ones, for an input that is at fault.

        Raises:
          UserError: with the step and the feature, or with the loss and the layers.
        """
        if not self._found:
            return
        found, steps = self._found
        epoch = f"epoch {self._epoch + 1}"
        batches = self._fed.batches_from(self._epoch).take(steps) if steps else evaluation
        for i, rows in enumerate(batches):
            at_fault = _at_fault(rows, plan)
            if at_fault:
                raise UserError(
                    f"{found}: {at_fault} in {f'step {i + 1} of {epoch}' if steps else 'the eval rows'}",
                    where="train",
                    fix="mend the data, or impute or drop the column in features",
                )
        weights = _not_finite(self.model)
        raise UserError(
            f"{found} in {epoch}"
            + (f", within the {self._fed.steps_at_once} steps up to step {steps}" if steps else "")
            + "; every input is finite"
            + (f"; what is not: {weights}" if weights and weights not in found else ""),
            where="train.learning_rate.peak",
            fix="lower the learning rate, or scale the numeric features",
        )


def _at_fault(rows: Any, plan: FeaturePlan) -> str:
    """Which input, label or weight holds a value that is no finite number; empty: none."""
    columns = {tensor.name: feature.name for feature in plan.used for tensor in feature.inputs}
    named = {f"feature {columns.get(name, name)!r}": values for name, values in rows[0].items()}
    named[f"label {plan.label.name!r}"] = rows[1]
    if plan.weight and len(rows) > 2:
        named[f"weight {plan.weight.column!r}"] = rows[2]
    for name, values in named.items():
        if values.dtype.is_floating:
            bad = tf.boolean_mask(values, ~tf.math.is_finite(values))
            if len(bad):
                return f"{name} has {len(bad)} values that are not finite, such as {float(bad[0])},"
    return ""


def _not_finite(model: keras.Model) -> str:
    """The weights that are no numbers any more; empty: all are."""
    bad = [
        variable.path
        for variable in model.trainable_variables
        if not bool(keras.ops.all(keras.ops.isfinite(variable)))
    ]
    more = f" and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
    return ", ".join(bad[:_SHOWN]) + more
