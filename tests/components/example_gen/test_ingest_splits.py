"""Splitting a source from end to end: where rows go, what is counted, what is said and what is refused."""

from __future__ import annotations

import csv
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ingested import Ingested, ingest

from components.errors import UserError

Row = tuple[Any, ...]


def write(path: Path, header: str, rows: list[Row]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as stream:
        csv.writer(stream).writerows([header.split(","), *rows])
    return str(path)


def people(count: int) -> list[Row]:
    """Visits of a person on a day, with a label that is good for 1 in 5."""
    return [
        (f"p{i // 4}", f"2024-{1 + i % 12:02}-{1 + i % 28:02}", i * 7 % 1000, "good" if i % 5 == 0 else "bad")
        for i in range(count)
    ]


HEADER = "person,day,x,y"


def taken(tmp_path: Path, rows: list[Row], **data: Any) -> Ingested:
    return ingest(tmp_path, {"source": write(tmp_path / "rows.csv", HEADER, rows), **data})


def where(found: Ingested, column: str) -> dict[Any, set[str]]:
    """The splits in which each value of a column is."""
    places: dict[Any, set[str]] = {}
    for split in ("train", "eval", "test"):
        for value in found.column(column, split):
            places.setdefault(value, set()).add(split)
    return places


def summary(found: Ingested) -> str:
    return found.artifact.get_string_custom_property("summary")


def test_equal_rows_go_together_wherever_they_lie(tmp_path: Path) -> None:
    rows = people(600)
    twice = taken(tmp_path / "one", rows + rows)
    places = where(twice, "x")
    for number, part in enumerate((rows[400:], rows[:100], rows[100:400])):
        write(tmp_path / f"many/{number}.csv", HEADER, part)
    pieces = where(ingest(tmp_path, {"source": str(tmp_path / "many")}), "x")
    assert places == pieces
    assert sum(twice.found.rows.values()) == 1200


def test_a_column_moves_no_row_by_being_excluded_or_declared(tmp_path: Path) -> None:
    rows = people(400)
    first = where(taken(tmp_path / "1", rows), "x")
    assert first == where(taken(tmp_path / "2", rows, exclude=["person"], missing=["p0"]), "x")
    assert {str(x): y for x, y in first.items()} == where(
        taken(tmp_path / "3", rows, columns={"x": "text"}), "x"
    )


def test_each_split_has_its_share_of_each_class(tmp_path: Path) -> None:
    found = taken(tmp_path, people(1000), split={"stratify": "label"})
    assert found.found.classes == {
        "train": {"bad": 640, "good": 160},
        "eval": {"bad": 80, "good": 20},
        "test": {"bad": 80, "good": 20},
    }
    assert json.loads(json.dumps(found.artifact.get_json_value_custom_property("split_classes"))) == (
        found.found.classes
    )
    assert summary(found).startswith(
        "1,000 rows (train 800, eval 100, test 100, stratified by label); y: bad 80.0 %, good 20.0 %"
    )


def test_rows_without_a_label_do_not_count_for_the_shares(tmp_path: Path) -> None:
    rows = [(*row[:3], "NA" if i % 3 == 0 else row[3]) for i, row in enumerate(people(900))]
    found = taken(tmp_path, rows, split={"stratify": "label"})
    assert found.found.rows == {"train": 480, "eval": 60, "test": 60}
    assert "dropped 300 rows whose label 'y' is missing" in found.notes


def test_groups_stay_together(tmp_path: Path) -> None:
    for number, split in enumerate(({}, {"stratify": "label"})):
        found = taken(tmp_path / str(number), people(800), split={"by": "group", "column": "person", **split})
        assert all(len(places) == 1 for places in where(found, "person").values())
        assert found.found.held_back == {"person": "its values are not in two splits"}
    assert found.found.rows == pytest.approx({"train": 640, "eval": 80, "test": 80}, abs=4)


def test_time_goes_on_from_train_to_test(tmp_path: Path) -> None:
    found = taken(tmp_path / "1", people(840), split={"by": "time", "column": "day"})
    train, watched, test = (found.column("day", split) for split in ("train", "eval", "test"))
    assert max(train) < min(watched) <= max(watched) < min(test)
    bounds = {"by": "time", "column": "day", "eval_from": "2024-07-01", "test_from": "2024-10-01"}
    # A column that is excluded can split, and is not written.
    found = taken(tmp_path / "2", people(840), split=bounds, exclude=["day"])
    assert found.found.rows == {"train": 420, "eval": 210, "test": 210}
    assert "day" not in found.rows("train")[0]
    assert "by time: 'day'" in summary(found)
    found = taken(tmp_path / "3", people(840), split={"by": "time", "column": "x"})
    assert found.found.held_back == {"x": "it is greater in later splits than all that train has"}
    # The month and the weekday of a date come again.
    found = taken(tmp_path / "4", people(840), split={"by": "group", "column": "day"})
    assert found.found.held_back == {}


def test_a_column_says_the_split(tmp_path: Path) -> None:
    rows = [(("train", "train", "eval", "test", "NA")[i % 5], *row[1:]) for i, row in enumerate(people(500))]
    split = {"by": "column", "column": "person"}
    found = taken(
        tmp_path / "1", [(*row[:3], "good" if i % 2 else "bad") for i, row in enumerate(rows)], split=split
    )
    assert found.found.rows == {"train": 200, "eval": 100, "test": 100}
    assert where(found, "person") == {name: {name} for name in ("train", "eval", "test")}
    assert "100 rows have no 'person' to be split by and are left out" in found.notes
    assert found.found.held_back == {"person": "it says which split a row is in"}
    with pytest.raises(UserError, match=r"no split takes the values 'p0' \(4 rows\)"):
        taken(tmp_path / "2", people(40), split=split)


def test_rows_of_test_that_are_in_train_are_counted(tmp_path: Path) -> None:
    rows = [("train", "", i, i % 2) for i in range(80)]
    rows += [("eval", "", i, i % 2) for i in range(100, 110)]
    rows += [("test", "", i, i % 2) for i in range(70, 90)]
    found = taken(tmp_path, rows, split={"by": "column", "column": "person"}, exclude=["day"])
    assert found.found.straddling == {"eval": 0, "test": 10}
    assert found.artifact.get_json_value_custom_property("straddling_rows") == {"eval": 0, "test": 10}
    assert "10 of 20 test rows are in train as well, apart from 'day', 'person'" in found.notes


def test_an_excluded_number_of_each_row_hides_no_copies(tmp_path: Path) -> None:
    """Rows that differ in nothing that a model sees may be dealt apart, and that is said."""
    rows = [(i, "", i % 40, i % 2) for i in range(400)]
    found = taken(tmp_path, rows, exclude=["person"])
    assert found.found.straddling["test"] == found.found.rows["test"]
    assert "test rows are in train as well, apart from 'person'" in found.notes


def test_texts_that_are_split_by_text_are_not_compared_by_their_label(tmp_path: Path) -> None:
    rows = [(f"text {i % 60}", 1.0, "good" if i % 3 == 0 else "bad") for i in range(300)]
    source = write(tmp_path / "rows.csv", "text,weight,y", rows)
    found = ingest(
        tmp_path, {"source": source, "weight": "weight", "split": {"by": "group", "column": "text"}}
    )
    assert all(len(splits) == 1 for splits in where(found, "text").values())
    assert found.found.straddling == {}
    assert "content" not in found.notes


def test_splits_that_are_files_are_compared_too(tmp_path: Path) -> None:
    rows = people(100)
    for split, part in (("train", rows[:80]), ("eval", rows[80:]), ("test", rows[70:90])):
        write(tmp_path / f"data/{split}/a.csv", HEADER, part)
    found = ingest(tmp_path, {"source": str(tmp_path / "data")})
    assert found.found.rows == {"train": 80, "eval": 20, "test": 20}
    assert found.found.straddling == {"eval": 0, "test": 10}
    with pytest.raises(UserError, match="every split has files of its own, so no row is dealt"):
        ingest(tmp_path, {"source": str(tmp_path / "data"), "split": {"stratify": "label"}})


def test_a_split_without_files_is_dealt_from_train(tmp_path: Path) -> None:
    rows = people(1000)
    source = {
        "train": write(tmp_path / "train.csv", HEADER, rows[:900]),
        "test": write(tmp_path / "test.csv", HEADER, rows[900:]),
    }
    found = ingest(tmp_path, {"source": source, "split": {"stratify": "label"}})
    assert found.found.rows == {"train": 800, "eval": 100, "test": 100}
    assert found.found.classes["eval"] == {"bad": 80, "good": 20}


@pytest.mark.parametrize(
    ("rows", "data", "words"),
    [
        (
            people(5),
            {},
            ["split", "use more rows, or leave nothing to luck: data.split:", "stratify: label}"],
        ),
        (people(2), {}, ["data.split:", "use more rows: 2 cannot fill 3 splits"]),
        (
            [("a", "", i, "NA" if i == 3 else i % 2) for i in range(9)],
            {"on_missing_label": "error"},
            [
                "rows.csv:5: the label 'y' is missing",
                "data.on_missing_label: drop",
            ],
        ),
        (people(50), {"weight": "weigth"}, ["data.weight", "no column 'weigth'"]),
        (
            people(50),
            {"split": {"by": "group", "column": "persn"}},
            ["data.split.column", "did you mean 'person'?"],
        ),
        (
            people(50),
            {"split": {"by": "time", "column": "person"}},
            ["the column is text; by: time needs a date"],
        ),
        (
            [("a", "", i, "new" if i > 90 else "old") for i in range(100)],
            {"split": {"by": "time", "column": "x"}},
            ["class 'new' has no row in the train split", "choose a later data.split.eval_from"],
        ),
    ],
)
def test_what_cannot_be_split_is_refused(
    tmp_path: Path, rows: list[Row], data: Any, words: list[str]
) -> None:
    with pytest.raises(UserError) as error:
        taken(tmp_path, rows, **data)
    for word in words:
        assert word in str(error.value)


def test_the_way_out_of_too_few_rows_works(tmp_path: Path) -> None:
    """What the message for 5 rows proposes fills every split."""
    with pytest.raises(UserError) as error:
        taken(tmp_path / "1", people(5))
    proposed = error.value.fix.split("data.split: ")[1]
    assert proposed == "{train: 3, eval: 1, test: 1, stratify: label}"
    rows = [(*row[:3], "good" if i % 2 else "bad") for i, row in enumerate(people(5))]
    found = taken(tmp_path / "2", rows, split={"train": 3, "eval": 1, "test": 1, "stratify": "label"})
    assert found.found.rows == {"train": 3, "eval": 1, "test": 1}


def test_classes_are_counted_by_the_names_that_they_have(tmp_path: Path) -> None:
    found = taken(tmp_path, [(*row[:3], ("0.1", "0.90")[i % 2]) for i, row in enumerate(people(200))])
    assert found.found.label.classes == ("0.1", "0.9")
    assert all(set(counts) == {"0.1", "0.9"} for counts in found.found.classes.values())


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_typed_columns_split_like_their_texts(tmp_path: Path, suffix: str) -> None:
    """Numbers, moments, truth values and nulls of formats that have types of their own."""
    count = 600
    table = pa.table(
        {
            "id": pa.array(range(count)),
            "user": pa.array([None if i % 50 == 0 else i // 6 for i in range(count)], pa.int64()),
            "at": pa.array(
                [datetime(2024, 1, 1) + timedelta(hours=i) for i in range(count)], pa.timestamp("us")
            ),
            "fold": pa.array([i % 10 for i in range(count)], pa.int32()),
            "y": pa.array([i % 3 == 0 for i in range(count)]),
        }
    )
    source = tmp_path / f"rows.{suffix}"
    if suffix == "parquet":
        pq.write_table(table, source, row_group_size=100)
    else:
        source.write_text("\n".join(json.dumps(row, default=str) for row in table.to_pylist()))

    def split(**how: Any) -> Ingested:
        folder = tmp_path / "-".join(f"{value}" for value in how.values() if isinstance(value, str))
        folder.mkdir()
        return ingest(folder, {"source": str(source), "split": how})

    found = split(stratify="label")
    assert found.found.classes == {
        "train": {"true": 160, "false": 320},
        "eval": {"true": 20, "false": 40},
        "test": {"true": 20, "false": 40},
    }
    found = split(by="group", column="user")
    assert all(len(places) == 1 for user, places in where(found, "user").items() if user is not None)
    assert "12 rows have no 'user' and are dealt one by one" in found.notes
    found = split(by="time", column="at", eval_from="2024-01-21", test_from="2024-01-23T12:00")
    assert found.found.rows == {"train": 480, "eval": 60, "test": 60}
    values = {"train": ["0", "1", "2", "3", "4", "5", "6", "7"], "eval": ["8"], "test": ["9"]}
    found = split(by="column", column="fold", values=values)
    assert where(found, "fold")[8] == {"eval"}
