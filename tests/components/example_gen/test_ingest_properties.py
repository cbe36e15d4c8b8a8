"""Properties: a table comes back whatever format it was written in; no bytes make a reader hang or crash."""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ingested import survey_of, types_of

from components.errors import UserError
from components.example_gen import arrow_types
from components.example_gen.config import DataConfig
from components.example_gen.convert import convert
from components.example_gen.hashing import row_hashes
from components.example_gen.patterns import INFERRED
from components.example_gen.readers import InputFile, make_reader
from components.example_gen.survey import infers

_QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Text that CSV takes for nothing else: no number, no date, no missing-value token begins with an x.
_TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12).map("x".__add__)
_ODD_TEXTS = st.sampled_from(["x,y", 'x"y"', "x\ny", "x\r\ny", "x'y", "x;y\t", "x\u00e9\u20ac"])
_CELLS = {
    "integer": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "date": st.dates(dt.date(1, 1, 1)),
    "datetime": st.datetimes(),
    "text": _TEXTS | _ODD_TEXTS,
}


@st.composite
def tables(draw) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Column types, and rows in which anything may be missing; no column is empty."""
    kinds = draw(st.lists(st.sampled_from(sorted(_CELLS)), min_size=1, max_size=4))
    types = {f"c{index}": kind for index, kind in enumerate(kinds)}
    row = st.fixed_dictionaries({name: st.none() | _CELLS[kind] for name, kind in types.items()})
    rows = draw(st.lists(row, min_size=1, max_size=30))
    # A float column of nothing but whole numbers is one of whole numbers, where types are inferred.
    rows.append({name: 0.5 if kind == "float" else draw(_CELLS[kind]) for name, kind in types.items()})
    return types, rows


def plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value


def write_csv(path: Path, types: dict[str, str], rows: list[dict[str, Any]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(types)
        for row in rows:
            cells = ["" if row[name] is None else plain(row[name]) for name in types]
            writer.writerow(cells)


def write_jsonl(path: Path, types: dict[str, str], rows: list[dict[str, Any]]) -> None:
    lines = [json.dumps({name: plain(value) for name, value in row.items()}) for row in rows]
    path.write_text("\n".join(lines) + "\n")


_ARROW = {
    "integer": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "datetime": pa.timestamp("us"),
    "text": pa.string(),
}


def write_parquet(path: Path, types: dict[str, str], rows: list[dict[str, Any]]) -> None:
    columns = {name: pa.array([row[name] for row in rows], _ARROW[kind]) for name, kind in types.items()}
    pq.write_table(pa.table(columns), path)


def write_avro(path: Path, types: dict[str, str], rows: list[dict[str, Any]]) -> None:
    avro: dict[str, Any] = {"integer": "long", "float": "double", "boolean": "boolean", "text": "string"}
    avro["date"] = {"type": "int", "logicalType": "date"}
    avro["datetime"] = {"type": "long", "logicalType": "local-timestamp-micros"}
    fields = [{"name": name, "type": ["null", avro[kind]]} for name, kind in types.items()]
    with open(path, "wb") as stream:
        fastavro.writer(stream, {"type": "record", "name": "Row", "fields": fields}, rows)


WRITERS = {"csv": write_csv, "jsonl": write_jsonl, "parquet": write_parquet, "avro": write_avro}


def read(path: Path, kind: str) -> tuple[dict[str, str], pa.RecordBatch]:
    """Types as found, and all rows converted to them."""
    data = {"source": str(path), "format": kind}
    types = types_of(data)
    config = DataConfig.model_validate(data)
    reader = make_reader(config, kind)
    missing = pa.array(list(config.missing), pa.string())
    batches = []
    for piece in reader.pieces([InputFile(str(path))]):
        for block in reader.blocks(piece):
            batch = arrow_types.flatten(block.batch)
            columns = []
            for name, found in types.items():
                cells = arrow_types.plain(batch.column(batch.schema.get_field_index(name)))
                parse = infers(batch.schema.field(name), config, reader) == INFERRED
                columns.append(convert(cells, found, missing, parse).values)
            batches.append(pa.RecordBatch.from_arrays(columns, list(types)))
    return types, arrow_types.table_batch(pa.Table.from_batches(batches))


@given(table=tables())
@_QUICK
def test_a_table_comes_back_from_every_format(table):
    types, rows = table
    if len(types) == 1:  # in CSV, a line with one cell and nothing in it is no row
        rows = [row for row in rows if row["c0"] is not None]
    expected = {
        name: [
            None if row[name] is None else int(row[name]) if kind == "boolean" else plain(row[name])
            for row in rows
        ]
        for name, kind in types.items()
    }
    hashes = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, write in WRITERS.items():
            path = Path(folder) / f"rows.{kind}"
            write(path, types, rows)
            found, batch = read(path, kind)
            assert found == types, kind
            assert batch.to_pydict() == expected, kind
            hashes.append(row_hashes(batch))
    assert all(np.array_equal(hashes[0], each) for each in hashes)


# Pieces of what files are made of, so that soups get past the first check.
_SOUP = st.lists(
    st.sampled_from(
        (
            *(b"a,b\n", b'"', b",", b"\n", b"\r\n", b"\r", b"\0", b"\xff", b"\xc3\xa9", b"1", b"x", b'""'),
            *(b"1,2\n", b" ", b'{"a":1}\n', b'{"a":', b"[", b"null", b"\xef\xbb\xbf", b"\xff\xfe", b"PAR1"),
            *(b"Obj\x01", b"ARROW1", b"\x1f\x8b\x08", b"9" * 30, b"1e999", b'{"a":"\\ud800"}\n'),
            *(b'{"a":[1,[2]]}\n', b'{"a":{"b":{}}}\n', b'{"":1}\n', b'{"a":1,"a.b":{"b":2}}\n'),
        )
    )
    | st.binary(max_size=20),
    max_size=40,
).map(b"".join)


def settle(data: dict[str, Any]) -> None:
    """The data is read, or refused in words."""
    with contextlib.suppress(UserError):
        assert survey_of(data).rows > 0
        types_of(data)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "avro", "tfrecord", "arrow"])
@pytest.mark.parametrize("on_bad_row", ["error", "skip"])
@given(soup=_SOUP)
@_QUICK
def test_no_bytes_make_a_reader_crash(kind, on_bad_row, soup):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "soup"
        path.write_bytes(soup)
        settle({"source": str(path), "format": kind, "on_bad_row": on_bad_row})


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "avro"])
@given(table=tables(), at=st.floats(0, 1), byte=st.integers(0, 255), cut=st.booleans())
@_QUICK
def test_no_damage_makes_a_reader_crash(kind, table, at, byte, cut):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"rows.{kind}"
        WRITERS[kind](path, *table)
        content = bytearray(path.read_bytes())
        place = min(math.floor(at * len(content)), len(content) - 1)
        content[place] = byte
        path.write_bytes(content[:place] if cut else content)
        settle({"source": str(path), "on_bad_row": "skip"})


_LINES = st.sampled_from(["1,2", "1", '"a\nb",2', '"a\r\nb",x', "1,2,3", "", '5" pipe,1', "\u00e9,2"])


@given(lines=st.lists(_LINES, min_size=1, max_size=40))
@_QUICK
def test_rows_have_the_lines_that_they_stand_in(lines):
    """Every row that is skipped is found at the line where it begins."""
    bad, line = [], 2
    for each in lines:
        if each in ("1", "1,2,3"):
            bad.append(line)
        line += each.count("\n") + 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_bytes(("a,b\n" + "\n".join(lines) + "\n").encode())
        reader = make_reader(DataConfig(source=str(path), on_bad_row="skip"), "csv")
        (piece,) = reader.pieces([InputFile(str(path))])
        skipped = [each.row for block in reader.blocks(piece) for each in block.skipped]
        assert reader.places(piece, skipped) == [f"{path}:{number}" for number in bad]
