"""Requests that were served, held against train."""

from __future__ import annotations

from typing import Any

import pytest
from checked_tables import LABEL, Tables, some_rows

from components.errors import UserError
from components.example_validator.distribution import features, numbers, strings
from components.example_validator.serving_log import statistics_of

pytestmark = pytest.mark.slow

TYPES = {"fare": "float", "miles": "float", "payment": "text", "hour": "integer", "flag": "boolean"}


def examples(rows: list[dict[str, str]]) -> list[Any]:
    import tensorflow as tf

    made = []
    for row in rows:
        example = tf.train.Example()
        feature = example.features.feature
        for name in ("fare", "miles"):
            if row[name]:
                feature[name].float_list.value.append(float(row[name]))
        feature["payment"].bytes_list.value.append(row["payment"].encode())
        feature["hour"].int64_list.value.append(int(row["hour"]))
        feature["flag"].int64_list.value.append(row["flag"] == "yes")
        made.append(example)
    return made


def write(path: Any, records: list[bytes]) -> str:
    import tensorflow as tf

    compression = "GZIP" if path.suffix == ".gz" else ""
    with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions(compression_type=compression)) as writer:
        for record in records:
            writer.write(record)
    return str(path)


def as_examples(rows):
    return [example.SerializeToString() for example in examples(rows)]


def as_predict_logs(rows):
    """Requests of serving_default, ten examples each."""
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    serialized = as_examples(rows)
    logs = []
    for start in range(0, len(serialized), 10):
        log = prediction_log_pb2.PredictionLog()
        tensor = tf.make_tensor_proto(serialized[start : start + 10])
        log.predict_log.request.inputs["examples"].CopyFrom(tensor)
        logs.append(log.SerializeToString())
    return logs


def as_raw_logs(rows):
    """Requests of serving_raw, in which what is missing has a value that says so."""
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    log = prediction_log_pb2.PredictionLog()
    inputs = log.predict_log.request.inputs
    for name in ("fare", "miles"):
        values = [float(row[name] or "nan") for row in rows]
        inputs[name].CopyFrom(tf.make_tensor_proto(values, tf.float32))
    inputs["payment"].CopyFrom(tf.make_tensor_proto([row["payment"].encode() for row in rows]))
    inputs["hour"].CopyFrom(tf.make_tensor_proto([int(row["hour"]) for row in rows], tf.int64))
    inputs["flag"].CopyFrom(tf.make_tensor_proto([row["flag"] == "yes" for row in rows]))
    return [log.SerializeToString()]


def as_classify_logs(rows):
    from tensorflow_serving.apis import prediction_log_pb2

    log = prediction_log_pb2.PredictionLog()
    log.classify_log.request.input.example_list.examples.extend(examples(rows))
    return [log.SerializeToString()]


@pytest.mark.parametrize("records", [as_examples, as_predict_logs, as_raw_logs, as_classify_logs])
@pytest.mark.parametrize("name", ["log", "log.gz"])
def test_every_kind_of_log_is_read(tmp_path, records, name):
    rows = some_rows(200)
    dataset = statistics_of(write(tmp_path / name, records(rows)), TYPES)
    assert dataset.num_examples == 200
    seen = features(dataset)
    assert set(seen) == set(TYPES)
    assert numbers(seen["fare"]).mean == pytest.approx(
        sum(float(row["fare"]) for row in rows) / 200, rel=1e-4
    )
    missing = sum(not row["miles"] for row in rows)
    assert missing
    assert seen["miles"].num_stats.common_stats.num_missing == missing
    cash = sum(row["payment"] == "Cash" for row in rows)
    assert strings(seen["payment"]).share["Cash"] == pytest.approx(cash / 200)


@pytest.mark.parametrize("content", [b"", b"no records at all, whatever this is"])
def test_what_is_no_log_is_refused(tmp_path, content):
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"validate\.serving_log: .* cannot be read as logged requests"):
        statistics_of(str(path), TYPES)


def test_skew_is_said_and_stops_when_it_shall(tmp_path):
    tables = Tables(tmp_path / "tables")
    read = tables.read(some_rows())
    same = write(tmp_path / "same", as_predict_logs(some_rows(600, seed=5)))
    assert "no anomalies" in tables.check(read, serving_log=same).report
    cheap = [{**row, "fare": f"{float(row['fare']) / 100:.4f}"} for row in some_rows(600, seed=5)]
    other = write(tmp_path / "other", as_predict_logs(cheap))
    report = tables.check(read, serving_log=other).report
    assert "WARN  skew: column 'fare' (the serving log against train): Jensen-Shannon divergence" in report
    assert "as if multiplied by 0.01" in report
    assert LABEL not in report
    error = tables.check(read, serving_log=other, skew="fail").error
    assert "--set validate.skew=warn" in error.fix
