"""A student hears its teacher: the loss by its formula, the answers beside their rows, the whole step."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from executors import execute
from pydantic import ValidationError
from small_plan import small_plan, small_rows

from components.errors import UserError
from components.label import LabelSpec
from components.records import split_files
from components.trainer import data, distill, learning, models
from components.trainer.config import DistillConfig, ModelConfig, TrainConfig
from components.trainer.learner import learner
from components.trainer.losses import teaching
from components.transform.plan import FeaturePlan

CONFIG = DistillConfig(teacher="x", temperature=3.0, weight=0.3)


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_teaching_is_its_formula():
    deal = np.random.default_rng(1)
    taught, logits = deal.normal(0, 4, (2, 7, 3))
    expected = -9 * (softmax(taught / 3) * np.log(softmax(logits / 3))).sum(1)
    found = teaching(CONFIG, taught, logits, independent=False)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    # Two classes by one logit are two classes by two of them.
    pair = [np.stack([np.zeros(7), z[:, 0]], 1) for z in (taught, logits)]
    expected = -9 * (softmax(pair[0] / 3) * np.log(softmax(pair[1] / 3))).sum(1)
    found = teaching(CONFIG, taught[:, :1], logits[:, :1], independent=True)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    # Several labels are as many such questions, of which the mean counts.
    alone = [teaching(CONFIG, taught[:, i : i + 1], logits[:, i : i + 1], independent=True) for i in range(3)]
    found = teaching(CONFIG, taught, logits, independent=True)
    np.testing.assert_allclose(found, np.mean(alone, 0), rtol=1e-5)


@pytest.mark.parametrize(("task", "units"), [("binary", 1), ("multiclass", 3), ("multilabel", 3)])
@pytest.mark.parametrize("parts", [1, 4])
def test_the_loss_shares_between_labels_and_teacher(task, units, parts):
    plan, (features, labels) = small_plan(task), small_rows(32, task)
    weight = tf.constant(np.random.default_rng(2).uniform(0, 2, (32, 1)).astype(np.float32))
    taught = np.random.default_rng(3).normal(0, 2, (32, units)).astype(np.float32)
    train = TrainConfig(distill=CONFIG.model_dump(), accumulate=parts)
    model = learner(models.build(plan, ModelConfig(hidden=(4,))), train, label_width=plan.label.width)
    model.compile(learning.optimizer(train, 1), learning.loss(plan), **learning.compiled_metrics(plan))
    logits = model.predict(features, verbose=0)
    hard = float(learning.loss(plan)(labels, logits, weight))
    lesson = teaching(CONFIG, taught, logits, independent=task != "multiclass")
    soft = float((lesson * weight[:, 0]).numpy().mean())
    both = tf.concat([tf.cast(labels, tf.float32), taught], 1)
    told = model.train_on_batch(features, both, weight, return_dict=True)
    assert told["loss"] == pytest.approx(0.7 * hard + 0.3 * soft, rel=1e-5)
    # Evaluation has labels alone.
    after = float(learning.loss(plan)(labels, model.predict(features, verbose=0), weight))
    measured = model.evaluate(features, labels, sample_weight=weight, verbose=0, return_dict=True)
    assert measured["loss"] == pytest.approx(after, rel=1e-5)


def test_each_row_keeps_its_own_answer(trained, served, serving_folder):
    plan = FeaturePlan.load(trained["transform_graph"].uri)
    files = split_files(trained["examples"], "train")
    train = TrainConfig(distill={"teacher": str(serving_folder)})
    inputs, labels = distill.taught_rows(files, plan, trained["transform_graph"].uri, train)
    raw = [tf.data.TFRecordDataset(file, "GZIP").as_numpy_iterator() for file in files]
    examples = tf.constant([example for each in raw for example in each])
    assert labels.shape == (len(examples), 2)
    answers = served.signatures["serving_default"](examples=examples)["probabilities"].numpy()
    np.testing.assert_allclose(tf.sigmoid(labels[:, 1]), answers[:, 1], atol=1e-5)
    # As many rows as Transform wrote, with the same values, in whatever order.
    written, ids = data.load(split_files(trained["transformed_examples"], "train"), plan)
    for name, values in written.items():
        assert values.shape == inputs[name].shape
        assert values.dtype == inputs[name].dtype
        np.testing.assert_allclose(np.sort(values, 0), np.sort(inputs[name], 0), rtol=1e-6)
    assert int(tf.reduce_sum(ids)) == int(tf.reduce_sum(labels[:, 0]))


def test_a_student_that_hears_its_teacher_alone_answers_as_it_does(trained, served, tmp_path, serving_folder):
    train = {
        "epochs": 40,
        "batch_size": 32,
        "early_stopping": 0,
        "learning_rate": {"peak": 0.02},
        "distill": {"teacher": str(serving_folder), "weight": 1.0, "temperature": 1.0},
    }
    made = execute(
        "trainer",
        tmp_path,
        {
            "examples": trained["transformed_examples"],
            "transform_graph": trained["transform_graph"],
            "schema": trained["schema"],
            "raw_examples": trained["examples"],
        },
        {"model": "Model", "model_run": "ModelRun"},
        config={"model": {"architecture": "mlp", "hidden": [6]}, "train": train},
        name="student",
        user_code="",
    )
    file = next(Path(trained["examples"].uri, "Split-test").iterdir())
    rows = tf.constant(list(tf.data.TFRecordDataset(str(file), "GZIP").as_numpy_iterator()))
    student = tf.saved_model.load(f"{made['model'].uri}/Format-Serving")
    theirs, ours = (
        each.signatures["serving_default"](examples=rows)["probabilities"].numpy()[:, 1]
        for each in (served, student)
    )
    assert np.abs(theirs - ours).mean() < 0.1


class TestRefused:
    @staticmethod
    def _plan(trained, **label):
        plan = FeaturePlan.load(trained["transform_graph"].uri)
        return plan.model_copy(update={"label": LabelSpec(**{**plan.label.model_dump(), **label})})

    def test_a_teacher_of_another_question(self, trained, serving_folder):
        with pytest.raises(UserError, match="the teacher answers binary 'Went well"):
            distill.Teacher(str(serving_folder), self._plan(trained, classes=("bad", "fine")))

    def test_what_is_no_teacher(self, trained, tmp_path):
        with pytest.raises(UserError, match="is no model that Headrace exported"):
            distill.Teacher(str(tmp_path), self._plan(trained))

    def test_numbers(self):
        with pytest.raises(
            ValidationError, match="distill needs a teacher's probabilities; mse is a loss of"
        ):
            TrainConfig(distill={"teacher": "x"}, loss={"name": "mse"})

    def test_augmented_rows(self):
        with pytest.raises(
            ValidationError, match="distill has the teacher's answers for the rows as they are"
        ):
            TrainConfig(distill={"teacher": "x"}, augment={"flip": "both"})

    def test_rows_that_are_not_kept_in_memory(self):
        with pytest.raises(ValidationError, match="distill keeps the rows in memory, received input"):
            TrainConfig(distill={"teacher": "x"}, input={"cache": "off"})


def test_a_teacher_is_found_in_the_project(tmp_path):
    from pipeline.config import load_config
    from pipeline.graph import build_pipeline
    from pipeline.inputs import gather

    (tmp_path / "x.csv").write_text("x,y\n1,a\n2,b\n")
    (tmp_path / "pipeline.yaml").write_text(
        "data: {source: x.csv}\nlabel: y\npush: {to: out}\ntrain: {distill: {teacher: pushed}}\n"
    )
    config = load_config(tmp_path)
    with pytest.raises(UserError, match="there is no version of a model in"):
        _ = config.located_train
    for version in ("1700000001", "1700000002"):
        (tmp_path / "out" / version).mkdir(parents=True)
        (tmp_path / "out" / version / "saved_model.pb").touch()
    newest = str(tmp_path / "out" / "1700000002")
    assert config.located_train.distill.teacher == newest
    # Trainer gets the version by name, so that a later one trains anew, and the raw rows.
    graph = build_pipeline(config, gather(config), root=tmp_path)
    (trainer,) = (component for component in graph.components if component.id == "Trainer")
    assert json.loads(trainer.exec_properties["config"])["train"]["distill"]["teacher"] == newest
    assert trainer.inputs["raw_examples"].producer_component_id == "ExampleGen"
    one = load_config(tmp_path, ["train.distill.teacher=out/1700000001"])
    assert one.located_train.distill.teacher == str(tmp_path / "out" / "1700000001")
