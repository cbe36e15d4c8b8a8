"""Programs named docker and kubectl: they start the embedded server, not TensorFlow Serving's image.

They take the arguments that a trial gives, print what Docker 26 and kubectl 1.32 of Kubernetes 1.33 do,
and keep what runs as files of a folder, by which a test sees what is left behind.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def write(folder: Path) -> Path:
    """Writes both programs into `folder`, to be first on PATH; returns the folder of what runs."""
    state = folder / "running"
    state.mkdir(parents=True)
    for name in ("docker", "kubectl"):
        program = Path(__file__).with_name(f"{name}.py")
        command = shlex.join([sys.executable, str(program), str(state)])
        (folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (folder / name).chmod(0o755)
    return state
