"""The `train.learning_rate` section."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, model_validator

from components.section import Section


class LearningRateConfig(Section):
    """How fast weights move, over the steps of the run."""

    schedule: Literal["constant", "cosine"] = "cosine"
    peak: PositiveFloat = Field(1e-3, description="the highest rate")
    warmup_steps: NonNegativeInt = Field(0, description="steps from 0 up to the peak; cosine only")

    @model_validator(mode="after")
    def _warmup_needs_cosine(self) -> LearningRateConfig:
        if self.warmup_steps and self.schedule != "cosine":
            raise ValueError("warmup_steps needs schedule: cosine")
        return self
