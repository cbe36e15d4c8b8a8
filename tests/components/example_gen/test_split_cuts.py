"""Cutting ordered keys at a share of the rows, and sharing the rows of strata out."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.example_gen.splits.apportion import apportion
from components.example_gen.splits.key_counts import KeyCounts

KEYS = st.lists(st.integers(0, 2**64 - 2), max_size=60)
PARTS = st.lists(st.integers(1, 20), min_size=3, max_size=3)


def counted(keys: list[int], limit: int, pieces: int = 1) -> KeyCounts:
    whole = KeyCounts(limit)
    for piece in range(pieces):
        part = KeyCounts(limit)
        part.add(np.array(keys[piece::pieces], np.uint64))
        whole.merge(KeyCounts.from_json(json.loads(json.dumps(part.to_json()))))
    return whole


@given(KEYS, st.integers(2, 80), st.integers(1, 5), st.randoms())
def test_neither_order_nor_pieces_matter(keys: list[int], limit: int, pieces: int, random) -> None:
    one = counted(keys, limit)
    random.shuffle(keys)
    other = counted(keys, limit, pieces)
    assert one.to_json() == other.to_json()
    assert one.total == len(keys)


@given(KEYS.filter(bool), PARTS)
def test_a_cut_is_the_nearest_there_is(keys: list[int], parts: list[int]) -> None:
    wanted = np.cumsum(parts)[:-1] / sum(parts) * len(keys)
    cuts = counted(keys, 100).cut(list(wanted))
    ordered = sorted(keys)
    possible = [n for n in range(1, len(keys) + 1) if n == len(keys) or ordered[n] != ordered[n - 1]]
    for cut, rows in zip(cuts.tolist(), wanted):
        below = sum(key < cut for key in keys)
        assert abs(below - rows) == min(abs(n - rows) for n in possible)


@given(KEYS, PARTS)
def test_filled_parts_are_never_empty_when_there_are_keys_enough(keys: list[int], parts: list[int]) -> None:
    wanted = np.cumsum(parts)[:-1] / sum(parts) * len(keys)
    cuts = counted(keys, 100).cut(list(wanted), fill=True)
    sizes = np.bincount(np.searchsorted(cuts, np.array(keys, np.uint64), side="right"), minlength=3)
    assert sizes.all() or len(set(keys)) < 3


def test_many_keys_are_cut_close_to_their_share() -> None:
    keys = np.random.default_rng(1).integers(0, 2**63, 200_000).astype(np.uint64)
    counts = KeyCounts(1 << 12)
    for block in np.array_split(keys, 7):
        counts.add(block)
    (cut,) = counts.cut([160_000])
    assert abs(int((keys < cut).sum()) - 160_000) <= 200_000 / (1 << 11)


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 500), min_size=1, max_size=30), PARTS)
def test_each_stratum_is_dealt_within_a_row_and_train_has_some_of_it(
    rows: dict[str, int], parts: list[int]
) -> None:
    dealt = apportion(rows, parts)
    for name, number in rows.items():
        exact = number * np.array(parts) / sum(parts)
        assert dealt[name].sum() == number
        assert (abs(dealt[name] - exact) < 1 + 1e-6).all()
        assert dealt[name][0] > 0


@given(st.lists(st.integers(2, 40), min_size=1, max_size=200), PARTS)
def test_the_sums_are_close_to_the_parts(sizes: list[int], parts: list[int]) -> None:
    dealt = sum(apportion({str(i): size for i, size in enumerate(sizes)}, parts).values())
    exact = np.array(parts) / sum(parts) * sum(sizes)
    # Train may have to take a row of each small stratum.
    forced = sum(size * parts[0] < sum(parts) for size in sizes)
    assert (abs(dealt - exact) < 2 + forced).all()


@pytest.mark.parametrize(
    ("rows", "parts", "expected"),
    [
        ({"a": 3, "b": 2}, [3, 1, 1], [3, 1, 1]),
        ({str(i): 2 for i in range(10)}, [8, 1, 1], [16, 2, 2]),
        ({"a": 1}, [1, 1, 1], [1, 0, 0]),
        ({"a": 10, "b": 20}, [8, 1, 1], [24, 3, 3]),
    ],
)
def test_some_sums(rows: dict[str, int], parts: list[int], expected: list[int]) -> None:
    assert sum(apportion(rows, parts).values()).tolist() == expected
