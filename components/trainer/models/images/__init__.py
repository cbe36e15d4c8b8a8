"""Nets that make a vector of an image: [batch, height, width, channels] uint8 to [batch, units]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from components.trainer.config import ModelConfig
from components.trainer.models.images.cnn import cnn
from components.trainer.models.images.inception import inception
from components.trainer.models.images.mobile import mobile
from components.trainer.models.images.resnet import resnet
from components.trainer.models.images.stages import Stages
from components.trainer.models.style import Style

_NETS: dict[str, Callable[[Any, Stages], Any]] = {
    "cnn": cnn,
    "resnet": resnet,
    "inception": inception,
    "mobile": mobile,
}


def encode(pixels: Any, name: str, config: ModelConfig) -> Any:
    """The vector of an image, whatever its size: the mean over the places of the last feature maps."""
    # Inside the model, so that who serves it needs to know nothing of it.
    scaled = keras.layers.Rescaling(1 / 127.5, offset=-1.0, name=f"{name}_scaled")(pixels)
    width, blocks = config.images.size(config.image_encoder)
    stages = Stages(Style.of_images(config), width, blocks, config.images.dropout, name)
    maps = _NETS[config.image_encoder](scaled, stages)
    return keras.layers.GlobalAveragePooling2D(name=f"{name}_mean")(maps)
