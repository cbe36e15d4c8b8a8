"""Arrays to the JSON that TensorFlow Serving's REST API answers."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from serving.status import StatusError, invalid

_BYTES_SUFFIX = "_bytes"  # an output of this name holds bytes, not text


def write_predictions(outputs: Mapping[str, np.ndarray], row_format: bool) -> bytes:
    """The body of a predict answer.

    One output gives its bare values, several give an object (column format) or an object a row (row
    format). Strings are text when they are UTF-8, else `{"b64": ...}`, as are outputs named `*_bytes`.
    NaN and Infinity are written as these words, which JSON does not know and TensorFlow Serving writes.
    """
    if not outputs:
        raise invalid("Cannot convert empty tensor map to JSON")
    if row_format:
        _check_batch(outputs)
    outputs = {name: _writable(outputs[name]) for name in sorted(outputs)}
    finite = all(np.isfinite(array).all() for array in outputs.values() if array.dtype.kind == "f")
    plain = {name: _plain(array, name, keep=finite) for name, array in outputs.items()}
    content: Any = next(iter(plain.values())) if len(plain) == 1 else plain
    if row_format and len(plain) > 1:
        content = [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]
    answer = {"predictions" if row_format else "outputs": content}
    if finite:
        return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
    return json.dumps(answer, ensure_ascii=False).encode()


def to_lists(array: np.ndarray) -> Any:
    """An output as nested lists of what JSON holds; float32 without noise digits: 0.2, not 0.20000000298."""
    return _plain(_writable(array), "", keep=False)


def write_error(error: StatusError) -> bytes:
    """The body of an error answer."""
    return json.dumps({"error": error.message}).encode()


def _check_batch(outputs: Mapping[str, np.ndarray]) -> None:
    batch = 0
    for name, array in outputs.items():
        if array.ndim == 0:
            raise invalid(f"Tensor name: {name} has no shape information ")
        if len(array) < 1:
            raise invalid(f"Tensor name: {name} has invalid batch size: {len(array)}")
        if batch not in (0, len(array)):
            raise invalid(f"Tensor name: {name} has inconsistent batch size: {len(array)} expecting: {batch}")
        batch = len(array)


def _writable(array: np.ndarray) -> np.ndarray:
    """The array in a type that JSON can carry."""
    dtype = array.dtype
    if dtype.itemsize == 2 and dtype.name in ("float16", "bfloat16"):  # a name is slow to have
        return array.astype(np.float32)
    if dtype.kind not in "biufO":
        raise invalid(f"Failed to write JSON value for tensor type: {dtype.name}")
    return np.ascontiguousarray(array) if array.ndim else array


def _plain(array: np.ndarray, name: str, keep: bool) -> Any:
    """What the JSON writer takes: lists for strings; for numbers the array itself, or lists if not `keep`."""
    if array.dtype.kind == "O":
        as_bytes = name.endswith(_BYTES_SUFFIX)
        return _nested(array.tolist(), as_bytes)
    if keep:
        return array if array.ndim else array[()]
    if array.dtype == np.float32:
        array = array.astype(np.str_).astype(np.float64)
    return array.tolist()


def _nested(value: Any, as_bytes: bool) -> Any:
    if isinstance(value, list):
        return [_nested(item, as_bytes) for item in value]
    return _text(value, as_bytes)


def _text(value: bytes, as_bytes: bool) -> Any:
    if not as_bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            pass
    return {"b64": base64.b64encode(value).decode()}
