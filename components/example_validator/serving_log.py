"""Statistics of requests that a server has logged.

The log is a TFRecord file (.gz: compressed) of PredictionLog, as TensorFlow Serving and its warm-up files
have it, or of tf.Example.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow_data_validation import StatsOptions
from tensorflow_data_validation.statistics import stats_impl
from tensorflow_serving.apis import prediction_log_pb2
from tfx_bsl.coders import example_coder

from components.errors import UserError
from components.served_names import input_names
from components.statistics_gen.batches import empty_as_null
from components.statistics_gen.files import QUANTILES

# More requests than that tell nothing new of how they are distributed.
_MOST_ROWS = 200_000
_EXAMPLES = "examples"
# What stands for a missing value in serving_raw; so does NaN.
_MISSING = ("", b"", -(2**63))


def statistics_of(path: str, types: dict[str, str]) -> Any:
    """TFDV's statistics of the rows in the log.

    Args:
      path: the file.
      types: column to its type.

    Raises:
      UserError: the file holds no requests.
    """
    names = {input_names([column])[column]: column for column in types}
    compression = "GZIP" if path.endswith(".gz") else ""
    records = tf.data.TFRecordDataset(path, compression_type=compression).as_numpy_iterator()
    try:
        rows = list(
            itertools.islice((row for record in records for row in _rows(record, names, types)), _MOST_ROWS)
        )
    except (tf.errors.DataLossError, ValueError) as error:
        raise _unreadable(path, str(error).split("\n")[0]) from None
    if not rows:
        raise _unreadable(path, "it holds no requests")
    batch = empty_as_null(example_coder.ExamplesToRecordBatchDecoder().DecodeBatch(rows))
    options = StatsOptions(num_quantiles_histogram_buckets=QUANTILES)
    return stats_impl.generate_statistics_in_memory(batch, options).datasets[0]


def _unreadable(path: str, why: str) -> UserError:
    return UserError(
        f"{path} cannot be read as logged requests: {why}",
        where="validate.serving_log",
        fix="expected a TFRecord file of PredictionLog or tf.Example",
    )


def _rows(record: bytes, names: dict[str, str], types: dict[str, str]) -> Iterator[bytes]:
    """The serialized examples of one record."""
    log = prediction_log_pb2.PredictionLog()
    try:
        log.ParseFromString(record)
        kind = log.WhichOneof("log_type")
    except Exception as error:  # the stacks' protobufs raise different ones
        raise ValueError(str(error)) from None
    if kind is None:
        yield record
    elif kind == "predict_log":
        yield from _predicted(log.predict_log.request.inputs, names, types)
    elif kind in ("classify_log", "regress_log"):
        given = getattr(log, kind).request.input
        for example in (*given.example_list.examples, *given.example_list_with_context.examples):
            yield example.SerializeToString()


def _predicted(inputs: Any, names: dict[str, str], types: dict[str, str]) -> Iterator[bytes]:
    tensors = {name: tf.make_ndarray(tensor) for name, tensor in inputs.items()}
    if set(tensors) == {_EXAMPLES} and tensors[_EXAMPLES].dtype == object:
        yield from tensors[_EXAMPLES].ravel().tolist()
        return
    columns = {names[name]: values for name, values in tensors.items() if name in names}
    for row in range(max((len(values) for values in columns.values()), default=0)):
        example = tf.train.Example()
        for column, values in columns.items():
            _put(example.features.feature[column], np.ravel(values[row]).tolist(), types[column])
        yield example.SerializeToString()


def _put(feature: Any, values: Sequence[Any], kind: str) -> None:
    values = [value for value in values if value not in _MISSING and value == value]
    if kind == "float":
        feature.float_list.value.extend(map(float, values))
    elif kind in ("integer", "boolean"):
        feature.int64_list.value.extend(map(int, values))
    else:
        feature.bytes_list.value.extend(
            value if isinstance(value, bytes) else str(value).encode() for value in values
        )
