"""The `train.loss` section."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, NonNegativeFloat, PositiveFloat, model_validator

from components.section import Section

OF_CLASSES = ("cross_entropy", "focal")
OF_NUMBERS = ("mse", "mae", "huber", "quantile")
_TAKEN_BY = {
    "label_smoothing": "cross_entropy",
    "gamma": "focal",
    "alpha": "focal",
    "delta": "huber",
    "quantile": "quantile",
}


def _named(weights: Any) -> Any:
    """Classes named as the label's are: YAML reads 0, 1, true and false as numbers and booleans."""
    if not isinstance(weights, dict):
        return weights
    return {str(key).lower() if isinstance(key, bool) else str(key): value for key, value in weights.items()}


ClassWeights = Annotated[Literal["balanced"] | dict[str, NonNegativeFloat], BeforeValidator(_named)]


Quantile = Annotated[float, Field(gt=0.0, lt=1.0)]


class LossConfig(Section):
    """What is made small."""

    name: Literal["cross_entropy", "focal", "mse", "mae", "huber", "quantile"] | None = Field(
        None, description="left out: cross_entropy for classes, mse for numbers"
    )
    label_smoothing: float = Field(
        0.0, ge=0.0, lt=1.0, description="for cross_entropy: share of the target that all classes get alike"
    )
    gamma: NonNegativeFloat | None = Field(
        None, description="for focal (Lin et al. 2017): how little easy rows count; left out: 2"
    )
    alpha: Annotated[float, Field(gt=0.0, lt=1.0)] | None = Field(
        None,
        description="for focal with yes-or-no labels (binary, multilabel): weight of yes, no has the rest; "
        "left out: both count alike",
    )
    delta: PositiveFloat | None = Field(
        None,
        description="for huber: the error, in the label's units, from which on it counts in proportion; left "
        "out: one standard deviation of the label",
    )
    quantile: Quantile | tuple[Quantile, ...] | None = Field(
        None,
        description="for quantile: the one to predict, or several, such as [0.1, 0.5, 0.9], of which the one "
        "nearest to 0.5 is the prediction and all are in the answer; left out: 0.5, the median",
    )
    class_weights: ClassWeights | None = Field(
        None,
        description="class to weight in the loss (1 where a class is not named), or balanced: "
        "train rows / (classes * train rows of the class). For multilabel it weighs the rows that have the "
        "class, and balanced is rows without / rows with it",
    )

    @property
    def quantiles(self) -> tuple[float, ...]:
        """Those to predict where there are several; empty for one."""
        return self.quantile if isinstance(self.quantile, tuple) else ()

    def chosen(self, task: str) -> str:
        """The loss's name for a task."""
        return self.name or ("mse" if task == "regression" else "cross_entropy")

    @model_validator(mode="after")
    def _fits(self) -> LossConfig:
        wrong = list(self._misfits())
        if wrong:
            raise ValueError("; ".join(wrong))
        return self

    def _misfits(self) -> Iterator[str]:
        for key, loss in _TAKEN_BY.items():
            # cross_entropy is what a left-out name means for classes.
            fits = self.name == loss or (self.name is None and loss == "cross_entropy")
            if getattr(self, key) and not fits:
                yield f"{key} is for name: {loss}" + (f", not for {self.name}" if self.name else "")
        if isinstance(self.quantile, tuple) and list(self.quantile) != sorted(set(self.quantile)):
            yield f"quantile: several must rise, received {', '.join(f'{each:g}' for each in self.quantile)}"
        if self.quantile == ():
            yield "quantile: the list is empty"
        if self.class_weights is not None and self.name in OF_NUMBERS:
            yield f"class_weights needs classes; {self.name} is a loss of numbers"


def misfit(loss: LossConfig, task: str) -> str:
    """Why a loss cannot be had for a task; empty when it can."""
    numbers = task == "regression"
    allowed = OF_NUMBERS if numbers else OF_CLASSES
    if loss.name and loss.name not in allowed:
        return f"{loss.name} is no loss for task {task}: choose {', '.join(allowed)}"
    if numbers and (loss.label_smoothing or loss.class_weights is not None):
        return "label_smoothing and class_weights need classes; the task is regression"
    if loss.alpha is not None and task == "multiclass":
        return "alpha weighs two classes; for more of them use class_weights"
    return ""
