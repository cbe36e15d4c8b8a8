"""The `train.reduce_on_plateau` and `train.tensorboard` sections."""

from __future__ import annotations

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, model_validator

from components.section import Section


class PlateauConfig(Section):
    """Lowers the learning rate when the eval loss no longer falls."""

    factor: float = Field(0.5, gt=0.0, lt=1.0, description="what the rate is multiplied by")
    patience: PositiveInt = Field(2, description="epochs without a better eval loss before that")
    min: NonNegativeFloat = Field(1e-6, description="the rate falls no further")


class TensorBoardConfig(Section):
    """What goes into TensorBoard's logs beside loss and metrics of each epoch."""

    profile: tuple[PositiveInt, PositiveInt] | None = Field(
        None,
        description="first and last call into TensorFlow to profile, counted from 1 over the whole run; "
        "a call is steps_per_execution steps",
    )
    histograms: NonNegativeInt = Field(0, description="of all weights, every so many epochs; 0: never")

    @model_validator(mode="after")
    def _profile_is_a_range(self) -> TensorBoardConfig:
        if self.profile and self.profile[0] > self.profile[1]:
            raise ValueError(f"profile: {self.profile[0]} comes after {self.profile[1]}")
        return self
