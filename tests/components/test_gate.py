"""The gate: what holds, what breaks, and the sentence that says so."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError

from components.evaluator.config import DEFAULT_GATES, Threshold
from components.evaluator.gate import judge
from components.evaluator.noise import standard_errors
from components.evaluator.results import Measured

NAN = math.nan


@pytest.mark.parametrize(
    ("value", "before", "bound", "blessed"),
    [
        (0.7, None, {"min": 0.7}, True),
        (0.6999, None, {"min": 0.7}, False),
        (0.7, None, {"max": 0.7}, True),
        (0.7001, None, {"max": 0.7}, False),
        (0.7, None, {"min": 0.6, "max": 0.8}, True),
        (0.9, None, {"min": 0.6, "max": 0.8}, False),
        (NAN, None, {"min": 0.0}, False),
        (NAN, None, {"max": 1.0}, False),
        (0.1, None, {"max_drop": 0.0}, True),  # there is nothing to fall below yet
        (NAN, None, {"max_drop": 0.1}, False),
        (0.70, 0.75, {"max_drop": 0.0625}, True),
        (0.70, 0.75, {"max_drop": 0.03125}, False),
        (0.75, 0.75, {"max_drop": 0.0}, True),
        (0.80, 0.75, {"max_drop": 0.0}, True),
        (0.80, 0.75, {"max_rise": 0.0}, False),
        (0.80, 0.75, {"max_rise": 0.0625}, True),
        (0.76, 0.75, {"max_rise": "2%"}, True),
        (0.77, 0.75, {"max_rise": "2 %"}, False),
        (0.74, 0.75, {"max_drop": "1.5%"}, True),
        (0.73, 0.75, {"max_drop": "1.5%"}, False),
        (NAN, 0.75, {"max_drop": 1.0}, False),
        (NAN, 0.75, {"max_rise": 1.0}, False),
        (0.75, NAN, {"max_drop": 1.0}, True),  # a model that cannot be measured is no bar
        (0.75, NAN, {"min": 0.8, "max_drop": 1.0}, False),
        (math.inf, None, {"min": 0.5}, True),
        (math.inf, None, {"max": 5.0}, False),
    ],
)
def test_bounds(value, before, bound, blessed):
    baseline = None if before is None else {"auc": before}
    verdict = judge({"auc": value}, baseline, {"auc": Threshold(**bound)})
    assert verdict.blessed is blessed
    assert verdict.sentence.startswith("blessed: " if blessed else "not blessed: ")


def test_every_metric_must_hold_and_those_that_do_not_are_named():
    gate = {
        "auc": Threshold(min=0.7, max_drop=0.01),
        "loss": Threshold(max=0.5),
        "recall": Threshold(min=0.1),
    }
    metrics = {"auc": 0.65, "loss": 0.75, "recall": 0.5}
    assert judge(metrics, {"auc": 0.7, "loss": 0.4, "recall": 0.4}, gate).sentence == (
        "not blessed: auc 0.6500 is below the floor 0.7; "
        "auc 0.6500 is 0.0500 below the latest blessed model's 0.7000, more than 0.01 allowed; "
        "loss 0.7500 is above the ceiling 0.5"
    )


def test_it_is_said_when_a_difference_is_within_the_noise_of_few_rows():
    gate = {"auc": Threshold(max_drop=0.01)}
    found = judge({"auc": 0.88}, {"auc": 0.9}, gate, errors={"auc": 0.0321})
    assert not found.blessed
    assert found.sentence.endswith(
        "more than 0.01 allowed (but on so few rows auc is only known to ±0.032, its standard error)"
    )
    for errors in ({"auc": 0.015}, {}, None):
        assert judge({"auc": 0.88}, {"auc": 0.9}, gate, errors=errors).sentence.endswith("0.01 allowed")


def test_standard_errors():
    """The example of Hanley and McNeil: an area of 0.893 on 58 normal and 51 abnormal rows has 0.032."""
    found = Measured({"auc": 0.893, "accuracy": 0.9, "loss": 0.3}, {}, 109, {"no": 58, "yes": 51})
    errors = standard_errors(found)
    assert errors["auc"] == pytest.approx(0.032, abs=0.001)
    assert errors["accuracy"] == pytest.approx(0.0287, abs=0.0001)
    assert set(errors) == {"auc", "accuracy"}
    assert standard_errors(Measured({"auc": 0.9, "accuracy": NAN}, {}, 9, {"no": 9, "yes": 0})) == {}
    assert standard_errors(Measured({"rmse": 3.0}, {}, 9)) == {}


def test_a_blessing_says_what_held():
    gate = {"auc": Threshold(min=0.7, max_drop=0.01)}
    first = judge({"auc": 0.75}, None, gate)
    assert first.sentence == "blessed: auc 0.7500 (floor 0.7); no blessed model to compare with yet"
    later = judge({"auc": 0.75}, {"auc": 0.745}, gate)
    assert later.sentence == "blessed: auc 0.7500 (floor 0.7, latest blessed model 0.7450)"


def test_a_threshold_says_something_that_can_hold():
    with pytest.raises(ValidationError, match="at least one"):
        Threshold()
    with pytest.raises(ValidationError, match="above max"):
        Threshold(min=2, max=1)
    with pytest.raises(ValidationError, match="max_drop"):
        Threshold(max_drop="a bit")


def test_the_default_gates_refuse_a_coin_and_a_worse_model():
    auc = DEFAULT_GATES["binary"]
    assert not judge({"auc": 0.49}, None, auc).blessed
    assert judge({"auc": 0.79}, {"auc": 0.795}, auc).blessed
    assert not judge({"auc": 0.7}, {"auc": 0.8}, auc).blessed
    rmse = DEFAULT_GATES["regression"]
    assert judge({"rmse": 3.0}, None, rmse).blessed
    assert judge({"rmse": 3.03}, {"rmse": 3.0}, rmse).blessed
    assert not judge({"rmse": 3.1}, {"rmse": 3.0}, rmse).blessed
    assert not judge({"rmse": NAN}, None, rmse).blessed


def test_a_model_must_know_more_than_a_constant():
    accuracy, rmse = DEFAULT_GATES["multiclass"], DEFAULT_GATES["regression"]
    assert judge({"accuracy": 0.6}, None, accuracy, {"accuracy": 0.5}).sentence == (
        "blessed: accuracy 0.6000 (always the most frequent class 0.5000); "
        "no blessed model to compare with yet"
    )
    assert judge({"accuracy": 0.5}, None, accuracy, {"accuracy": 0.5}).sentence == (
        "not blessed: accuracy 0.5000 is no better than 0.5000, which always the most frequent class reaches"
    )
    assert judge({"rmse": 790.0}, None, rmse, {"rmse": 800.0, "mse": 640000.0}).blessed
    assert judge({"rmse": 4209.0}, None, rmse, {"rmse": 800.0, "mse": 640000.0}).sentence == (
        "not blessed: rmse 4209.0000 is no better than 800.0000, which always the mean reaches"
    )
