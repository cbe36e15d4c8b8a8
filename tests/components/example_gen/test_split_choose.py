"""The data.split section against the data: each way of dealing, and each mistake in words."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.errors import UserError
from components.example_gen.split_config import SplitConfig
from components.example_gen.splits.choose import ColumnFacts, choose
from components.example_gen.splits.dealers import Dealer, Dealt, Onto
from components.example_gen.splits.rows import Rows
from components.label import LabelSpec

MISSING = ("", "NA")
LABEL = LabelSpec(name="y", type="text", task="multiclass", classes=("no", "yes"))
Row = tuple[str, str, str]
NAMES = ["x", "y", "when"]

ROWS = st.lists(
    st.tuples(
        st.sampled_from("abcdefgh"), st.sampled_from(["no", "yes", "maybe"]), st.integers(1, 40).map(str)
    ),
    min_size=1,
    max_size=120,
)


def block(rows: list[Row]) -> Rows:
    cells = [pa.array([row[i] for row in rows], pa.string()) for i in range(3)]
    texts = [[None if row[i] in MISSING else row[i].strip() for row in rows] for i in range(3)]
    return Rows(
        pa.record_batch(cells, NAMES),
        {name: pa.array(column, pa.string()) for name, column in zip(NAMES, texts)},
    )


def facts(rows: list[Row]) -> dict[str, ColumnFacts]:
    kinds = {"x": "text", "y": "text", "when": "integer"}
    return {
        name: ColumnFacts(kinds[name], Counter(row[i] for row in rows if row[i] not in MISSING))
        for i, name in enumerate(NAMES)
    }


def dealer_of(config: dict[str, Any], rows: list[Row], pieces: int = 1, size: int = 1000) -> Dealer:
    chosen = choose(SplitConfig(**config), facts(rows), LABEL)
    if isinstance(chosen, Dealer):
        return chosen
    for piece in range(pieces):
        other = choose(SplitConfig(**config), facts(rows), LABEL)
        assert not isinstance(other, Dealer)
        mine = rows[piece::pieces]
        for start in range(0, len(mine), size):
            seen = mine[start : start + size]
            other.add(block(seen), np.ones(len(seen), bool))
        chosen.merge(other.to_json())
    return chosen.dealer()


def deal(config: dict[str, Any], rows: list[Row]) -> Dealt:
    return dealer_of(config, rows).deal(block(rows))


CONFIGS: list[dict[str, Any]] = [
    {},
    {"stratify": "label"},
    {"stratify": "x"},
    {"by": "group", "column": "x"},
    {"by": "group", "column": "when", "stratify": "label"},
    {"by": "time", "column": "when"},
    {"by": "time", "column": "when", "eval_from": 20, "test_from": "30"},
    {"by": "column", "column": "y", "values": {"train": ["no"], "eval": ["yes"], "test": ["maybe"]}},
]


@pytest.mark.parametrize(
    "config", [{k: str(v) if k.endswith("from") else v for k, v in c.items()} for c in CONFIGS]
)
@given(rows=ROWS, pieces=st.integers(1, 3), size=st.integers(1, 50), random=st.randoms())
@settings(max_examples=25)
def test_a_row_goes_the_same_way_however_the_rows_lie(
    config: dict[str, Any], rows: list[Row], pieces: int, size: int, random: Any
) -> None:
    first = dict(zip(rows, deal(config, rows).splits.tolist()))
    shuffled = rows.copy()
    random.shuffle(shuffled)
    again = dealer_of(config, shuffled, pieces, size)
    for start in range(0, len(rows), size):
        part = shuffled[start : start + size]
        splits = again.deal(block(part)).splits
        assert splits.dtype == np.int8
        assert splits.tolist() == [first[row] for row in part]
    assert set(first.values()) <= {0, 1, 2}


@given(st.integers(1, 10**9))
@settings(max_examples=10)
def test_the_parts_are_kept(seed: int) -> None:
    rows = [(str(i + seed), "no", "1") for i in range(5000)]
    shares = np.bincount(deal({"train": 7, "eval": 2, "test": 1}, rows).splits, minlength=3) / 5000
    np.testing.assert_allclose(shares, [0.7, 0.2, 0.1], atol=0.035)


@given(st.lists(st.integers(1, 300), min_size=2, max_size=5))
@settings(max_examples=25)
def test_stratified_shares_are_within_a_row_of_each_class(sizes: list[int]) -> None:
    rows = [(f"{c}-{i}", f"c{c}", "1") for c, size in enumerate(sizes) for i in range(size)]
    splits = deal({"stratify": "label"}, rows).splits
    for c, size in enumerate(sizes):
        counts = np.bincount(splits[[row[1] == f"c{c}" for row in rows]], minlength=3)
        assert (abs(counts - size * np.array([0.8, 0.1, 0.1])) <= 1).all()


@given(ROWS)
def test_groups_never_straddle(rows: list[Row]) -> None:
    for config in ({"by": "group", "column": "x"}, {"by": "group", "column": "x", "stratify": "label"}):
        pairs = {(row[0], split) for row, split in zip(rows, deal(config, rows).splits.tolist())}
        assert len(pairs) == len({row[0] for row in rows})


@given(ROWS)
def test_time_goes_from_train_to_test(rows: list[Row]) -> None:
    splits = deal({"by": "time", "column": "when"}, rows).splits.tolist()
    by_time = sorted((int(row[2]), split) for row, split in zip(rows, splits))
    assert [split for _, split in by_time] == sorted(split for _, split in by_time)
    assert len({when for when, _ in by_time}) < 3 or set(splits) == {0, 1, 2}


def test_bounds_in_time_belong_to_the_later_split() -> None:
    rows = [("a", "no", str(when)) for when in (19, 20, 29, 30, 31)]
    config = {"by": "time", "column": "when", "eval_from": "20", "test_from": "30"}
    assert deal(config, rows).splits.tolist() == [0, 1, 1, 2, 2]


def test_rows_that_no_split_can_take_are_said() -> None:
    dealt = deal({"by": "time", "column": "when"}, [("a", "no", w) for w in ["1", "2", "NA", "3", ""]])
    assert dealt.splits.tolist() == [0, 1, -1, 2, -1]
    assert dealt.remarks == {"{n} rows have no 'when' to be split by and are left out": 2}
    rows = [("train", "no", "1"), (" test", "no", "1"), ("NA", "no", "1"), ("eval", "no", "1")]
    dealt = deal({"by": "column", "column": "x"}, rows)
    assert dealt.splits.tolist() == [0, 2, -1, 1]
    assert dealt.remarks == {"{n} rows have no 'x' to be split by and are left out": 1}


def test_a_row_without_a_group_is_its_own() -> None:
    rows = [("NA", "no", str(i)) for i in range(200)]
    dealt = deal({"by": "group", "column": "x"}, rows)
    assert len(set(dealt.splits.tolist())) == 3
    assert dealt.remarks == {"{n} rows have no 'x' and are dealt one by one": 200}


@pytest.mark.parametrize("config", [{}, {"stratify": "label"}, {"by": "time", "column": "when"}])
def test_splits_may_have_files_of_their_own(config: dict[str, Any]) -> None:
    rows = [(f"{i}", "no", f"{i}") for i in range(900)]
    chosen = choose(SplitConfig(**config), facts(rows), LABEL, ["train", "test"])
    if not isinstance(chosen, Dealer):
        chosen.add(block(rows), np.ones(900, bool))
        chosen = chosen.dealer()
    splits = Onto(chosen, ["train", "test"]).deal(block(rows)).splits
    assert np.bincount(splits, minlength=3) == pytest.approx([800, 0, 100], abs=40)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"by": "group", "column": "wen"}, ["data.split.column", "no column 'wen'", "did you mean 'when'?"]),
        ({"stratify": "Y"}, ["data.split.stratify", "no column 'Y'"]),
        ({"by": "time", "column": "x"}, ["the column is text", "datetime"]),
        (
            {"by": "time", "column": "when", "eval_from": "2024-01-01", "test_from": "3"},
            ["data.split.eval_from", "expected a whole number", "'2024-01-01'"],
        ),
        (
            {"by": "time", "column": "when", "eval_from": "3", "test_from": "3"},
            ["eval_from 3 is not before test_from 3"],
        ),
        (
            {"by": "column", "column": "x"},
            ["'dev' (1 row), 'fold' (1 row)", "values: {train: [training], eval: [dev], test: [test]}"],
        ),
        ({"stratify": "many"}, ["more than 1,000 distinct values"]),
        ({"by": "column", "column": "many"}, ["more than 1,000 distinct values"]),
    ],
)
def test_mistakes_are_said(config: dict[str, Any], words: list[str]) -> None:
    known = facts([("training", "no", "1"), ("dev", "yes", "2"), ("test", "yes", "3"), ("fold", "no", "4")])
    with pytest.raises(UserError) as error:
        choose(SplitConfig(**config), {**known, "many": ColumnFacts("text", None)}, LABEL)
    for word in words:
        assert word in str(error.value)


def test_a_column_and_files_cannot_both_say_the_split() -> None:
    known = facts([("train", "no", "1")])
    with pytest.raises(UserError, match="a column says which rows are test, and so do the files"):
        choose(SplitConfig(by="column", column="x"), known, LABEL, ["train", "eval"])


def test_a_number_to_be_predicted_has_no_strata() -> None:
    label = LabelSpec(name="when", type="integer", task="regression")
    with pytest.raises(UserError, match="no classes to stratify by"):
        choose(SplitConfig(stratify="label"), facts([("a", "b", "1")]), label)
