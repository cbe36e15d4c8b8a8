"""One run at a time in a home folder."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from components.errors import UserError
from pipeline.metadata.lock import LOCK_NAME, live_run

# Whoever looks whether a run is going on holds a shared lock for an instant.
_TRIES, _PAUSE = 10, 0.05


@contextlib.contextmanager
def run_lock(home: Path, run_id: str) -> Iterator[None]:
    """Holds the lock of `home` for the run, and says which run it is.

    Raises:
      UserError: when another run holds it.
    """
    path = home / LOCK_NAME
    with open(path, "a+", encoding="utf-8") as file:
        for attempt in range(_TRIES):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if attempt + 1 == _TRIES:
                    raise UserError(
                        f"another run is going on here: {live_run(home) or 'just started'}",
                        where=str(path),
                        fix="wait for it to end, or give this one a folder of its own with --home",
                    ) from None
                time.sleep(_PAUSE)
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "run_id": run_id}))
        file.flush()
        yield
