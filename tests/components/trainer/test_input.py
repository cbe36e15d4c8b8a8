"""The input pipeline: every row in every epoch, the same batches for a seed, whatever keeps them."""

from __future__ import annotations

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from example_files import plan_of, write_examples
from pydantic import ValidationError

from components.trainer import data
from components.trainer.config import TrainConfig
from components.trainer.feed import evaluation, feed
from components.transform.plan import ModelInput, RowWeight

ROWS = 530
NUMBER, WIDE = ModelInput(name="n_xf"), ModelInput(name="wide_xf", length=700)
PICTURE = ModelInput(name="pixels_xf", length=4 * 3 * 3, image=(4, 3, 3))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    deal = np.random.default_rng(1)
    number = np.arange(ROWS, dtype=np.float32)[:, None]
    return write_examples(
        tmp_path_factory.mktemp("rows"),
        {
            "n_xf": number,
            "wide_xf": np.repeat(number, WIDE.length, axis=1),
            "pixels_xf": deal.integers(0, 256, (ROWS, PICTURE.length)),
            "y_xf": np.arange(ROWS)[:, None] % 2,
            "w_xf": number + 1,
        },
    )


def epochs_of(batches, steps, count):
    """The rows' numbers of so many epochs, in order."""
    taken = batches.as_numpy_iterator()
    return [
        [int(n) for rows in itertools.islice(taken, steps) for n in np.reshape(rows[0]["n_xf"], -1)]
        for _ in range(count)
    ]


class TestInMemory:
    @staticmethod
    def _batches(rows, batch, steps, seed=1, first_epoch=0):
        features = {"n_xf": tf.range(rows)[:, None]}
        return data.batches_in_memory(
            (features, features["n_xf"]), batch_size=batch, steps=steps, seed=seed, first_epoch=first_epoch
        )

    @pytest.mark.parametrize(("rows", "batch", "steps"), [(50, 10, 5), (53, 10, 6), (53, 10, 8), (3, 10, 2)])
    def test_every_epoch_covers_all_rows_in_another_order(self, rows, batch, steps):
        batches = self._batches(rows, batch, steps)
        for inputs, label in batches.take(2 * steps):
            assert (inputs["n_xf"] == label).numpy().all()
            assert len(label) == batch
        epochs = epochs_of(batches, steps, 3)
        for epoch in epochs:
            assert sorted(epoch[:rows]) == list(range(rows))
        assert epochs[0] != epochs[1] != epochs[2]

    def test_the_seed_decides_and_an_epoch_does_not_depend_on_those_before(self):
        epochs = epochs_of(self._batches(53, 10, 6), 6, 4)
        keras.utils.set_random_seed(99)
        assert epochs_of(self._batches(53, 10, 6), 6, 4) == epochs
        assert epochs_of(self._batches(53, 10, 6, first_epoch=2), 6, 2) == epochs[2:]
        assert epochs_of(self._batches(53, 10, 6, seed=2), 6, 1) != epochs[:1]


class TestFromBlocks:
    # 530 rows in blocks of 40; windows of 120 rows, of 7 and of all; batches that divide the rows, and not.
    @pytest.mark.parametrize("window", [120, 7, 10_000])
    @pytest.mark.parametrize(("batch", "steps"), [(53, 10), (64, 9), (64, 16), (1000, 1)])
    def test_every_epoch_covers_all_rows_in_another_order(self, window, batch, steps):
        epochs = epochs_of(self._batches(window, batch, steps), steps, 3)
        for epoch in epochs:
            assert len(epoch) == batch * steps
            assert sorted(epoch[:ROWS]) == list(range(ROWS))
        assert epochs[0] != epochs[1] != epochs[2]

    def test_an_epoch_does_not_depend_on_those_before(self):
        epochs = epochs_of(self._batches(120, 64, 9), 9, 4)
        assert epochs_of(self._batches(120, 64, 9, first_epoch=2), 9, 2) == epochs[2:]

    def test_neighbours_are_parted(self):
        (epoch,) = epochs_of(self._batches(10_000, 53, 10), 10, 1)
        beside = sum(abs(a - b) == 1 for a, b in itertools.pairwise(epoch))
        assert beside < 10  # 2 of 530 by chance

    @staticmethod
    def _batches(window, batch, steps, first_epoch=0):
        keras.utils.set_random_seed(1)
        numbers = tf.range(ROWS)[:, None]
        return data.batches_from_blocks(
            tf.data.Dataset.from_tensors(({"n_xf": numbers}, numbers)).rebatch(40),
            rows=ROWS,
            block_rows=40,
            window_rows=window,
            batch_size=batch,
            steps=steps,
            seed=1,
            first_epoch=first_epoch,
        )


class TestFeed:
    def test_what_is_kept_where(self, files, tmp_path):
        plan, found = plan_of(NUMBER), {}
        for cache in ("memory", "file", "off", "auto"):
            keras.utils.set_random_seed(1)
            train = TrainConfig(batch_size=64, steps_per_execution=4, input={"cache": cache})
            fed = feed(files, plan, train, tmp_path / cache)
            assert (fed.rows, fed.steps, fed.steps_at_once) == (ROWS, 9, 3)
            assert fed.cache == ("memory" if cache == "auto" else cache)
            found[cache] = epochs_of(fed.batches, fed.steps, 3)
            for epoch in found[cache]:
                assert sorted(epoch[:ROWS]) == list(range(ROWS))
        assert found["file"] == found["off"]
        assert found["memory"] == found["auto"]
        assert [path.name for path in tmp_path.iterdir()] == ["file"]
        assert any((tmp_path / "file").iterdir())

    def test_auto_goes_by_the_parsed_size(self, files, tmp_path):
        # 530 rows of 700 numbers are 1.4 MiB.
        plan = plan_of(NUMBER, WIDE)
        for memory, kept in ((2, "memory"), (1, "file")):
            train = TrainConfig(input={"memory": memory})
            assert feed(files, plan, train, tmp_path).cache == kept

    def test_a_full_disk_is_said(self, files, tmp_path, monkeypatch, caplog):
        monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1 << 20}))
        with caplog.at_level("WARNING"):
            fed = feed(files, plan_of(NUMBER, WIDE), TrainConfig(input={"memory": 1}), tmp_path)
        assert fed.cache == "off"
        assert "has no room" in caplog.text

    @pytest.mark.parametrize("cache", ["memory", "file", "off"])
    def test_the_file_is_read_from_the_second_epoch_on(self, files, tmp_path, cache):
        import shutil

        here = [shutil.copy(file, tmp_path) for file in files]
        train = TrainConfig(batch_size=53, steps_per_execution=10, input={"cache": cache})
        fed = feed(here, plan_of(NUMBER), train, tmp_path / "scratch")
        batches = fed.batches.as_numpy_iterator()
        list(itertools.islice(batches, fed.steps + 1))
        for file in here:
            (tmp_path / file).write_bytes(b"gone")
        if cache == "off":
            with pytest.raises(tf.errors.OpError):
                list(itertools.islice(batches, 3 * fed.steps))
        else:
            assert len(list(itertools.islice(batches, 3 * fed.steps))) == 3 * fed.steps

    @pytest.mark.parametrize("cache", ["memory", "file", "off"])
    def test_eval_rows_come_once_and_in_order(self, files, tmp_path, cache):
        plan = plan_of(NUMBER, PICTURE, weight=RowWeight(column="w", input="w_xf", mean=1.0))
        rows = evaluation(files, plan, TrainConfig(input={"cache": cache}), tmp_path)
        for _ in range(2):
            blocks = list(rows)
            assert len(blocks) == rows.cardinality().numpy()
            inputs, label, weight = tf.nest.map_structure(lambda *parts: tf.concat(parts, 0), *blocks)
            number = inputs["n_xf"].numpy()[:, 0]
            assert sorted(number) == list(range(ROWS))
            assert (label.numpy()[:, 0] == number % 2).all()
            assert (weight.numpy()[:, 0] == number + 1).all()
            assert inputs["pixels_xf"].shape == (ROWS, 4, 3, 3)
            assert inputs["pixels_xf"].dtype == tf.uint8
        assert rows.element_spec[0]["pixels_xf"].dtype == tf.uint8

    def test_large_rows_are_parsed_few_at_a_time(self):
        photo = ModelInput(name="p_xf", length=512 * 512 * 3, image=(512, 512, 3))
        assert data.rows_a_block(plan_of(NUMBER)) == 4096
        assert data.rows_a_block(plan_of(photo)) == 5  # of 6 MiB each while they are parsed
        huge = ModelInput(name="p_xf", length=5000 * 5000 * 3, image=(5000, 5000, 3))
        assert data.rows_a_block(plan_of(huge)) == 1

    @pytest.mark.parametrize("cache", ["memory", "file", "off"])
    def test_keras_makes_exactly_the_steps(self, files, tmp_path, cache):
        train = TrainConfig(batch_size=50, steps_per_execution=1, input={"cache": cache})
        fed = feed(files, plan_of(NUMBER), train, tmp_path)
        inputs = {"n_xf": keras.Input((1,), name="n_xf")}
        model = keras.Model(inputs, keras.layers.Dense(1)(inputs["n_xf"]))
        # Decay moves the weights once more in a phantom step, which has no gradient.
        model.compile(keras.optimizers.SGD(0.0, weight_decay=0.1), "mse")
        model.fit(fed.batches, epochs=2, steps_per_epoch=fed.steps, verbose=0)
        assert int(model.optimizer.iterations) == 2 * fed.steps == 22


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"input": {"cache": "disk"}}, "'auto', 'memory', 'file' or 'off'"),
        ({"input": {"memory": 0}}, "greater than 0"),
        ({"augment": {"flip": "left"}}, "'horizontal', 'vertical' or 'both'"),
        ({"augment": {"rotate": 200}}, "less than or equal to 180"),
        ({"augment": {"token_drop": 1}}, "less than 1"),
        ({"augment": {"hue": 1}}, "Extra inputs"),
        ({"tensorboard": {"profile": [9, 5]}}, "9 comes after 5"),
        ({"reduce_on_plateau": {"factor": 2}}, "less than 1"),
        ({"reduce_on_plateau": {}}, "received schedule: cosine"),
    ],
)
def test_values_that_cannot_be(section, message):
    with pytest.raises(ValidationError, match=message.replace("(", r"\(")):
        TrainConfig.model_validate(section)
