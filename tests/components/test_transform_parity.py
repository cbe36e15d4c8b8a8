"""The transform gives the same when it serves as when it trains, and what plain arithmetic gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from odd_rows import FEATURES, LABEL
from served_features import check_served_as_stored, column, transform

from components.transform.plan import FeaturePlan, bucket_name, input_name

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def plan(trained):
    return FeaturePlan.load(trained["transform_graph"].uri)


@pytest.fixture(scope="module")
def train(trained):
    """Column to its values in train as numpy holds them; None where a row has none."""
    return {
        name: [cell[0] if cell else None for cell in column(trained["examples"], name)]
        for name in [*FEATURES, LABEL]
    }


def _numbers(cells):
    """Those that are there, as float32 rounded to what the file holds."""
    return np.array([value for value in cells if value is not None], np.float32).astype(np.float64)


def _transform(served, **columns):
    """Transformed feature to its one value of each row."""
    return {name: values[:, 0].tolist() for name, values in transform(served, **columns).items()}


@pytest.mark.parametrize("split", ["train", "eval", "test"])
def test_serving_transforms_as_training_did(trained, served, split):
    check_served_as_stored(trained, served, split)


def test_z_score(served, train):
    there = _numbers(train["trip miles"])
    answer = _transform(served, **{"trip miles": [0.0, 10.0, -5.0, 1e6, None, math.nan]})[
        input_name("trip miles")
    ]
    expected = [(value - there.mean()) / there.std() for value in (0.0, 10.0, -5.0, 1e6)]
    assert answer[:4] == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert answer[4] == answer[5]
    median = answer[4] * there.std() + there.mean()
    below, above = (there < median - 1e-5).mean(), (there > median + 1e-5).mean()
    assert below <= 0.502
    assert above <= 0.502


def test_min_max_with_the_mean_for_a_missing_value(served, train):
    there = _numbers(train["100% share"])
    width = there.max() - there.min()
    answer = _transform(served, **{"100% share": [float(there.min()), float(there.max()), 200.0, None]})
    expected = [0, 1, (200 - there.min()) / width, (there.mean() - there.min()) / width]
    assert answer[input_name("100% share")] == pytest.approx(expected, abs=1e-6)


def test_log_counts_negative_values_as_zero_and_imputes_before_it(served):
    answer = _transform(served, **{"in/out": [0.0, 1.5, -3.0, None, math.nan]})[input_name("in/out")]
    assert answer == pytest.approx([0, math.log1p(1.5), 0, 0, 0], abs=1e-6)


def test_an_integer_column_takes_the_median(served, train):
    there = _numbers(train["2nd"])
    answer = _transform(served, **{"2nd": [-7, 10**9, None]})[input_name("2nd")]
    assert answer[:2] == [-7.0, 1e9]
    assert (there < answer[2]).mean() <= 0.502
    assert (there > answer[2]).mean() <= 0.502
    assert answer[2] in there


def test_buckets_hold_equal_shares_and_missing_values_have_their_own(served, train, plan):
    there = _numbers(train["über"])
    name = bucket_name("über")
    ids = _transform(served, **{"über": [float(value) for value in there]})[name]
    shares = np.bincount(ids, minlength=5) / len(ids)
    assert shares[4] == 0
    assert shares[:4] == pytest.approx([0.25] * 4, abs=0.01)
    assert _transform(served, **{"über": [-1e9, 1e9, None, math.nan]})[name] == [0, 3, 4, 4]
    assert {tensor.name: tensor.size for tensor in plan.inputs}[name] == 5


def test_infinity_is_missing_as_in_training(served):
    odd = [math.inf, -math.inf, None]
    for name in ("über", "trip miles", "in/out"):
        for made in _transform(served, **{name: odd}).values():
            first, second, missing = made
            assert first == second == missing, name


def test_a_constant_number_is_zero(served):
    answer = _transform(served, same=[4.5, None, 100.0])[input_name("same")]
    assert answer == [0, 0, 0]


def test_a_category_counts_from_the_most_frequent(served, train, plan):
    counted = sorted((train["Pickup zone"].count(name), name) for name in (b"Loop", b"O'Hare", b"Hyde Park"))
    known = [name.decode() for _, name in reversed(counted)]
    name = input_name("Pickup zone")
    answer = _transform(served, **{"Pickup zone": [*known, None, "never seen", "é", "y"]})[name]
    assert answer[:4] == [1, 2, 3, 0]
    assert set(answer[4:]) <= {4, 5}
    many = _transform(served, **{"Pickup zone": [f"zone {number}" for number in range(50)]})[name]
    assert set(many) == {4, 5}
    assert {tensor.name: tensor.size for tensor in plan.inputs}[name] == 6


def test_rare_values_of_an_integer_category_are_out_of_vocabulary(served, train, plan):
    counts = {value: train["self"].count(value) for value in range(9)}
    kept = sorted(
        (value for value, count in counts.items() if count >= 20), key=lambda v: (counts[v], str(v))
    )
    kept.reverse()
    assert 0 < len(kept) < 9
    name = input_name("self")
    answer = _transform(served, self=[*kept, None, 12345, -1])[name]
    assert answer[: len(kept)] == list(range(1, len(kept) + 1))
    assert answer[len(kept) :] == [0, len(kept) + 1, len(kept) + 1]
    rare = [value for value in range(9) if value not in kept]
    assert set(_transform(served, self=rare)[name]) == {len(kept) + 1}
    assert {tensor.name: tensor.size for tensor in plan.inputs}[name] == len(kept) + 2


def test_yes_and_no(served):
    answer = _transform(served, flag=[1, 0, None], bit=[0, 1, None])
    assert answer[input_name("flag")] == [1, 0, 0.5]
    assert answer[input_name("bit")] == [0, 1, 0.5]


def test_labels_are_ids_in_the_order_of_the_classes(served, plan):
    assert plan.label.classes == ("bad", "good")
    answer = _transform(served, **{LABEL: ["bad", "good", "neither", None]})
    assert answer[plan.label_input] == [0, 1, -1, -1]


def test_dropped_columns_do_not_reach_the_model(plan):
    assert [feature.name for feature in plan.dropped] == ["note"]
    assert not any("note" in tensor.name for tensor in plan.inputs)
