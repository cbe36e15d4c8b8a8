"""The `model` and `train` sections."""

from components.trainer.config.loss import LossConfig
from components.trainer.config.model import ModelConfig
from components.trainer.config.optimizer import ClipConfig, OptimizerConfig
from components.trainer.config.schedule import LearningRateConfig
from components.trainer.config.train import TrainConfig

__all__ = ["ClipConfig", "LearningRateConfig", "LossConfig", "ModelConfig", "OptimizerConfig", "TrainConfig"]
