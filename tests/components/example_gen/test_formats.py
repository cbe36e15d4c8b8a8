"""Formats that bring their own types: they are kept, and what tf.Example cannot say is told."""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
import json
import sqlite3

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from ingested import ingest, notes_of, survey_of, types_of

from components.errors import UserError
from components.example_gen import sources
from components.example_gen.config import DataConfig

N = 120


def rows() -> list[dict]:
    return [
        {
            "i": i if i % 10 else None,
            "f": i / 4,
            "s": f"{i:05d}",
            "b": i % 3 == 0,
            "d": dt.date(2026, 1, 1) + dt.timedelta(days=i),
            "t": dt.datetime(2026, 1, 1, 10, 0, i % 60),
            "y": i % 2,
        }
        for i in range(N)
    ]


TYPES = {
    "i": "integer",
    "f": "float",
    "s": "text",
    "b": "boolean",
    "d": "date",
    "t": "datetime",
    "y": "integer",
}


def iso(row: dict) -> dict:
    return {key: value.isoformat() if hasattr(value, "isoformat") else value for key, value in row.items()}


def write_parquet(path, table=None, **options):
    pq.write_table(table or pa.Table.from_pylist(rows()), path, **options)


def write_arrow(path):
    feather.write_feather(pa.Table.from_pylist(rows()), path)


def write_jsonl(path):
    text = "".join(json.dumps(iso(row)) + "\n" for row in rows()).encode()
    path.write_bytes(gzip.compress(text) if path.name.endswith(".gz") else text)


def write_avro(path):
    types = {"i": ["null", "long"], "f": "double", "s": "string", "b": "boolean", "y": "int"}
    types["d"] = {"type": "int", "logicalType": "date"}
    types["t"] = {"type": "long", "logicalType": "local-timestamp-micros"}
    fields = [{"name": name, "type": types[name]} for name in TYPES]
    with open(path, "wb") as stream:
        fastavro.writer(stream, {"type": "record", "name": "Row", "fields": fields}, rows(), codec="deflate")


def write_sqlite(path):
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (i, f, s, b, d, t, y)")
        connection.executemany(
            "insert into t values (?,?,?,?,?,?,?)", [tuple(iso(row).values()) for row in rows()]
        )


def refusal(data: dict) -> str:
    with pytest.raises(UserError) as caught:
        types_of(data)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.parquet", write_parquet),
        ("a.feather", write_arrow),
        ("a.jsonl", write_jsonl),
        ("a.ndjson.gz", write_jsonl),
        ("a.avro", write_avro),
        ("a.db", write_sqlite),
    ],
)
def test_types_and_values_are_kept(tmp_path, name, write):
    write(tmp_path / name)
    data = {"source": str(tmp_path / name)}
    if name == "a.db":
        data = {"source": f"sqlite:///{tmp_path / name}", "query": "select * from t"}
    found = ingest(tmp_path, data)
    # SQLite has no booleans.
    assert found.found.types == {**TYPES, **({"b": "integer"} if name == "a.db" else {})}
    assert "column" not in found.notes
    expected = {
        row["s"]: {
            "i": [] if row["i"] is None else [row["i"]],
            "f": [row["f"]],
            "s": [row["s"]],
            "b": [int(row["b"])],
            "d": [row["d"].isoformat()],
            "t": [row["t"].isoformat()],
            "y": [row["y"]],
        }
        for row in rows()
    }
    assert {row["s"][0]: {"i": [], **row} for row in found.rows()} == expected


def test_row_groups_are_pieces_with_their_rows_numbered_through(tmp_path, monkeypatch):
    from components.example_gen.readers import InputFile, make_reader, parquet

    monkeypatch.setattr(parquet, "_PIECE_ROWS", 40)
    path = tmp_path / "a.parquet"
    write_parquet(path, row_group_size=20)
    data = {"source": str(path)}
    reader = make_reader(DataConfig.model_validate(data), "parquet")
    pieces = reader.pieces([InputFile(str(path))])
    assert [piece.part for piece in pieces] == [(0, 2), (2, 4), (4, 6)]
    assert reader.places(pieces[2], [1, 20]) == [f"{path}: row 81", f"{path}: row 100"]
    found = ingest(tmp_path, data)
    assert sum(found.found.rows.values()) == N
    assert len(list(found.uri.glob("Split-train/*.gz"))) == 3


def test_rare_arrow_types_become_what_they_mean(tmp_path):
    small = np.array([1.5] * N, np.float16)
    table = pa.table(
        {
            "i8": pa.array([1] * N, pa.int8()),
            "u64": pa.array([1] * N, pa.uint64()),
            "huge": pa.array([2**64 - 1] * N, pa.uint64()),
            "category": pa.array(["a", "b"] * (N // 2)).dictionary_encode(),
            "zoned": pa.array([dt.datetime(2026, 1, 1)] * N, pa.timestamp("us", "Europe/Berlin")),
            "money": pa.array([decimal.Decimal("1.25")] * N),
            "whole": pa.array([decimal.Decimal("7")] * N, pa.decimal128(10, 0)),
            "lots": pa.array([decimal.Decimal(10**25)] * N),
            "clock": pa.array([dt.time(10, 30)] * N, pa.time32("s")),
            "took": pa.array([dt.timedelta(seconds=90)] * N, pa.duration("s")),
            "words": pa.array(["x y"] * N, pa.large_string()),
            "blob": pa.array([b"\xff\x00"] * N),
            "bytes_of_text": pa.array([b"abc"] * N),
            "place": pa.array([{"city": "Rome", "at": {"lat": 41.9}}] * N),
            "none": pa.nulls(N),
            "y": pa.array([0, 1] * (N // 2)),
            "n": pa.array(range(N)),
        }
    )
    table = table.append_column("half", pa.array(small)) if int(pa.__version__.split(".")[0]) >= 15 else table
    write_parquet(tmp_path / "a.parquet", table)
    found = ingest(tmp_path, {"source": str(tmp_path / "a.parquet")})
    types = found.found.types
    types.pop("half", None)
    assert types == {
        "i8": "integer",
        "u64": "integer",
        "huge": "text",
        "category": "text",
        "zoned": "datetime",
        "money": "float",
        "whole": "integer",
        "lots": "text",
        "clock": "text",
        "took": "integer",
        "words": "text",
        "blob": "bytes",
        "bytes_of_text": "text",
        "place.city": "text",
        "place.at.lat": "float",
        "none": "text",
        "y": "integer",
        "n": "integer",
    }
    row = found.rows("train")[0]
    assert row["zoned"] == ["2025-12-31T23:00:00Z"] or row["zoned"] == ["2026-01-01T00:00:00Z"]
    assert row["huge"] == ["18446744073709551615"]
    assert row["lots"] == ["10000000000000000000000000"]
    assert row["blob"] == [b"\xff\x00"]
    assert row["clock"] == ["10:30:00"]
    assert row["took"] == [90]
    assert "none" not in row or row["none"] == []
    assert "column 'money': decimal is read as float" in found.notes
    assert "column 'took': duration[s] is read as integer" in found.notes


def test_lists_become_features_of_several_values(tmp_path):
    table = pa.table(
        {
            "tags": pa.array([[f"t{j}" for j in range(i % 4)] for i in range(N)]),
            "one": pa.array([[i] if i % 2 else None for i in range(N)]),
            "nested": pa.array([[[1]]] * N),
            "map": pa.array([[("k", 1)]] * N, pa.map_(pa.string(), pa.int64())),
            "y": pa.array([0, 1] * (N // 2)),
            "n": pa.array(range(N)),
        }
    )
    write_parquet(tmp_path / "a.parquet", table)
    found = ingest(tmp_path, {"source": str(tmp_path / "a.parquet")})
    assert found.found.types == {"tags": "text", "one": "integer", "y": "integer", "n": "integer"}
    assert found.found.lists == ("tags",)
    by_number = {row["n"][0]: row for row in found.rows()}
    assert by_number[7]["tags"] == ["t0", "t1", "t2"]
    assert not by_number[8].get("tags")
    assert by_number[7]["one"] == [7]
    assert "column 'nested' is left out: a list<" in found.notes
    assert "column 'map' is left out: a map<" in found.notes
    label = ingest(tmp_path, {"source": str(tmp_path / "a.parquet")}, label="tags").found.label
    assert (label.task, label.classes) == ("multilabel", ("t0", "t1", "t2"))


def test_nan_and_infinity_of_typed_columns_count_as_missing(tmp_path):
    values = [1.5, float("nan"), float("inf"), None] * (N // 4)
    write_parquet(tmp_path / "a.parquet", pa.table({"x": values, "n": range(N), "y": [0, 1] * (N // 2)}))
    found = ingest(tmp_path, {"source": str(tmp_path / "a.parquet")})
    assert set(found.column("x")) == {1.5, None}
    assert "column 'x': 60 cells say nan or inf and count as missing" in found.notes


def test_tokens_of_typed_text_are_no_missing_values(tmp_path):
    write_parquet(tmp_path / "a.parquet", pa.table({"x": ["NA", ""] * (N // 2), "y": [0, 1] * (N // 2)}))
    assert survey_of({"source": str(tmp_path / "a.parquet")}).columns["x"].values == {"NA": 60, "": 60}


def test_typed_text_can_be_declared_another_type(tmp_path):
    table = pa.table({"x": ["7", "NA", "8.5"] * 40, "n": range(N), "y": [0, 1] * (N // 2)})
    write_parquet(tmp_path / "a.parquet", table)
    data = {"source": str(tmp_path / "a.parquet"), "columns": {"x": "float", "n": "text"}}
    found = ingest(tmp_path, data)
    assert set(found.column("x")) == {7.0, 8.5, None}
    assert "119" in found.column("n")
    assert types_of({**data, "columns": {"y": "boolean"}})["y"] == "boolean"
    assert "118 of 120 values are not boolean" in refusal({**data, "columns": {"n": "boolean"}})
    assert f"{tmp_path}/a.parquet: row 3: '8.5'" in refusal({**data, "columns": {"x": "integer"}})


def test_files_with_other_types_of_a_column_are_one_set(tmp_path):
    write_parquet(tmp_path / "a.parquet", pa.table({"x": [1, 2], "z": [1, 2], "y": [0, 1]}))
    write_parquet(tmp_path / "b.parquet", pa.table({"y": [0, 1], "x": [1.5, 2.5], "z": ["a", "b"]}))
    data = {"source": str(tmp_path)}
    assert types_of(data) == {"x": "float", "z": "text", "y": "integer"}


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.avro", "a.tfrecord"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"nonsense" * 100])
def test_files_that_are_damaged_are_refused(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    assert str(path) in refusal({"source": str(path)}) or not content


@pytest.mark.parametrize(("name", "write"), [("a.parquet", write_parquet), ("a.avro", write_avro)])
def test_files_that_are_cut_off_are_refused(tmp_path, name, write):
    path = tmp_path / name
    write(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 30])
    assert f"{path}" in refusal({"source": str(path)})


class TestJsonLines:
    """What JSON says is kept; lines that Arrow cannot take are read one by one."""

    def source(self, tmp_path, *lines: str) -> dict:
        path = tmp_path / "a.jsonl"
        path.write_bytes("".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass"))
        return {"source": str(path)}

    def test_keys_may_be_absent(self, tmp_path):
        data = self.source(tmp_path, '{"a":1,"y":0}', '{"y":1,"b":"x"}', "", "{}")
        survey = survey_of(data)
        assert survey.rows == 3
        assert {name: scan.missing for name, scan in survey.columns.items()} == {"a": 2, "y": 1, "b": 2}

    def test_texts_of_numbers_stay_text(self, tmp_path):
        data = self.source(tmp_path, '{"zip":"01234","n":"7","y":0}')
        assert types_of(data) == {"zip": "text", "n": "text", "y": "integer"}

    def test_dates_are_told_by_their_look_and_kept_as_written(self, tmp_path):
        data = self.source(
            tmp_path, '{"d":"2026-01-31","t":"2026-01-31 10:00","z":"2026-01-31T10:00:00Z","y":1}'
        )
        assert types_of(data) == {"d": "date", "t": "datetime", "z": "datetime", "y": "integer"}
        assert survey_of(data).columns["t"].values == {"2026-01-31 10:00": 1}

    def test_a_stray_value_is_named(self, tmp_path):
        lines = [f'{{"x":{i},"y":{i % 2}}}' for i in range(500)]
        lines[300] = '{"x":"unknown","y":0}'
        data = self.source(tmp_path, *lines)
        assert types_of(data)["x"] == "text"
        said = notes_of(data)
        assert (
            f"column 'x' is text because of 1 of 500 values, the first 'unknown' in {data['source']}:301"
            in said
        )
        assert types_of({**data, "missing": ["unknown"]})["x"] == "integer"

    def test_numbers_beyond_64_bits_stay_text(self, tmp_path):
        data = self.source(tmp_path, '{"x":9223372036854775808,"y":0}', '{"x":1,"y":1}')
        assert types_of(data)["x"] == "text"
        assert survey_of(data).columns["x"].values == {"9223372036854775808": 1, "1": 1}
        assert "1 whole numbers beyond 64 bits" in notes_of(data)

    def test_objects_become_columns_and_lists_several_values(self, tmp_path):
        data = self.source(tmp_path, '{"a":{"b":1,"c":{"d":"2026-01-31"}},"l":[1,2],"y":0}')
        assert types_of(data) == {"a.b": "integer", "a.c.d": "date", "l": "integer", "y": "integer"}

    def test_bad_lines_are_refused_with_line_and_column(self, tmp_path):
        data = self.source(tmp_path, '{"a":1}', "", '{"a":', "[1]", '{"a":1,"a":2}', '{"a":2}')
        said = refusal(data)
        path = data["source"]
        assert said.startswith(f"{path}:3: 3 lines are not JSON objects:")
        assert f"{path}:3: column 6: Expecting value" in said
        assert f"{path}:4: expected an object, received an array: '[1]'" in said
        assert f"{path}:5: key 'a' stands twice" in said

    def test_bad_lines_can_be_skipped(self, tmp_path):
        lines = [f'{{"n":{i},"y":{i % 2}}}' for i in range(N)]
        data = self.source(tmp_path, *lines[:50], "oops", *lines[50:])
        found = ingest(tmp_path, {**data, "on_bad_row": "skip"})
        assert sum(found.found.rows.values()) == N
        listed = json.loads((found.uri / "skipped_rows.jsonl").read_text())
        assert listed["where"] == f"{data['source']}:51"

    def test_a_first_line_that_is_null_is_no_crash(self, tmp_path):
        said = refusal(self.source(tmp_path, "null", '{"a":1}'))
        assert "a.jsonl:1: expected an object, received null" in said

    def test_half_a_character_is_no_crash(self, tmp_path):
        data = self.source(tmp_path, '{"a":"\\ud800","y":1}', '{"a":"x","y":0}')
        assert survey_of(data).columns["a"].values == {"?": 1, "x": 1}

    def test_a_byte_order_mark_is_no_part_of_the_first_line(self, tmp_path):
        assert types_of(self.source(tmp_path, '\ufeff{"a":1,"y":0}')) == {"a": "integer", "y": "integer"}


class TestTfRecord:
    """Examples as others write them."""

    def write(self, path, *examples: dict, options=None) -> dict:
        import tensorflow as tf

        def feature(value):
            if isinstance(value[0], bytes):
                return tf.train.Feature(bytes_list=tf.train.BytesList(value=value))
            if isinstance(value[0], float):
                return tf.train.Feature(float_list=tf.train.FloatList(value=value))
            return tf.train.Feature(int64_list=tf.train.Int64List(value=value))

        with tf.io.TFRecordWriter(str(path), options) as writer:
            for each in examples:
                features = tf.train.Features(feature={key: feature(value) for key, value in each.items()})
                writer.write(tf.train.Example(features=features).SerializeToString())
        return {"source": str(path)}

    @pytest.mark.parametrize(
        ("name", "options"),
        [
            ("a.tfrecord", None),
            ("a.tfrecord-00000-of-00001", None),
            ("data_tfrecord-00000-of-00001.gz", "GZIP"),
        ],
    )
    def test_types_are_merged_over_all_records(self, tmp_path, name, options):
        examples = [{"y": [i % 2], "f": [i / 2], "s": [b"a"], "many": [1] * (i % 3 + 1)} for i in range(N)]
        for each in examples[:5]:
            del each["f"]
        found = ingest(tmp_path, self.write(tmp_path / name, *examples, options=options))
        assert found.found.types == {"f": "float", "many": "integer", "s": "text", "y": "integer"}
        assert found.found.lists == ("many",)
        assert sorted(map(str, (row.get("many") for row in found.rows()))) == sorted(
            str(each["many"]) for each in examples
        )

    def test_two_types_of_a_feature_are_refused_with_feature_and_records(self, tmp_path):
        examples = [{"x": [i] if i != 70 else [0.5], "y": [i % 2]} for i in range(N)]
        data = self.write(tmp_path / "a.tfrecord", *examples)
        path = data["source"]
        said = refusal(data)
        assert f"feature 'x' is of two types: integer in {path}: record 1, float in {path}: record 71" in said
        found = ingest(tmp_path, {**data, "columns": {"x": "float"}})
        assert {0.5, 1.0, 119.0} < set(found.column("x"))

    def test_two_files_with_two_types_are_refused_too(self, tmp_path):
        self.write(tmp_path / "a.tfrecord", {"x": [1], "y": [0]})
        self.write(tmp_path / "b.tfrecord", {"x": [1.5], "y": [0]})
        said = refusal({"source": str(tmp_path)})
        assert "integer in " in said
        assert "b.tfrecord: record 1" in said

    def test_damage_is_refused_with_the_record(self, tmp_path):
        data = self.write(tmp_path / "a.tfrecord", *[{"y": [i]} for i in range(10)])
        path = tmp_path / "a.tfrecord"
        whole = bytearray(path.read_bytes())
        whole[-6] ^= 1
        path.write_bytes(whole)
        assert f"{path}: record 10: cannot be read as TFRecord: its contents are damaged" in refusal(data)
        path.write_bytes(whole[:-10])
        assert f"{path}: record 10: cannot be read as TFRecord: the file ends within it" in refusal(data)

    def test_records_that_are_no_examples_are_refused_or_skipped(self, tmp_path):
        import tensorflow as tf

        path = tmp_path / "a.tfrecord"
        with tf.io.TFRecordWriter(str(path)) as writer:
            for i in range(N):
                example = tf.train.Example()
                example.features.feature["y"].int64_list.value.append(i % 2)
                example.features.feature["n"].int64_list.value.append(i)
                writer.write(b"\xff\xff" if i == 33 else example.SerializeToString())
        assert f"{path}: record 34: the record is not a tf.Example" in refusal({"source": str(path)})
        found = ingest(tmp_path, {"source": str(path), "on_bad_row": "skip"})
        assert found.found.skipped == 1
        assert sum(found.found.rows.values()) == N - 1


class TestSql:
    """A query of a database."""

    def config(self, tmp_path, query: str = "select * from t") -> dict:
        write_sqlite(tmp_path / "a.db")
        return {"source": f"sqlite:///{tmp_path / 'a.db'}", "query": query}

    def test_the_fingerprint_is_that_of_the_rows(self, tmp_path):
        data = self.config(tmp_path)
        before = sources.fingerprint(DataConfig.model_validate(data))
        shuffled = {**data, "query": "select * from t"}
        with sqlite3.connect(tmp_path / "a.db") as connection:
            connection.execute("create table u as select * from t order by s desc")
            connection.execute("alter table t rename to v")
            connection.execute("alter table u rename to t")
        assert sources.fingerprint(DataConfig.model_validate(shuffled)) == before
        with sqlite3.connect(tmp_path / "a.db") as connection:
            connection.execute("update t set f = f + 1 where s = '00007'")
        assert sources.fingerprint(DataConfig.model_validate(data)) != before

    def test_mistakes_are_told(self, tmp_path, monkeypatch):
        data = self.config(tmp_path)

        def said(**changes) -> str:
            with pytest.raises(UserError) as caught:
                ingest(tmp_path, {**data, **changes})
            return str(caught.value)

        assert "data.query: " in said(query="select absent, y from t")
        assert "no such column: absent" in said(query="select absent, y from t")
        assert "no such file" in said(source=f"sqlite:///{tmp_path}/none.db")
        assert "say which rows: data.query" in said(query=None)
        assert "needs a database" in said(source=str(tmp_path))
        assert "column name 'y' stands twice" in said(query="select y, y from t")
        assert "the source has no rows" in said(query="select * from t where 0") or "no rows" in said(
            query="select * from t where 0"
        )
        secret = said(source="postgresql://me:secret@localhost:1/db")
        assert "secret" not in secret
        assert "environment has no HEADRACE_TEST_PW" in said(source="mysql://me:${HEADRACE_TEST_PW}@h/db")

    def test_rows_have_their_place_in_the_result(self, tmp_path):
        data = self.config(tmp_path, "select * from t order by s")
        with pytest.raises(UserError, match=r"data\.query: row 2: column 'f': 90 of 120 values"):
            ingest(tmp_path, {**data, "columns": {"f": "integer"}})
