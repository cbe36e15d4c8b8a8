"""Where a training that was killed finds what it had learned: one file for what decides the training."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from absl import logging
from tfx.dsl.io import fileio

_KEY_LENGTH = 24


def place(context: Any, inputs: Mapping[str, Any], parameters: Mapping[str, Any]) -> str | None:
    """The checkpoint's path: the same inputs, config and code have the same one.

    It lies below the step's folder among the artifacts, beside what TFX itself keeps there, and not in
    one of its outputs, which go when the step fails. None where TFX gives the step no such folder.

    Args:
      context: the executor's.
      inputs: key to artifacts.
      parameters: of the execution: config and fingerprint of the code among them.
    """
    working = getattr(context, "stateful_working_dir", None)
    if not working:
        logging.warning("no checkpoints: the step has no folder that outlives it")
        return None
    decides = {
        "inputs": {key: [artifact.uri for artifact in value] for key, value in inputs.items()},
        "parameters": {key: str(value) for key, value in parameters.items()},
    }
    key = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:_KEY_LENGTH]
    # STEP/.system/stateful_working_dir/ID: ID is another in each run.
    step = working.rstrip("/").rsplit("/", 2)[0]
    return f"{step}/checkpoints/{key}.npz"


def read(path: str) -> bytes | None:
    """What an earlier process has kept; None when there was none."""
    if not fileio.exists(path):
        return None
    with fileio.open(path, "rb") as stream:
        return stream.read()


def remove(path: str) -> None:
    """Removes the checkpoint, and those that earlier configs have left: a home trains one model at a time."""
    folder = path.rpartition("/")[0]
    if fileio.exists(folder):
        fileio.rmtree(folder)
