"""Record batches hold what tfx_bsl's own decoder finds in the same examples."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tfx_bsl.coders import example_coder

from components.example_encoder import encode
from components.records import ShardWriter, read_batches
from components.statistics_gen.batches import read_at_once

_ROWS = 50
_TYPES = {"z": "integer", "b": "float", "words": "text", "one": "boolean", "never": "float", "raw": "bytes"}


@pytest.fixture(scope="module")
def records() -> list[bytes]:
    """Rows with none, one or several values of each kind."""
    some = range(_ROWS)
    columns = {
        "z": pa.array([[row, -row, 2**62][: row % 4] for row in some], pa.list_(pa.int64())),
        "b": pa.array([None if row % 3 else row / 7 for row in some], pa.float32()),
        "words": pa.array([["", "ä", "word"][: row % 3] for row in some], pa.list_(pa.string())),
        "one": pa.array([row % 2 for row in some], pa.int64()),
        "never": pa.nulls(_ROWS, pa.float32()),
        "raw": pa.array([bytes([row, 0, 255]) for row in some], pa.binary()),
    }
    return encode(pa.RecordBatch.from_pydict(columns))


@pytest.fixture(scope="module")
def path(records, tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("examples") / "data.gz")
    writer = ShardWriter(path)
    writer.write(records)
    writer.close()
    return path


def test_batches_are_those_of_tfx_bsl(records, path):
    batches = list(read_batches(path, dict(sorted(_TYPES.items())), 20))
    assert [batch.num_rows for batch in batches] == [20, 20, 10]
    decoder = example_coder.ExamplesToRecordBatchDecoder()
    for batch, start in zip(batches, (0, 20, 40)):
        assert batch.equals(decoder.DecodeBatch(records[start : start + 20]))


def test_only_the_columns_asked_for_and_those_that_no_row_has(path):
    (batch,) = read_batches(path, {"one": "integer", "new": "text"})
    assert batch.schema.names == ["one", "new"]
    assert batch.column(1).to_pylist() == [[]] * _ROWS
    assert batch.column(1).type == pa.large_list(pa.large_binary())


def test_to_statistics_an_empty_list_is_a_null(path):
    batch = read_at_once([path, path], _TYPES)
    assert batch.num_rows == 2 * _ROWS
    assert batch.column(batch.schema.get_field_index("never")).null_count == 2 * _ROWS
    assert batch.column(batch.schema.get_field_index("one")).null_count == 0
