"""Every further kind of feature: served as it was trained, and what arithmetic says."""

from __future__ import annotations

import csv
import datetime
import math
import random

import numpy as np
import pytest
from executors import run_steps
from served_features import check_served_as_stored, column, transform, untrained

from components.transform.plan import FeaturePlan

pytestmark = pytest.mark.slow

FEATURES = {
    "when": {"kind": "date", "parts": ["month", "day", "weekday", "hour", "minute"]},
    "day": {"kind": "date", "parts": ["weekday"], "elapsed": False},
    "note": {"kind": "text", "length": 4, "ngrams": 2, "min_count": 5, "vocabulary": 12, "oov": 2},
    "speed": {"kind": "numeric", "clip": [0, 60], "scale": "robust", "indicator": True, "impute": "mean"},
    "zone": {"kind": "category", "impute": "most_frequent"},
    "plate": {"kind": "category", "hash": 16},
    "late": {"kind": "boolean", "impute": "most_frequent"},
    "zone and speed": {"kind": "cross", "of": ["zone", "weight"], "buckets": 30},
    "weight": {"kind": "numeric", "buckets": 3},
}
WORDS = ["Good", "bad", "taxi", "the", "driver", "ÉTÉ", "won't"]
ROWS = 400


def _rows():
    deal = random.Random(11)
    for number in range(ROWS):
        moment = datetime.datetime(2019, 1, 1) + datetime.timedelta(minutes=deal.randrange(900_000))

        def often(value):
            return "" if deal.random() < 0.1 else str(value)

        yield {
            "when": often(moment.isoformat()),
            "day": often(moment.date()),
            "note": often(
                " ".join(deal.choices(WORDS, k=deal.randrange(1, 7))) + deal.choice(["", "!", " ?!"])
            ),
            "speed": often(round(deal.gauss(30, 30), 2)),
            "zone": often(deal.choice("aaabbc")),
            "plate": often(f"p{number}"),
            "late": often(deal.choice(["true", "true", "false"])),
            "weight": often(round(deal.gauss(0, 1), 3)),
            "y": deal.choice(["up", "down"]),
        }


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The artifacts up to Transform."""
    folder = tmp_path_factory.mktemp("kinds")
    with open(folder / "rows.csv", "w", newline="") as stream:
        rows = list(_rows())
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return run_steps(
        folder / "rows.csv",
        "y",
        *("ExampleGen", "StatisticsGen", "SchemaGen", "Transform"),
        features=FEATURES,
        transform={"batch_rows": 64},
    )


@pytest.fixture(scope="module")
def plan(made):
    return FeaturePlan.load(made["transform_graph"].uri)


@pytest.fixture(scope="module")
def exported(made, tmp_path_factory):
    """An untrained model with the transform inside."""
    return untrained(made, tmp_path_factory.mktemp("exported"))


def _column(made, name):
    """The values that are there, of train."""
    return [value for cell in column(made["examples"], name) for value in cell]


@pytest.mark.parametrize("split", ["train", "test"])
def test_served_as_trained(made, exported, split):
    check_served_as_stored(made, exported, split)


def test_date_parts_are_on_their_circles(exported):
    moments = ["2020-02-29T13:45:10Z", "1999-12-31 00:00", None, "no date", "2021-07-04"]
    found = transform(exported, when=moments)["when_xf"]
    for row, moment in ((0, datetime.datetime(2020, 2, 29, 13, 45)), (1, datetime.datetime(1999, 12, 31))):
        parts = [
            (moment.month - 1, 12),
            (moment.day - 1, 31),
            (moment.weekday(), 7),
            (moment.hour, 24),
            (moment.minute, 60),
        ]
        for i, (value, cycle) in enumerate(parts):
            angle = 2 * math.pi * value / cycle
            assert found[row, 2 * i : 2 * i + 2] == pytest.approx(
                [math.sin(angle), math.cos(angle)], abs=1e-6
            )
    assert (found[2] == 0).all()
    assert (found[3] == 0).all()
    assert found[4, 6:8] == pytest.approx([0, 1], abs=1e-6)  # a date without a time is at midnight


def test_days_passed_are_scaled_by_train(made, exported):
    days = [
        (moment - datetime.datetime(1970, 1, 1)).days + moment.hour / 24
        for moment in (datetime.datetime.fromisoformat(text.decode()) for text in _column(made, "when"))
    ]
    days = np.array(days, np.float32).astype(np.float64)
    found = transform(exported, when=["2019-06-01T06:00:00", "2030-01-01"])["when_xf"][:, -1]
    expected = [(18048.25 - days.mean()) / days.std(), (21915 - days.mean()) / days.std()]
    assert found == pytest.approx(expected, rel=1e-3)


def test_text_becomes_the_ids_of_its_first_tokens(exported, plan):
    (ids, _count) = next(feature for feature in plan.features if feature.name == "note").inputs
    assert (ids.size, ids.length) == (1 + 12 + 2, 4)
    found = transform(
        exported, note=["good", "GOOD!", "good, bad", None, "unheard", "été the the the the the"]
    )
    tokens, counts = found["note_xf"], found["note_xf_tokens"]
    assert tokens[0].tolist() == tokens[1].tolist()  # case and punctuation do not count
    assert tokens[0, 0] > 0
    assert tokens[0, 1:].tolist() == [0, 0, 0]
    assert tokens[2, 0] == tokens[0, 0]
    assert tokens[3].tolist() == [0, 0, 0, 0]
    assert tokens[4, 0] > 12  # outside the vocabulary
    assert (tokens[5] > 0).all()
    # Two words and the pair of them; six words and five pairs.
    assert counts[:, 0] == pytest.approx([math.log1p(n) for n in (1, 1, 3, 0, 1, 11)])


def test_robust_scaling_after_clipping(made, exported):
    there = np.clip(np.array(_column(made, "speed"), np.float64), 0, 60)
    answer = transform(exported, speed=[-500.0, 0.0, 60.0, 1e9, None, math.nan])
    found = answer["speed_xf"][:, 0]
    assert found[0] == found[1]
    assert found[2] == found[3]
    low, middle, high = np.quantile(there, [0.25, 0.5, 0.75])
    assert found[1] == pytest.approx((0 - middle) / (high - low), abs=0.05)
    assert found[4] == found[5]
    width = 60 / (found[2] - found[1])
    assert found[4] * width - found[1] * width == pytest.approx(there.mean(), rel=1e-3)
    assert answer["speed_xf_missing"][:, 0].tolist() == [0, 0, 0, 0, 1, 1]


def test_a_missing_category_takes_the_most_frequent(exported):
    assert transform(exported, zone=["a", "b", None, ""])["zone_xf"][:, 0].tolist() == [1, 2, 1, 1]


def test_hashes_stay_below_their_size(exported):
    found = transform(exported, plate=["p1", "p1", "unseen", None])["plate_xf"][:, 0]
    assert found[0] == found[1]
    assert (found[:3] >= 1).all()
    assert (found[:3] <= 16).all()
    assert found[3] == 0


def test_a_missing_boolean_takes_the_most_frequent(exported):
    assert transform(exported, late=[1, 0, None])["late_xf"][:, 0].tolist() == [1, 0, 1]


def test_a_cross_takes_buckets_of_numbers(exported):
    found = transform(exported, zone=["a", "a", "b", None, "a"], weight=[9.0, 8.0, 9.0, 9.0, None])
    ids = found["zone and speed_xf"][:, 0]
    assert ids[0] == ids[1]  # the same bucket of weight
    assert ids[0] != ids[2]
    assert ids[3] == ids[4] == 0
