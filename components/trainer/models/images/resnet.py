"""A residual net for small images (He et al. 2016, section 4.2: 3 x 3 stem without pooling, basic blocks)."""

from __future__ import annotations

from typing import Any

import keras

from components.trainer.models.images.stages import Stages


def resnet(x: Any, stages: Stages) -> Any:
    """Blocks of two convolutions whose result is added to what they took."""
    style = stages.style

    def block(x: Any, channels: int, stride: int, name: str) -> Any:
        inner = style.conv(x, channels, f"{name}_a", stride=stride)
        inner = style.linear_conv(inner, channels, f"{name}_b")
        # An identity block passes its input on as it is; one that changes the shape projects it.
        if stride != 1 or x.shape[-1] != channels:
            x = style.linear_conv(x, channels, f"{name}_shortcut", kernel=1, stride=stride)
        return style.activate(keras.layers.Add(name=f"{name}_sum")([inner, x]), name)

    return stages.run(stages.stem(x, stages.width), block)
