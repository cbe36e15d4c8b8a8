"""A source that is not there yet, of a project that brings a fetch.py."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from components.errors import UserError
from components.example_gen import files
from components.example_gen.config import SplitSources
from pipeline.config import PipelineConfig

SCRIPT = "fetch.py"


def check_fetched(config: PipelineConfig) -> None:
    """Points to the script that gets the data, when it stands beside pipeline.yaml and the data is missing.

    Raises:
      UserError: a source is missing that the script may bring.
    """
    script = config.project_dir / SCRIPT
    if not script.is_file():
        return
    source = config.located_data.source
    for path in source.given.values() if isinstance(source, SplitSources) else (source,):
        if not os.path.isabs(path) or Path(path).is_dir() or files.match(path):
            continue
        shown = min(os.path.relpath(script), str(script), key=len)
        raise UserError(
            f"{os.path.relpath(path, config.project_dir)} is not there yet",
            where="data.source",
            fix=f"get it first: python {shlex.quote(shown)}",
        )
