"""The `train` section."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from components.section import Section
from components.trainer.config.augment import AugmentConfig
from components.trainer.config.callbacks import PlateauConfig, TensorBoardConfig
from components.trainer.config.input import InputConfig
from components.trainer.config.optimizer import OptimizerConfig
from components.trainer.config.schedule import LearningRateConfig

_SMALLEST_BATCH, _LARGEST_BATCH = 32, 1024


class TrainConfig(Section):
    """How it is trained."""

    epochs: PositiveInt = Field(20, description="passes over the train rows at most")
    batch_size: PositiveInt | None = Field(
        None,
        description="rows a step, over all devices together; left out: a hundredth of the train rows, "
        "but 32 at least and 1024 at most",
    )
    optimizer: OptimizerConfig = OptimizerConfig()
    learning_rate: LearningRateConfig = LearningRateConfig()
    early_stopping: NonNegativeInt = Field(
        3,
        description="stop after so many epochs without a better eval loss; 0: never",
    )
    keep: Literal["best", "last"] = Field(
        "best", description="the weights of which epoch are exported: best has the lowest eval loss"
    )
    reduce_on_plateau: PlateauConfig | None = Field(
        None, description="needs learning_rate.schedule: constant; left out: the schedule alone decides"
    )
    checkpoint: bool = Field(
        True, description="keep what a killed step has learned, so that the next run goes on from there"
    )
    input: InputConfig = InputConfig()
    augment: AugmentConfig = AugmentConfig()
    tensorboard: TensorBoardConfig = TensorBoardConfig()
    strategy: Literal["auto", "one_device", "mirrored"] = Field(
        "auto", description="auto: mirrored when there is more than one GPU"
    )
    precision: Literal["auto", "float32", "mixed_bfloat16", "mixed_float16"] = Field(
        "auto", description="auto: mixed_float16 on GPUs with tensor cores, else float32"
    )
    steps_per_execution: PositiveInt = Field(32, description="steps in one call into TensorFlow")
    seed: int = Field(1, ge=0, description="of the weights, the shuffling and dropout")

    @model_validator(mode="after")
    def _one_decides_the_rate(self) -> TrainConfig:
        rate = self.learning_rate
        if self.reduce_on_plateau and (rate.schedule != "constant" or rate.warmup_steps):
            raise ValueError(
                "reduce_on_plateau needs learning_rate: {schedule: constant} without warm-up, received "
                f"schedule: {rate.schedule}, warmup_steps: {rate.warmup_steps}; drop one of both"
            )
        return self

    def rows_a_step(self, rows: int) -> int:
        """The batch size for so many train rows."""
        return self.batch_size or min(_LARGEST_BATCH, max(_SMALLEST_BATCH, rows // 100))
