"""The trial of an exported model: what passes, and what is caught."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from executors import artifact, execute
from tfx.components.util import model_utils

from components.infra_validator.trial import try_out
from components.records import ShardWriter, read_serialized, split_files

pytestmark = pytest.mark.slow


def _validate(model, examples, folder):
    made = execute(
        "infra_validator",
        folder,
        {"model": model, "examples": examples},
        {"blessing": "InfraBlessing"},
        config={"rows": 16},
    )
    return made["blessing"]


def test_columns_with_odd_names_pass(trained, tmp_path):
    # The first of two files has no row in the test split, as happens when a source has many small files.
    examples = artifact("Examples", tmp_path / "examples", ["train", "eval", "test"])
    ShardWriter(f"{examples.uri}/Split-test/data_tfrecord-00000-of-00002.gz").close()
    (file,) = split_files(trained["examples"], "test")
    shutil.copy(file, f"{examples.uri}/Split-test/data_tfrecord-00001-of-00002.gz")
    blessing = _validate(trained["model"], examples, tmp_path / "out")
    assert blessing.get_string_custom_property("summary").endswith("3 signatures answered 16 rows")
    assert model_utils.is_infra_validated(blessing)
    assert [path.name for path in Path(blessing.uri).iterdir()] == ["INFRA_BLESSED"]


def test_a_model_that_cannot_be_loaded_fails(trained, serving_folder, tmp_path):
    model = artifact("Model", tmp_path / "model")
    broken = tmp_path / "model" / "Format-Serving"
    shutil.copytree(serving_folder, broken)
    (broken / "saved_model.pb").write_bytes(b"nothing of the kind")
    blessing = _validate(model, trained["examples"], tmp_path / "out")
    assert not model_utils.is_infra_validated(blessing)
    assert blessing.get_string_custom_property("summary").startswith("failed: the model cannot be loaded")
    assert [path.name for path in Path(blessing.uri).iterdir()] == ["INFRA_NOT_BLESSED"]


class TestTrial:
    @pytest.fixture(scope="class")
    def rows(self, trained):
        (file,) = split_files(trained["examples"], "test")
        return next(read_serialized(file, 8)).tolist()

    @staticmethod
    def _save(folder, default, raw, transform=lambda rows: rows):
        import tensorflow as tf

        module = tf.Module()
        examples = tf.TensorSpec([None], tf.string, name="examples")
        column = tf.TensorSpec([None], tf.float32, name="trip_miles")
        one = tf.function(lambda examples: {"predictions": default(tf.shape(examples)[0])}, [examples])
        two = tf.function(lambda trip_miles: {"predictions": raw(tf.shape(trip_miles)[0])}, [column])
        three = tf.function(lambda examples: {"x": transform(tf.shape(examples)[0])}, [examples])
        module.one, module.two, module.three = one, two, three
        signatures = {"serving_default": one, "serving_raw": two, "transform_features": three}
        tf.saved_model.save(module, str(folder), signatures)
        (folder / "assets.extra").mkdir()
        (folder / "assets.extra" / "headrace.json").write_text(
            json.dumps({"features": {"trip miles": "float"}})
        )
        return str(folder)

    def test_signatures_that_disagree(self, rows, tmp_path):
        import tensorflow as tf

        model = self._save(tmp_path / "m", tf.ones, tf.zeros, tf.ones)
        problem = try_out(model, rows)["problem"]
        assert problem == "serving_default and serving_raw answer the same rows with different predictions"

    def test_answers_that_are_not_finite(self, rows, tmp_path):
        import tensorflow as tf

        model = self._save(tmp_path / "m", lambda n: tf.ones([n]) / 0, tf.ones, tf.ones)
        assert (
            try_out(model, rows)["problem"] == "serving_default: predictions holds a value that is not finite"
        )

    def test_too_few_answers(self, rows, tmp_path):
        import tensorflow as tf

        model = self._save(tmp_path / "m", tf.ones, lambda n: tf.ones([n - 1]), tf.ones)
        assert try_out(model, rows)["problem"] == "serving_raw: predictions has 7 rows for 8"
