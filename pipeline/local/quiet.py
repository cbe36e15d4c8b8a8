"""Keep what libraries print off the terminal."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def stderr_to(log: Path) -> Iterator[None]:
    """Sends stderr to the end of a file: the descriptor, which C++ libraries write to past sys.stderr."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with open(log, "ab") as stream:
        os.dup2(stream.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(terminal, 2)
        os.close(terminal)
