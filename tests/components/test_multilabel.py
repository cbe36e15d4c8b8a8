"""Rows with a list of classes, from JSON Lines to served answers."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from executors import execute, run_steps
from tfx.utils import path_utils

from components.records import read_serialized, split_files
from components.trainer import distill
from components.trainer.config import TrainConfig
from components.trainer.data.blocks import feature_spec
from components.transform.plan import FeaturePlan
from serving.rows import to_predictions

pytestmark = pytest.mark.slow

CLASSES = ["deep", "hot", "odd"]
STEPS = ("ExampleGen", "StatisticsGen", "SchemaGen", "ExampleValidator", "Transform", "Trainer", "Evaluator")


def classes_of(degrees, metres, kind):
    return [
        *(["hot"] if degrees > 0.5 else []),
        *(["odd"] if kind == "x" else []),
        *(["deep"] if metres > 0 else []),
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    deal = random.Random(5)
    folder = tmp_path_factory.mktemp("several")
    with (folder / "rows.jsonl").open("w") as stream:
        for _ in range(1500):
            row = {"degrees": deal.gauss(0, 1), "metres": deal.gauss(0, 1), "kind": deal.choice("xyz")}
            tags = classes_of(**row) if deal.random() > 0.02 else None
            stream.write(json.dumps({**row, "tags": tags}) + "\n")
    return run_steps(
        folder / "rows.jsonl",
        "tags",
        *STEPS,
        model={"hidden": [16], "architecture": "mlp"},
        train={
            "epochs": 15,
            "batch_size": 64,
            "learning_rate": {"peak": 0.02},
            "loss": {"class_weights": "balanced"},
        },
        evaluate={"slices": [["kind"]]},
    )


@pytest.fixture(scope="module")
def served(made):
    return tf.saved_model.load(path_utils.serving_model_path(made["model"].uri))


def rows_of(examples, split):
    return np.concatenate([rows for file in split_files(examples, split) for rows in read_serialized(file)])


def test_transform_writes_one_value_a_class(made):
    plan = FeaturePlan.load(made["transform_graph"].uri)
    assert (plan.label.task, list(plan.label.classes)) == ("multilabel", CLASSES)
    for split in ("train", "test"):
        stored = tf.io.parse_example(rows_of(made["transformed_examples"], split), feature_spec(plan))
        raw = [
            tf.train.Example.FromString(row).features.feature["tags"].bytes_list.value
            for row in rows_of(made["examples"], split)
        ]
        expected = sorted([int(name.encode() in tags) for name in CLASSES] for tags in raw)
        assert sorted(stored[plan.label_input].numpy().tolist()) == expected
        assert [0, 0, 0] in expected


def test_it_is_checked_and_blessed(made):
    text = (Path(made["schema"].uri) / "schema.pbtxt").read_text()
    assert all(f'value: "{name}"' in text for name in CLASSES)
    assert "tags" not in made["anomalies"].get_string_custom_property("summary")
    reason = made["blessing"].get_string_custom_property("reason")
    assert reason.startswith("blessed: auc "), reason
    metrics = json.loads(made["evaluation"].get_string_custom_property("metrics"))
    assert metrics["auc"] > 0.95
    assert 0 < metrics["loss"] < 0.2  # a model that is sure of itself included
    by_class = json.loads(made["evaluation"].get_string_custom_property("class_metrics"))["auc"]
    assert set(by_class) == set(CLASSES)
    assert min(by_class.values()) > 0.95


def test_served_answers_are_right_and_alike(made, served):
    deal = random.Random(9)
    rows = [
        {"degrees": deal.choice([-2.0, 2.5]), "metres": deal.choice([-1.5, 1.5]), "kind": deal.choice("xyz")}
        for _ in range(40)
    ]
    tensors = {
        "degrees": tf.constant([row["degrees"] for row in rows]),
        "metres": tf.constant([row["metres"] for row in rows]),
        "kind": tf.constant([row["kind"] for row in rows]),
    }
    answer = served.signatures["serving_raw"](**tensors)
    assert answer["predicted"].dtype == tf.int64
    assert answer["probabilities"].shape == answer["predicted"].shape == answer["classes"].shape == (40, 3)
    np.testing.assert_array_equal(answer["predicted"], answer["probabilities"].numpy() >= 0.5)
    outputs = {name: value.numpy().tolist() for name, value in answer.items()}
    outputs["classes"] = [[name.decode() for name in row] for row in outputs["classes"]]
    for row, prediction in zip(rows, to_predictions(outputs), strict=True):
        assert sorted(prediction.predicted_classes) == sorted(classes_of(**row))
        assert list(prediction.probabilities) == CLASSES


def test_every_signature_answers_and_needs_no_label(made, tmp_path):
    done = execute(
        "infra_validator",
        tmp_path,
        {"model": made["model"], "examples": made["examples"]},
        {"blessing": "InfraBlessing"},
        config={},
    )
    assert "passed" in done["blessing"].get_string_custom_property("summary")


def test_a_teacher_tells_each_class_for_itself(made, served):
    plan = FeaturePlan.load(made["transform_graph"].uri)
    teacher = path_utils.serving_model_path(made["model"].uri)
    _, labels = distill.taught_rows(
        split_files(made["examples"], "eval"),
        plan,
        made["transform_graph"].uri,
        TrainConfig(distill={"teacher": teacher}),
    )
    rows = rows_of(made["examples"], "eval")
    assert labels.shape == (len(rows), 6)
    answers = served.signatures["serving_default"](examples=rows)["probabilities"]
    np.testing.assert_allclose(tf.sigmoid(labels[:, 3:]), answers, atol=1e-4)
    assert set(np.unique(labels[:, :3])) == {0.0, 1.0}


def test_a_student_learns_and_so_do_parts_of_batches_with_averages(made, tmp_path):
    inputs = {
        "examples": made["transformed_examples"],
        "transform_graph": made["transform_graph"],
        "schema": made["schema"],
        "raw_examples": made["examples"],
    }
    teacher = path_utils.serving_model_path(made["model"].uri)
    options = {"epochs": 4, "batch_size": 64, "learning_rate": {"peak": 0.02}}
    for name, more in {
        "student": {"distill": {"teacher": teacher}},
        "parts": {"accumulate": 2, "optimizer": {"ema": 0.9}, "input": {"cache": "off"}},
    }.items():
        done = execute(
            "trainer",
            tmp_path / name,
            inputs,
            {"model": "Model", "model_run": "ModelRun"},
            config={"model": {"hidden": [8], "architecture": "mlp"}, "train": {**options, **more}},
            name=name,
            user_code="",
        )
        said = done["model"].get_string_custom_property("summary")
        auc = re.search(r"; eval .*auc ([0-9.]+)", said)
        assert auc, said
        assert float(auc[1]) > 0.8
