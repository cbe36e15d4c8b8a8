"""Learning rates over the steps of a run: a warm-up in a line from 0, then the fall from the peak to the end.

With t the step, w those of the warm-up and T all of them, p = (t - w) / (T - w) within 0 to 1 is the
share of the fall that is done:

  constant     peak
  cosine       end + (peak - end) * (1 + cos(pi * p)) / 2
  polynomial   end + (peak - end) * (1 - p) ** power
  exponential  peak * (end / peak) ** p
  step         max(end, peak * factor ** milestones passed)
"""

from __future__ import annotations

import math
from typing import Any

import keras
from keras import ops

from components.trainer.config import LearningRateConfig

_FACTOR, _MILESTONES = 0.1, (0.5, 0.75)


class Schedule(keras.optimizers.schedules.LearningRateSchedule):
    """The rate of each step; Keras's own schedules have no common warm-up and end.

    Args:
      config: the section.
      steps: of the whole run.
    """

    def __init__(self, config: LearningRateConfig, steps: int) -> None:
        super().__init__()
        self._config, self._steps = config, steps
        # A run that is shorter than its warm-up still ends at the peak.
        self._warmup = min(config.warmup_steps, max(0, steps - 1))

    def __call__(self, step: Any) -> Any:
        step = ops.cast(step, "float32")
        left = max(1, self._steps - self._warmup)
        rate = self._fall(ops.clip((step - self._warmup) / left, 0.0, 1.0))
        if not self._warmup:
            return rate
        return ops.where(step < self._warmup, self._config.peak * step / self._warmup, rate)

    def _fall(self, done: Any) -> Any:
        peak, end = self._config.peak, self._config.last
        match self._config.schedule:
            case "cosine":
                return end + (peak - end) * 0.5 * (1.0 + ops.cos(math.pi * done))
            case "polynomial":
                return end + (peak - end) * (1.0 - done) ** (self._config.power or 1.0)
            case "exponential":
                return peak * ops.exp(done * math.log(end / peak))
            case "step":
                milestones = ops.convert_to_tensor(self._config.milestones or _MILESTONES, "float32")
                passed = ops.sum(ops.cast(done >= milestones, "float32"))
                return ops.maximum(end, peak * ops.power(self._config.factor or _FACTOR, passed))
        return peak * ops.ones_like(done)

    def get_config(self) -> dict[str, Any]:
        return {"config": self._config.model_dump(), "steps": self._steps}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Schedule:
        return cls(LearningRateConfig.model_validate(config["config"]), config["steps"])


def learning_rate(config: LearningRateConfig, steps: int) -> float | Schedule:
    """The rate over the steps of the whole run; a plain number where it never changes."""
    return config.peak if config.settable else Schedule(config, steps)
