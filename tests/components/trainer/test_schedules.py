"""Learning rates at chosen steps, against their formulas."""

from __future__ import annotations

import math

import keras
import pytest
from pydantic import ValidationError

from components.trainer import learning
from components.trainer.config import LearningRateConfig

STEPS = 100


def rates(at, **options):
    rate = learning.learning_rate(LearningRateConfig(peak=0.5, **options), STEPS)
    return [float(rate(step)) for step in at]


@pytest.mark.parametrize(
    ("options", "at", "expected"),
    [
        ({"schedule": "cosine"}, (0, 25, 50, 100), (0.5, 0.25 * (1 + math.cos(math.pi / 4)), 0.25, 0)),
        ({"schedule": "cosine", "end": 0.1}, (0, 50, 100, 300), (0.5, 0.3, 0.1, 0.1)),
        ({"schedule": "polynomial"}, (0, 25, 100), (0.5, 0.375, 0)),
        ({"schedule": "polynomial", "power": 2, "end": 0.1}, (0, 50, 100), (0.5, 0.1 + 0.4 / 4, 0.1)),
        ({"schedule": "exponential"}, (0, 50, 100), (0.5, 0.05, 0.005)),
        ({"schedule": "exponential", "end": 0.125}, (0, 50, 100), (0.5, 0.25, 0.125)),
        ({"schedule": "step"}, (0, 49, 50, 74, 75, 100), (0.5, 0.5, 0.05, 0.05, 0.005, 0.005)),
        (
            {"schedule": "step", "factor": 0.5, "milestones": [0.1, 0.2, 0.9], "end": 0.1},
            (9, 10, 20, 89, 90),
            (0.5, 0.25, 0.125, 0.125, 0.1),
        ),
    ],
)
def test_falls_from_the_peak_to_the_end(options, at, expected):
    assert rates(at, **options) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("schedule", "half_way"),
    [("constant", 0.5), ("cosine", 0.25), ("polynomial", 0.25), ("exponential", 0.05), ("step", 0.05)],
)
def test_warm_up_rises_in_a_line_and_the_rest_falls_over_what_is_left(schedule, half_way):
    found = rates((0, 5, 19, 20, 60), schedule=schedule, warmup_steps=20)
    assert found == pytest.approx([0, 0.125, 0.475, 0.5, half_way], abs=1e-6)


def test_a_constant_rate_is_a_number_that_a_callback_may_set():
    assert learning.learning_rate(LearningRateConfig(schedule="constant", peak=0.5), STEPS) == 0.5
    assert LearningRateConfig(schedule="constant").settable
    assert not LearningRateConfig(schedule="constant", warmup_steps=1).settable
    assert not LearningRateConfig().settable


def test_warm_up_longer_than_the_run():
    rate = learning.learning_rate(LearningRateConfig(peak=0.5, warmup_steps=1000), 10)
    assert [float(rate(step)) for step in (0, 3, 9)] == pytest.approx([0, 0.5 / 3, 0.5])
    assert float(learning.learning_rate(LearningRateConfig(warmup_steps=1000), 1)(0)) == pytest.approx(1e-3)


def test_is_saved_with_its_optimizer():
    config = LearningRateConfig(schedule="step", milestones=[0.3], warmup_steps=7)
    schedule = learning.learning_rate(config, STEPS)
    twin = type(schedule).from_config(schedule.get_config())
    for step in (0, 3, 29, 60, 99):
        assert float(twin(step)) == float(schedule(step))
    assert keras.optimizers.Adam(schedule).get_config()["learning_rate"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"schedule": "constant", "end": 1e-4}, "a constant rate has no end"),
        ({"end": 1.0}, "end 1.0 is above peak 0.001"),
        ({"schedule": "exponential", "end": 0}, "an exponential never reaches 0"),
        ({"power": 2}, "power is for schedule polynomial, not for cosine"),
        ({"schedule": "cosine", "factor": 0.1}, "factor is for schedule step, not for cosine"),
        ({"schedule": "polynomial", "milestones": [0.5]}, "milestones is for schedule step"),
        ({"schedule": "step", "milestones": [0.7, 0.5]}, "milestones must rise"),
        ({"schedule": "step", "factor": 1.5}, "less than 1"),
    ],
)
def test_refused(options, said):
    with pytest.raises(ValidationError, match=said):
        LearningRateConfig(**options)
