"""The `train.learning_rate` section."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, model_validator

from components.section import Section

_EXPONENTIAL_END = 0.01
_TAKEN_BY = {"power": "polynomial", "factor": "step", "milestones": "step"}


class LearningRateConfig(Section):
    """How fast weights move, over the steps of the run."""

    schedule: Literal["constant", "exponential", "cosine", "polynomial", "step"] = Field(
        "cosine", description="how the rate falls from the peak to the end, over all steps after the warm-up"
    )
    peak: PositiveFloat = Field(1e-3, description="the highest rate")
    end: NonNegativeFloat | None = Field(
        None,
        description="the rate at the end of the run; left out: 0, for exponential a hundredth of the peak; "
        "for step, the rate does not fall below it",
    )
    warmup_steps: NonNegativeInt = Field(0, description="steps in which the rate rises from 0 to the peak")
    power: PositiveFloat | None = Field(
        None, description="for polynomial: of the share that is left of the run; left out: 1, a line"
    )
    factor: Annotated[float, Field(gt=0.0, lt=1.0)] | None = Field(
        None, description="for step: what the rate is multiplied by at each milestone; left out: 0.1"
    )
    milestones: tuple[Annotated[float, Field(gt=0.0, lt=1.0)], ...] | None = Field(
        None, description="for step: shares of the run at which the rate falls; left out: [0.5, 0.75]"
    )

    @property
    def settable(self) -> bool:
        """Whether the rate is one number, which a callback may change."""
        return self.schedule == "constant" and not self.warmup_steps

    @property
    def last(self) -> float:
        """The rate at the end, resolved."""
        if self.end is None:
            return _EXPONENTIAL_END * self.peak if self.schedule == "exponential" else 0.0
        return self.end

    @model_validator(mode="after")
    def _fits(self) -> LearningRateConfig:
        wrong = list(self._misfits())
        if wrong:
            raise ValueError("; ".join(wrong))
        return self

    def _misfits(self) -> Iterator[str]:
        for key, schedule in _TAKEN_BY.items():
            if getattr(self, key) is not None and self.schedule != schedule:
                yield f"{key} is for schedule {schedule}, not for {self.schedule}"
        if self.schedule == "constant" and self.end is not None:
            yield "a constant rate has no end: take end out, or choose another schedule"
        if self.last > self.peak:
            yield f"end {self.end} is above peak {self.peak}; the rate falls from the peak to the end"
        if self.schedule == "exponential" and self.last == 0:
            yield "an exponential never reaches 0: set end above 0, or choose another schedule"
        if self.milestones and list(self.milestones) != sorted(set(self.milestones)):
            yield f"milestones must rise, received {list(self.milestones)}"
