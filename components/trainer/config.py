"""The `model` and `train` sections."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from components.section import Section

_SMALLEST_BATCH, _LARGEST_BATCH = 32, 1024


class ModelConfig(Section):
    """What is trained."""

    architecture: Literal["wide_deep", "mlp"] = Field(
        "wide_deep",
        description="wide_deep: a linear model plus a deep net (Cheng et al. 2016); mlp: the deep net alone",
    )
    hidden: tuple[PositiveInt, ...] = Field((128, 64), description="units of each hidden layer")
    activation: Literal["relu", "swish", "mish", "gelu", "elu", "selu", "tanh"] = "swish"
    initializer: Literal["he_normal", "he_uniform", "glorot_normal", "glorot_uniform", "lecun_normal"] = (
        "he_normal"
    )
    dropout: float = Field(0.0, ge=0.0, lt=1.0, description="share of units dropped after each hidden layer")
    build: str | None = Field(
        None,
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$",
        description="your model: module.function of a file beside pipeline.yaml, called with (plan, config)",
    )


class OptimizerConfig(Section):
    """How weights move."""

    name: Literal["sgd", "adam", "adamw", "rmsprop"] = "adamw"
    weight_decay: NonNegativeFloat = Field(1e-4, description="for adamw only")
    momentum: float = Field(0.9, ge=0.0, lt=1.0, description="for sgd and rmsprop")


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
