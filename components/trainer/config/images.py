"""The `model.images` section."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveInt

from components.section import Section

ImageEncoder = Literal["cnn", "resnet", "inception", "mobile"]

# Channels of the first stage and blocks of each, where the config leaves them out: sizes that learn a
# data set of 60,000 pictures of 28 x 28 in minutes on a few CPU cores.
_WIDTH: dict[str, int] = {"cnn": 32, "resnet": 16, "inception": 64, "mobile": 32}
_BLOCKS: dict[str, tuple[int, ...]] = {
    "cnn": (1, 1, 1),
    "resnet": (2, 2, 2),
    "inception": (1, 2),
    "mobile": (1, 2, 2),
}
# The smallest branch of an inception block has a sixteenth of its channels.
INCEPTION_PARTS = 16


class ImagesConfig(Section):
    """How the model reads a column of images."""

    encoder: ImageEncoder | None = Field(
        None,
        description="the net that an image goes through; left out: the architecture if it is one of these, "
        "else cnn",
    )
    width: PositiveInt | None = Field(
        None,
        description="channels of the first stage; each further stage has twice as many of a picture half "
        "as wide and high; left out: cnn 32, resnet 16, inception 64, mobile 32",
    )
    blocks: tuple[PositiveInt, ...] | None = Field(
        None,
        min_length=1,
        description="blocks of each stage, and by their number the stages; left out: cnn [1, 1, 1], "
        "resnet [2, 2, 2], inception [1, 2], mobile [1, 2, 2]",
    )
    normalization: Literal["batch", "layer", "none"] = Field(
        "batch", description="after each convolution: over the batch, or over the channels of each pixel"
    )
    dropout: float = Field(
        0.0, ge=0.0, lt=1.0, description="share of whole feature maps dropped after each stage"
    )

    def size(self, encoder: ImageEncoder) -> tuple[int, tuple[int, ...]]:
        """Width and blocks of the encoder."""
        return self.width or _WIDTH[encoder], self.blocks or _BLOCKS[encoder]
