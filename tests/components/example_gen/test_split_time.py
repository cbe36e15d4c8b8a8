"""Points in time sort as their keys do."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.example_gen.splits.time_keys import time_key, time_keys

TIMES = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31))


def ranks(keys: np.ndarray) -> list[int]:
    return np.unique(keys, return_inverse=True)[1].tolist()


@given(st.lists(TIMES, min_size=1))
def test_times_sort_as_texts_and_as_timestamps(times: list[datetime.datetime]) -> None:
    expected = ranks(np.array(times, "datetime64[us]"))
    for column in (
        pa.array([time.isoformat() for time in times]),
        pa.array([time.isoformat(" ") for time in times]),
        pa.array(times, pa.timestamp("us")),
    ):
        keys, there = time_keys(column, "datetime")
        assert there.all()
        assert ranks(keys) == expected


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_sort_as_texts_and_as_numbers(values: list[float]) -> None:
    for column in (pa.array(values), pa.array([repr(value) for value in values])):
        keys, there = time_keys(column, "float")
        assert there.all()
        assert ranks(keys) == ranks(np.array(values))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_integers_keep_all_their_digits(values: list[int]) -> None:
    for column in (pa.array(values), pa.array([f"{value:+d}" for value in values])):
        keys, there = time_keys(column, "integer")
        assert there.all()
        assert ranks(keys) == ranks(np.array(values, np.int64))


@pytest.mark.parametrize(
    ("kind", "texts", "there"),
    [
        ("date", ["2024-02-29", "2023-02-29", "2024-13-01", "x", None], [True, False, False, False, False]),
        ("datetime", ["2024-01-01 10:00", "2024-01-01T25:00", "2024-01-01T10:00Z"], [True, False, True]),
        ("integer", ["1", "x", "1.5", None, "+2"], [True, False, False, False, True]),
        ("float", ["1e3", "nan", "inf", "x", None], [True, False, False, False, False]),
    ],
)
def test_what_is_no_time_is_nowhere(kind: str, texts: list[str | None], there: list[bool]) -> None:
    assert time_keys(pa.array(texts, pa.string()), kind)[1].tolist() == there


def test_zones_count() -> None:
    column = pa.array(
        ["2024-01-01T12:00:00+02:00", "2024-01-01T10:00:00Z", "2024-01-01 10:00", "2024-01-01T09:59:59Z"]
    )
    assert ranks(time_keys(column, "datetime")[0]) == [1, 1, 1, 0]


def test_a_date_of_the_config_is_the_start_of_the_day() -> None:
    keys, _ = time_keys(pa.array(["2024-01-01 00:00:00", "2023-12-31 23:59:59.999999"]), "datetime")
    assert keys[1] < time_key("2024-01-01", "datetime") == keys[0]
    assert time_key("soon", "date") is None
