"""Plain HTTP calls for the tests: the code and the JSON of an answer."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def call(url: str, content: Any = None, method: str | None = None, headers: Any = None) -> tuple[int, Any]:
    """GETs, or POSTs `content` (bytes as they are, anything else as JSON)."""
    body = content if isinstance(content, bytes) or content is None else json.dumps(content).encode()
    request = urllib.request.Request(url, body, headers or {}, method=method)
    try:
        with _OPENER.open(request, timeout=20) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())
