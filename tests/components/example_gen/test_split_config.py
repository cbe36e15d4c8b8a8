"""The data.split section as it is written in pipeline.yaml, and what is said of mistakes in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.errors import UserError
from components.example_gen.split_config import SplitConfig
from pipeline.config import PipelineConfig, dump, load_config


def load(folder: Path, data: str, rest: str = "") -> PipelineConfig:
    file = folder / "pipeline.yaml"
    file.write_text(f"data:\n  source: a.csv\n  {data}\nlabel: y\n{rest}")
    return load_config(file)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("split: {train: 7, eval: 2}", {"train": 7, "eval": 2}),
        ("split: {stratify: label}", {"stratify": "label"}),
        ("split: {by: group, column: user, stratify: y}", {"by": "group", "column": "user", "stratify": "y"}),
        (
            "split: {by: time, column: day, eval_from: 2024-01-31, test_from: 2024-02-29 12:00:00}",
            {"by": "time", "column": "day", "eval_from": "2024-01-31", "test_from": "2024-02-29 12:00:00"},
        ),
        (
            "split: {by: time, column: year, eval_from: 2023, test_from: 2024}",
            {"by": "time", "column": "year", "eval_from": "2023", "test_from": "2024"},
        ),
        (
            "split: {by: column, column: fold, values: {train: [0, 1, true], eval: [x], test: [007]}}",
            {
                "by": "column",
                "column": "fold",
                "values": {"train": ["0", "1", "true"], "eval": ["x"], "test": ["007"]},
            },
        ),
    ],
)
def test_what_is_written_is_what_is_meant(tmp_path: Path, data: str, expected: dict[str, object]) -> None:
    config = load(tmp_path, data)
    assert config.data.split == SplitConfig.model_validate(expected)
    (tmp_path / "again.yaml").write_text(dump(config))
    assert load_config(tmp_path / "again.yaml").data == config.data


@pytest.mark.parametrize(
    ("data", "rest", "words"),
    [
        ("split: {by: tiem, column: day}", "", ["pipeline.yaml:3: data.split.by", "did you mean 'time'?"]),
        ("split: {by: group}", "", ["pipeline.yaml:3: data.split: by: group needs column"]),
        ("split: {column: day}", "", ["by: hash takes no column"]),
        ("split: {by: time, column: day, stratify: label}", "", ["stratify is for by: hash and by: group"]),
        (
            "split: {by: time, column: day, eval_from: 2024-01-31}",
            "",
            ["eval_from and test_from go together"],
        ),
        (
            "split: {by: group, column: d, eval_from: 1, test_from: 2}",
            "",
            ["are for by: time, received by: group"],
        ),
        ("split: {values: {train: [a], eval: [b], test: [c]}}", "", ["values is for by: column"]),
        ("split: {by: column, column: c, train: 7}", "", ["by: column decides which rows go where"]),
        (
            "split: {by: column, column: c, values: {train: [a], eval: [a], test: [c]}}",
            "",
            ["data.split.values: 'a' stands twice"],
        ),
        (
            "split: {by: column, column: c, values: {train: [a], eval: [b]}}",
            "",
            ["data.split.values.test: missing"],
        ),
        ("split: {test: 0}", "", ["data.split.test: expected an integer greater than 0, received 0"]),
        ("weight: y", "", ["data.weight: 'y' is the label and cannot be the weight"]),
        ("weight: w", "features: {w: {kind: numeric}}", ["features.w: is the weight of the rows"]),
        ("weight: w\n  exclude: [w]", "", ["'w' is the weight and cannot be excluded"]),
        ("on_missing_label: ignore", "", ["data.on_missing_label: expected one of drop, error"]),
    ],
)
def test_mistakes_are_said_before_anything_runs(
    tmp_path: Path, data: str, rest: str, words: list[str]
) -> None:
    with pytest.raises(UserError) as error:
        load(tmp_path, data, rest)
    for word in words:
        assert word in str(error.value)


def test_a_column_that_splits_may_be_excluded_and_declared(tmp_path: Path) -> None:
    split = "split: {by: time, column: day}\n  columns: {day: datetime}\n  exclude: [day]"
    assert load(tmp_path, split).data.exclude == ("day",)
