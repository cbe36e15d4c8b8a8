"""Processes that do not outlive those who started them."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys

_PR_SET_PDEATHSIG = 1


def end_with_parent(starter: int) -> None:
    """From now on the kernel kills this process when its parent dies; on Linux only.

    Args:
      starter: id of the process that this one must not outlive: the parent, or one with which the
        parent ends. It may have died before the kernel was told.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        os.kill(starter, 0)
    except ProcessLookupError:
        os._exit(1)


def end(process: subprocess.Popen[str], seconds: float) -> None:
    """Ends a process that ends when its stdin does; by force after so many seconds."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
