"""The `model` and `train` sections."""

from components.trainer.config.model import ModelConfig
from components.trainer.config.optimizer import OptimizerConfig
from components.trainer.config.schedule import LearningRateConfig
from components.trainer.config.train import TrainConfig

__all__ = ["LearningRateConfig", "ModelConfig", "OptimizerConfig", "TrainConfig"]
