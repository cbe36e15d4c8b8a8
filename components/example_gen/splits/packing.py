"""Arrays of numbers as text, for results that travel as JSON."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np


def packed(values: np.ndarray) -> str:
    """The bytes of an array, compressed."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(values).tobytes(), 1)).decode()


def unpacked(text: str, kind: Any) -> np.ndarray:
    """The array again, of numbers of that kind."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), kind)
