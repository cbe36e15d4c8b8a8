"""What an export says of itself, beside its SavedModel; `serving.manifest` reads it where it is served."""

from __future__ import annotations

import json
from typing import Any

from tfx.dsl.io import fileio

FILE = "assets.extra/headrace.json"


def read(folder: str) -> dict[str, Any]:
    """The description in a SavedModel's folder: task, label, classes, features by type and more.

    Raises:
      FileNotFoundError: there is none.
    """
    path = f"{folder}/{FILE}"
    if not fileio.exists(path):
        raise FileNotFoundError(path)
    with fileio.open(path) as stream:
        return dict(json.loads(stream.read()))


def write(folder: str, description: dict[str, Any]) -> None:
    """Puts the description into a SavedModel's folder."""
    fileio.makedirs(f"{folder}/{FILE.rpartition('/')[0]}")
    with fileio.open(f"{folder}/{FILE}", "w") as stream:
        stream.write(json.dumps(description, indent=1))
