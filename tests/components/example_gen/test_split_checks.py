"""What each split got is checked, and said, before anything is learned from it."""

from __future__ import annotations

from typing import Any

import pytest

from components.errors import UserError
from components.example_gen.split_config import SplitConfig
from components.example_gen.splits.checks import SplitCounts, check, notes

Table = dict[str, dict[str, int]]


def counts(table: Table, by_file: bool = False, **config: Any) -> SplitCounts:
    rows = {split: sum(classes.values()) for split, classes in table.items()}
    return SplitCounts(rows, table, "y", SplitConfig(**config), by_file)


GOOD: Table = {"train": {"a": 400, "b": 400}, "eval": {"a": 50, "b": 50}, "test": {"a": 50, "b": 50}}


def test_good_splits_pass_without_a_word() -> None:
    check(counts(GOOD))
    assert notes(counts(GOOD)) == []
    assert counts(GOOD).counted == "train 800, eval 100, test 100"
    assert counts(GOOD).class_shares == "y: a 50.0 %, b 50.0 %"


@pytest.mark.parametrize(
    ("table", "config", "words"),
    [
        (
            {"train": {"a": 3, "b": 2}, "eval": {}, "test": {}},
            {},
            [
                "data.split: the eval and test splits got no rows (train 5, eval 0, test 0)",
                "fix: use more rows, or leave nothing to luck: data.split: "
                "{train: 3, eval: 1, test: 1, stratify: label}",
            ],
        ),
        (
            {"train": {"a": 30, "b": 20}, "eval": {}, "test": {"a": 1}},
            {},
            ["the eval split got no rows", "data.split: {train: 8, eval: 1, test: 1, stratify: label}"],
        ),
        ({"train": {"a": 1, "b": 1}, "eval": {}, "test": {}}, {}, ["use more rows: 2 cannot fill 3 splits"]),
        (
            {"train": {"a": 3, "b": 2}, "eval": {}, "test": {"a": 1}},
            {"stratify": "label"},
            ["give eval a larger part, as in data.split: {train: 3, eval: 1, test: 1}"],
        ),
        (
            {"train": {"a": 30, "b": 20}, "eval": {}, "test": {"a": 1}},
            {"by": "group", "column": "user"},
            ["use more groups, or give eval a larger part, or set data.split.stratify: label"],
        ),
        (
            {"train": {"a": 3, "b": 2}, "eval": {"a": 1}, "test": {}},
            {"by": "column", "column": "fold"},
            ["the test split got no rows", "data.split.values which values of 'fold' go to test"],
        ),
        (
            {"train": {"a": 3, "b": 2}, "eval": {"a": 1}, "test": {}},
            {"by": "time", "column": "day", "eval_from": "2024-01-01", "test_from": "2025-01-01"},
            ["choose data.split.eval_from and test_from within the values of 'day'"],
        ),
        (
            {"train": {"a": 3, "b": 2}, "eval": {"a": 1}, "test": {}},
            {"by": "time", "column": "day"},
            ["'day' has too few distinct values"],
        ),
        (
            {"train": {"a": 9}, "eval": {"a": 1, "b": 1}, "test": {"a": 1, "b": 2}},
            {},
            [
                "label 'y': class 'b' has no row in the train split ('b': eval 1, test 2)",
                "data.split.stratify: label",
            ],
        ),
        (
            {"train": {"a": 9}, "eval": {"a": 1, "b": 1}, "test": {"c": 1}},
            {"by": "time", "column": "day"},
            ["classes 'b', 'c' have no row in the train split", "choose a later data.split.eval_from"],
        ),
    ],
)
def test_bad_splits_are_refused_with_a_way_out(
    table: Table, config: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(UserError) as error:
        check(counts(table, **config))
    for word in words:
        assert word in str(error.value)


def test_files_that_are_splits_are_to_blame_themselves() -> None:
    with pytest.raises(UserError, match=r"data\.source: the test split got no rows"):
        check(counts({"train": {"a": 5}, "eval": {"a": 1}, "test": {}}, by_file=True))


@pytest.mark.parametrize(
    ("table", "config", "expected"),
    [
        (
            {"train": {"a": 8000, "b": 9}, "eval": {"a": 1000, "b": 1}, "test": {"a": 1000, "b": 1}},
            {},
            ["rare class: 'b' 11 of 10,011 rows (0.11 %)"],
        ),
        (
            {"train": {"a": 80, "b": 1}, "eval": {"a": 10, "b": 1}, "test": {"a": 10}},
            {},
            ["class 'b' has fewer rows than there are splits"],
        ),
        (
            {"train": {"a": 80, "b": 5, "c": 5}, "eval": {"a": 9, "b": 1}, "test": {"a": 9, "c": 1}},
            {},
            [
                "eval has no row of class 'c', so it cannot judge it; "
                "data.split.stratify: label deals by class",
                "test has no row of class 'b', so it cannot judge it; "
                "data.split.stratify: label deals by class",
            ],
        ),
        (
            {"train": {"a": 80, "b": 2}, "eval": {"a": 10, "b": 1}, "test": {"a": 10}},
            {"stratify": "label"},
            ["test has no row of class 'b', so it cannot judge it"],
        ),
        (
            {split: {"Yes": 50, "yes": 50, "no  way": 50, " No way": 50} for split in GOOD},
            {"train": 1},
            ["classes that differ in case or blanks only: ' No way' and 'no  way'; 'Yes' and 'yes'"],
        ),
        (
            {"train": {"a": 60}, "eval": {"a": 20}, "test": {"a": 20}},
            {"by": "group", "column": "user"},
            [
                "train 60 % of the rows instead of 80 %, eval 20 % instead of 10 %, test 20 % instead of "
                "10 %: the groups of 'user' are few or large; data.split.stratify: label comes closer"
            ],
        ),
        (
            {"train": {"a": 90}, "eval": {"a": 5}, "test": {"a": 5}},
            {"by": "time", "column": "day"},
            [
                "train 90 % of the rows instead of 80 %: many rows share a value of 'day', and those stay "
                "together"
            ],
        ),
        ({"train": {"a": 60}, "eval": {"a": 20}, "test": {"a": 20}}, {"by": "column", "column": "fold"}, []),
    ],
)
def test_what_a_person_should_know_is_said(table: Table, config: dict[str, Any], expected: list[str]) -> None:
    found = counts(table, **config)
    check(found)
    assert [note for note in notes(found) if "mostly luck" not in note] == expected


def test_splits_that_are_too_small_to_decide_are_said() -> None:
    assert notes(counts({**GOOD, "eval": {"a": 4, "b": 2}}, train=80))[-1] == (
        "eval has only 6 rows: when training stops and which epoch is best is mostly luck (use more rows, or "
        "give a split more of them in data.split)"
    )
    both = {**GOOD, "eval": {"a": 25, "b": 24}, "test": {"a": 25, "b": 25}}
    assert notes(counts(both, by_file=True))[0].endswith("is mostly luck (use more rows)")
    small = counts(
        {**GOOD, "eval": {"a": 20, "b": 20}, "test": {"a": 20, "b": 20}}, by="column", column="fold"
    )
    assert notes(small)[0].startswith(
        "eval has only 40 rows and test has only 40 rows: when training stops and which epoch is best, and "
        "whether the model passes the gate is mostly luck"
    )


def test_many_classes_are_not_all_named() -> None:
    table = {split: {f"c{i:03}": 10 for i in range(200)} for split in GOOD}
    found = counts(table, train=1)
    assert found.class_shares.endswith("c004 0.5 % and 195 more classes")
    assert notes(found)[0].startswith("200 rare classes: 'c000' 30 of 6,000 rows (0.50 %)")
    assert notes(found)[0].endswith("and 195 more")


def test_a_number_to_be_predicted_has_no_classes() -> None:
    found = SplitCounts({"train": 4, "eval": 0, "test": 1}, {}, "y", SplitConfig())
    assert found.class_shares == ""
    with pytest.raises(UserError, match=r"data.split: {train: 3, eval: 1, test: 1}"):
        check(found)
