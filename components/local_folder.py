"""A folder that may be anywhere, on this machine."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tfx.utils import io_utils


@contextlib.contextmanager
def local_folder(folder: str) -> Iterator[str]:
    """The folder itself, or a copy for as long as it is needed where its name is a URL."""
    if "://" not in folder:
        yield folder
        return
    with tempfile.TemporaryDirectory() as scratch:
        here = str(Path(scratch) / "folder")
        io_utils.copy_dir(folder, here)
        yield here
