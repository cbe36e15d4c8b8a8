"""The `train` section."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from components.section import Section
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
        description="stop after so many epochs without a better eval loss, with the best weights; 0: never",
    )
    strategy: Literal["auto", "one_device", "mirrored"] = Field(
        "auto", description="auto: mirrored when there is more than one GPU"
    )
    precision: Literal["auto", "float32", "mixed_bfloat16", "mixed_float16"] = Field(
        "auto", description="auto: mixed_float16 on GPUs with tensor cores, else float32"
    )
    steps_per_execution: PositiveInt = Field(32, description="steps in one call into TensorFlow")
    seed: int = Field(1, ge=0, description="of the weights, the shuffling and dropout")

    def rows_a_step(self, rows: int) -> int:
        """The batch size for so many train rows."""
        return self.batch_size or min(_LARGEST_BATCH, max(_SMALLEST_BATCH, rows // 100))
