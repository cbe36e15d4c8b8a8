"""Serialized examples are what TensorFlow and tfx_bsl take them for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.example_encoder import encode

_VALUES = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 127, 128, 16383, 16384, -1]),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.string(): st.text(max_size=200),
    pa.binary(): st.binary(max_size=300),
    pa.large_binary(): st.binary(max_size=300),
}


@st.composite
def batches(draw) -> pa.RecordBatch:
    rows = draw(st.integers(0, 20))
    names = draw(st.lists(st.text(min_size=1, max_size=150), min_size=1, max_size=5, unique=True))
    columns = []
    for _ in names:
        kind = draw(st.sampled_from(list(_VALUES)))
        value = _VALUES[kind]
        if draw(st.booleans()):
            values = st.lists(value, max_size=5)
            kind = draw(st.sampled_from([pa.list_, pa.large_list]))(kind)
        else:
            values = st.none() | value
        columns.append(pa.array(draw(st.lists(values, min_size=rows, max_size=rows)), kind))
    return pa.RecordBatch.from_arrays(columns, names)


def expected(column: pa.Array, row: int) -> tuple[str, list]:
    kind = getattr(column.type, "value_type", column.type)
    field = {pa.int64(): "int64_list", pa.float32(): "float_list"}.get(kind, "bytes_list")
    value = column[row].as_py()
    values = value if isinstance(value, list) else [] if value is None else [value]
    return field, [each.encode() if isinstance(each, str) else each for each in values]


@given(batch=batches(), start=st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_tensorflow_reads_what_was_encoded(batch, start):
    import tensorflow as tf

    batch = batch.slice(start)
    records = encode(batch)
    assert len(records) == batch.num_rows
    for row, record in enumerate(records):
        features = tf.train.Example.FromString(record).features.feature
        assert set(features) == set(batch.schema.names)
        for name, column in zip(batch.schema.names, batch.columns):
            field, values = expected(column, row)
            assert features[name].WhichOneof("kind") == field
            assert list(getattr(features[name], field).value) == values


def test_tfx_bsl_decodes_it_to_the_same_as_its_own():
    from tfx_bsl.coders import example_coder

    rows = 5_000
    random = np.random.default_rng(0)
    gone = random.random(rows) < 0.2
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array(random.integers(-(2**62), 2**62, rows), mask=gone),
            pa.array(random.integers(0, 300, rows)),
            pa.array(random.random(rows).astype(np.float32), mask=gone),
            pa.array([None if g else f"text {i % 7}" for i, g in enumerate(gone)]),
        ],
        ["a", "b", "c", "d"],
    )
    lists = pa.RecordBatch.from_arrays(
        [
            pa.array(
                [[] if each is None else [each] for each in column.to_pylist()],
                pa.list_(pa.binary() if pa.types.is_string(column.type) else column.type),
            )
            for column in batch.columns
        ],
        batch.schema.names,
    )
    decoder = example_coder.ExamplesToRecordBatchDecoder()
    theirs = decoder.DecodeBatch(list(example_coder.RecordBatchToExamplesEncoder().encode(lists)))
    ours = decoder.DecodeBatch(encode(batch))
    for name in batch.schema.names:
        found = ours.column(ours.schema.get_field_index(name))
        assert found.equals(theirs.column(theirs.schema.get_field_index(name))), name


@pytest.mark.parametrize("kind", [pa.int64(), pa.float32(), pa.string(), pa.binary()])
def test_a_column_without_any_value(kind):
    import tensorflow as tf

    records = encode(pa.RecordBatch.from_arrays([pa.nulls(3, kind)], ["x"]))
    assert len({bytes(record) for record in records}) == 1
    assert len(tf.train.Example.FromString(records[0]).features.feature) == 1


def test_the_same_rows_give_the_same_bytes():
    batch = pa.RecordBatch.from_pydict({"b": [1, 2], "a": ["x", None]})
    assert encode(batch) == encode(batch)
