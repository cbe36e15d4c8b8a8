"""JSON as TensorFlow Serving reads and quotes it: NaN and Infinity are values, errors name an offset."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import orjson

from serving.status import StatusError, invalid

_QUOTED = 300  # characters of a JSON value in a message

# How Python's parser begins its messages, and what TensorFlow Serving's says there.
_PARSE_ERRORS = {
    "Extra data": "The document root must not be followed by other values.",
    "Expecting property name": "Missing a name for object member.",
    "Illegal trailing comma before end of object": "Missing a name for object member.",
    "Expecting ':'": "Missing a colon after a name of object member.",
    "Expecting ','": "Missing a comma or closing bracket after a value.",
    "Unterminated string": "Missing a closing quotation mark in string.",
    "Invalid control character": "Invalid encoding in string.",
    "Invalid \\escape": "Invalid escape character in string.",
    "Invalid \\uXXXX escape": "Incorrect hex digit after \\u escape in string.",
}
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(body: bytes) -> dict[str, Any]:
    """The JSON object in a request's body, or TensorFlow Serving's 400."""
    if not body:
        raise invalid("JSON Parse error: The document is empty")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = _parse_slowly(body)
    if not isinstance(document, dict):
        raise invalid(f"JSON Value: {json_text(document)} Is not object")
    return document


def json_text(value: Any) -> str:
    """A JSON value as a message quotes it: indented by four, cut when long."""
    text = ""
    for chunk in json.JSONEncoder(indent=4, ensure_ascii=False).iterencode(value):
        text += chunk
        if len(text) > _QUOTED:
            return text[:_QUOTED] + "…"
    return text


def _parse_slowly(body: bytes) -> Any:
    """For what the fast parser refuses: NaN and Infinity; and to say where the JSON is broken."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _parse_error("Invalid encoding in string.", error.start) from error
    if not text.strip():
        raise _parse_error("The document is empty.", len(body))
    try:
        document = json.loads(text, parse_int=_parse_int, parse_float=_parse_float)
        if _SURROGATE.search(text):
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        known = (ours for theirs, ours in _PARSE_ERRORS.items() if error.msg.startswith(theirs))
        offset = len(text[: error.pos].encode("utf-8", "replace"))
        raise _parse_error(next(known, "Invalid value."), offset) from error
    except UnicodeEncodeError as error:
        raise _parse_error("The surrogate pair in string is invalid.", 0) from error
    except RecursionError as error:
        raise invalid("JSON Parse error: The document is nested too deeply.") from error
    return document


def _parse_int(digits: str) -> int | float:
    if len(digits) <= 20 and -(2**63) <= int(digits) < 2**64:
        return int(digits)
    return _parse_float(digits)


def _parse_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise invalid("JSON Parse error: Number too big to be stored in double.")
    return number


def _parse_error(what: str, offset: int) -> StatusError:
    return invalid(f"JSON Parse error: {what} at offset: {offset}")
