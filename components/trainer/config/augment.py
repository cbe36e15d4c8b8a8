"""The `train.augment` section."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt

from components.section import Section

Share = Annotated[float, Field(ge=0.0, lt=1.0)]


class ColorConfig(Section):
    """How far colours move, drawn anew for each image."""

    brightness: Share = Field(0.0, description="adds up to this share of full brightness, or takes it")
    contrast: Share = Field(
        0.0, description="distance from the image's mean, times 1 plus or minus up to this"
    )
    saturation: Share = Field(
        0.0,
        description="distance from grey, times 1 plus or minus up to this; images of 3 channels",
    )


class AugmentConfig(Section):
    """What is done to the train rows at random, anew in each epoch; never in evaluation nor in serving."""

    flip: Literal["horizontal", "vertical", "both"] | None = Field(
        None, description="images: each direction with probability 1/2"
    )
    crop: NonNegativeInt = Field(
        0, description="images: padded by so many black pixels, then cut back to size at a random place"
    )
    translate: Share = Field(
        0.0, description="images: shifted by up to this share of height and width, in whole pixels"
    )
    rotate: float = Field(0.0, ge=0.0, le=180.0, description="images: turned by up to so many degrees")
    color: ColorConfig = ColorConfig()
    mixup: NonNegativeFloat = Field(
        0.0,
        description="images: two are blended, l of one and 1 - l of the other, labels too; l is drawn from "
        "Beta(a, a) with this a (Zhang et al. 2018)",
    )
    cutmix: NonNegativeFloat = Field(
        0.0,
        description="images: a box of another replaces 1 - l of the area, and of the label (Yun et al. "
        "2019); with mixup too, each batch gets one of both",
    )
    token_drop: Share = Field(
        0.0, description="texts: each token is left out with this probability, one always stays"
    )
    token_swap: Share = Field(
        0.0, description="texts: neighbouring tokens change places with this probability"
    )

    @property
    def bends_images(self) -> bool:
        """Whether pixels move."""
        return bool(self.flip or self.crop or self.translate or self.rotate)

    @property
    def for_images(self) -> tuple[str, ...]:
        """The keys in use that need an image."""
        color = any(value for _, value in self.color)
        used = {
            name: getattr(self, name) for name in ("flip", "crop", "translate", "rotate", "mixup", "cutmix")
        }
        return tuple(name for name, value in {**used, "color": color}.items() if value)

    @property
    def for_texts(self) -> tuple[str, ...]:
        """The keys in use that need a text."""
        return tuple(name for name in ("token_drop", "token_swap") if getattr(self, name))

    @property
    def mixes(self) -> bool:
        """Whether labels are blended, too."""
        return bool(self.mixup or self.cutmix)
