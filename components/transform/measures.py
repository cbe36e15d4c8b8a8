"""What a feature's config leaves to the data: how large images are, how long lists."""

from __future__ import annotations

from components.errors import UserError
from components.example_gen.found import Found
from components.transform.config import CategoriesFeature, FeatureConfig, ImageFeature, NumbersFeature

# Larger images are made smaller unless the config says how large they are to be.
_LONGER_SIDE = 128
_MOST_NUMBERS, _MOST_CATEGORIES = 1024, 64


def with_measures(found: Found, name: str, config: FeatureConfig) -> FeatureConfig:
    """The config with every measure that is known: all of them, once ingest has read the data.

    Raises:
      UserError: for an image of which neither the data nor the config says how large it is.
    """
    if isinstance(config, ImageFeature):
        return _image(found, name, config)
    if isinstance(config, NumbersFeature | CategoriesFeature) and config.length is None:
        if name in found.lists and name not in found.longest:
            return config
        most = _MOST_NUMBERS if isinstance(config, NumbersFeature) else _MOST_CATEGORIES
        return config.model_copy(update={"length": min(found.longest.get(name, 1), most)})
    return config


def _image(found: Found, name: str, config: ImageFeature) -> ImageFeature:
    sizes = found.images.get(name)
    if sizes is None:
        if found.types[name] == "image":
            return config
        if not (config.height and config.width):
            raise UserError(
                "nobody knows how large its images are",
                where=f"features.{name}",
                fix="give height and width",
            )
        return config.model_copy(update={"channels": config.channels or 3})
    height, width = sizes.height[1], sizes.width[1]
    # Images of one size keep their shape; of several, the largest square is as good as any.
    if sizes.height[0] != height or sizes.width[0] != width:
        height = width = max(height, width)
    smaller = min(1.0, _LONGER_SIDE / max(height, width))
    return config.model_copy(
        update={
            "height": config.height or max(1, round(height * smaller)),
            "width": config.width or max(1, round(width * smaller)),
            "channels": config.channels or sizes.channels,
        }
    )
