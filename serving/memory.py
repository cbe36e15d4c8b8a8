"""Memory back to the system after a model is let go."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

_SWITCH_SECONDS = 1e-4
_GRADIENT = "CustomGradient-"  # of functions with gradients of their own


def release() -> None:
    """Collects the cycles that a loaded graph is, and gives the freed pages back."""
    gc.collect()
    if trim := _malloc_trim():
        trim(0)  # glibc keeps freed memory in its arenas otherwise


def settle() -> None:
    """Takes all that there is now, and stays, out of the collector's rounds."""
    gc.collect()
    gc.freeze()


@contextlib.contextmanager
def giving_way() -> Iterator[None]:
    """Lets requests go first while a model is loaded beside those that answer.

    Loading is Python for seconds. A request takes the interpreter from it several times, and would wait the
    usual 5 ms each time. Rounds of the collector stop everyone, and find little: what a load leaves behind is
    collected once, when the version before is let go.
    """
    interval, collects = sys.getswitchinterval(), gc.isenabled()
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.disable()
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        if collects:
            gc.enable()


def resident_bytes() -> int:
    """What this process holds in memory; 0 where that cannot be told."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * 4096
    except OSError:
        return 0


@contextlib.contextmanager
def no_gradients_kept() -> Iterator[None]:
    """Forgets the gradients that loading a SavedModel registers.

    TensorFlow keeps them for ever, and with each the graph of the version that it came from: a server would
    grow by every version that it ever served. Nobody asks a server for gradients.
    """
    from tensorflow.python.framework import ops

    registry = ops.gradient_registry._registry  # no public way leads there
    before = set(registry)
    try:
        yield
    finally:
        for name in [name for name in registry if name not in before and name.startswith(_GRADIENT)]:
            del registry[name]


@cache
def _malloc_trim() -> Any:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
