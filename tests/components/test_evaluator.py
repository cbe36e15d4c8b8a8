"""The Evaluator on models whose predictions are known, against plain arithmetic."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow_model_analysis as tfma
from executors import execute
from tiny_exports import save_examples, save_export, save_schema

from components.errors import UserError

pytestmark = pytest.mark.slow

ROWS = 200
GROUPS = ["left" if row % 4 else "right" for row in range(ROWS)]


def _rows(task):
    deal = np.random.default_rng(4)
    if task == "binary":
        y = deal.integers(0, 2, ROWS)
        return np.clip(deal.normal(0.3 + 0.4 * y, 0.2), 0.01, 0.99).astype(np.float32)[:, None], y
    if task == "multiclass":
        y = deal.integers(0, 3, ROWS)
        scores = np.exp(deal.normal(size=(ROWS, 3)) + 1.5 * np.eye(3)[y])
        return (scores / scores.sum(1, keepdims=True)).astype(np.float32), y
    if task == "multilabel":
        y = (deal.random((ROWS, 3)) < [0.5, 0.1, 0.3]).astype(np.int64)
        return np.clip(deal.normal(0.2 + [0.6, 0.1, 0.3] * y, 0.2), 0.01, 0.99).astype(np.float32), y
    y = deal.normal(10, 5, ROWS).astype(np.float32)
    return (y + deal.normal(0, 2, ROWS)).astype(np.float32)[:, None], y


def _evaluate(folder, task, rows, *, baseline=None, **config):
    inputs = {
        "examples": save_examples(folder / "examples", *rows, GROUPS),
        "schema": save_schema(folder / "schema", task == "regression"),
        "model": save_export(folder / "model", task),
    }
    if baseline:
        inputs["baseline_model"] = baseline
    return execute(
        "evaluator",
        folder / "out",
        inputs,
        {"evaluation": "ModelEvaluation", "blessing": "ModelBlessing"},
        config=config,
    )


def _strict(text):
    """JSON as everyone reads it: NaN and Infinity are no numbers there."""

    def refuse(token):
        raise ValueError(token)

    return json.loads(text, parse_constant=refuse)


def _metrics(made):
    return _strict(made["evaluation"].get_string_custom_property("metrics"))


def _auc(scores, positive):
    """The share of pairs in the right order."""
    pairs = scores[positive][:, None] - scores[~positive][None, :]
    return ((pairs > 0) + 0.5 * (pairs == 0)).mean()


def test_two_classes(tmp_path):
    x, y = _rows("binary")
    gate = {"accuracy": {"min": 0.5}}
    made = _evaluate(tmp_path, "binary", (x, y), slices=[["group"]], gate=gate)
    p, positive = x[:, 0].astype(float), y == 1
    called = p > 0.5
    expected = {
        "auc": _auc(p, positive),
        "accuracy": (called == positive).mean(),
        "precision": positive[called].mean(),
        "recall": called[positive].mean(),
        "loss": -np.log(np.where(positive, p, 1 - p)).mean(),
        "calibration": p.mean() / positive.mean(),
    }
    found = _metrics(made)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=2e-4)
    assert 0.5 < found["auc_pr"] < 1
    assert made["blessing"].get_string_custom_property("reason").startswith("blessed: accuracy ")
    assert made["blessing"].get_int_custom_property("blessed") == 1
    assert made["blessing"].get_int_custom_property("current_model_id") == 1

    result = tfma.load_eval_result(made["evaluation"].uri)
    counts = {key: values[""][""]["example_count"]["doubleValue"] for key, values in result.slicing_metrics}
    assert counts == {(): 200, (("group", "left"),): 150, (("group", "right"),): 50}


def test_three_classes(tmp_path):
    x, y = _rows("multiclass")
    found = _metrics(_evaluate(tmp_path, "multiclass", (x, y)))
    expected = {
        "accuracy": (x.argmax(1) == y).mean(),
        "loss": -np.log(x[np.arange(ROWS), y].astype(float)).mean(),
    }
    assert found == pytest.approx(expected, abs=1e-5)


def test_any_number_of_three_classes(tmp_path):
    x, y = _rows("multilabel")
    worse = save_export(tmp_path / "worse", "multilabel", shift=-0.1, number=7)
    made = _evaluate(tmp_path, "multilabel", (x, y), slices=[["group"]], baseline=worse)
    p, positive = x.astype(float), y == 1
    called = p > 0.5
    classes = {name: _auc(p[:, i], positive[:, i]) for i, name in enumerate("abc")}
    expected = {
        "auc": np.mean(list(classes.values())),
        "auc_micro": _auc(p.ravel(), positive.ravel()),
        "accuracy": (called == positive).mean(),
        "precision": positive[called].mean(),
        "recall": called[positive].mean(),
        "loss": -np.log(np.where(positive, p, 1 - p)).mean(),
        "calibration": p.mean() / positive.mean(),
    }
    found = _metrics(made)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=2e-4)
    assert abs(found["auc"] - found["auc_micro"]) > 0.01
    assert 0.3 < found["auc_pr"] < 1
    said = _strict(made["evaluation"].get_string_custom_property("class_metrics"))
    assert said["auc"] == pytest.approx(classes, abs=2e-4)
    blessing = made["blessing"].get_string_custom_property("reason")
    assert blessing.startswith("blessed: auc 0.")
    before = _strict(made["evaluation"].get_string_custom_property("baseline_metrics"))
    assert before["calibration"] == pytest.approx(np.maximum(p - 0.1, 0).mean() / positive.mean(), rel=1e-3)
    result = tfma.load_eval_result(made["evaluation"].uri, model_name=tfma.CANDIDATE_KEY)
    left = dict(result.slicing_metrics)[(("group", "left"),)][""]
    rows = np.array(GROUPS) == "left"
    assert left["classId:1"]["auc"]["doubleValue"] == pytest.approx(
        _auc(p[rows, 1], positive[rows, 1]), abs=2e-4
    )


def test_a_class_that_no_row_has_is_left_out_of_the_mean_and_it_is_said(tmp_path):
    x, y = _rows("multilabel")
    y[:, 1] = 0
    made = _evaluate(tmp_path, "multilabel", (x, y))
    found = _metrics(made)
    both = [_auc(x[:, i].astype(float), y[:, i] == 1) for i in (0, 2)]
    assert found["auc"] == pytest.approx(np.mean(both), abs=2e-4)
    said = made["evaluation"].get_string_custom_property("summary")
    assert "auc without 'b', which no row or every row has" in said
    assert _strict(made["evaluation"].get_string_custom_property("class_metrics"))["auc"]["b"] is None


def test_one_class_that_rows_may_have(tmp_path):
    x, y = _rows("multilabel")
    rows = (x[:, :1], y[:, :1])
    inputs = {
        "examples": save_examples(tmp_path / "examples", *rows, GROUPS),
        "schema": save_schema(tmp_path / "schema", False),
        "model": save_export(tmp_path / "model", "multilabel", width=1, classes=["a"]),
    }
    outputs = {"evaluation": "ModelEvaluation", "blessing": "ModelBlessing"}
    found = _metrics(execute("evaluator", tmp_path / "out", inputs, outputs, config={}))
    auc = _auc(x[:, 0].astype(float), y[:, 0] == 1)
    assert (found["auc"], found["auc_micro"]) == pytest.approx((auc, auc), abs=2e-4)


def test_a_number(tmp_path):
    x, y = _rows("regression")
    made = _evaluate(tmp_path, "regression", (x, y), gate={"rmse": {"max": 0.1}})
    off = x[:, 0].astype(float) - y
    expected = {"rmse": np.sqrt((off**2).mean()), "mae": np.abs(off).mean(), "mse": (off**2).mean()}
    assert _metrics(made) == pytest.approx(expected, rel=1e-4)
    assert made["blessing"].get_int_custom_property("blessed") == 0
    assert [path.name for path in Path(made["blessing"].uri).iterdir()] == ["NOT_BLESSED"]
    assert "is above the ceiling 0.1" in made["blessing"].get_string_custom_property("reason")


def test_a_metric_that_cannot_be_measured_is_a_sentence_and_no_blessing(tmp_path):
    x, y = _rows("binary")
    made = _evaluate(tmp_path, "binary", (x / 10, np.zeros_like(y)), gate={"precision": {"min": 0.0}})
    reason = made["blessing"].get_string_custom_property("reason")
    assert reason == "not blessed: precision cannot be measured on these rows"
    found = _metrics(made)
    assert found["precision"] is None
    said = made["evaluation"].get_string_custom_property("summary")
    assert "accuracy 1.0000, no precision: no row is predicted positive, " in said
    assert found["accuracy"] == 1


@pytest.mark.parametrize(("only", "lacks"), [(0, "yes"), (1, "no")])
def test_rows_of_one_class_have_no_auc(tmp_path, only, lacks):
    x, y = _rows("binary")
    made = _evaluate(tmp_path, "binary", (x, np.full_like(y, only)))
    found = _metrics(made)
    assert (found["auc"], found["auc_pr"]) == (None, None)
    said = made["evaluation"].get_string_custom_property("summary")
    assert said.startswith(
        "not blessed: auc cannot be measured on these rows (test, 200 rows, none of class "
    )
    assert f"none of class '{lacks}': no auc, " in said


def test_it_is_said_when_a_class_has_hardly_any_rows(tmp_path):
    x, y = _rows("binary")
    y[:] = 0
    y[[3, 50]] = 1
    said = _evaluate(tmp_path, "binary", (x, y))["evaluation"].get_string_custom_property("summary")
    assert "(test, 200 rows, only 2 of class 'yes': auc " in said


class TestBaseline:
    def test_a_worse_model_is_not_blessed(self, tmp_path):
        x, y = _rows("regression")
        worse = (x + 3, y)  # which the shift of the baseline below makes good again
        better = save_export(tmp_path / "better", "regression", shift=-3.0, number=7)
        made = _evaluate(tmp_path, "regression", worse, baseline=better)
        blessing = made["blessing"]
        assert blessing.get_int_custom_property("blessed") == 0
        assert "above the latest blessed model's" in blessing.get_string_custom_property("reason")
        assert blessing.get_int_custom_property("baseline_model_id") == 7
        before = _strict(made["evaluation"].get_string_custom_property("baseline_metrics"))
        assert before["rmse"] == pytest.approx(np.sqrt(((x[:, 0].astype(float) - y) ** 2).mean()), rel=1e-4)
        assert _metrics(made)["rmse"] > before["rmse"] + 0.5

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            ({"classes": ["no", "maybe"]}, "predicts another label or other classes, so no comparison"),
            ({"features": {"x": "text"}}, "expects column 'x' to be text, so no comparison"),
            (None, "cannot be read"),
        ],
        ids=["classes", "column", "gone"],
    )
    def test_a_model_that_cannot_be_compared_is_not_and_it_is_said(self, tmp_path, change, sentence):
        baseline = save_export(tmp_path / "before", "binary", number=7, **(change or {}))
        if change is None:
            baseline.uri = str(tmp_path / "nowhere")
        made = _evaluate(tmp_path, "binary", _rows("binary"), baseline=baseline)
        assert made["blessing"].get_int_custom_property("blessed") == 1
        reason = made["blessing"].get_string_custom_property("reason")
        assert sentence in reason
        assert "no comparison" in reason
        assert not made["evaluation"].get_string_custom_property("baseline_metrics")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"gate": {"rmse": {"max": 1}}}, "task binary has no metric 'rmse'"),
        ({"slices": [["groop"]]}, "the data has no column 'groop', did you mean 'group'?"),
    ],
)
def test_names_that_are_not_there(tmp_path, config, message):
    with pytest.raises(UserError, match=message.replace("?", r"\?")):
        _evaluate(tmp_path, "binary", _rows("binary"), **config)
