"""Which model the candidate is held against."""

from __future__ import annotations

import pytest
from tfx.types import standard_artifacts

from components.evaluator.baseline import LatestBlessedOther


def _model(number):
    model = standard_artifacts.Model()
    model.id = number
    return model


def _blessing(number, model, blessed):
    blessing = standard_artifacts.ModelBlessing()
    blessing.id = number
    blessing.set_int_custom_property("current_model_id", model)
    blessing.set_int_custom_property("blessed", blessed)
    return blessing


@pytest.mark.parametrize(
    ("models", "blessings", "candidate", "expected"),
    [
        ([1], [], 1, None),
        ([1, 2], [(10, 1, 1)], 2, 1),
        ([1, 2], [(10, 1, 0)], 2, None),
        ([1, 2, 3], [(10, 1, 1), (11, 2, 1)], 3, 2),
        ([1, 2, 3], [(10, 1, 1), (11, 2, 0)], 3, 1),
        # The candidate was blessed before: it is not compared with itself.
        ([1, 2], [(10, 1, 1), (11, 2, 1)], 2, 1),
        ([1], [(10, 1, 1)], 1, None),
        # Back to an older model: the newest blessed one is what is served.
        ([1, 2], [(10, 1, 1), (11, 2, 1)], 1, 2),
        # The newest verdict on a model counts for when, an older one on the same model still counts.
        ([1, 2, 3], [(10, 1, 1), (11, 2, 1), (12, 1, 1)], 3, 1),
        # A blessing of a model that ML Metadata does not list any more.
        ([2, 3], [(10, 2, 1), (11, 1, 1)], 3, 2),
    ],
)
def test_the_latest_blessed_model_that_is_another(models, blessings, candidate, expected):
    found = LatestBlessedOther().resolve_artifacts(
        None,
        {
            "model": [_model(number) for number in models],
            "model_blessing": [_blessing(*each) for each in blessings],
            "candidate": [_model(candidate)],
        },
    )
    assert [model.id for model in found["model"]] == ([] if expected is None else [expected])
    assert [b.get_int_custom_property("current_model_id") for b in found["model_blessing"]] == [
        model.id for model in found["model"]
    ]


def test_a_later_no_does_not_take_a_blessing_back_but_the_candidate_may_not_be_its_own_bar():
    inputs = {
        "model": [_model(1), _model(2)],
        "model_blessing": [_blessing(10, 1, 1), _blessing(11, 1, 0)],
        "candidate": [_model(2)],
    }
    assert [m.id for m in LatestBlessedOther().resolve_artifacts(None, inputs)["model"]] == [1]
