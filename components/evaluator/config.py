"""The `evaluate` section: what is measured and what decides."""

from __future__ import annotations

from pydantic import Field, NonNegativeFloat, model_validator

from components.section import Section


class Threshold(Section):
    """Bounds on one metric; every bound that is given must hold."""

    min: float | None = Field(None, description="the least acceptable value")
    max: float | None = Field(None, description="the greatest acceptable value")
    max_drop: NonNegativeFloat | None = Field(
        None, description="how far the value may fall below that of the latest blessed model"
    )
    max_rise: NonNegativeFloat | None = Field(
        None, description="how far the value may rise above that of the latest blessed model"
    )

    @model_validator(mode="after")
    def _says_something(self) -> Threshold:
        if all(bound is None for bound in (self.min, self.max, self.max_drop, self.max_rise)):
            raise ValueError("give at least one of min, max, max_drop, max_rise")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}")
        return self


class EvaluateConfig(Section):
    """What is measured on the test split, and the gate that a model must pass to be pushed."""

    slices: tuple[tuple[str, ...], ...] = Field(
        (), description="columns whose values each get metrics of their own, such as [[payment_type]]"
    )
    gate: dict[str, Threshold] | None = Field(
        None,
        description="metric to bounds; left out: the task's own gate (binary: auc, multiclass: accuracy, "
        "regression: rmse), each against a floor and against the latest blessed model",
    )
