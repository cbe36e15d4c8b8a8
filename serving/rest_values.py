"""JSON values to a flat array of one TensorFlow type, refused in TensorFlow Serving's words."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np

from serving.json_text import json_text
from serving.signature import TensorInfo
from serving.status import Code, StatusError, invalid

JSON_TYPES = {
    type(None): "Null",
    dict: "Object",
    list: "Array",
    str: "String",
    int: "Number",
    float: "Number",
}


def is_bytes_object(value: Any) -> bool:
    """Whether this is `{"b64": "..."}`."""
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("b64"), str)


def to_array(values: list[Any], info: TensorInfo) -> np.ndarray:
    """A rank-1 array of the values (no lists among them) in the input's type."""
    dtype = info.numpy_dtype
    if dtype is None:
        if values:
            raise StatusError(
                Code.UNIMPLEMENTED,
                f"Conversion of JSON Value: {json_text(values[0])} to type: {info.short_dtype}",
            )
        return np.empty(0)
    if dtype is np.object_:
        return _strings(values, info)
    types = set(map(type, values))
    if np.issubdtype(dtype, np.floating):
        return _floats(values, types, info)
    if dtype is np.bool_:
        if types - {bool}:
            raise _type_error(next(value for value in values if type(value) is not bool), info)
        return np.array(values, dtype)
    return _integers(values, types, info)


def _strings(values: list[Any], info: TensorInfo) -> np.ndarray:
    array = np.empty(len(values), np.object_)
    for index, value in enumerate(values):
        if isinstance(value, str):
            array[index] = value.encode()
        elif isinstance(value, dict):
            array[index] = decode_base64(value)
        else:
            raise _type_error(value, info)
    return array


def decode_base64(value: dict[str, Any]) -> bytes:
    """The bytes of `{"b64": "..."}`."""
    if not is_bytes_object(value):
        raise invalid(f"JSON Value: {json_text(value)} not formatted correctly for base64 data")
    text = "".join(value["b64"].split()).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid("Unable to base64 decode") from error


def _floats(values: list[Any], types: set[type], info: TensorInfo) -> np.ndarray:
    if types - {int, float}:
        raise _type_error(next(value for value in values if type(value) not in (int, float)), info)
    limits = np.finfo(info.numpy_dtype)
    if int in types:
        exact = 2 ** (limits.nmant + 1) - 1  # integers beyond it have no exact float
        for value in values:
            if type(value) is int and abs(value) > exact:
                raise _lossy_error(value, info)
    wide = np.array(values, np.float64)
    too_big = np.isfinite(wide) & (np.abs(wide) > float(limits.max))
    if too_big.any():
        raise _lossy_error(values[int(np.argmax(too_big))], info)
    return wide.astype(info.numpy_dtype)


def _integers(values: list[Any], types: set[type], info: TensorInfo) -> np.ndarray:
    limits = np.iinfo(info.numpy_dtype)
    if not types - {int} and (not values or (min(values) >= limits.min and max(values) <= limits.max)):
        return np.array(values, info.numpy_dtype)
    raise _type_error(
        next(value for value in values if type(value) is not int or not limits.min <= value <= limits.max),
        info,
    )


def _type_error(value: Any, info: TensorInfo) -> StatusError:
    kind = str(value) if isinstance(value, bool) else JSON_TYPES[type(value)]
    return invalid(f"JSON Value: {json_text(value)} Type: {kind} is not of expected type: {info.short_dtype}")


def _lossy_error(value: Any, info: TensorInfo) -> StatusError:
    return invalid(
        f"Cannot convert JSON value: {json_text(value)} to {info.short_dtype} without loss of precision."
    )
