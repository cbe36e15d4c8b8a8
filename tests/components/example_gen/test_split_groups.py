"""Groups of rows are dealt whole, and so that every class gets its share."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from components.example_gen.splits.group_deal import GroupCounts, deal_groups

ROWS = st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 4)), min_size=1, max_size=80)


def counted(rows: list[tuple[int, int]], pieces: int = 1) -> GroupCounts:
    whole = GroupCounts()
    for piece in range(pieces):
        part = GroupCounts()
        mine = rows[piece::pieces]
        part.add(np.array([g for g, _ in mine], np.uint64), np.array([s for _, s in mine], np.int64))
        whole.merge(GroupCounts.from_json(json.loads(json.dumps(part.to_json()))))
    return whole


@given(ROWS, st.integers(1, 4), st.randoms())
def test_neither_order_nor_pieces_matter(rows: list[tuple[int, int]], pieces: int, random) -> None:
    groups, dealt = deal_groups(counted(rows), [8, 1, 1])
    random.shuffle(rows)
    again = deal_groups(counted(rows, pieces), [8, 1, 1])
    np.testing.assert_array_equal(groups, again[0])
    np.testing.assert_array_equal(dealt, again[1])
    assert groups.tolist() == sorted({g for g, _ in rows})
    assert set(dealt.tolist()) <= {0, 1, 2}


@given(ROWS)
@example([(0, 0), (0, 1), (0, 1), (1, 0), (1, 2)])
def test_train_has_some_of_every_class(rows: list[tuple[int, int]]) -> None:
    groups, dealt = deal_groups(counted(rows), [8, 1, 1])
    split = dict(zip(groups.tolist(), dealt.tolist()))
    assert {s for g, s in rows if split[g] == 0} == {s for _, s in rows}


def test_shares_come_close_where_a_hash_alone_would_not() -> None:
    random = np.random.default_rng(3)
    sizes = random.geometric(0.1, 400)
    groups = np.repeat(random.integers(0, 2**63, 400).astype(np.uint64), sizes)
    # Some groups have most of the rare class.
    rare = random.random(400) < 0.1
    strata = (random.random(len(groups)) < np.repeat(np.where(rare, 0.5, 0.0), sizes)).astype(np.int64)
    counts = GroupCounts()
    counts.add(groups, strata)
    known, dealt = deal_groups(counts, [8, 1, 1])
    split = dealt[np.searchsorted(known, groups)]
    for stratum in (0, 1):
        shares = np.bincount(split[strata == stratum], minlength=3) / (strata == stratum).sum()
        np.testing.assert_allclose(shares, [0.8, 0.1, 0.1], atol=0.04)


def test_many_small_strata_fill_every_split() -> None:
    rows = [(group * 10**15, group // 2) for group in range(40)]
    _, dealt = deal_groups(counted(rows), [8, 1, 1])
    assert np.bincount(dealt, minlength=3).tolist() == [32, 4, 4]


def test_there_can_be_too_many() -> None:
    counts = counted([(1, 0), (1, 1), (2, 0)])
    assert not counts.more_than(2)
    assert counts.more_than(1)
