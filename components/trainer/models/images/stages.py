"""What the image nets share: stages of blocks, each on feature maps half as wide and high, twice as many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import keras

from components.trainer.models.style import Style

# The first stage of a net sees pictures of at most this many pixels a side; larger ones are halved before.
# That of the nets for ImageNet is 56 of 224; data sets of small pictures have 28, 32 or 64.
_FIRST_STAGE = 64


class Stages(NamedTuple):
    """The stages of one image's net.

    Attributes:
      style: how layers are made.
      width: channels of the first stage.
      blocks: how many each stage has.
      dropout: share of feature maps dropped after each stage.
      name: what the names of all layers begin with.
    """

    style: Style
    width: int
    blocks: tuple[int, ...]
    dropout: float
    name: str

    def stem(self, x: Any, channels: int, *, stride: int | None = None) -> Any:
        """The first convolution; large images are halved until they suit the first stage."""
        name, side = f"{self.name}_stem", max(x.shape[1:3])
        if stride is None:
            stride = 2 if side > _FIRST_STAGE else 1
        x = self.style.conv(x, channels, name, stride=stride)
        side = -(-side // stride)
        while side > _FIRST_STAGE:
            side = -(-side // 2)
            x = halve(x, f"{name}_half_{side}")
        return x

    def run(self, x: Any, block: Callable[[Any, int, int, str], Any], *, pooled: bool = False) -> Any:
        """All blocks, one after the other.

        Args:
          x: the stem's feature maps.
          block: called with feature maps, channels, stride and name. The stride is 2 in the first block of
            every stage but the first.
          pooled: halve by pooling between the stages instead; the stride is always 1.
        """
        for stage, blocks in enumerate(self.blocks):
            name = f"{self.name}_stage_{stage}"
            if stage and pooled:
                x = halve(x, f"{name}_half")
            for number in range(blocks):
                stride = 2 if stage and not number and not pooled else 1
                x = block(x, self.width << stage, stride, f"{name}_block_{number}")
            if self.dropout:
                x = keras.layers.SpatialDropout2D(self.dropout, name=f"{name}_dropout")(x)
        return x


def halve(x: Any, name: str) -> Any:
    """The greatest of each 3 x 3, at every second place."""
    return keras.layers.MaxPooling2D(3, strides=2, padding="same", name=name)(x)
