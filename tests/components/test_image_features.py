"""Images as pixels: served as they were trained, and as Pillow and arithmetic see them."""

from __future__ import annotations

import base64
import io
import random

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_transform as tft
from click.testing import CliRunner
from executors import run_steps
from PIL import Image
from served_features import check_served_as_stored, column, stored, transform

from components.errors import UserError
from components.example_gen.found import Found
from components.trainer.export import export
from components.transform.config import ImageFeature
from components.transform.infer import make_plan
from components.transform.plan import FeaturePlan
from pipeline.cli.predict import command
from serving.hosted import HostedModel
from serving.local import LocalModel
from serving.rows import to_columns

pytestmark = pytest.mark.slow

HEIGHT, WIDTH = 9, 6
FEATURES = {
    # 40 by 30 pixels, half of them grey
    "photo": {"kind": "image", "height": 10, "width": 10, "channels": 3},
    "grey": {"kind": "image", "height": 16, "width": 12, "channels": 1},
}


def _encoded(pixels, kind):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind)
    return stream.getvalue()


def _random(deal, *shape):
    return np.array([deal.randrange(256) for _ in range(int(np.prod(shape)))], np.uint8).reshape(shape)


def _smooth(deal, height, width):
    """What a photograph is like: neighbours are alike."""
    corners = Image.fromarray(_random(deal, 3, 3, 3))
    return np.asarray(corners.resize((width, height), Image.Resampling.BICUBIC))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The artifacts up to Transform, of a table that names image files."""
    folder = tmp_path_factory.mktemp("images")
    deal = random.Random(3)
    lines = ["icon,photo,grey,y"]
    for number in range(60):
        names = [f"icon{number}.png", f"photo{number}.jpg", f"grey{number}.png"]
        (folder / names[0]).write_bytes(_encoded(_random(deal, HEIGHT, WIDTH), "PNG"))
        photo = _smooth(deal, 40, 30)
        (folder / names[1]).write_bytes(_encoded(photo[:, :, 0] if number % 2 else photo, "JPEG"))
        (folder / names[2]).write_bytes(_encoded(_smooth(deal, 16, 12), "PNG"))
        cells = ["" if number % 7 == at else name for at, name in enumerate(names)]
        lines.append(",".join([*cells, "up" if deal.random() < 0.5 else "down"]))
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    return run_steps(
        folder / "rows.csv",
        "y",
        *("ExampleGen", "StatisticsGen", "SchemaGen", "Transform"),
        data={"source": "rows.csv", "columns": dict.fromkeys(("icon", "photo", "grey"), "image")},
        features=FEATURES,
    )


@pytest.fixture(scope="module")
def plan(made):
    return FeaturePlan.load(made["transform_graph"].uri)


@pytest.fixture(scope="module")
def folder(made, plan, tmp_path_factory):
    """A model of the icon's pixels, exported: it says up when they are bright."""
    inputs = {each.name: keras.Input(each.model_shape, name=each.name, dtype="uint8") for each in plan.inputs}
    means = [keras.ops.mean(keras.ops.cast(each, "float32"), axis=(1, 2, 3)) for each in inputs.values()]
    model = keras.Model(inputs, (means[0] - 100.0 + 0.0 * (means[1] + means[2]))[:, None])
    base = tmp_path_factory.mktemp("exported")
    export(model, plan, tft.TFTransformOutput(made["transform_graph"].uri), "icons", str(base / "1"))
    return base


@pytest.fixture(scope="module")
def exported(folder):
    return tf.saved_model.load(str(folder / "1"))


def test_images_are_features_of_their_own_size(plan):
    configs = {feature.name: feature.config for feature in plan.used}
    assert set(configs) == {"icon", "photo", "grey"}
    assert configs["icon"] == ImageFeature(height=HEIGHT, width=WIDTH, channels=1)
    icon = plan.inputs[0]
    assert (icon.image, icon.length, icon.dtype) == ((HEIGHT, WIDTH, 1), HEIGHT * WIDTH, "int64")


@pytest.mark.parametrize("split", ["train", "eval", "test"])
def test_served_as_trained(made, exported, split):
    check_served_as_stored(made, exported, split)


def test_pixels_are_those_of_the_files(made):
    files = [cell[0] if cell else None for cell in column(made["examples"], "icon")]
    found = stored(made, "train")["icon_xf"]
    assert None in files
    for file, pixels in zip(files, found, strict=True):
        expected = np.asarray(Image.open(io.BytesIO(file))) if file else np.zeros((HEIGHT, WIDTH))
        assert pixels.tolist() == expected.ravel().tolist()


def test_colours_become_grey_as_they_look(made):
    files = [cell[0] for cell in column(made["examples"], "grey") if cell]
    found = [row for row in stored(made, "train")["grey_xf"] if row.any()]
    for file, pixels in zip(files, found, strict=True):
        red, green, blue = np.moveaxis(np.asarray(Image.open(io.BytesIO(file)), np.float64), 2, 0)
        expected = 0.299 * red + 0.587 * green + 0.114 * blue
        assert np.abs(pixels - expected.ravel()).max() <= 0.5 + 1e-4


def test_resized_over_the_pixels_that_one_stands_for(made):
    files = [cell[0] for cell in column(made["examples"], "photo") if cell]
    found = [row for row in stored(made, "train")["photo_xf"] if row.any()]
    for file, pixels in zip(files, found, strict=True):
        image = Image.open(io.BytesIO(file)).convert("RGB")
        expected = np.asarray(image.resize((10, 10), Image.Resampling.BILINEAR), np.float64)
        # Another decoder of JPEG, another order of rounding.
        assert np.abs(pixels.reshape(10, 10, 3) - expected).max() <= 4


def test_what_is_no_image_is_black_and_harms_no_other(exported):
    deal = random.Random(5)
    good = _random(deal, HEIGHT, WIDTH)
    whole = _encoded(good, "PNG")
    cells = [whole, None, b"", b"no image", whole[:40], whole[:8], _encoded(good, "JPEG")[:60], whole]
    found = transform(exported, icon=cells)["icon_xf"]
    assert found[0].tolist() == found[7].tolist() == good.ravel().tolist()
    assert not found[1:7].any()
    assert not transform(exported, icon=[None, b"x"])["icon_xf"].any()


def test_what_is_transparent_lies_on_white(exported):
    pixels = np.zeros((HEIGHT, WIDTH, 4), np.uint8)
    pixels[0, 0] = (10, 10, 10, 255)
    found = transform(exported, icon=[_encoded(pixels, "PNG")])["icon_xf"][0]
    assert found[0] == 10
    assert (found[1:] == 255).all()


def test_bytes_of_images_in_json(folder):
    model = LocalModel(HostedModel(folder, "icons").start())
    bright, dark = (np.full((HEIGHT, WIDTH), value, np.uint8) for value in (200, 20))
    cells = [{"b64": base64.b64encode(_encoded(pixels, "PNG")).decode()} for pixels in (bright, dark)]
    answers = model.predict_columns(to_columns([{"icon": cell} for cell in cells], model.inputs()))
    assert [answer.predicted_class for answer in answers] == ["up", "down"]


def test_predict_reads_the_files_that_rows_name(folder, tmp_path):
    (tmp_path / "bright.png").write_bytes(_encoded(np.full((HEIGHT, WIDTH), 200, np.uint8), "PNG"))
    (tmp_path / "rows.csv").write_text("icon,photo\nbright.png,\n,\n")
    result = CliRunner().invoke(command, [str(folder), "--rows", str(tmp_path / "rows.csv")])
    assert [line.split(",")[1] for line in result.stdout.splitlines()[1:]] == ["up", "down"]
    (tmp_path / "rows.csv").write_text("icon\nbrigth.png\n")
    result = CliRunner().invoke(command, [str(folder), "--rows", str(tmp_path / "rows.csv")])
    assert isinstance(result.exception, UserError)
    assert "brigth.png: No such file" in str(result.exception)


class TestSizesThatTheDataSays:
    """What is left out of the config, without running anything."""

    def plan(self, made, sizes, **config):
        found = Found.load(made["examples"].uri)
        found.images["icon"] = found.images["icon"].model_copy(update=sizes)
        features = make_plan(found, {"icon": ImageFeature(**config)}).features
        return next(feature.config.shape for feature in features if feature.name == "icon")

    def test_of_one_size(self, made):
        assert self.plan(made, {}) == (HEIGHT, WIDTH, 1)
        assert self.plan(made, {"height": (480, 480), "width": (640, 640), "channels": 3}) == (96, 128, 3)

    def test_of_several_sizes(self, made):
        assert self.plan(made, {"height": (20, 30), "width": (8, 50)}) == (50, 50, 1)
        assert self.plan(made, {"height": (20, 900)}) == (128, 128, 1)

    def test_the_config_wins(self, made):
        assert self.plan(made, {}, height=4, channels=3) == (4, WIDTH, 3)

    def test_another_kind_is_refused(self, made):
        from components.transform.config import CategoryFeature

        found = Found.load(made["examples"].uri)
        with pytest.raises(UserError, match="image, which kind category cannot take"):
            make_plan(found, {"icon": CategoryFeature()})

    def test_before_the_images_are_read(self, made):
        found = Found.load(made["examples"].uri).model_copy(update={"images": {}})
        config = next(each.config for each in make_plan(found, {}).features if each.name == "icon")
        assert config == ImageFeature()
