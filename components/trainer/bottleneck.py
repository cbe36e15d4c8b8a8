"""Which side was slower, data or model: each measured by itself after training."""

from __future__ import annotations

import time
from typing import NamedTuple

import keras

from components.trainer.feed import Fed

# The share of the training's time that the measurement may take, and seconds: too few tell nothing.
_SHARE, _LEAST, _MOST = 0.05, 0.15, 1.0


class Sides(NamedTuple):
    """Rows a second of each side, alone."""

    data: float
    model: float

    def __str__(self) -> str:
        slower = "data" if self.data < self.model else "model"
        return f"bound by the {slower} (alone: data {self.data:,.0f} rows/s, model {self.model:,.0f} rows/s)"


def measure(model: keras.Model, fed: Fed, *, rows_a_second: float, seconds: float) -> Sides | None:
    """Measures both sides; None after a training too short for it to be worth its time.

    The model goes on learning, so this comes when its weights have been taken.

    Args:
      rows_a_second: while training.
      seconds: that training took.
    """
    budget = min(_MOST, _SHARE * seconds)
    if budget < _LEAST or not rows_a_second:
        return None
    batches = iter(fed.batches)
    next(batches)
    data = _rate(batches, fed.batch_size, budget)
    call = fed.steps_at_once * fed.batch_size
    calls = max(1, round(budget * rows_a_second / call))
    same = fed.batches.take(1).cache().repeat()
    # The first call fills the cache.
    model.fit(same, epochs=1, steps_per_epoch=fed.steps_at_once, shuffle=False, verbose=0)
    began = time.monotonic()
    model.fit(same, epochs=1, steps_per_epoch=calls * fed.steps_at_once, shuffle=False, verbose=0)
    return Sides(data, calls * call / (time.monotonic() - began))


def _rate(batches: object, batch_size: int, budget: float) -> float:
    began, made = time.monotonic(), 0
    while (passed := time.monotonic() - began) < budget or not made:
        next(batches)  # type: ignore[call-overload]
        made += 1
    return made * batch_size / max(passed, 1e-9)
