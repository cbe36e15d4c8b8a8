"""The `evaluate` section: what is measured and what decides."""

from __future__ import annotations

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


# What decides when the config does not say: better than a coin, and no worse than what is served.
DEFAULT_GATES: dict[str, dict[str, Threshold]] = {
    "binary": {"auc": Threshold(min=0.5, max_drop=0.01)},
    "multiclass": {"accuracy": Threshold(min=0.0, max_drop=0.01)},
    "multilabel": {"auc": Threshold(min=0.5, max_drop=0.01)},
    "regression": {"rmse": Threshold(min=0.0, max_rise=0.0)},
}


class EvaluateConfig(Section):
    """What is measured on the test split, and the gate that a model must pass to be pushed."""

    slices: tuple[tuple[str, ...], ...] = Field(
        (), description="columns whose values each get metrics of their own, such as [[payment_type]]"
    )
    gate: dict[str, Threshold] | None = Field(
        None,
        description="metric to bounds; left out: the task's own gate (binary, multilabel: auc, multiclass: "
        "accuracy, regression: rmse), against a floor and against the latest blessed model",
    )
