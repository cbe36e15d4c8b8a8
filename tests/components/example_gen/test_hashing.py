"""The hash of a row tells rows apart by what stands in them, however a reader came to hold it."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.example_gen.hashing import cell_hashes, row_hashes

CELLS = st.lists(st.one_of(st.none(), st.text(max_size=40), st.text(min_size=500, max_size=600)), max_size=30)


@given(CELLS)
def test_texts_hash_alike_when_they_are_equal_and_only_then(cells: list[str | None]) -> None:
    hashes = cell_hashes(pa.array(cells, pa.string()))
    present = [(h, cell) for h, cell in zip(hashes.tolist(), cells) if cell is not None]
    assert len(set(present)) == len({h for h, _ in present}) == len({cell for _, cell in present})


@given(CELLS, st.integers(0, 10), st.integers(0, 10))
def test_a_slice_hashes_like_its_rows(cells: list[str | None], start: int, count: int) -> None:
    whole = pa.array(cells, pa.string())
    expected = row_hashes(pa.record_batch([whole], ["a"]))[start : start + count]
    np.testing.assert_array_equal(
        row_hashes(pa.record_batch([whole[start : start + count]], ["a"])), expected
    )


@given(
    st.lists(st.tuples(st.one_of(st.none(), st.text(max_size=9)), st.one_of(st.none(), st.integers(0, 9))))
)
def test_neither_the_order_nor_an_empty_column_matters(rows: list[tuple[str | None, int | None]]) -> None:
    a = pa.array([row[0] for row in rows], pa.string())
    b = pa.array([row[1] for row in rows], pa.int64())
    nothing = pa.nulls(len(rows), pa.string())
    first = row_hashes(pa.record_batch([a, b], ["a", "b"]))
    np.testing.assert_array_equal(first, row_hashes(pa.record_batch([b, nothing, a], ["b", "c", "a"])))
    assert len(set(first.tolist())) == len(set(rows))


def test_which_column_a_value_stands_in_matters() -> None:
    one, two = pa.array(["x"]), pa.array(["y"])
    names = ["a", "b"]
    assert row_hashes(pa.record_batch([one, two], names)) != row_hashes(pa.record_batch([two, one], names))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array([1, -7, None]), pa.array([1.0, -7.0, None])),
        (pa.array([1, 2], pa.int8()), pa.array([1, 2], pa.uint64())),
        (pa.array([0.5, 2.0], pa.float32()), pa.array([0.5, 2.0], pa.float64())),
        (pa.array(["a", None, ""]), pa.array(["a", None, ""], pa.large_string())),
        (pa.array(["a", "b", "a"]), pa.array(["a", "b", "a"]).dictionary_encode()),
        (pa.array([b"a" * 600]), pa.array([b"a" * 600], pa.large_binary())),
        (
            pa.array([datetime.datetime(2024, 1, 2)], pa.timestamp("s")),
            pa.array([datetime.datetime(2024, 1, 2)]),
        ),
        (pa.array([[1, 2], None, []]), pa.array([[1.0, 2.0], None, []], pa.large_list(pa.float32()))),
        (pa.array([[9], [1, 2], None, [3]])[1:], pa.array([[1, 2], None, [3]])),
        (pa.array([0.0, float("nan")]), pa.array([-0.0, -float("nan")])),
    ],
)
def test_the_same_values_in_other_types_are_the_same(one: pa.Array, other: pa.Array) -> None:
    np.testing.assert_array_equal(
        row_hashes(pa.record_batch([one], ["a"])), row_hashes(pa.record_batch([other], ["a"]))
    )


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, 2**62, -1]),
        pa.array([0.1, 0.2, 1e300, 1e-300, 3.0, float("inf")]),
        pa.array([2**63, 2**64 - 1, 0], pa.uint64()),
        pa.array([True, False]),
        pa.array([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]),
        pa.array([[1], [1, 2], [], [2, 1], [None], [1, None], [None, 1], [0], [0, 0]]),
        pa.array([["a", "b"], ["ab"], ["a"], ["b", "a"], [["c"]][0]]),
        pa.array([[[1], [2]], [[1, 2]], [[], [1, 2]]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([b"\0", b"\0\0", b"", b"\0" * 8, b"\0" * 9, b"\0" * 513, b"\0" * 514]),
    ],
)
def test_other_values_are_others(column: pa.Array) -> None:
    assert len(set(cell_hashes(column).tolist())) == len(column)


def test_hashes_stay_what_they_are() -> None:
    """A change of these numbers deals the rows of every project anew: no run compares with the one before."""
    batch = pa.record_batch(
        [pa.array(["Taxi", None]), pa.array([1, 2]), pa.array([0.5, 2.0])], ["a", "b", "c"]
    )
    assert row_hashes(batch).tolist() == [6144161666389353455, 8957534116411000548]


def test_hashes_lie_evenly() -> None:
    numbers = pa.array([str(i) for i in range(100_000)])
    hashes = row_hashes(pa.record_batch([numbers], ["a"]))
    for shift in (0, 30, 56):
        counts = np.bincount((hashes >> np.uint64(shift)).astype(np.int64) & 255, minlength=256)
        assert abs(counts - 100_000 / 256).max() < 6 * (100_000 / 256) ** 0.5
