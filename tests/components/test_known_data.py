"""Well-known tables with no config at all: a sensible plan, and what is said of poisoned copies."""

from __future__ import annotations

import csv
import importlib.util
import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from checked_tables import Rows, Tables, changed, renamed, without

from components.example_gen.found import Found
from components.transform.infer import make_plan

pytestmark = pytest.mark.slow

_SAMPLES = Path(__file__).parent / "samples"
_TAXI = "examples/chicago_taxi_pipeline/data/big_tipper_label/data.csv"
_TAXI_ROWS = 1000


@dataclass(frozen=True)
class Known:
    """A table.

    Attributes:
      kinds: what some of its columns should become.
      victim: the column that is poisoned.
      shifted: a column of numbers that is moved by three standard deviations.
      scaled: one whose unit changes.
      mixed: one of categories of which every second value becomes the first.
    """

    name: str
    label: str
    kinds: dict[str, str]
    victim: str
    scaled: str
    shifted: str = ""
    mixed: str = ""

    def rows(self) -> Rows:
        if self.name == "taxi":
            (folder,) = importlib.util.find_spec("tfx").submodule_search_locations  # type: ignore
            path = Path(folder, _TAXI)
        else:
            path = _SAMPLES / f"{self.name}.csv"
        with path.open(encoding="utf-8", newline="") as stream:
            return list(itertools.islice(csv.DictReader(stream), _TAXI_ROWS))


TABLES = [
    Known(
        "taxi",
        "big_tipper",
        {"trip_miles": "numeric", "payment_type": "category", "company": "category"}
        | {"trip_start_hour": "category", "pickup_latitude": "numeric", "trip_seconds": "numeric"},
        victim="trip_miles",
        shifted="pickup_latitude",
        scaled="fare",
        mixed="payment_type",
    ),
    Known(
        "flights",
        "delayed",
        {
            "carrier": "category",
            "distance": "numeric",
            "date": "date",
            "time_hour": "date",
            "month": "category",
        }
        | {"weather_temp": "numeric", "origin": "category"},
        victim="distance",
        shifted="weather_temp",
        scaled="weather_pressure",
        mixed="origin",
    ),
    Known(
        "penguins",
        "species",
        {"island": "category", "sex": "category", "year": "category", "bill_length_mm": "numeric"}
        | {"flipper_length_mm": "numeric", "body_mass_g": "numeric"},
        victim="body_mass_g",
        shifted="bill_depth_mm",
        scaled="bill_length_mm",
        mixed="sex",
    ),
    Known(
        "tweets", "sentiment", {"text": "text", "confidence": "numeric"}, victim="text", scaled="confidence"
    ),
]


def _number(text: str, function: Any) -> str:
    try:
        return f"{function(float(text)):.6f}"
    except ValueError:  # a missing value
        return text


def _deviation(rows: Rows, column: str) -> float:
    values = []
    for row in rows:
        _number(row[column], lambda value: values.append(value) or value)
    mean = sum(values) / len(values)
    return (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5


def _drifted(known: Known, rows: Rows) -> Rows:
    rows = changed(rows, known.scaled, lambda text: _number(text, lambda value: value * 10))
    if known.shifted:
        step = 3 * _deviation(rows, known.shifted)
        rows = changed(rows, known.shifted, lambda text: _number(text, lambda value: value + step))
    if known.mixed:
        one = next(row[known.mixed] for row in rows if row[known.mixed])
        rows = [{**row, known.mixed: one} if number % 2 else row for number, row in enumerate(rows)]
    return rows


@pytest.mark.parametrize("known", TABLES, ids=lambda known: known.name)
def test_a_known_table(known, tmp_path):
    rows = known.rows()
    tables = Tables(tmp_path)

    def take(rows, **policies):
        return tables.check(tables.read(rows, known.label), **policies)

    good = take(rows)
    assert not good.error
    plan = make_plan(Found.load(good.examples.uri), {})
    kinds = {feature.name: feature.config.kind for feature in plan.features}
    assert {name: kinds[name] for name in known.kinds} == known.kinds

    victim = known.victim
    poisons = {
        "missing_column": (renamed(rows, victim, f"{victim}s"), "was it renamed?"),
        f"missing_column: column {victim!r}": (without(rows, victim), f"column {victim!r}"),
        "empty": (changed(rows, victim, lambda _: ""), f"column {victim!r}"),
    }
    other = (lambda text: f"n{text}") if victim != "text" else (lambda text: str(len(text)))
    poisons["type_change"] = (changed(rows, victim, other), f"column {victim!r}")
    for kind, (poisoned, sentence) in poisons.items():
        error = take(poisoned).error
        assert error, kind
        report = error.files["anomalies.txt"]
        assert f"FAIL  {kind}" in report
        assert sentence in report

    drifted = _drifted(known, rows)
    error = take(drifted, drift="fail").error
    for column in filter(None, (known.scaled, known.shifted, known.mixed)):
        assert f"FAIL  drift: column {column!r}" in error.files["anomalies.txt"]
    # Rows of other contents are dealt otherwise, so the factor is not exact.
    assert re.search(r"as if multiplied by (9\.[5-9]|10\b)", error.files["anomalies.txt"])
    warned = take(drifted)
    assert not warned.error
    assert f"WARN  drift: column {known.scaled!r}" in warned.report
