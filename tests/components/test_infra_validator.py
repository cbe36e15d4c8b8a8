"""The trial of an exported model: what passes, and what is caught."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from executors import artifact, execute
from tfx.components.util import model_utils
from tfx.utils import path_utils

from components.errors import UserError
from components.infra_validator import embedded, executor
from components.infra_validator.config import InfraValidateConfig
from components.infra_validator.containers import start
from components.infra_validator.exported import Exported, difference
from components.infra_validator.failed import Failed
from components.infra_validator.rows import read_rows
from components.infra_validator.trial import Figures, _check_limits
from components.pusher.executor import model_to_push
from components.records import ShardWriter, read_serialized, split_files
from serving.model import load_model

pytestmark = pytest.mark.slow


def _validate(model, examples, folder, **config):
    made = execute(
        "infra_validator",
        folder,
        {"model": model, "examples": examples},
        {"blessing": "InfraBlessing"},
        config={"rows": 16, **config},
    )
    return made["blessing"]


def _said(blessing):
    return blessing.get_string_custom_property("summary")


@pytest.fixture(scope="module")
def rows(trained):
    (file,) = split_files(trained["examples"], "test")
    return next(read_serialized(file, 8)).tolist()


def test_columns_with_odd_names_pass_and_the_warm_up_is_in_what_is_pushed(trained, tmp_path, caplog):
    # The first of two files has no row in the test split, as happens when a source has many small files.
    examples = artifact("Examples", tmp_path / "examples", ["train", "eval", "test"])
    ShardWriter(f"{examples.uri}/Split-test/data_tfrecord-00000-of-00002.gz").close()
    (file,) = split_files(trained["examples"], "test")
    shutil.copy(file, f"{examples.uri}/Split-test/data_tfrecord-00001-of-00002.gz")
    blessing = _validate(trained["model"], examples, tmp_path / "out")
    assert _said(blessing).startswith(
        "passed: 16 rows by REST JSON, REST tf.Example and gRPC answered as by the model itself; loaded in "
    )
    assert model_utils.is_infra_validated(blessing)
    assert sorted(path.name for path in Path(blessing.uri).iterdir()) == ["INFRA_BLESSED", "stamped_model"]

    pushed = Path(model_to_push(trained["model"], blessing))
    assert pushed == Path(path_utils.stamped_model_path(blessing.uri))
    with caplog.at_level("INFO", "serving"):
        load_model(pushed, 1)
    assert "warmed up with 4 requests" in caplog.text
    exported = Path(path_utils.serving_model_path(trained["model"].uri))
    assert not Path(path_utils.warmup_file_path(str(exported))).exists()
    same = _validate(trained["model"], examples, tmp_path / "again")
    warmups = [Path(path_utils.warmup_file_path(model_to_push(None, each))) for each in (blessing, same)]
    assert warmups[0].read_bytes() == warmups[1].read_bytes()


def test_a_model_that_cannot_be_loaded_fails(trained, serving_folder, tmp_path):
    model = artifact("Model", tmp_path / "model")
    broken = tmp_path / "model" / "Format-Serving"
    shutil.copytree(serving_folder, broken)
    (broken / "saved_model.pb").write_bytes(b"nothing of the kind")
    blessing = _validate(model, trained["examples"], tmp_path / "out")
    assert not model_utils.is_infra_validated(blessing)
    assert _said(blessing).startswith("failed: the model cannot be loaded")
    assert [path.name for path in Path(blessing.uri).iterdir()] == ["INFRA_NOT_BLESSED"]
    assert not blessing.get_int_custom_property("has_model")


def test_a_trial_without_time_is_no_verdict(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(executor, "_GRACE_SECONDS", 0.0)
    with pytest.raises(TimeoutError, match="the server was not ready within 0 s"):
        _validate(trained["model"], trained["examples"], tmp_path / "out", max_load_seconds=0.01)
    assert not list((tmp_path / "out" / "blessing").iterdir())


def _save(folder, default, raw, transform=lambda examples: {"x": examples}):
    """A model of one column, `trip miles`, whose signatures answer what these functions do."""
    import tensorflow as tf

    module = tf.Module()
    examples = tf.TensorSpec([None], tf.string, name="examples")
    column = tf.TensorSpec([None], tf.float32, name="trip_miles")
    module.one = tf.function(lambda examples: {"predictions": default(examples)}, [examples])
    module.two = tf.function(lambda trip_miles: {"predictions": raw(trip_miles)}, [column])
    module.three = tf.function(transform, [examples])
    signatures = {
        "serving_default": module.one,
        "serving_raw": module.two,
        "transform_features": module.three,
    }
    folder = folder / "Format-Serving"
    tf.saved_model.save(module, str(folder), signatures)
    (folder / "assets.extra").mkdir()
    (folder / "assets.extra" / "headrace.json").write_text(
        json.dumps({"format": 1, "name": "m", "task": "regression", "label": "y",
                    "features": {"trip miles": "float"}})
    )  # fmt: skip
    return str(folder)


def _ones(rows):
    import tensorflow as tf

    return tf.ones(tf.shape(rows))


def _miles(default):
    """serving_default that reads the column; without a default it cannot do without it."""
    import tensorflow as tf

    spec = {"trip miles": tf.io.FixedLenFeature([], tf.float32, default)}
    return lambda examples: tf.io.parse_example(examples, spec)["trip miles"]


def _execute(folder, rows, tmp_path):
    model = artifact("Model", folder)
    examples = artifact("Examples", tmp_path / "examples", ["test"])
    writer = ShardWriter(f"{examples.uri}/Split-test/data_tfrecord-00000-of-00001.gz")
    writer.write(rows)
    writer.close()
    return _validate(model, examples, tmp_path / "out")


def test_signatures_that_disagree(rows, tmp_path):
    _save(tmp_path / "m", _ones, lambda miles: _ones(miles) * 0)
    assert _said(_execute(tmp_path / "m", rows, tmp_path)) == (
        "failed: serving_raw by REST JSON does not answer as the model itself does: "
        "predictions of row 1 is 0.0 instead of 1.0"
    )


def test_a_missing_value_that_one_way_takes_for_another(tmp_path):
    import tensorflow as tf

    _save(tmp_path / "m", _miles(7.0), lambda miles: miles)
    example = tf.train.Example()
    example.features.feature["trip miles"].float_list.value.append(2.0)
    said = _said(_execute(tmp_path / "m", [example.SerializeToString()], tmp_path))
    assert said == (
        "failed: a row of missing values by REST JSON is not answered as an empty tf.Example: "
        "predictions of row 1 is nan instead of 7.0"
    )


class TestHere:
    """What shows before a server is asked."""

    def test_answers_that_are_not_finite(self, rows, tmp_path):
        model = Exported(_save(tmp_path / "m", lambda examples: _ones(examples) / 0, _ones))
        with pytest.raises(Failed, match="serving_default: predictions holds a value that is not finite"):
            model.answer("serving_default", rows)

    def test_too_few_answers(self, rows, tmp_path):
        model = Exported(_save(tmp_path / "m", lambda examples: _ones(examples)[1:], _ones))
        with pytest.raises(Failed, match="serving_default: predictions has 7 rows for 8"):
            model.answer("serving_default", rows)

    def test_several_values_in_a_row(self, tmp_path):
        import tensorflow as tf

        examples = [tf.train.Example() for _ in range(3)]
        examples[0].features.feature["trip miles"].float_list.value.extend([2.5, 3.5])
        examples[2].features.feature["trip miles"].float_list.value.append(4.5)
        model = Exported(_save(tmp_path / "m", _ones, _ones))
        found = read_rows([example.SerializeToString() for example in examples], model)
        assert found.plain == [1, 2]
        assert found.raw["trip_miles"].tolist() == pytest.approx([2.5, np.nan, 4.5], nan_ok=True)


def test_rounding_decides_no_trial():
    near = {
        "probabilities": np.array([[0.5, 0.5], [0.2, 0.8]], np.float32),
        "predicted_class": np.array([b"no", b"yes"], np.object_),
    }
    other = {**near, "predicted_class": np.array([b"yes", b"yes"], np.object_)}
    assert difference(near, other) == ""
    wrong = {**near, "predicted_class": np.array([b"no", b"no"], np.object_)}
    assert difference(near, wrong) == "predicted_class of row 2 is no instead of yes"
    assert difference(near, {"probabilities": near["probabilities"]}).startswith(
        "outputs probabilities instead"
    )


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        (Figures(3.0, 1, 1, 1), "loading took 3 s, allowed 2 s (infra_validate.max_load_seconds)"),
        (Figures(1.0, 8, 9, 1), "half of the requests took 8 ms, allowed 5 ms (infra_validate.max_p50_ms)"),
        (Figures(1.0, 1, 99, 1), "99 in 100 requests took up to 99 ms, allowed 10 ms"),
        (Figures(1.0, 1, 1, 700), "the server holds 700 MiB, allowed 600 MiB (infra_validate.max_memory_mb)"),
        (Figures(1.0, 1, 1, 500), ""),
    ],
)
def test_limits(figures, text):
    config = InfraValidateConfig(max_load_seconds=2, max_p50_ms=5, max_p99_ms=10, max_memory_mb=600)
    if not text:
        _check_limits(figures, config)
        return
    with pytest.raises(Failed) as raised:
        _check_limits(figures, config)
    assert text in str(raised.value)


@pytest.mark.parametrize("backend", ["docker", "kubernetes"])
def test_an_engine_that_is_not_there_is_said(serving_folder, backend, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"there is no program (docker|kubectl) here") as raised:
        start(InfraValidateConfig(backend=backend), str(serving_folder), "m")
    assert raised.value.where == f"infra_validate.backend: {backend}"


@pytest.mark.parametrize(
    ("backend", "program", "said"),
    [
        ("docker", "docker", r"`docker run …` failed: .*(?i:docker (daemon|api))"),
        ("kubernetes", "kubectl", "`kubectl run …` failed: .*refused"),
    ],
)
def test_an_engine_that_does_not_run_is_said(serving_folder, backend, program, said, monkeypatch, tmp_path):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(UserError, match=said) as raised:
        start(InfraValidateConfig(backend=backend), str(serving_folder), "m")
    assert (
        raised.value.fix
        == f"see to {program} and infra_validate.image, or leave the backend out: it is embedded then"
    )


def test_the_trial_server_ends_with_its_step(serving_folder):
    server = embedded.EmbeddedServer(str(serving_folder), "m")
    server.wait(60)
    assert server.load_seconds > 0
    assert server.memory_bytes() > 1e8
    server.stop()
    assert server._process.returncode == 0
