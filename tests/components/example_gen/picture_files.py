"""Small image files for the tests."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 12, 8


def picture(mode: str = "RGB", seed: int = 0) -> Image.Image:
    """A picture of WIDTH x HEIGHT whose left upper corner is red, or dark."""
    pixels = np.random.default_rng(seed).integers(0, 100, (HEIGHT, WIDTH, 3), np.uint8)
    pixels[: HEIGHT // 2, : WIDTH // 2] = (255, 0, 0)
    return Image.fromarray(pixels).convert(mode)


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    """The image as a file."""
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def turned_photo(orientation: int) -> bytes:
    """A JPEG that a camera held otherwise: the picture of `picture()`, once it is turned as its EXIF says."""
    image = picture().resize((WIDTH * 8, HEIGHT * 8), Image.Resampling.NEAREST)
    undo = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = image.transpose(undo[orientation]) if orientation in undo else image
    return encoded(stored, "JPEG", exif=exif, quality=95, subsampling=0)
