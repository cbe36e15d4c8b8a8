"""A net of depthwise separable convolutions: the inverted residuals of MobileNetV2 (Sandler et al. 2018)."""

from __future__ import annotations

from typing import Any

import keras

from components.trainer.models.images.stages import Stages

# The paper's 6 makes a net half as large again, for little.
_EXPANSION = 4
# How many channels the last convolution gives for each that it takes; the paper's is 1280 of 320.
_HEAD = 4


def mobile(x: Any, stages: Stages) -> Any:
    """Blocks that widen, convolve each channel by itself, and narrow again without an activation."""
    style = stages.style

    def block(x: Any, channels: int, stride: int, name: str) -> Any:
        inner = style.conv(x, _EXPANSION * x.shape[-1], f"{name}_widen", kernel=1)
        inner = style.depthwise(inner, f"{name}_depthwise", stride=stride)
        inner = style.linear_conv(inner, channels, f"{name}_narrow", kernel=1)
        if stride == 1 and x.shape[-1] == channels:
            inner = keras.layers.Add(name=f"{name}_sum")([inner, x])
        return inner

    x = stages.run(stages.stem(x, stages.width, stride=2), block)
    return style.conv(x, _HEAD * x.shape[-1], f"{stages.name}_head", kernel=1)
