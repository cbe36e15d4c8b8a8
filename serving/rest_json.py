"""TensorFlow Serving's REST predict request: JSON to arrays, with its error texts.

Row format: `{"signature_name": ..., "instances": [...]}`. Column format: `{"inputs": ...}`. Bytes travel
as `{"b64": ...}`. The answers are written by `serving.rest_answer`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from serving.json_text import json_text, parse_json
from serving.rest_values import is_bytes_object, to_array
from serving.signature import Signature, TensorInfo
from serving.status import StatusError, invalid

_MAX_RANK = 30  # numpy's older limit is 32


@dataclass(frozen=True)
class PredictRequest:
    """A request understood: which signature, with which arrays, and how to write the answer."""

    signature: str
    inputs: dict[str, np.ndarray]
    row_format: bool


def parse_predict(body: bytes, find_signature: Callable[[str], Signature]) -> PredictRequest:
    """Reads a predict request.

    Args:
      body: the request's body.
      find_signature: gives the signature of a name ("" is the default one), or raises StatusError. It is
        asked after the JSON was read, as TensorFlow Serving does: broken JSON for an unknown model is a 400.
    """
    document = parse_json(body)
    name = signature_name(document)
    signature = find_signature(name)
    if not signature.inputs:
        raise invalid(f"Failed to get input map for signature: {name or 'DEFAULT'}")
    if "instances" in document and "inputs" in document:
        raise invalid(
            f"JSON Value: {json_text(document)} Not formatted correctly expecting only one of 'inputs' or "
            "'instances' keys to exist "
        )
    if "instances" in document:
        return PredictRequest(signature.name, _read_rows(document, signature.inputs), row_format=True)
    if "inputs" in document:
        return PredictRequest(signature.name, _read_columns(document["inputs"], signature.inputs), False)
    raise invalid("Missing 'inputs' or 'instances' key")


def signature_name(document: dict[str, Any]) -> str:
    """The signature that a request names; "" for the default one."""
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid(
            f"JSON Value: {json_text(document)} not formatted correctly. "
            "'signature_name' key must be a string value."
        )
    return name


def _read_columns(value: Any, inputs: dict[str, TensorInfo]) -> dict[str, np.ndarray]:
    if not isinstance(value, dict) or is_bytes_object(value):
        if len(inputs) > 1:
            raise invalid(
                "inputs is a plain value/list, but expecting an object as multiple input tensors required "
                "as per tensorinfo_map"
            )
        return {name: to_tensor(value, info) for name, info in inputs.items()}
    for name in inputs:
        if name not in value:
            raise invalid(f"Missing named input: {name} in 'inputs' object.")
    return {name: to_tensor(value[name], info) for name, info in inputs.items()}


def _read_rows(document: dict[str, Any], inputs: dict[str, TensorInfo]) -> dict[str, np.ndarray]:
    rows = document["instances"]
    if not isinstance(rows, list):
        raise invalid(f"JSON Value: {json_text(document)} Excepting 'instances' to be an list/array")
    if not rows:
        raise invalid(f"JSON Value: {json_text(document)} No values in 'instances' array")
    if _is_named(rows[0]):
        _check_named_rows(rows, inputs)
        return {name: _stack([row[name] for row in rows], info, name) for name, info in inputs.items()}
    if len(inputs) > 1:
        raise invalid(
            "instances is a plain list, but expecting list of objects as multiple input tensors required "
            "as per tensorinfo_map"
        )
    for index, row in enumerate(rows):
        if _is_named(row):
            raise invalid(f"Expecting value/list but got object at item {index} of input list")
    return {name: _stack(rows, info) for name, info in inputs.items()}


def _is_named(row: Any) -> bool:
    return isinstance(row, dict) and not is_bytes_object(row)


def _check_named_rows(rows: list[Any], inputs: dict[str, TensorInfo]) -> None:
    names = inputs.keys()
    for index, row in enumerate(rows):
        if not _is_named(row):
            raise invalid(f"Expecting object but got list at item {index} of input list")
        if row.keys() == names:
            continue
        for key in row:
            if key not in names:
                unknown = invalid(f"JSON object: does not have named input: {key}")
                raise _element_error(index, key, unknown)
        raise invalid(
            f"Failed to process element: {index} of 'instances' list. JSON object: {json_text(row)} "
            f"must only have keys: {','.join(sorted(names))}"
        )


def _stack(items: list[Any], info: TensorInfo, key: str = "") -> np.ndarray:
    """One tensor of all rows' values; on failure goes row by row to say which row is wrong."""
    try:
        return _fill(items, (len(items), *_shape(items[0])), info)
    except StatusError:
        shape = _shape(items[0])
        for index, item in enumerate(items):
            try:
                _fill(item, _shape(item), info)
                if _shape(item) != shape:
                    raise _shape_mismatch(shape, _shape(item)) from None
            except StatusError as error:
                raise _element_error(index, key, error) from None
        raise


def _shape_mismatch(wanted: tuple[int, ...], got: tuple[int, ...]) -> StatusError:
    if np.prod(wanted) != np.prod(got):
        return invalid(f"Expecting tensor size: {int(np.prod(wanted))} but got: {int(np.prod(got))}")
    return invalid(f"Expecting shape {_dims(wanted)} but got: {_dims(got)}")


def _element_error(index: int, key: str, error: StatusError) -> StatusError:
    named = f" key: {key}" if key else ""
    return StatusError(
        error.code,
        f"Failed to process element: {index}{named} of 'instances' list. "
        f"Error: {error.code.name}: {error.message}",
    )


def to_tensor(value: Any, info: TensorInfo) -> np.ndarray:
    """A nested list, or one value, as a tensor of the input's type; refused in TensorFlow Serving's words."""
    if type(value) is list and list not in set(map(type, value)):
        return to_array(value, info)  # the usual case: one value a row
    return _fill(value, _shape(value), info)


def _shape(value: Any) -> tuple[int, ...]:
    """The shape that a nested list has if it is regular: the lengths down its first elements."""
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        if len(shape) > _MAX_RANK:
            raise invalid(f"Encountered list nested deeper than {_MAX_RANK} levels")
        if not value:
            break
        value = value[0]
    return tuple(shape)


def _fill(value: Any, shape: tuple[int, ...], info: TensorInfo) -> np.ndarray:
    """The array of a nested list that must have this shape."""
    rank = len(shape)
    items = [value]
    for level, size in enumerate(shape):
        for item in items:
            if not isinstance(item, list):
                raise invalid(
                    f"JSON Value: {json_text(item)} found at incorrect level: {level + 1} in the JSON DOM. "
                    f"Expected at level: {rank}"
                )
            if len(item) != size:
                raise invalid(
                    f"Encountered list at unexpected size: {len(item)} at level: {level} "
                    f"expected size: {size}"
                )
        items = [inner for item in items for inner in item]
    if any(isinstance(item, list) for item in items):
        raise invalid(f"Encountered list at unexpected level: {rank} expected < {rank}")
    return to_array(items, info).reshape(shape)


def _dims(shape: tuple[int, ...]) -> str:
    return "[" + ",".join(str(size) for size in shape) + "]"
