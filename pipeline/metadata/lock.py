"""Whether a run is going on: it holds a lock on a file for as long as its process lives."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

LOCK_NAME = "run.lock"


def live_run(home: Path) -> str | None:
    """The id of the run whose process holds the lock of `home`; None when there is none, or not yet.

    Looks with a shared lock, for an instant: who wants the lock for a run should try for a moment.
    """
    try:
        file = (home / LOCK_NAME).open(encoding="utf-8")
    except OSError:
        return None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _run_id(file.read())
        return None


def _run_id(text: str) -> str | None:
    try:
        return str(json.loads(text)["run_id"])
    except (ValueError, KeyError, TypeError):
        return None
