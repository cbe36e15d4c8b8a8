"""Real rows as clients send them: plain JSON, tf.Examples in JSON, and tensors."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from components.infra_validator.exported import Exported

_REQUEST_BYTES = 4 << 20  # of rows in one request, so that pictures stay below every server's limit


@dataclass(frozen=True)
class Rows:
    """Rows in both forms.

    Attributes:
      serialized: tf.Examples.
      raw: one array [n], of lists [n, most], an input of serving_raw, its marker where a value is missing.
      plain: the indexes of rows that serving_raw can be told: those with no more than one value where it
        takes one, and no value in a list that stands for a missing one.
    """

    serialized: list[bytes]
    raw: dict[str, np.ndarray] = field(repr=False)
    plain: list[int]

    def instances(self, indexes: Sequence[int]) -> list[dict[str, Any]]:
        """Rows as the REST API takes them."""
        return [{name: _json(values[index]) for name, values in self.raw.items()} for index in indexes]

    def chunks(self, indexes: Sequence[int]) -> Iterator[list[int]]:
        """The indexes in parts that fit into a request."""
        part: list[int] = []
        size = 0
        for index in indexes:
            length = len(self.serialized[index])
            if part and size + length > _REQUEST_BYTES:
                yield part
                part, size = [], 0
            part.append(index)
            size += length
        if part:
            yield part


def read_rows(serialized: Sequence[bytes], model: Exported) -> Rows:
    """Takes the columns of the model out of serialized tf.Examples."""
    import tensorflow as tf

    types = model.raw_types
    parsed = tf.io.parse_example(
        tf.constant(list(serialized), tf.string),
        {column: tf.io.VarLenFeature(types[name]) for column, name in model.inputs.items()},
    )
    raw, untold = {}, np.zeros(len(serialized), bool)
    for column, name in model.inputs.items():
        found, marker = parsed[column], missing(types[name])
        rows, places = found.indices.numpy().T.reshape(2, -1)
        given = found.values.numpy()
        values = np.full((len(serialized), max(1, *found.shape[1:])), marker, types[name].as_numpy_dtype)
        values[rows, places] = given
        if name in model.lists:
            untold[rows[(given == marker) | (given != given)]] = True
        else:
            untold[rows[places > 0]] = True
            values = values[:, 0]
        raw[name] = values
    return Rows(list(serialized), raw, np.flatnonzero(~untold).tolist())


def missing(dtype: Any) -> Any:
    """What stands for a missing value in an input of serving_raw."""
    return {"string": b"", "int64": np.iinfo(np.int64).min}.get(dtype.name, float("nan"))


def without(serialized: bytes, column: str) -> bytes:
    """The tf.Example without a column."""
    import tensorflow as tf

    example = tf.train.Example.FromString(serialized)
    example.features.feature.pop(column, None)
    return bytes(example.SerializeToString())


def b64(serialized: bytes) -> dict[str, str]:
    """Bytes as the REST API takes them."""
    return {"b64": base64.b64encode(serialized).decode()}


def _json(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_json(one) for one in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return b64(value)
    return value.item()
