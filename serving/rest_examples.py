"""TensorFlow Serving's REST classify and regress requests: JSON objects to tf.Examples, results to JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from serving.json_text import json_text, parse_json
from serving.rest_json import signature_name
from serving.rest_values import JSON_TYPES, decode_base64, is_bytes_object, to_array
from serving.signature import TensorInfo
from serving.status import invalid

_FLOAT = TensorInfo("", "DT_FLOAT", None)


def parse_examples(body: bytes, request: Any) -> None:
    """Fills a ClassificationRequest or RegressionRequest message from a request's body."""
    document = parse_json(body)
    request.model_spec.signature_name = signature_name(document)
    target = request.input.example_list
    if "context" in document:
        target = request.input.example_list_with_context
        _fill(document["context"], target.context)
    if "examples" not in document:
        raise invalid(
            f"JSON Value: {json_text(document)} When method is classify, key 'examples' is expected and was "
            "not found"
        )
    examples = document["examples"]
    if not isinstance(examples, list):
        raise invalid(f"JSON Value: {json_text(document)} Expecting 'examples' value to be an list/array")
    if not examples:
        raise invalid(f"JSON Value: {json_text(document)} 'examples' value is an empty array")
    for example in examples:
        _fill(example, target.examples.add())


def write_result(kind: str, result: Any) -> bytes:
    """The body of the answer: a list of [label, score] an example, or a number an example."""
    rows: list[Any]
    if kind == "classify":
        rows = [[[one.label, _number(one.score)] for one in row.classes] for row in result.classifications]
    else:
        rows = [_number(row.value) for row in result.regressions]
    return json.dumps({"results": rows}, ensure_ascii=False).encode()


def _number(value: float) -> float:
    """A float32 without noise digits: 0.2, not 0.20000000298."""
    return float(str(np.float32(value)))


def _fill(value: Any, example: Any) -> None:
    if not isinstance(value, dict):
        raise invalid(f"Example must be JSON object but got JSON {_kind(value)}")
    for name, content in value.items():
        feature = example.features.feature[name]
        for item in content if isinstance(content, list) else [content]:
            _add(item, name, feature)


def _add(value: Any, name: str, feature: Any) -> None:
    if isinstance(value, bool):
        _of_kind(feature, "int64_list", name).value.append(int(value))
    elif isinstance(value, str):
        _of_kind(feature, "bytes_list", name).value.append(value.encode())
    elif is_bytes_object(value):
        _of_kind(feature, "bytes_list", name).value.append(decode_base64(value))
    elif isinstance(value, float):
        _of_kind(feature, "float_list", name).value.append(float(to_array([value], _FLOAT)[0]))
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise invalid(f"Feature: {name} has uint64 element. Only int64 is supported.")
        _of_kind(feature, "int64_list", name).value.append(value)
    else:
        raise invalid(f"Feature: {name} has element with unexpected JSON type: {_kind(value)}")


def _of_kind(feature: Any, kind: str, name: str) -> Any:
    present = feature.WhichOneof("kind")
    if present not in (None, kind):
        expecting = {"bytes_list": "bytes", "float_list": "float", "int64_list": "int64"}[present]
        raise invalid(f"Unexpected element type in feature: {name} expecting type: {expecting}")
    return getattr(feature, kind)


def _kind(value: Any) -> str:
    return str(value) if isinstance(value, bool) else JSON_TYPES[type(value)]
