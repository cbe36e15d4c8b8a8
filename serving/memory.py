"""Memory back to the system after a model is let go."""

from __future__ import annotations

import ctypes
import gc
import sys
from functools import cache
from typing import Any


def release() -> None:
    """Collects the cycles that a loaded graph is, and gives the freed pages back."""
    gc.collect()
    if trim := _malloc_trim():
        trim(0)  # glibc keeps freed memory in its arenas otherwise


def settle() -> None:
    """Takes all that there is now, and stays, out of the collector's rounds."""
    gc.collect()
    gc.freeze()


def resident_bytes() -> int:
    """What this process holds in memory; 0 where that cannot be told."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * 4096
    except OSError:
        return 0


@cache
def _malloc_trim() -> Any:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
