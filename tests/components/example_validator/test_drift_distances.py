"""Which changes of a distribution are drift, how far it is, and what is not drift."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from drawn_statistics import dataset
from tensorflow_metadata.proto.v0 import schema_pb2

from components.example_gen.found import Found
from components.example_validator.config import DriftThresholds
from components.example_validator.distance import divergence, jensen_shannon
from components.example_validator.distribution import features, numbers
from components.example_validator.drift import Comparison, Side, compare
from components.example_validator.ranges import out_of_range
from components.label import LabelSpec

DEAL = np.random.default_rng(11)
TYPES = {int: "integer", float: "float"}


def normal(n: int) -> Any:
    return DEAL.normal(50, 10, n)


def skewed(n: int) -> Any:
    return np.exp(DEAL.normal(1, 1, n))


def mostly_zero(n: int) -> Any:
    return np.where(DEAL.random(n) < 0.7, 0.0, skewed(n))


def hours(n: int) -> Any:
    return np.minimum(DEAL.integers(0, 24, n), DEAL.integers(0, 24, n))


def codes(n: int) -> Any:
    return DEAL.choice([1, 2, 3], n, p=[0.6, 0.3, 0.1])


def categories(n: int) -> list[str]:
    return DEAL.choice(["cash", "card", "coupon", "other"], n, p=[0.55, 0.3, 0.1, 0.05]).tolist()


def companies(n: int) -> list[str]:
    return [f"company {int(number)}" for number in DEAL.zipf(1.5, n) % 500]


def identifiers(n: int) -> list[str]:
    return [f"id {number}" for number in DEAL.integers(0, 10**9, n)]


def found_in(before: Any, **more: Any) -> Found:
    if isinstance(before, list):
        kind = "text"
    else:
        kind = "integer" if np.issubdtype(np.asarray(before).dtype, np.integer) else "float"
    return Found(
        label=LabelSpec(name="y", type="integer", task="binary", classes=("0", "1")),
        types={"x": more.pop("kind", kind)},
        values={"x": None},
        rows={"train": len(before)},
        classes={},
        present={},
        notes=[],
        **more,
    )


def drift(before: Any, after: Any, kind: str | None = None, **thresholds: Any) -> Any:
    """The finding about one column; None when there is none."""
    comparison = Comparison(
        "drift",
        Side("train", dataset({"x": before})),
        Side("eval", dataset({"x": after})),
        "train",
        ("eval",),
    )
    found = found_in(before, **({"kind": kind} if kind else {}))
    findings = list(compare(comparison, found, DriftThresholds(**thresholds), schema_pb2.Schema()))
    assert len(findings) < 2
    return findings[0] if findings else None


@pytest.mark.parametrize(
    "draw", [normal, skewed, mostly_zero, hours, codes, categories, companies, identifiers]
)
@pytest.mark.parametrize(("many", "few"), [(20_000, 2_000), (2_400, 300), (275, 34)])
def test_another_sample_is_no_drift(draw, many, few):
    assert drift(draw(many), draw(few)) is None
    assert drift(draw(few), draw(many)) is None


@pytest.mark.parametrize("draw", [normal, skewed, mostly_zero, hours, codes])
@pytest.mark.parametrize("rows", [344, 15_000])
def test_a_sample_with_replacement_is_no_drift(draw, rows):
    rows_drawn = draw(rows)
    assert drift(rows_drawn, DEAL.choice(rows_drawn, rows)) is None


@pytest.mark.parametrize("draw", [normal, skewed, mostly_zero])
@pytest.mark.parametrize(("many", "few"), [(20_000, 2_000), (275, 34)])
def test_three_standard_deviations_are(draw, many, few):
    before = draw(many)
    finding = drift(before, draw(few) + 3 * before.std())
    assert finding.measure == "Jensen-Shannon divergence"
    assert finding.distance > 0.5
    assert finding.threshold == 0.02


def test_so_are_whole_numbers_that_are_shifted():
    assert drift(hours(20_000), (hours(2_000) + 6) % 24) is not None


@pytest.mark.parametrize("draw", [normal, skewed])
@pytest.mark.parametrize("factor", [0.01, 0.5, 1.609, 100])
def test_other_units_are_and_are_called_that(draw, factor):
    finding = drift(draw(20_000), draw(2_000) * factor)
    said = finding.received.rpartition(", as if multiplied by ")[2]
    assert float(said) == pytest.approx(factor, rel=0.1)


def test_a_shift_is_called_one():
    finding = drift(normal(20_000), normal(2_000) + 30)
    assert finding.received.startswith("a mean of ")
    said = finding.received.rpartition(", as if shifted by ")[2]
    assert float(said.split(",")[0]) == pytest.approx(30, abs=1.5)
    assert said.endswith(" standard deviations")


def test_another_spread_about_the_same_mean_is():
    assert drift(normal(20_000), 50 + (normal(2_000) - 50) / 5) is not None


def test_a_constant_that_changes_is():
    assert drift(np.full(2000, 4.5), np.full(200, 4.5)) is None
    assert drift(np.full(2000, 4.5), np.full(200, 45.0)).distance == 1.0


def test_swapped_categories_are_and_are_called_that():
    swap = {"cash": "card", "card": "cash"}
    finding = drift(categories(5_000), [swap.get(value, value) for value in categories(600)])
    assert finding.measure == "L-infinity distance"
    assert finding.distance == pytest.approx(0.25, abs=0.06)
    assert finding.expected.split()[0] in ("'cash'", "'card'")
    assert "as if swapped with" in finding.received


def test_swapped_codes_are():
    after = codes(600)
    finding = drift(codes(5_000), np.select([after == 1, after == 2], [2, 1], after))
    assert finding is not None
    assert finding.distance > 0.05


def test_swapped_truths_are():
    before = (DEAL.random(5_000) < 0.7).astype(int)
    finding = drift(before, 1 - (DEAL.random(600) < 0.7).astype(int), kind="boolean")
    assert finding.distance == pytest.approx(0.4, abs=0.1)
    assert drift(before, (DEAL.random(600) < 0.7).astype(int), kind="boolean") is None


def test_another_spelling_of_rare_values_is():
    finding = drift(companies(5_000), [value.upper() for value in companies(600)])
    assert finding.distance > 0.8
    assert "new" in finding.received or "gone" in finding.received


def test_more_missing_values_are():
    def holes(part: float, n: int) -> Any:
        return np.where(DEAL.random(n) < part, np.nan, normal(n))

    assert drift(holes(0.02, 5_000), holes(0.02, 600)) is None
    finding = drift(holes(0.02, 5_000), holes(0.3, 600))
    assert finding.expected.startswith("no value in ")
    assert finding.received.startswith("none in ")


@pytest.mark.parametrize("kind", ["date", "datetime", "image", "bytes"])
def test_columns_that_are_never_the_same_are_not_compared(kind):
    assert drift(identifiers(500), categories(500), kind=kind) is None


def test_prose_is_not_compared():
    before, after = identifiers(500), categories(500)
    comparison = Comparison(
        "drift", Side("a", dataset({"x": before})), Side("b", dataset({"x": after})), "train", ("eval",)
    )
    found = found_in(before, words={"x": 9.0})
    assert not list(compare(comparison, found, DriftThresholds(), schema_pb2.Schema()))


def test_a_column_has_a_threshold_of_its_own():
    before, after = normal(20_000), normal(2_000) + 30
    assert drift(before, after, columns={"x": 1.0}) is None
    assert drift(before, normal(2_000) + 2.5) is None
    assert drift(before, normal(2_000) + 2.5, numeric=0.001) is not None
    assert drift(before, normal(2_000) + 2.5, columns={"x": 0.001}).threshold == 0.001


def test_the_reviewed_schema_may_set_a_threshold():
    schema = schema_pb2.Schema()
    feature = schema.feature.add(name="x")
    feature.drift_comparator.jensen_shannon_divergence.threshold = 0.99
    before, after = normal(20_000), normal(2_000) + 30
    comparison = Comparison(
        "drift", Side("a", dataset({"x": before})), Side("b", dataset({"x": after})), "train", ("eval",)
    )
    found = found_in(before)
    assert not list(compare(comparison, found, DriftThresholds(), schema))
    (finding,) = compare(comparison, found, DriftThresholds(columns={"x": 0.1}), schema)
    assert finding.threshold == 0.1


def test_the_divergence_is_that_of_the_formula():
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.6, 0.1])
    m = (p + q) / 2

    def entropy(masses: Any) -> float:
        return -sum(mass * math.log2(mass) for mass in masses)

    assert divergence(p, q) == pytest.approx(entropy(m) - (entropy(p) + entropy(q)) / 2)
    assert divergence(p, p) == 0
    assert divergence(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 1


def test_the_distance_is_close_to_that_of_the_rows():
    before, after = normal(50_000), normal(50_000) + 5
    held, seen = (numbers(features(dataset({"x": values}))["x"]) for values in (before, after))
    bins = np.quantile(np.concatenate((before, after)), np.linspace(0, 1, 11))
    bins[0], bins[-1] = -np.inf, np.inf
    p, q = (np.histogram(values, bins)[0] / len(values) for values in (before, after))
    assert jensen_shannon(held, seen).value == pytest.approx(divergence(p, q), abs=0.003)


def test_both_histograms_are_drawn():
    finding = drift(normal(20_000), normal(2_000) + 30)
    train, other = finding.picture
    assert train.startswith("train  ")
    assert other.startswith("eval   ")
    assert "█" in train
    assert "mean " in other
    head, *lines = drift(categories(5_000), ["cash"] * 600).picture
    assert head.split() == ["train", "eval"]
    assert lines[0].split()[0] == "cash"
    assert lines[0].endswith("100.0%")


def ranged(before: Any, after: Any) -> list[Any]:
    comparison = Comparison(
        "drift",
        Side("train", dataset({"x": before})),
        Side("eval", dataset({"x": after})),
        "train",
        ("eval",),
    )
    return list(out_of_range(comparison, {"x": "float"}))


def test_a_single_value_far_out_is_out_of_range():
    before = normal(5_000)
    assert not ranged(before, normal(50_000))
    assert not ranged(skewed(5_000), skewed(500))
    (finding,) = ranged(before, np.append(normal(500), 99_999.0))
    assert finding.kind == "range"
    assert finding.received.endswith("to 99,999")
