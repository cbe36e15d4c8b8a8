"""The reviewed schema of a project: where it is, and what of it reaches the steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from components.errors import UserError
from components.schema_gen.pbtxt import parse, render
from pipeline.config import PipelineConfig


def reviewed_text(config: PipelineConfig) -> str:
    """The reviewed schema as SchemaGen gets it, without comments and in one form; empty: there is none.

    Raises:
      UserError: the file is no schema, or the config names one that is not there.
    """
    file = config.schema_file
    if not file.is_file():
        if config.reviewed.file is None:
            return ""
        raise UserError(
            f"there is no file {file}",
            where="schema.file",
            fix="write it with `headrace schema export`, or take the key out",
        )
    return render(read(file))


def read(file: Path) -> Any:
    """The schema in a file.

    Raises:
      UserError: it is no schema, or cannot be read.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot be read: {error}", where=str(file)) from None
    return parse(text, str(file))
