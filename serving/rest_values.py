"""JSON values to a flat array of one TensorFlow type, refused in TensorFlow Serving's words."""

from __future__ import annotations

import base64
import binascii
import functools
import math
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
_NUMBERS, _INTEGERS = {int, float}, {int}
_FEW = 16


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
    if issubclass(dtype, np.floating):
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


@functools.cache
def _float_limits(dtype: Any) -> tuple[float, int]:
    """The largest finite value, and the integer up to which all have an exact float."""
    limits = np.finfo(dtype)
    return float(limits.max), 2 ** (limits.nmant + 1) - 1


@functools.cache
def _integer_limits(dtype: Any) -> tuple[int, int]:
    """The least and the largest value."""
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def _floats(values: list[Any], types: set[type], info: TensorInfo) -> np.ndarray:
    if not types <= _NUMBERS:
        raise _type_error(next(value for value in values if type(value) not in _NUMBERS), info)
    most, exact = _float_limits(info.numpy_dtype)
    if int in types:
        for value in values:
            if type(value) is int and abs(value) > exact:
                raise _lossy_error(value, info)
    wide = np.array(values, np.float64)
    # Of few values, as in a request with one row, Python is faster than numpy.
    suspects = values if len(values) <= _FEW else wide[np.isfinite(wide) & (np.abs(wide) > most)].tolist()
    for value in suspects:
        if abs(value) > most and math.isfinite(value):
            raise _lossy_error(value, info)
    return wide.astype(info.numpy_dtype)


def _integers(values: list[Any], types: set[type], info: TensorInfo) -> np.ndarray:
    least, most = _integer_limits(info.numpy_dtype)
    if types <= _INTEGERS and (not values or (min(values) >= least and max(values) <= most)):
        return np.array(values, info.numpy_dtype)
    raise _type_error(
        next(value for value in values if type(value) is not int or not least <= value <= most), info
    )


def _type_error(value: Any, info: TensorInfo) -> StatusError:
    kind = str(value) if isinstance(value, bool) else JSON_TYPES[type(value)]
    return invalid(f"JSON Value: {json_text(value)} Type: {kind} is not of expected type: {info.short_dtype}")


def _lossy_error(value: Any, info: TensorInfo) -> StatusError:
    return invalid(
        f"Cannot convert JSON value: {json_text(value)} to {info.short_dtype} without loss of precision."
    )
