"""A column of weights goes from the table through training to the metrics, and is no feature."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from executors import execute, run_steps

from components.errors import UserError
from components.example_gen.found import Found
from components.records import read_serialized, split_files
from components.transform.plan import FeaturePlan

pytestmark = pytest.mark.slow


def write(path: Path, rows: list[tuple[Any, ...]]) -> Path:
    with open(path, "w", newline="") as stream:
        csv.writer(stream).writerows([("x", "trust", "y"), *rows])
    return path


def ingest(folder: Path, rows: list[tuple[Any, ...]], **config: Any) -> Any:
    data = {"source": str(write(folder / "rows.csv", rows)), "weight": "trust", **config}
    return execute(
        "example_gen", folder, {}, {"examples": "Examples"}, config=data, label="y", task="", fingerprint="0"
    )["examples"]


def some_rows(count: int) -> list[tuple[Any, ...]]:
    """Rows with y = (x > 0) where the weight is large, and the contrary where it is small."""
    dice = random.Random(1)
    rows = []
    for _ in range(count):
        x, honest = dice.uniform(-1, 1), dice.random() < 0.4
        rows.append((f"{x:.6f}", 30 if honest else 0.5, int((x > 0) == honest)))
    return rows


@pytest.fixture(scope="module")
def weighted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    source = write(tmp_path_factory.mktemp("weighted") / "rows.csv", some_rows(4000))
    return run_steps(
        source,
        "y",
        *("ExampleGen", "StatisticsGen", "SchemaGen", "Transform", "Trainer", "Evaluator"),
        data={"source": source.name, "weight": "trust"},
        model={"hidden": [8]},
        train={"epochs": 5, "batch_size": 64},
        evaluate={"slices": [["y"]], "gate": {"auc": {"min": 0.7}}},
    )


def test_the_weight_is_no_feature(weighted: dict[str, Any]) -> None:
    plan = FeaturePlan.load(weighted["transform_graph"].uri)
    assert [feature.name for feature in plan.features] == ["x"]
    assert plan.weight_input == "trust_xf"
    loaded = tf.saved_model.load(f"{weighted['model'].uri}/Format-Serving")
    assert set(loaded.signatures["serving_raw"].structured_input_signature[1]) == {"x"}
    about = json.loads(Path(weighted["model"].uri, "Format-Serving/assets.extra/headrace.json").read_text())
    assert set(about["features"]) == {"x"}


def test_it_is_said_that_rows_are_weighed(weighted: dict[str, Any]) -> None:
    said = weighted["examples"].get_string_custom_property("summary")
    assert "; weighed by 'trust', 12" in said
    said = weighted["transform_graph"].get_string_custom_property("summary")
    assert said == "1 columns used (1 numeric); rows weighed by trust"


def test_transformed_weights_are_1_on_average(weighted: dict[str, Any]) -> None:
    (file,) = split_files(weighted["transformed_examples"], "train")
    rows = np.concatenate(list(read_serialized(file)))
    spec = {"trust_xf": tf.io.FixedLenFeature([1], tf.float32)}
    weights = tf.io.parse_example(rows, spec)["trust_xf"].numpy()
    assert weights.mean() == pytest.approx(1, rel=1e-5)
    assert weights.max() / weights.min() == pytest.approx(60, rel=1e-5)


def test_the_model_believes_the_rows_that_weigh_more(weighted: dict[str, Any]) -> None:
    """Of the rows the most say that y = (x < 0), of the weight the most says that y = (x > 0)."""
    metrics = json.loads(weighted["evaluation"].get_string_custom_property("metrics"))
    assert metrics["accuracy"] > 0.9
    assert weighted["blessing"].get_int_custom_property("blessed") == 1
    assert "auc 0.9" in weighted["model"].get_string_custom_property("summary")


def test_examples_are_counted_not_weighed(weighted: dict[str, Any]) -> None:
    import tensorflow_model_analysis as tfma

    result = tfma.load_eval_result(weighted["evaluation"].uri)
    overall = dict(result.slicing_metrics)[()][""][""]
    found = Found.load(weighted["examples"].uri)
    assert overall["example_count"]["doubleValue"] == found.rows["test"]


def test_rows_without_a_weight_are_left_out_and_said(tmp_path: Path) -> None:
    rows = [(i, "NA" if i % 10 == 0 else 1, i % 2) for i in range(200)]
    examples = ingest(tmp_path, rows)
    assert sum(Found.load(examples.uri).rows.values()) == 180
    said = examples.get_string_custom_property("summary")
    assert "dropped 20 rows whose weight 'trust' is missing" in said


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            [(i, -1.5 if i == 7 else 1, i % 2) for i in range(100)],
            ["rows.csv:9", "the weight 'trust' is -1.5"],
        ),
        ([(i, 0, i % 2) for i in range(100)], ["data.weight: trust", "rows of train have the weight 0"]),
        ([(i, "much", i % 2) for i in range(100)], ["the column is text; a weight must be a number"]),
    ],
)
def test_weights_that_cannot_be_are_refused(tmp_path: Path, rows: list[Any], words: list[str]) -> None:
    with pytest.raises(UserError) as error:
        ingest(tmp_path, rows)
    for word in words:
        assert word in str(error.value)
