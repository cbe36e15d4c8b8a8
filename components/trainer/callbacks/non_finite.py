"""Stop when the loss is no number any more, and say what made it so."""

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
    """Ends the training when the loss becomes NaN or infinite; `explain` then says why.

    Args:
      steps_at_once: the loss is seen after so many steps.
    """

    def __init__(self, steps_at_once: int) -> None:
        super().__init__()
        self._at_once = steps_at_once
        self._epoch = 0
        self._found: tuple[str, float, int] | None = None

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._look("loss", logs, batch + 1)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._look("val_loss", logs, 0)

    def _look(self, name: str, logs: Any, steps: int) -> None:
        value = float((logs or {}).get(name, 0.0))
        if not self._found and not math.isfinite(value):
            self._found = (name, value, steps)
            self.model.stop_training = True

    def explain(self, fed: Fed, evaluation: tf.data.Dataset, plan: FeaturePlan) -> None:
        """Nothing when all went well.

        Looks through the batches once more, which are the same ones, for an input that is at fault.

        Raises:
          UserError: with the step and the feature, or with the loss and the layers.
        """
        if not self._found:
            return
        name, value, steps = self._found
        batches = evaluation if name == "val_loss" else fed.batches_from(self._epoch).take(steps)
        for i, rows in enumerate(batches):
            at_fault = _at_fault(rows, plan)
            if at_fault:
                place = "the eval rows" if name == "val_loss" else f"step {i + 1} of epoch {self._epoch + 1}"
                raise UserError(
                    f"the {name} became {value}: {at_fault} in {place}",
                    where="train",
                    fix="mend the data, or impute or drop the column in features",
                )
        seen = f", found after step {steps}" if steps else ""
        since = f" (within {self._at_once} steps)" if steps and self._at_once > 1 else ""
        raise UserError(
            f"the {name} became {value} in epoch {self._epoch + 1}{seen}{since}; every input is finite"
            + _layers(self.model),
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


def _layers(model: keras.Model) -> str:
    """The layers whose weights are no numbers any more."""
    bad = [
        variable.path
        for variable in model.trainable_variables
        if not bool(keras.ops.all(keras.ops.isfinite(variable)))
    ]
    if not bad:
        return ""
    more = f" and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
    return f"; weights that are not: {', '.join(bad[:_SHOWN])}{more}"
