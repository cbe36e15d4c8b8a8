"""A small table taken through the components once, for all tests that look at what they made."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The artifacts of a table with odd names and odd values, up to the transformed examples."""
    import keras  # noqa: F401  before tensorflow_transform, as in a step's process
    from executors import execute
    from odd_rows import FEATURES, LABEL, write_rows

    folder = tmp_path_factory.mktemp("prepared")
    made = execute(
        "example_gen",
        folder / "example_gen",
        {},
        {"examples": "Examples"},
        config={"source": str(write_rows(folder / "rows.csv"))},
        label=LABEL,
        task="",
        fingerprint="0",
    )
    made |= execute(
        "statistics_gen",
        folder / "statistics_gen",
        {"examples": made["examples"]},
        {"statistics": "ExampleStatistics"},
    )
    made |= execute(
        "schema_gen",
        folder / "schema_gen",
        {key: made[key] for key in ("examples", "statistics")},
        {"schema": "Schema"},
    )
    return made | execute(
        "transform",
        folder / "transform",
        {key: made[key] for key in ("examples", "schema")},
        {"transform_graph": "TransformGraph", "transformed_examples": "Examples"},
        config=FEATURES,
        options={},
        user_code="",
    )


@pytest.fixture(scope="session")
def trained(prepared: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The same artifacts with a small model that was trained on them."""
    from executors import execute

    return prepared | execute(
        "trainer",
        tmp_path_factory.mktemp("trained"),
        {
            "examples": prepared["transformed_examples"],
            "transform_graph": prepared["transform_graph"],
            "schema": prepared["schema"],
        },
        {"model": "Model", "model_run": "ModelRun"},
        config={"model": {"hidden": [8]}, "train": {"epochs": 2, "batch_size": 64}},
        name="odd",
        user_code="",
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
