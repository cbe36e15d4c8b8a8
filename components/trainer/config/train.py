"""The `train` section."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from components.section import Section
from components.trainer.config.augment import AugmentConfig
from components.trainer.config.callbacks import PlateauConfig, TensorBoardConfig
from components.trainer.config.distill import DistillConfig
from components.trainer.config.input import InputConfig
from components.trainer.config.loss import LossConfig
from components.trainer.config.optimizer import OptimizerConfig
from components.trainer.config.refusals import refuse
from components.trainer.config.schedule import LearningRateConfig

_SMALLEST_BATCH, _LARGEST_BATCH = 32, 1024


class TrainConfig(Section):
    """How it is trained."""

    epochs: PositiveInt = Field(20, description="passes over the train rows at most")
    batch_size: PositiveInt | None = Field(
        None,
        description="rows a step, over all devices and workers together; left out: a hundredth of the train "
        "rows in multiples of 32 (times accumulate), but 1024 at most",
    )
    accumulate: PositiveInt = Field(
        1,
        description="parts that a batch is computed in, one after the other, for a batch that does not fit "
        "in memory; their gradients are added up, and the weights move once",
    )
    optimizer: OptimizerConfig = Field(OptimizerConfig(), description="how weights move")
    learning_rate: LearningRateConfig = Field(LearningRateConfig(), description="how fast they move")
    loss: LossConfig = Field(LossConfig(), description="what is made small")
    distill: DistillConfig | None = Field(None, description="learn from another model, too")
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
    warm_start: str = Field(
        "off",
        min_length=1,
        description="what the weights begin with: off: lots; blessed: the latest blessed model that was "
        "trained on other data, if there is one; or the path of a version directory",
    )
    input: InputConfig = InputConfig()
    augment: AugmentConfig = AugmentConfig()
    tensorboard: TensorBoardConfig = TensorBoardConfig()
    strategy: Literal["auto", "one_device", "mirrored", "multi_worker", "tpu"] = Field(
        "auto",
        description="auto: multi_worker where TF_CONFIG or PyTorchJob's variables name several workers, "
        "mirrored when there is more than one GPU, else one_device",
    )
    precision: Literal["auto", "float32", "mixed_bfloat16", "mixed_float16"] = Field(
        "auto", description="auto: mixed_float16 on GPUs with tensor cores, else float32"
    )
    xla: Literal["auto"] | bool = Field(
        "auto", description="compile the step with XLA; auto: on one GPU, where the model allows it"
    )
    steps_per_execution: PositiveInt = Field(
        32, description="steps in one call into TensorFlow; left out with multi_worker: 1"
    )
    seed: int = Field(1, ge=0, description="of the weights, the shuffling and dropout")

    @model_validator(mode="before")
    @classmethod
    def _single_steps_of_workers(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("strategy") == "multi_worker":
            return {"steps_per_execution": 1, **given}
        return given

    @model_validator(mode="after")
    def _possible(self) -> TrainConfig:
        reasons = list(refuse(self))
        if reasons:
            raise ValueError("; ".join(reasons))
        return self

    def rows_a_step(self, rows: int) -> int:
        """The batch size for so many train rows; left to choose, one that devices and parts share evenly."""
        if self.batch_size:
            return self.batch_size
        unit = _SMALLEST_BATCH * self.accumulate
        return max(unit, min(_LARGEST_BATCH, rows // 100) // unit * unit)
