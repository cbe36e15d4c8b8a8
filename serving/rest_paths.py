"""TensorFlow Serving's REST paths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from serving.spec import ModelSpec
from serving.status import Code, StatusError, invalid

_MODEL = r"(?i)/v1/models/([^/:]+)(?:/versions/(\d+)|/labels/([^/:]+))?:(classify|regress|predict)"
_DESCRIBE = r"(?i)/v1/models(?:/([^/:]+))?(?:/versions/(\d+)|/labels/([^/:]+))?(?:/(metadata))?"
_POST, _GET = re.compile(_MODEL), re.compile(_DESCRIBE)


@dataclass(frozen=True)
class Route:
    """What a request asks of which model: predict, classify, regress, metadata or status."""

    verb: str
    spec: ModelSpec


def parse_path(method: str, path: str) -> Route:
    """Reads a path (still percent-encoded), or raises TensorFlow Serving's error."""
    found = {"POST": _POST, "GET": _GET}.get(method, re.compile(r"(?!)")).fullmatch(path)
    if not found:
        if not path.lower().startswith("/v1/"):
            raise StatusError(Code.NOT_FOUND, f"Not found: {path}; the API is at /v1/models/NAME")
        raise invalid(f"Malformed request: {method} {path}")
    name, version, label, verb = found.groups()
    if not name:
        raise invalid("Missing model name in request.")
    spec = ModelSpec(unquote(name), _version(version), unquote(label or ""))
    return Route((verb or "status").lower(), spec)


def _version(digits: str | None) -> int | None:
    if digits is None:
        return None
    if len(digits) > 19 or int(digits) >= 2**63:
        raise invalid(f"Failed to convert version: {digits[:40]} to numeric.")
    return int(digits)
