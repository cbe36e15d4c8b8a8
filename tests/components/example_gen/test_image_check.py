"""What is said and done about each trouble that an image file may have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from picture_files import HEIGHT, WIDTH, encoded, picture, turned_photo
from PIL import Image

from components.example_gen.images.check import BadImage, CheckedImage, check_image


def decoded(image: CheckedImage) -> np.ndarray:
    """As TensorFlow sees it."""
    import tensorflow as tf

    return tf.io.decode_image(image.encoded, expand_animations=False).numpy()


def shape(image: CheckedImage) -> tuple[int, int, int]:
    return (image.height, image.width, image.channels)


@pytest.mark.parametrize(
    ("data", "kind", "channels"),
    [
        (encoded(picture(), "PNG"), "png", 3),
        (encoded(picture("L"), "PNG"), "png", 1),
        (encoded(picture("1"), "PNG"), "png", 1),
        (encoded(picture("P"), "PNG"), "png", 3),
        (encoded(picture(), "JPEG"), "jpeg", 3),
        (encoded(picture("L"), "JPEG", progressive=True), "jpeg", 1),
        (encoded(picture(), "MPO", save_all=True, append_images=[picture()]), "jpeg", 3),
    ],
)
def test_a_good_image_keeps_its_bytes(data: bytes, kind: str, channels: int) -> None:
    image = check_image(data)
    assert image.encoded is data
    assert (image.format, *shape(image)) == (kind, HEIGHT, WIDTH, channels)
    assert image.remarks == ()
    assert decoded(image).shape == shape(image)


@pytest.mark.parametrize("orientation", range(2, 9))
def test_a_photo_is_turned_upright(orientation: int) -> None:
    image = check_image(turned_photo(orientation))
    assert image.remarks == ("images turned upright, as their EXIF says: {n}",)
    assert shape(image) == (HEIGHT * 8, WIDTH * 8, 3)
    assert not Image.open(__import__("io").BytesIO(image.encoded)).getexif()
    red = decoded(image)[: HEIGHT * 4, : WIDTH * 4].reshape(-1, 3).mean(axis=0)
    assert np.allclose(red, (254, 0, 0), atol=4)


def test_an_upright_photo_keeps_its_bytes() -> None:
    data = turned_photo(1)
    assert check_image(data).encoded is data


def test_a_photo_in_cmyk_becomes_rgb() -> None:
    image = check_image(encoded(picture("CMYK"), "JPEG", quality=95))
    assert image.remarks == ("images in CMYK, turned into RGB: {n}",)
    assert (image.format, *shape(image)) == ("jpeg", HEIGHT, WIDTH, 3)
    assert decoded(image)[1, 1, 0] > 200


@pytest.mark.parametrize("mode", ["I;16", "RGB"])
def test_sixteen_bits_are_kept_and_said(mode: str) -> None:
    import tensorflow as tf

    deep = np.full((HEIGHT, WIDTH), 0x1234, np.uint16)
    if mode == "RGB":
        data = tf.io.encode_png(np.stack([deep] * 3, -1)).numpy()
    else:
        data = encoded(Image.fromarray(deep), "PNG")
    image = check_image(data)
    assert image.encoded is data
    assert image.channels == (3 if mode == "RGB" else 1)
    (remark,) = image.remarks
    assert remark.startswith("images with 16 bits a channel")
    assert tf.io.decode_png(image.encoded, dtype=tf.uint16).numpy().max() == 0x1234


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP"])
def test_of_an_animation_the_first_frame_is_kept(kind: str) -> None:
    frames = [picture(seed=1), picture(seed=2)]
    image = check_image(encoded(frames[0], kind, save_all=True, append_images=frames[1:]))
    assert "images of several frames, of which the first is kept: {n}" in image.remarks
    assert (image.format, *shape(image)) == ("png", HEIGHT, WIDTH, 3)
    assert decoded(image).shape == shape(image)
    if kind == "PNG":
        assert np.array_equal(decoded(image), np.asarray(frames[0]))


@pytest.mark.parametrize("kind", ["GIF", "BMP", "TIFF", "WEBP"])
def test_another_format_is_stored_as_png(kind: str) -> None:
    image = check_image(encoded(picture(), kind))
    assert image.remarks == (f"images in {kind}, stored as PNG: {{n}}",)
    assert image.format == "png"
    if kind in ("BMP", "TIFF"):
        assert np.array_equal(decoded(image), np.asarray(picture()))


@pytest.mark.parametrize(("mode", "channels"), [("RGBA", 3), ("LA", 1)])
def test_transparent_parts_become_white(mode: str, channels: int) -> None:
    clear = picture(mode)
    clear.putalpha(
        Image.fromarray(np.repeat([[0, 255]], HEIGHT, 0).astype(np.uint8)).resize((WIDTH, HEIGHT), 0)
    )
    image = check_image(encoded(clear, "PNG"))
    assert image.remarks == ("images with transparency, laid on white: {n}",)
    assert image.channels == channels
    assert (decoded(image)[:, : WIDTH // 2] == 255).all()
    assert (decoded(image)[:, WIDTH // 2 :] < 100).all()


def test_a_colour_that_stands_for_transparent_becomes_white() -> None:
    image = check_image(encoded(picture(), "PNG", transparency=(255, 0, 0)))
    assert image.remarks == ("images with transparency, laid on white: {n}",)
    assert (decoded(image)[0, 0] == 255).all()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "the file is empty"),
        (
            b"<!DOCTYPE html><html>",
            "not an image of JPEG, PNG, GIF, BMP, TIFF, WEBP: it starts with '<!DOCTYPE html><'",
        ),
        (encoded(picture(), "JPEG")[:-200], "broken: "),
        (encoded(picture(), "PNG")[:-40], "broken: "),
        (encoded(picture(), "PNG")[:-12], "broken: "),
        (encoded(picture(), "PNG")[:-1], "broken: "),
        (encoded(picture(), "PNG")[:60] + b"\0" + encoded(picture(), "PNG")[61:], "broken: "),
        (encoded(Image.new("F", (4, 4)), "TIFF"), "32 bits a channel"),
    ],
)
def test_a_bad_image_says_why(data: bytes, why: str) -> None:
    with pytest.raises(BadImage) as caught:
        check_image(data)
    assert str(caught.value).startswith(why)


@given(st.data())
def test_any_damage_is_said_or_harmless(data: st.DataObject) -> None:
    whole = data.draw(
        st.sampled_from([encoded(picture(), kind) for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF")])
    )
    broken = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    broken = broken[: data.draw(st.integers(0, len(broken)))]
    try:
        image = check_image(bytes(broken))
    except BadImage:
        return
    assert decoded(image).shape == shape(image)


@given(st.binary(max_size=200))
def test_any_bytes_are_said_to_be_no_image(data: bytes) -> None:
    with pytest.raises(BadImage):
        check_image(data)
