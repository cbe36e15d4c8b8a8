"""TensorFlow Serving's config files."""

from __future__ import annotations

from pathlib import Path

import pytest

from serving.config_files import METRICS_PATH, read_batching, read_models, read_monitoring
from serving.errors import ServingError
from serving.spec import ModelConfig, VersionPolicy


def write(path: Path, text: str) -> Path:
    file = path / "file.config"
    file.write_text(text)
    return file


def test_models(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        """
        # two models
        model_config_list {
          config {
            name: "tips" base_path: "/models/tips" model_platform: "tensorflow"
            model_version_policy { specific { versions: 18 versions: 17 } }
            version_labels { key: "stable" value: 17 }
            version_labels { key: 'canary' value: 18 }
            logging_config { sampling_config { sampling_rate: 0.5 } }
          }
          config { name: "fares" base_path: "/models/fares" model_platform: "tensorflow" }
          config: <
            name: "all" base_path: "/a" model_platform: "tensorflow" model_version_policy: < all: {} >
          >
          config {
            name: "three" base_path: "/a" model_type: TENSORFLOW
            model_version_policy { latest { num_versions: 3 } }
          }
        }
        """,
    )
    assert read_models(file) == [
        ModelConfig(
            "tips",
            Path("/models/tips"),
            VersionPolicy("specific", versions=(17, 18)),
            (("canary", 18), ("stable", 17)),
            0.5,
        ),
        ModelConfig("fares", Path("/models/fares")),
        ModelConfig("all", Path("/a"), VersionPolicy("all")),
        ModelConfig("three", Path("/a"), VersionPolicy("latest", 3)),
    ]


def config(fields: str) -> str:
    return f"model_config_list {{ config {{ {fields} }} }}"


GOOD = 'name: "a" base_path: "/a" model_platform: "tensorflow"'
BAD_MODELS = {
    "a typo": (config('nmae: "a"'), 'has no field named "nmae"'),
    "no text proto": ("{", "not a valid ModelServerConfig"),
    "empty": ("", "it lists no model"),
    "custom": ("custom_model_config {}", "Only ModelConfigList is currently supported"),
    "no model": ("model_config_list {}", "it lists no model"),
    "relative": (
        config('name: "a" base_path: "a" model_platform: "tensorflow"'),
        "Expected model a to have an absolute path; got base_path()=a",
    ),
    "no name": (config('base_path: "/a" model_platform: "tensorflow"'), "a model has no name"),
    "twice": (
        f"model_config_list {{ config {{ {GOOD} }} config {{ {GOOD} }} }}",
        "Illegal to list model a multiple times in config list",
    ),
    "no platform": (config('name: "a" base_path: "/a"'), "Illegal setting neither model_type"),
    "both": (config(GOOD + " model_type: TENSORFLOW"), "Illegal setting both model_type(deprecated) and"),
    "platform": (
        config('name: "a" base_path: "/a" model_platform: "caffe"'),
        "Model a requests unsupported platform caffe",
    ),
    "no versions": (config(GOOD + " model_version_policy { specific {} }"), "lists no version"),
    "sampling": (
        config(GOOD + " logging_config { sampling_config { sampling_rate: 2 } }"),
        "got sampling_rate 2; expected 0 to 1",
    ),
}


@pytest.mark.parametrize("case", BAD_MODELS)
def test_bad_models(tmp_path: Path, case: str) -> None:
    text, message = BAD_MODELS[case]
    with pytest.raises(ServingError) as caught:
        read_models(write(tmp_path, text))
    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_batching(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "max_batch_size { value: 64 } batch_timeout_micros { value: 0 } num_batch_threads { value: 3 } "
        "allowed_batch_sizes: 8 allowed_batch_sizes: 64 pad_variable_length_inputs: true",
    )
    parameters = read_batching(file, 5)
    assert (parameters.max_batch_size, parameters.num_batch_threads) == (64, 3)
    assert parameters.allowed_batch_sizes == (8, 64)
    parameters = read_batching(write(tmp_path, "max_enqueued_batches { value: 7 }"), 5)
    assert (parameters.max_enqueued_batches, parameters.num_batch_threads) == (7, 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_batch_size: 64", "not a valid BatchingParameters"),
        ("max_batch_size { value: 0 }", "max_batch_size: got 0; expected 1 or more"),
        ("max_batch_size { value: 64 } allowed_batch_sizes: 8", "end with max_batch_size (64)"),
        ("max_batch { value: 1 }", 'has no field named "max_batch"'),
    ],
)
def test_bad_batching(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ServingError) as caught:
        read_batching(write(tmp_path, text), 2)
    assert message in str(caught.value)


def test_monitoring(tmp_path: Path) -> None:
    assert read_monitoring(write(tmp_path, "prometheus_config { enable: true }")) == METRICS_PATH
    assert read_monitoring(write(tmp_path, 'prometheus_config { enable: true path: "/m" }')) == "/m"
    assert read_monitoring(write(tmp_path, "")) == ""
    with pytest.raises(ServingError, match="expected it to begin with /"):
        read_monitoring(write(tmp_path, 'prometheus_config { enable: true path: "m" }'))
    with pytest.raises(ServingError, match="cannot read it"):
        read_monitoring(tmp_path / "absent")
