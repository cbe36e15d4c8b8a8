"""A small table taken through the components once, for all tests that look at what they made."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The artifacts of a table with odd names and odd values, from the rows to a small trained model."""
    import keras  # noqa: F401  before tensorflow_transform, as in a step's process
    from executors import run_steps
    from odd_rows import FEATURES, LABEL, write_rows

    return run_steps(
        write_rows(tmp_path_factory.mktemp("odd") / "rows.csv"),
        LABEL,
        *("ExampleGen", "StatisticsGen", "SchemaGen", "Transform", "Trainer"),
        features=FEATURES,
        model={"hidden": [8]},
        train={"epochs": 2, "batch_size": 64},
    )


@pytest.fixture(scope="session")
def served(trained: dict[str, Any]) -> Any:
    """The exported model, loaded."""
    import tensorflow as tf
    from tfx.utils import path_utils

    return tf.saved_model.load(path_utils.serving_model_path(trained["model"].uri))


@pytest.fixture(scope="session")
def serving_folder(trained: dict[str, Any]) -> Path:
    """Where the exported model lies."""
    from tfx.utils import path_utils

    return Path(path_utils.serving_model_path(trained["model"].uri))
