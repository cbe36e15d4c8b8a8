"""Training that goes on where it was stopped, stops when it should, and says what happened."""

from __future__ import annotations

import csv
import itertools
import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from example_files import plan_of, write_examples

from components.errors import UserError
from components.trainer import bottleneck, checkpoints, devices, learning
from components.trainer.compiled import compiled
from components.trainer.config import ModelConfig, TrainConfig
from components.trainer.feed import evaluation, feed
from components.trainer.fitting import fit
from components.transform.plan import ModelInput

ROWS, EPOCHS = 300, 5
MILES, FARE = ModelInput(name="miles_xf"), ModelInput(name="fare_xf")
PLAN = plan_of(MILES, FARE)


class Killed(Exception):
    """Stands for a process that ends at this point."""


class KillIn(keras.callbacks.Callback):
    """Ends the training in the middle of an epoch."""

    def __init__(self, epoch):
        super().__init__()
        self._epoch, self._now = epoch, 0

    def on_epoch_begin(self, epoch, logs=None):
        self._now = epoch

    def on_train_batch_end(self, batch, logs=None):
        if self._now == self._epoch and batch > 2:
            raise Killed


def columns(rows=ROWS, seed=0, **changes):
    deal = np.random.default_rng(seed)
    miles, fare = deal.normal(size=(2, rows, 1)).astype(np.float32)
    label = (miles - 0.5 * fare + deal.normal(size=(rows, 1)) > 0).astype(np.int64)
    return {"miles_xf": miles, "fare_xf": fare, "y_xf": label, **changes}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return {
        "train": write_examples(tmp_path_factory.mktemp("train"), columns()),
        "eval": write_examples(tmp_path_factory.mktemp("eval"), columns(120, seed=1), files=1),
    }


@pytest.fixture(scope="module")
def opposite(files, tmp_path_factory):
    """What is learned is wrong on these eval rows, so the first epoch is the best one."""
    made = columns(120, seed=1)
    made["y_xf"] = 1 - made["y_xf"]
    return {**files, "eval": write_examples(tmp_path_factory.mktemp("opposite"), made, files=1)}


def build(plan=PLAN):
    inputs = {tensor.name: keras.Input(tensor.model_shape, name=tensor.name) for tensor in plan.inputs}
    hidden = keras.layers.Concatenate()(list(inputs.values()))
    hidden = keras.layers.Dropout(0.3)(keras.layers.Dense(8, activation="relu", name="hidden")(hidden))
    return keras.Model(inputs, keras.layers.Dense(1)(hidden))


def train(files, folder, *, extra=None, checkpoint=None, plan=PLAN, **options):
    """Trains as the executor does; the model and how it went."""
    options = {"learning_rate": {"schedule": "constant", "peak": 0.01}, **options}
    config = TrainConfig(batch_size=32, steps_per_execution=2, epochs=EPOCHS, **options)
    used, config = devices.ready(config)
    fed = feed(files["train"], plan, config, folder / "scratch")
    watched = evaluation(files["eval"], plan, config, folder / "scratch")
    model = compiled(lambda plan, _: build(plan), plan, ModelConfig(), config, fed, used, None)
    if extra:
        plain = model.fit
        model.fit = lambda *args, callbacks, **kw: plain(*args, callbacks=[*callbacks, extra], **kw)
    folder.mkdir(exist_ok=True)
    return model, fit(model, fed, watched, plan, config, str(folder), checkpoint)


def same_weights(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a.get_weights(), b.get_weights(), strict=True))


def scalars(folder):
    """Tag and epoch to value of what TensorBoard shows of the epochs."""
    return {
        (value.tag, event.step): float(tf.make_ndarray(value.tensor))
        for file in folder.glob("*tfevents*")
        for record in tf.data.TFRecordDataset(str(file)).as_numpy_iterator()
        for event in [tf.compat.v1.Event.FromString(record)]
        for value in event.summary.value
        if value.tag in ("epoch_loss", "epoch_auc")
    }


class TestResume:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"input": {"cache": "file"}, "learning_rate": {"schedule": "cosine"}},
            {"accumulate": 2, "optimizer": {"ema": 0.9}},
            {
                "input": {"cache": "off"},
                "optimizer": {"name": "rmsprop"},
                "keep": "last",
                "reduce_on_plateau": {"patience": 1},
            },
        ],
        ids=["memory", "file", "averaged", "off"],
    )
    def test_the_weights_are_those_of_an_uninterrupted_run(self, files, tmp_path, options):
        whole, expected = train(files, tmp_path / "whole", **options)
        place = str(tmp_path / "checkpoints" / "key.npz")
        for epoch in (1, 3):
            with pytest.raises(Killed):
                train(files, tmp_path / "killed", checkpoint=place, extra=KillIn(epoch), **options)
        model, fitted = train(files, tmp_path / "resumed", checkpoint=place, **options)
        assert fitted.resumed == 3
        assert fitted.history == expected.history
        assert same_weights(model, whole)
        # Another process, after the last epoch: nothing is left to do.
        model, fitted = train(files, tmp_path / "again", checkpoint=place, **options)
        assert fitted.resumed == EPOCHS
        assert fitted.history == expected.history
        assert same_weights(model, whole)
        assert (tmp_path / "again" / "epochs.csv").read_text() == (
            tmp_path / "whole" / "epochs.csv"
        ).read_text()
        for folder in ("train", "validation"):
            found = scalars(tmp_path / "again" / folder)
            assert found == scalars(tmp_path / "whole" / folder)
            assert {step for _, step in found} == set(range(EPOCHS))

    def test_without_a_checkpoint_it_begins_anew(self, files, tmp_path):
        with pytest.raises(Killed):
            train(files, tmp_path / "killed", extra=KillIn(2))
        assert train(files, tmp_path / "again")[1].resumed == 0

    def test_early_stopping_counts_on(self, opposite, tmp_path):
        files, options = opposite, {"early_stopping": 2}
        whole, expected = train(files, tmp_path / "whole", **options)
        epochs = len(expected.history["loss"])
        assert epochs < EPOCHS
        place = str(tmp_path / "key.npz")
        with pytest.raises(Killed):
            train(files, tmp_path / "killed", checkpoint=place, extra=KillIn(epochs - 1), **options)
        for resumed in (epochs - 1, epochs):  # the second time the training had already been stopped
            model, fitted = train(files, tmp_path / "resumed", checkpoint=place, **options)
            assert fitted.resumed == resumed
            assert fitted.history == expected.history
            assert same_weights(model, whole)

    @pytest.mark.slow
    def test_on_two_devices(self, tmp_path):
        done = subprocess.run(
            [sys.executable, "-c", _ON_TWO_DEVICES, str(tmp_path)],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        assert done.stdout.splitlines()[-1] == "resumed on 2, same"


# The number of logical devices is fixed once TensorFlow has looked, so this runs in a process of its own.
_ON_TWO_DEVICES = f"""
import sys
from pathlib import Path
sys.path[:0] = {[str(p) for p in sys.path if "tests" in p]!r}
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
import numpy as np
from test_fitting import Killed, KillIn, columns, train, write_examples

here = Path(sys.argv[1])
files = {{
    "train": write_examples(here / "train", columns()),
    "eval": write_examples(here / "eval", columns(120, seed=1), files=1),
}}
options = {{"strategy": "mirrored", "input": {{"cache": "file"}}}}
whole, _ = train(files, here / "whole", **options)
place = str(here / "key.npz")
try:
    train(files, here / "killed", checkpoint=place, extra=KillIn(1), **options)
except Killed:
    pass
model, fitted = train(files, here / "resumed", checkpoint=place, **options)
assert fitted.resumed == 1
# Two threads may add up gradients in either order.
for a, b in zip(model.get_weights(), whole.get_weights(), strict=True):
    np.testing.assert_allclose(a, b, atol=1e-6)
print(f"resumed on {{model.distribute_strategy.num_replicas_in_sync}}, same")
"""


class TestPlace:
    class Context:
        stateful_working_dir = "/home/artifacts/Trainer/.system/stateful_working_dir/8a7e"

    @staticmethod
    def _inputs(uri="/home/artifacts/Transform/transformed_examples/7"):
        return {"examples": [type("Artifact", (), {"uri": uri})]}

    def test_what_decides_the_training_decides_the_place(self, monkeypatch):
        parameters = {"config": "{}", "code": "{}"}
        place = checkpoints.place(self.Context, self._inputs(), parameters)
        assert place.startswith("/home/artifacts/Trainer/.system/checkpoints/")
        later = type("Later", (), {"stateful_working_dir": self.Context.stateful_working_dir[:-4] + "b0c1"})
        assert checkpoints.place(later, self._inputs(), parameters) == place
        others = [
            checkpoints.place(self.Context, self._inputs("/elsewhere"), parameters),
            checkpoints.place(self.Context, self._inputs(), {**parameters, "config": '{"epochs": 2}'}),
            checkpoints.place(self.Context, self._inputs(), {**parameters, "code": '{"x.py": "1"}'}),
        ]
        assert len({place, *others}) == 4
        # Workers go on from what the first has kept, wherever they run.
        monkeypatch.setenv("TF_CONFIG", json.dumps({"task": {"type": "worker", "index": 1}}))
        assert checkpoints.place(self.Context, self._inputs(), parameters) == place

    def test_no_folder(self, caplog):
        with caplog.at_level("WARNING"):
            assert checkpoints.place(object(), {}, {}) is None
        assert "no checkpoints" in caplog.text

    def test_all_go_when_one_is_done(self, tmp_path):
        folder = tmp_path / "checkpoints"
        folder.mkdir()
        for name in ("mine.npz", "older.npz"):
            (folder / name).touch()
        checkpoints.remove(str(folder / "mine.npz"))
        assert list(tmp_path.iterdir()) == []
        checkpoints.remove(str(folder / "mine.npz"))


class TestWhatIsKept:
    RISING = {"learning_rate": {"schedule": "constant", "peak": 3.0}}

    @pytest.mark.parametrize("patience", [0, 1])
    def test_best_or_last(self, opposite, tmp_path, patience):
        files = opposite
        losses = {}
        for keep in ("best", "last"):
            options = {"keep": keep, "early_stopping": patience}
            model, fitted = train(files, tmp_path / keep, **options)
            history = fitted.history["val_loss"]
            assert (len(history) == EPOCHS) == (patience == 0)
            rows = evaluation(files["eval"], PLAN, TrainConfig(), tmp_path)
            losses[keep] = model.evaluate(rows, verbose=0, return_dict=True)["loss"]
            expected = min(history) if keep == "best" else history[-1]
            assert losses[keep] == pytest.approx(expected, rel=1e-5)
        assert losses["best"] < losses["last"]

    def test_the_rate_falls_on_a_plateau(self, files, tmp_path):
        plateau = {"factor": 0.5, "patience": 1, "min": 1.0}
        options = {**self.RISING, "reduce_on_plateau": plateau, "early_stopping": 0}
        model, fitted = train(files, tmp_path, **options)
        losses, rate, expected = fitted.history["val_loss"], 3.0, []
        for epoch, loss in enumerate(losses):
            expected.append(rate)
            if epoch and loss >= min(losses[:epoch]):
                rate = max(rate / 2, 1.0)
        assert fitted.history["learning_rate"] == expected
        assert float(model.optimizer.learning_rate) == rate < 3.0


class TestNonFinite:
    @pytest.mark.parametrize("name", ["miles", "fare"])
    def test_a_feature(self, files, tmp_path, name):
        made = columns()
        made[f"{name}_xf"][17] = np.nan
        bad = {**files, "train": write_examples(tmp_path, made)}
        with pytest.raises(UserError) as caught:
            train(bad, tmp_path / "run")
        numbers = [
            float(np.isnan(rows[0][f"{name}_xf"]).any())
            for rows in itertools.islice(
                feed(bad["train"], PLAN, TrainConfig(batch_size=32), tmp_path).batches, 10
            )
        ]
        step = numbers.index(1) + 1
        # relu hides it from the loss.
        assert caught.value.what == (
            f"hidden/kernel became nan or infinite: feature {name!r} has 1 values that are not finite, "
            f"such as nan, in step {step} of epoch 1"
        )

    def test_a_feature_of_eval(self, files, tmp_path):
        made = columns(120)
        made["fare_xf"][5] = np.inf
        with pytest.raises(UserError, match=r"the val_loss became .*'fare' .* such as inf, in the eval rows"):
            train({**files, "eval": write_examples(tmp_path, made)}, tmp_path / "run")

    def test_a_label(self, files, tmp_path):
        plan = plan_of(MILES, FARE, task="regression")
        label = np.random.default_rng(1).normal(size=(ROWS, 1)).astype(np.float32)
        label[3] = -np.inf
        bad = {split: write_examples(tmp_path / split, columns(y_xf=label)) for split in ("train", "eval")}
        with pytest.raises(UserError, match="label 'y' has 1 values that are not finite, such as -inf"):
            train(bad, tmp_path / "run", plan=plan)

    def test_the_loss_itself(self, files, tmp_path):
        plan = plan_of(MILES, FARE, task="regression")
        label = np.full((ROWS, 1), 1e5, np.float32)
        given = {split: write_examples(tmp_path / split, columns(y_xf=label)) for split in ("train", "eval")}
        options = {"learning_rate": {"schedule": "constant", "peak": 1e9}, "optimizer": {"name": "sgd"}}
        place = tmp_path / "checkpoints" / "key.npz"
        with pytest.raises(UserError) as caught:
            train(given, tmp_path / "run", plan=plan, checkpoint=str(place), **options)
        assert caught.value.where == "train.learning_rate.peak"
        assert "in epoch 1, within the 2 steps up to step 2; every input is finite" in caught.value.what
        assert "; what is not: hidden/kernel, hidden/bias, " in caught.value.what
        assert not place.exists()


class TestLogs:
    def test_a_line_and_a_row_an_epoch(self, files, tmp_path, caplog):
        with caplog.at_level("INFO", logger="absl"):
            _, fitted = train(files, tmp_path)
        lines = [r.getMessage() for r in caplog.records if r.getMessage().startswith("epoch ")]
        assert [line.split()[1] for line in lines] == [f"{i}/{EPOCHS}" for i in range(1, EPOCHS + 1)]
        for word in (" rows/s  ", "  loss 0.", "  val_loss 0.", "  at most ", " s left"):
            assert all(word in line for line in lines)
        assert lines[-1].endswith("at most 0 s left")
        assert fitted.rows_a_second > 0
        with open(tmp_path / "epochs.csv") as stream:
            table = list(csv.DictReader(stream))
        assert [row["epoch"] for row in table] == [str(i) for i in range(1, EPOCHS + 1)]
        for name, values in fitted.history.items():
            assert [float(row[name]) for row in table] == values

    def test_tensorboard_profiles_and_counts(self, files, tmp_path):
        train(files, tmp_path, tensorboard={"profile": [2, 3], "histograms": 2})
        assert list(tmp_path.rglob("*.xplane.pb"))
        tags = {
            value.tag
            for file in tmp_path.rglob("train/*tfevents*")
            for record in tf.data.TFRecordDataset(str(file)).as_numpy_iterator()
            for value in tf.compat.v1.Event.FromString(record).summary.value
        }
        assert "epoch_loss" in tags
        assert any("kernel" in tag and tag.endswith("histogram") for tag in tags)

    def test_a_window_beyond_the_end(self, files, tmp_path):
        # 300 rows in batches of 32 are 10 steps, 2 in a call, over 5 epochs.
        with pytest.raises(UserError, match=r"makes 25 calls into TensorFlow at most, received \[20, 26\]"):
            train(files, tmp_path, tensorboard={"profile": [20, 26]})


class TestBottleneck:
    """Of two sides, the one that is made slow is the one that is named."""

    @staticmethod
    def _slow(values, seconds=0.02):
        def wait(x):
            import time

            time.sleep(seconds)
            return x

        return tf.ensure_shape(tf.numpy_function(wait, [values], values.dtype), values.shape)

    @pytest.mark.parametrize("side", ["data", "model"])
    def test_the_slow_side_is_named(self, files, tmp_path, side):
        config = TrainConfig(batch_size=32, steps_per_execution=2)
        fed = feed(files["train"], PLAN, config, tmp_path)
        if side == "data":
            plain = fed.batches_from
            slow = lambda *rows: (  # noqa: E731
                {name: self._slow(values, 0.02) for name, values in rows[0].items()},
                rows[1],
            )
            object.__setattr__(fed, "batches_from", lambda epoch: plain(epoch).map(slow))
        inputs = {tensor.name: keras.Input((1,), name=tensor.name) for tensor in PLAN.inputs}
        hidden = keras.layers.Concatenate()(list(inputs.values()))
        if side == "model":
            hidden = keras.layers.Lambda(self._slow, output_shape=(2,))(hidden)
        model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
        model.compile("sgd", learning.loss(PLAN), steps_per_execution=2)
        sides = bottleneck.measure(model, fed, rows_a_second=1000, seconds=6)
        slow, fast = (sides.data, sides.model) if side == "data" else (sides.model, sides.data)
        assert slow < 1700 < fast  # 32 rows in 0.02 s are 1,600
        assert str(sides).startswith(f"bound by the {side} (alone: data ")

    def test_not_after_a_short_run(self, files, tmp_path):
        fed = feed(files["train"], PLAN, TrainConfig(), tmp_path)
        assert bottleneck.measure(build(), fed, rows_a_second=1e5, seconds=2.0) is None
