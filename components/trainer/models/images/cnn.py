"""A plain convolutional net: 3 x 3 convolutions, pooling between stages (Simonyan, Zisserman 2015)."""

from __future__ import annotations

from typing import Any

from components.trainer.models.images.stages import Stages


def cnn(x: Any, stages: Stages) -> Any:
    """A convolution, then each block another."""

    def block(x: Any, channels: int, _stride: int, name: str) -> Any:
        return stages.style.conv(x, channels, name)

    return stages.run(stages.stem(x, stages.width), block, pooled=True)
