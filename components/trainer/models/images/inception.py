"""An inception net (Szegedy et al. 2015), its 5 x 5 convolutions as two of 3 x 3 (Szegedy et al. 2016)."""

from __future__ import annotations

from typing import Any

import keras

from components.trainer.models.images.stages import Stages, halve


def inception(x: Any, stages: Stages) -> Any:
    """Blocks of four branches side by side, with the shares of channels of GoogLeNet's first block."""
    style = stages.style

    def block(x: Any, channels: int, _stride: int, name: str) -> Any:
        sixteenth = channels // 16
        one = style.conv(x, 4 * sixteenth, f"{name}_1x1", kernel=1)
        three = style.conv(x, 6 * sixteenth, f"{name}_3x3_down", kernel=1)
        three = style.conv(three, 8 * sixteenth, f"{name}_3x3")
        five = style.conv(x, sixteenth, f"{name}_5x5_down", kernel=1)
        five = style.conv(five, 2 * sixteenth, f"{name}_5x5_a")
        five = style.conv(five, 2 * sixteenth, f"{name}_5x5_b")
        pool = keras.layers.MaxPooling2D(3, strides=1, padding="same", name=f"{name}_pool")(x)
        pool = style.conv(pool, 2 * sixteenth, f"{name}_pool_down", kernel=1)
        return keras.layers.Concatenate(name=name)([one, three, five, pool])

    x = halve(stages.stem(x, stages.width // 2), f"{stages.name}_half")
    return stages.run(x, block, pooled=True)
