"""The `model` and `train` sections."""

from components.trainer.config.augment import AugmentConfig, ColorConfig
from components.trainer.config.callbacks import PlateauConfig, TensorBoardConfig
from components.trainer.config.cross import CrossConfig
from components.trainer.config.distill import DistillConfig
from components.trainer.config.images import ImagesConfig
from components.trainer.config.input import InputConfig
from components.trainer.config.loss import LossConfig
from components.trainer.config.model import ModelConfig
from components.trainer.config.optimizer import ClipConfig, OptimizerConfig
from components.trainer.config.schedule import LearningRateConfig
from components.trainer.config.sequences import SequencesConfig
from components.trainer.config.train import TrainConfig

__all__ = [
    "AugmentConfig",
    "ClipConfig",
    "ColorConfig",
    "CrossConfig",
    "DistillConfig",
    "ImagesConfig",
    "InputConfig",
    "LearningRateConfig",
    "LossConfig",
    "ModelConfig",
    "OptimizerConfig",
    "PlateauConfig",
    "SequencesConfig",
    "TensorBoardConfig",
    "TrainConfig",
]
