"""Augmentation: pixels, labels and tokens change as the formulas say, by the seed, in training alone."""

from __future__ import annotations

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from example_files import plan_of, write_examples

from components.errors import UserError
from components.trainer import learning
from components.trainer.augment import augmented, check_augment
from components.trainer.augment.images import augment_image, bend, recolor, transforms
from components.trainer.augment.mixing import beta, cutmix, mix, mixup
from components.trainer.augment.texts import augment_tokens, drop, swap
from components.trainer.config import AugmentConfig, TrainConfig
from components.trainer.feed import evaluation, feed
from components.transform.plan import ModelInput

DEAL = np.random.default_rng(5)
# Two pictures, higher than wide.
PICTURES = DEAL.integers(0, 256, (2, 6, 5, 3)).astype(np.uint8)
SQUARES = DEAL.integers(0, 256, (2, 5, 5, 1)).astype(np.uint8)
IMAGE = ModelInput(name="p_xf", length=6 * 5 * 3, image=(6, 5, 3))
TEXT, NUMBER = ModelInput(name="t_xf", size=50, length=8), ModelInput(name="n_xf")
SEED = tf.constant([3, 4], tf.int64)


def moved(images, *, smooth=False, **lots):
    height, width = images.shape[1:3]
    still = {"flip_x": 1, "flip_y": 1, "shift_x": 0, "shift_y": 0, "degrees": 0}
    given = {name: tf.fill([len(images)], float(value)) for name, value in {**still, **lots}.items()}
    return bend(tf.constant(images), transforms(height, width, **given), smooth=smooth).numpy()


def shifted(images, right, down):
    """The part of the images that begins at (right, down), with black around them."""
    padded = np.pad(images, ((0, 0), (9, 9), (9, 9), (0, 0)))
    height, width = images.shape[1:3]
    return padded[:, 9 + down : 9 + down + height, 9 + right : 9 + right + width]


class TestImages:
    def test_flip(self):
        np.testing.assert_array_equal(moved(PICTURES, flip_x=-1), PICTURES[:, :, ::-1])
        np.testing.assert_array_equal(moved(PICTURES, flip_y=-1), PICTURES[:, ::-1])

    @pytest.mark.parametrize(("right", "down"), [(0, 0), (2, 0), (-1, 3), (-4, -5)])
    def test_shift(self, right, down):
        expected = shifted(PICTURES, right, down)
        np.testing.assert_array_equal(moved(PICTURES, shift_x=right, shift_y=down), expected)

    def test_flip_comes_before_the_shift(self):
        expected = shifted(PICTURES[:, :, ::-1], 2, 1)
        np.testing.assert_array_equal(moved(PICTURES, flip_x=-1, shift_x=2, shift_y=1), expected)

    @pytest.mark.parametrize("quarters", [1, 2, 3])
    def test_turn(self, quarters):
        turned = moved(SQUARES, degrees=90 * quarters, smooth=True)
        expected = np.rot90(SQUARES, quarters, axes=(1, 2))
        np.testing.assert_allclose(turned.astype(int), expected.astype(int), atol=1)

    def test_a_small_turn_blends_neighbours(self):
        # The centre stays; 1 right of it, the place comes from cos and sin of the angle away.
        turned = moved(SQUARES, degrees=30, smooth=True)[0, :, :, 0]
        image = SQUARES[0, :, :, 0].astype(float)
        assert turned[2, 2] == image[2, 2]
        x, y = 2 + np.cos(np.pi / 6), 2 + np.sin(np.pi / 6)
        left, top = int(x), int(y)
        patch = image[top : top + 2, left : left + 2]
        across = patch @ [1 - (x - left), x - left]
        assert turned[2, 3] == pytest.approx(across @ [1 - (y - top), y - top], abs=0.51)

    def test_colour(self):
        b, c, s = np.array([0.1, -0.2]), np.array([1.3, 0.6]), np.array([0.5, 1.5])
        given = {name: tf.constant(v, tf.float32) for name, v in (("brightness", b), ("contrast", c))}
        found = recolor(tf.constant(PICTURES), **given, saturation=tf.constant(s, tf.float32)).numpy()
        values = PICTURES.astype(float)
        grey = (values @ [0.299, 0.587, 0.114])[..., None]
        values = grey + s[:, None, None, None] * (values - grey)
        mean = values.mean(axis=(1, 2), keepdims=True)
        values = mean + c[:, None, None, None] * (values - mean) + 255 * b[:, None, None, None]
        np.testing.assert_allclose(found.astype(int), np.clip(values, 0, 255), atol=0.51)

    def test_lots_are_within_what_the_config_says_and_differ_from_image_to_image(self):
        spot = np.zeros((400, 9, 9, 1), np.uint8)
        spot[:, 4, 4] = 255
        crop = augment_image(tf.constant(spot), AugmentConfig(crop=2), SEED).numpy()
        _, rows, columns, _ = np.nonzero(crop)
        for places in (rows, columns):
            assert set(places) == {2, 3, 4, 5, 6}
            assert np.bincount(places)[2:].min() > 50
        assert abs(np.corrcoef(rows, columns)[0, 1]) < 0.2
        translated = augment_image(tf.constant(spot), AugmentConfig(translate=1 / 3), SEED).numpy()
        assert set(np.nonzero(translated)[1]) == {1, 2, 3, 4, 5, 6, 7}
        edge = np.zeros((400, 4, 4, 1), np.uint8)
        edge[:, 0, 0] = 255
        flipped = augment_image(tf.constant(edge), AugmentConfig(flip="horizontal"), SEED).numpy()
        _, rows, columns, _ = np.nonzero(flipped)
        assert set(rows) == {0}
        assert 150 < (columns == 3).sum() < 250
        both = np.nonzero(augment_image(tf.constant(edge), AugmentConfig(flip="both"), SEED).numpy())
        assert len(set(zip(both[1], both[2]))) == 4
        grey = tf.fill([400, 2, 2, 1], tf.constant(100, tf.uint8))
        bright = augment_image(grey, AugmentConfig(color={"brightness": 0.2}), SEED).numpy()[:, 0, 0, 0]
        assert 49 <= bright.min() < 55
        assert 145 < bright.max() <= 151


class TestMixing:
    ROWS = (
        {"p_xf": tf.constant(PICTURES), "n_xf": tf.constant([[1.0], [3.0]])},
        tf.constant([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    )

    def test_mixup(self):
        share, partner = tf.constant([0.25, 0.6]), tf.constant([1, 0])
        inputs, label = mixup(self.ROWS, share, partner)
        blended = 0.25 * PICTURES[0].astype(float) + 0.75 * PICTURES[1]
        np.testing.assert_allclose(inputs["p_xf"][0].numpy().astype(int), blended, atol=0.51)
        np.testing.assert_allclose(inputs["n_xf"], [[2.5], [0.6 * 3 + 0.4]], rtol=1e-6)
        np.testing.assert_allclose(label, [[0.25, 0, 0.75], [0.4, 0, 0.6]], rtol=1e-6)

    def test_cutmix(self):
        rows = ({"p_xf": tf.constant(PICTURES)}, self.ROWS[1])
        # Sides of a half: 3 of 6 rows, 2.5 of 5 columns; the second box lies in the corner.
        inputs, label = cutmix(
            rows, tf.constant([0.75, 0.75]), tf.constant([[0.5, 0.0], [0.5, 0.0]]), tf.constant([1, 0])
        )
        box = (inputs["p_xf"].numpy() != PICTURES).any(axis=3)
        expected = np.zeros((2, 6, 5), bool)
        expected[0, 2:5, 1:3] = True  # 3 rows about 3, and 2.5 columns about 2, rounded
        expected[1, :2, :1] = True
        np.testing.assert_array_equal(box, expected)
        np.testing.assert_array_equal(inputs["p_xf"].numpy()[box], PICTURES[::-1][box])
        left = 1 - expected.mean(axis=(1, 2))
        np.testing.assert_allclose(label[0], [left[0], 0, 1 - left[0]], rtol=1e-6)
        np.testing.assert_allclose(label[1], [1 - left[1], 0, left[1]], rtol=1e-6)

    def test_weighted_rows_cost_the_blend_of_their_losses(self):
        share, partner = tf.constant([0.25, 0.6]), tf.constant([1, 0])
        weight = np.array([[2.0], [0.5]], np.float32)
        logits = tf.constant([[0.3, -1.0, 2.0], [1.0, 0.0, -0.5]])
        _, label, weights = mixup((*self.ROWS, tf.constant(weight)), share, partner)
        each = keras.losses.CategoricalCrossentropy(from_logits=True, reduction="none")
        own = each(self.ROWS[1], logits).numpy() * weight[:, 0]
        other = each(tf.gather(self.ROWS[1], partner), logits).numpy() * weight[[1, 0], 0]
        expected = share.numpy() * own + (1 - share.numpy()) * other
        np.testing.assert_allclose(each(label, logits) * weights[:, 0], expected, rtol=1e-5)

    @pytest.mark.parametrize("a", [0.2, 1.0, 4.0])
    def test_shares_are_beta(self, a):
        share = beta(tf.constant(20_000), a, SEED).numpy()
        assert share.mean() == pytest.approx(0.5, abs=0.02)
        assert share.var() == pytest.approx(1 / (4 * (2 * a + 1)), rel=0.05)

    @pytest.mark.parametrize(
        ("task", "shape"), [("multiclass", (2, 3)), ("binary", (2, 1)), ("multilabel", (2, 3))]
    )
    def test_labels_become_probabilities(self, task, shape):
        plan = plan_of(IMAGE, task=task, classes=("a", "b", "c")[: 2 if task == "binary" else 3])
        labels = [[1, 1, 0], [0, 1, 0]] if task == "multilabel" else [[1], [0]]
        rows = ({"p_xf": tf.constant(PICTURES)}, tf.constant(labels, tf.int64))
        for config in (AugmentConfig(mixup=1), AugmentConfig(cutmix=1), AugmentConfig(mixup=1, cutmix=1)):
            inputs, label = mix(rows, config, plan, SEED)
            assert inputs["p_xf"].dtype == tf.uint8
            assert label.shape == shape
            assert label.dtype == tf.float32
            if task == "multiclass":
                np.testing.assert_allclose(tf.reduce_sum(label, 1), 1, rtol=1e-6)
            if task == "multilabel":  # what both rows have, or lack, every blend of them has, or lacks
                np.testing.assert_allclose(label[:, 1:], [[1, 0]] * 2, rtol=1e-6)

    def test_either_of_both(self):
        plan = plan_of(IMAGE)
        rows = ({"p_xf": tf.constant(PICTURES)}, tf.constant([[1], [0]], tf.int64))
        config = AugmentConfig(mixup=1, cutmix=1)
        pasted = 0
        for i in range(40):
            images = mix(rows, config, plan, tf.constant([1, i], tf.int64))[0]["p_xf"].numpy()
            pasted += bool(((images == PICTURES) | (images == PICTURES[::-1])).all())
        assert 8 < pasted < 32

    def test_the_loss_of_blended_labels(self):
        plan = plan_of(IMAGE, task="multiclass", classes=("a", "b", "c"))
        logits, label = np.array([[2.0, 0.5, -1.0]]), np.array([[0.25, 0.0, 0.75]])
        log = logits - np.log(np.exp(logits).sum())
        found = learning.loss(plan, soft_labels=True)(label, logits)
        assert float(found) == pytest.approx(-(label * log).sum(), rel=1e-5)


class TestTexts:
    IDS = np.array([[5, 6, 7, 8, 9, 0, 0, 0], [4, 3, 0, 0, 0, 0, 0, 0], [0] * 8], np.int64)

    def test_drop(self):
        lots = np.full((3, 8), 0.9, np.float32)
        lots[0, [1, 3]] = 0.1
        lots[1, :2] = 0.1, 0.2  # both would go; the one with the higher lot stays
        found = drop(tf.constant(self.IDS), tf.constant(lots), 0.3)
        np.testing.assert_array_equal(found, [[5, 7, 9, 0, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0, 0, 0], [0] * 8])

    def test_swap(self):
        everything = tf.ones((3, 8), tf.bool)
        even = swap(tf.constant(self.IDS), tf.zeros((3, 1), tf.int32), everything)
        np.testing.assert_array_equal(even[:2], [[6, 5, 8, 7, 9, 0, 0, 0], [3, 4, 0, 0, 0, 0, 0, 0]])
        odd = swap(tf.constant(self.IDS), tf.ones((3, 1), tf.int32), everything)
        np.testing.assert_array_equal(odd[:2], [[5, 7, 6, 9, 8, 0, 0, 0], [4, 3, 0, 0, 0, 0, 0, 0]])
        second = np.zeros((3, 8), bool)
        second[0, 2] = True
        some = swap(tf.constant(self.IDS), tf.zeros((3, 1), tf.int32), tf.constant(second))
        np.testing.assert_array_equal(some[0], [5, 6, 8, 7, 9, 0, 0, 0])

    def test_shares(self):
        ids = tf.tile(tf.range(1, 9, dtype=tf.int64)[None, :], [2000, 1])
        left = augment_tokens(ids, AugmentConfig(token_drop=0.25), SEED).numpy()
        assert (left != 0).mean() == pytest.approx(0.75, abs=0.01)
        assert all((np.diff(row[row != 0]) > 0).all() for row in left)
        swapped = augment_tokens(ids, AugmentConfig(token_swap=0.5), SEED).numpy()
        assert (np.sort(swapped, axis=1) == ids.numpy()).all()
        # 4 pairs from the first token on, 3 from the second: half of either, two places each.
        assert (swapped != ids.numpy()).mean() == pytest.approx(0.5 * 7 / 8, abs=0.02)


class TestInTheFeed:
    @pytest.fixture(scope="class")
    def files(self, tmp_path_factory):
        rows = np.arange(60)
        pixels = np.repeat(rows[:, None] * 4, 6 * 5 * 3, axis=1)
        pixels[:, :15] = 255
        return write_examples(
            tmp_path_factory.mktemp("pictures"), {"p_xf": pixels, "y_xf": rows[:, None] % 3}
        )

    PLAN = plan_of(IMAGE, task="multiclass", classes=("a", "b", "c"))

    def _taken(self, files, folder, augment, epoch=0, **options):
        keras.utils.set_random_seed(1)
        train = TrainConfig(batch_size=20, augment=augment, **options)
        fed = feed(files, self.PLAN, train, folder)
        rows = list(itertools.islice(fed.batches_from(epoch), fed.steps))
        return [np.concatenate([row[0]["p_xf"] for row in rows]), np.concatenate([row[1] for row in rows])]

    @pytest.mark.parametrize("cache", ["memory", "file"])
    def test_the_seed_and_the_epoch_decide(self, files, tmp_path, cache):
        augment = {"flip": "both", "crop": 2, "rotate": 15, "color": {"contrast": 0.5}, "mixup": 0.4}
        options = {"input": {"cache": cache}}
        first = self._taken(files, tmp_path / "a", augment, **options)
        again = self._taken(files, tmp_path / "b", augment, **options)
        later = self._taken(files, tmp_path / "c", augment, epoch=1, **options)
        for a, b, c in zip(first, again, later):
            np.testing.assert_array_equal(a, b)
            assert (a != c).any()

    def test_evaluation_has_the_plain_pixels_in_order(self, files, tmp_path):
        train = TrainConfig(augment={"flip": "both", "crop": 2, "mixup": 0.4})
        plain = evaluation(files, self.PLAN, TrainConfig(), tmp_path)
        for rows, other in zip(plain, evaluation(files, self.PLAN, train, tmp_path)):
            np.testing.assert_array_equal(rows[0]["p_xf"], other[0]["p_xf"])
            np.testing.assert_array_equal(tf.one_hot(rows[1][:, 0], 3), other[1])

    def test_the_types_stay(self, files, tmp_path):
        train = TrainConfig(
            batch_size=20, augment={"flip": "both", "rotate": 3, "color": {"saturation": 0.1}}
        )
        plain = feed(files, self.PLAN, TrainConfig(batch_size=20), tmp_path).batches.element_spec
        assert feed(files, self.PLAN, train, tmp_path).batches.element_spec == plain

    def test_a_batch_is_not_augmented_by_the_row(self):
        batches = tf.data.Dataset.from_tensors(({"t_xf": tf.constant(TestTexts.IDS)}, tf.zeros((3, 1))))
        config = AugmentConfig(token_drop=0.5)
        (rows,) = augmented(batches, config, plan_of(TEXT), seed=1, first=0)
        assert rows[0]["t_xf"].shape == (3, 8)
        assert augmented(batches, AugmentConfig(), plan_of(TEXT), seed=1, first=0) is batches


@pytest.mark.parametrize(
    ("augment", "inputs", "message"),
    [
        ({"flip": "both"}, [NUMBER], "train.augment.flip: is for images"),
        ({"color": {"contrast": 0.1}}, [TEXT], "train.augment.color: is for images"),
        ({"token_drop": 0.1}, [IMAGE], "train.augment.token_drop: is for texts"),
        ({"color": {"saturation": 0.1}}, [ModelInput(name="g", length=4, image=(2, 2, 1))], "3 channels"),
        ({"mixup": 0.2}, [IMAGE, TEXT], "these inputs are ids: t_xf"),
        ({"cutmix": 0.2}, [IMAGE, NUMBER], "received 1 images and 1 other inputs"),
    ],
)
def test_what_does_not_fit_the_inputs(augment, inputs, message):
    with pytest.raises(UserError, match=message):
        check_augment(AugmentConfig.model_validate(augment), plan_of(*inputs))
