"""One image: whether it is whole, how large it is, and that TensorFlow reads it as a person sees it."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass

from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from components.errors import cut

_FORMATS = ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP")
# Channels of the modes that JPEG and PNG files have and TensorFlow decodes; a palette becomes its colours.
_CHANNELS = {"1": 1, "L": 1, "I;16": 1, "P": 3, "RGB": 3}
# 32 bits a channel: no JPEG or PNG holds them.
_TOO_DEEP = ("I", "F")
_PHOTO = ("JPEG", "MPO")  # an MPO is a JPEG with further pictures behind it, as telephones write them
_PNG_DEPTH = 24  # of a PNG file, the byte that says how many bits a channel has
# A loss that no eye sees; only photographs that are turned or in CMYK are compressed a second time.
_JPEG_QUALITY = 95

# A file may hold odd metadata or a very large picture; both are no matter as long as the picture decodes.
warnings.filterwarnings("ignore", module=r"PIL\.")


class BadImage(ValueError):
    """What was read is no whole image; says why."""


@dataclass(frozen=True)
class CheckedImage:
    """An image as it is stored.

    Attributes:
      encoded: a JPEG or PNG file.
      format: jpeg or png.
      channels: 1 or 3.
      remarks: what was done to it, or should be known of it, as a `Block` has them.
    """

    encoded: bytes
    format: str
    height: int
    width: int
    channels: int
    remarks: tuple[str, ...] = ()


def check_image(encoded: bytes) -> CheckedImage:
    """Decodes an image file, and stores it anew when TensorFlow would not see in it what a person sees.

    A whole JPEG or PNG that needs nothing keeps its bytes.

    Raises:
      BadImage: it cannot be decoded to its end.
    """
    if not encoded:
        raise BadImage("the file is empty")
    try:
        with Image.open(io.BytesIO(encoded), formats=_FORMATS) as image:
            settled, remarks = _settle(image, encoded)
            photo = image.format in _PHOTO
            if settled is image:
                _must_decode(image, encoded, photo)
            else:
                encoded = _encode(settled, photo)
            return CheckedImage(
                encoded=encoded,
                format="jpeg" if photo else "png",
                height=settled.height,
                width=settled.width,
                channels=_CHANNELS[settled.mode],
                remarks=tuple(remarks),
            )
    except BadImage:
        raise
    except UnidentifiedImageError:
        start = cut(repr(bytes(encoded[:16])).removeprefix("b"))
        raise BadImage(f"not an image of {', '.join(_FORMATS)}: it starts with {start}") from None
    except Image.DecompressionBombError as error:
        raise BadImage(f"too large: {error}") from None
    except MemoryError:
        raise BadImage("too large for this machine's memory") from None
    # What broken files make decoders raise has no end: OSError, SyntaxError, struct.error, EOFError, …
    except Exception as error:
        raise BadImage(f"broken: {error}") from None


def _settle(image: Image.Image, encoded: bytes) -> tuple[Image.Image, list[str]]:
    """The image as it is to be stored, the same object when its file can stay; and what is to be said."""
    photo = image.format in _PHOTO
    remarks: list[str] = []
    settled: Image.Image = image
    if image.mode in _TOO_DEEP:
        raise BadImage(f"32 bits a channel (mode {image.mode}), expected 8 or 16")
    if not photo and getattr(image, "is_animated", False):
        remarks.append("images of several frames, of which the first is kept: {n}")
        settled = image.copy()
    if _turned(image):
        remarks.append("images turned upright, as their EXIF says: {n}")
        settled = ImageOps.exif_transpose(settled)
    if settled.has_transparency_data:
        remarks.append("images with transparency, laid on white: {n}")
        settled = _on_white(settled)
    if settled.mode == "CMYK":
        remarks.append("images in CMYK, turned into RGB: {n}")
    if settled.mode not in _CHANNELS:
        settled = settled.convert("I;16" if settled.mode.startswith("I;16") else "RGB")
    if settled.mode == "I;16" or (image.format == "PNG" and encoded[_PNG_DEPTH] == 16):
        remarks.append(
            "images with 16 bits a channel, of which TensorFlow reads 8 unless told otherwise: {n}"
        )
    if not photo and image.format != "PNG":
        remarks.append(f"images in {image.format}, stored as PNG: {{n}}")
        settled = settled.copy()
    return settled, remarks


def _must_decode(image: Image.Image, encoded: bytes, photo: bool) -> None:
    """TensorFlow is the judge, as it will read the file; Pillow tells better what is wrong with it."""
    import tensorflow as tf

    try:
        if photo:
            # Reads the whole file, and computes an eighth of the picture only.
            tf.io.decode_jpeg(encoded, ratio=8)
        else:
            tf.io.decode_png(encoded)
    except tf.errors.InvalidArgumentError:
        image.load()
        raise BadImage("broken: the file stops before its end, or was changed") from None


def _turned(image: Image.Image) -> bool:
    if "exif" not in image.info and image.format != "TIFF":
        return False
    return image.getexif().get(ExifTags.Base.Orientation, 1) in range(2, 9)


def _on_white(image: Image.Image) -> Image.Image:
    clear = image.convert("RGBA")
    page = Image.new("RGBA", clear.size, "white")
    page.alpha_composite(clear)
    return page.convert("L" if image.mode in ("1", "L", "LA", "La") else "RGB")


def _encode(image: Image.Image, photo: bool) -> bytes:
    stream = io.BytesIO()
    if photo:
        image.save(stream, "JPEG", quality=_JPEG_QUALITY, subsampling=0, exif=b"")
    else:
        # What describes the old pixels (transparency, orientation) must not describe the new ones.
        image.info.clear()
        image.save(stream, "PNG")
    return stream.getvalue()
