"""The `evaluate` section: what is measured and what decides."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, NonNegativeFloat, model_validator

from components.section import Section

# Metrics of each task; of multilabel, auc is the mean of the classes' own and all others take each class of
# each row for a case. Of those, the ones in FALLING get better as they fall; calibration is best at 1.
METRICS: dict[str, tuple[str, ...]] = {
    "binary": ("auc", "auc_pr", "accuracy", "precision", "recall", "loss", "calibration"),
    "multiclass": ("accuracy", "loss"),
    "multilabel": ("auc", "auc_micro", "auc_pr", "accuracy", "precision", "recall", "loss", "calibration"),
    "regression": ("rmse", "mae", "mse"),
}
FALLING = ("loss", "rmse", "mae", "mse")
# Metrics that one and the same answer for every row has a value of worth beating.
OF_A_CONSTANT: dict[str, tuple[str, ...]] = {
    "binary": ("accuracy",),
    "multiclass": ("accuracy",),
    "regression": ("rmse", "mse"),
}

# How far from the latest blessed model's value: so much, or a share of it.
Change = NonNegativeFloat | Annotated[str, Field(pattern=r"^\d+(\.\d+)? ?%$")]


class Threshold(Section):
    """Bounds on one metric; every bound that is given must hold."""

    min: float | None = Field(None, description="the least acceptable value")
    max: float | None = Field(None, description="the greatest acceptable value")
    max_drop: Change | None = Field(
        None,
        description="how far the value may fall below that of the latest blessed model: 0.01, or 1% of it",
    )
    max_rise: Change | None = Field(
        None,
        description="how far the value may rise above that of the latest blessed model: 0.01, or 1% of it",
    )
    beats_constant: bool | None = Field(
        None,
        description="whether the value must be better than that of one answer for every row, the most "
        "frequent class or the mean; for accuracy (binary, multiclass), rmse and mse",
    )

    @model_validator(mode="after")
    def _says_something(self) -> Threshold:
        if not self.beats_constant and all(
            bound is None for bound in (self.min, self.max, self.max_drop, self.max_rise)
        ):
            raise ValueError("give at least one of min, max, max_drop, max_rise, beats_constant")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}")
        return self


def share_of(change: str) -> float:
    """Of a change that is a percentage."""
    return float(change.rstrip("% ")) / 100.0


# What decides when the config does not say: better than a coin or a constant, no worse than what is served.
DEFAULT_GATES: dict[str, dict[str, Threshold]] = {
    "binary": {"auc": Threshold(min=0.5, max_drop=0.01)},
    "multiclass": {"accuracy": Threshold(beats_constant=True, max_drop=0.01)},
    "multilabel": {"auc": Threshold(min=0.5, max_drop=0.01)},
    "regression": {"rmse": Threshold(beats_constant=True, max_rise="1%")},
}


class EvaluateConfig(Section):
    """What is measured on the test split, and the gate that a model must pass to be pushed."""

    slices: tuple[tuple[str, ...], ...] = Field(
        (), description="columns whose values each get metrics of their own, such as [[payment_type]]"
    )
    gate: dict[str, Threshold] | None = Field(
        None,
        description="metric to bounds; left out: the task's own gate (binary, multilabel: auc, multiclass: "
        "accuracy, regression: rmse), against a floor or a constant answer and the latest blessed model",
    )
