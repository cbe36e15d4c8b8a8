"""`headrace init`: what it writes says what is in the data, and is a configuration that works."""

from __future__ import annotations

import json
import re
import sqlite3

import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from components.errors import UserError
from pipeline.cli.init import command
from pipeline.config import PipelineConfig, load_config


def init(*args: str) -> str:
    """The command's output."""
    result = CliRunner().invoke(command, [str(arg) for arg in args], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.output


def write_trips(path, names=("fare", "company", "code", "empty", "same", "day", "note", "y")) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join(json.dumps(name) if "," in name else name for name in names)]
    for i in range(400):
        note = f"this is the note number {i}"
        row = [
            i / 7,
            f"c{i % 5}",
            f"k-{i}",
            "",
            "x",
            f"2026-01-{i % 28 + 1:02d}",
            note,
            "no" if i % 3 else "yes",
        ]
        lines.append(",".join(map(str, row)))
    path.write_text("\n".join(lines) + "\n")


def test_each_column_is_named_with_what_becomes_of_it(tmp_path):
    write_trips(tmp_path / "trips.csv")
    said = init(tmp_path / "trips.csv", "--label", "y")
    assert "400 rows, label y (binary), 4 columns used, 3 dropped" in said
    assert f"headrace run {tmp_path}" in said
    text = (tmp_path / "pipeline.yaml").read_text()
    assert re.search(r'^label: "y" +# 2 classes: false 66 %, true 34 %$', text, re.M)
    for kind, about in (
        ("fare: {kind: numeric}", "float, 400 distinct; numbers with fractions"),
        ("company: {kind: category}", "text, 5 distinct"),
        ("code: {kind: drop}", "text, 400 distinct; nearly every value differs"),
        ("empty: {kind: drop}", "missing in 100.0 %; every value of train is missing"),
        ("same: {kind: drop}", "constant: it has one value only"),
        ("day: {kind: date", "date, 28 distinct"),
        ("note: {kind: text}", "text of 6 words on average"),
    ):
        (line,) = [each for each in text.splitlines() if each.startswith(f"  {kind}")]
        assert about in line
    assert "  #epochs: " in text
    assert "\n  #on_bad_value: error " in text


def test_the_file_loads_to_what_was_inferred(tmp_path):
    write_trips(tmp_path / "trips.csv")
    init(tmp_path / "trips.csv", "--label", "y", "--set", "train.epochs=3", "--set", "data.exclude=[code]")
    config = load_config(tmp_path)
    assert (config.name, config.label, config.task) == ("trips", "y", "binary")
    assert (config.train.epochs, config.data.exclude, config.data.source) == (3, ("code",), "trips.csv")
    assert config.features["note"].kind == "text"
    assert "code" not in config.features
    defaults = PipelineConfig.model_validate({"name": "n", "data": {"source": "s"}, "label": "y"})
    assert (config.model, config.push, config.evaluate) == (defaults.model, defaults.push, defaults.evaluate)


def test_every_option_behind_a_mark_can_be_switched_on(tmp_path):
    """Each shows its default: with all marks taken away, nothing changes."""
    write_trips(tmp_path / "trips.csv")
    init(tmp_path / "trips.csv", "--label", "y")
    before = load_config(tmp_path)
    path = tmp_path / "pipeline.yaml"
    lines = [line.replace("  #", "  ", 1) if line.startswith("  #") and line[3] != " " else line
             for line in path.read_text().splitlines()]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    assert load_config(tmp_path).model_dump() == before.model_dump()


_ODD = ("a: b", "#no", "yes", "null", "1.5", "{x}", "- x", "it's", 'say "hi"', "n\u00e9", "a,b", "*", "&a")


@pytest.mark.parametrize("odd", [*_ODD, "@", "%", "x y", "NO"])
def test_columns_of_any_name_are_written_so_that_they_can_be_read(tmp_path, odd):
    names = ["fare", odd, "code", "empty", "same", "day", "note", "y"]
    path = tmp_path / "trips.parquet"
    write_trips(tmp_path / "trips.csv")
    table = pyarrow.csv.read_csv(tmp_path / "trips.csv")
    pq.write_table(table.rename_columns(names), path)
    init(path, "--label", "y")
    assert odd in load_config(tmp_path).features


def test_a_file_that_is_there_is_kept(tmp_path):
    write_trips(tmp_path / "trips.csv")
    (tmp_path / "pipeline.yaml").write_text("mine\n")
    with pytest.raises(UserError, match=r"pipeline\.yaml exists"):
        init(tmp_path / "trips.csv", "--label", "y")
    assert (tmp_path / "pipeline.yaml").read_text() == "mine\n"
    init(tmp_path / "trips.csv", "--label", "y", "-o", tmp_path / "other" / "p.yaml")
    config = load_config(tmp_path / "other" / "p.yaml")
    assert config.located_data.source == str(tmp_path / "trips.csv")
    init(tmp_path / "trips.csv", "--label", "y", "--force")
    assert load_config(tmp_path).label == "y"


def test_a_label_that_no_column_has_is_refused_and_nothing_is_written(tmp_path):
    write_trips(tmp_path / "trips.csv")
    with pytest.raises(UserError, match="label: the data has no column 'yy', did you mean 'y'"):
        init(tmp_path / "trips.csv", "--label", "yy")
    assert not (tmp_path / "pipeline.yaml").exists()


def test_what_is_odd_is_noted(tmp_path):
    (tmp_path / "trips.csv").write_text(
        " a,b,y\n" + "".join(f"{i},{i % 9},{i % 2}\n" for i in range(999)) + "unknown,1,1\n"
    )
    said = init(tmp_path / "trips.csv", "--label", "y")
    text = (tmp_path / "pipeline.yaml").read_text()
    for each in (said, text):
        assert "column names trimmed of blanks: ' a'" in each
        assert "'unknown'" in each


def test_an_identifier_of_whole_numbers_is_pointed_out(tmp_path):
    (tmp_path / "trips.csv").write_text("id,x,y\n" + "".join(f"{i},{i % 7},{i % 2}\n" for i in range(999)))
    init(tmp_path / "trips.csv", "--label", "y")
    assert "{kind: drop} if it is an identifier" in (tmp_path / "pipeline.yaml").read_text()


def test_how_to_read_the_data_can_be_given(tmp_path):
    (tmp_path / "eu.csv").write_text("a;b;y\n" + "".join(f"{i},5;{i};{i % 2}\n" for i in range(99)))
    with pytest.raises(UserError, match=r"data\.delimiter: ';'"):
        init(tmp_path / "eu.csv", "--label", "y")
    init(tmp_path / "eu.csv", "--label", "y", "--set", "data.delimiter=;")
    assert load_config(tmp_path).data.delimiter == ";"


def test_other_sources(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_trips(tmp_path / "days" / "a.csv")
    write_trips(tmp_path / "days" / "b.csv")
    init("days/*.csv", "--label", "y")
    assert load_config("days").located_data.source == str(tmp_path / "days" / "*.csv")
    init("days", "--label", "y")
    assert load_config(".").located_data.source == str(tmp_path / "days")
    with sqlite3.connect("trips.db") as connection:
        connection.execute("create table t (a, y)")
        connection.executemany("insert into t values (?, ?)", [(i, i % 2) for i in range(99)])
    init("sqlite:///trips.db", "--label", "y", "--set", "data.query=select * from t", "-o", "sql.yaml")
    config = load_config("sql.yaml")
    assert (config.data.query, config.features["a"].kind) == ("select * from t", "numeric")
