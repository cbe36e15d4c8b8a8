"""Reads a compiled pipeline: the spec, and the platform document where there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from components.errors import UserError


def load(file: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two documents of a file; the second is empty when it is not there.

    Raises:
      UserError: there is no such file, or it is no compiled pipeline.
    """
    from ruamel.yaml import YAML, YAMLError

    try:
        documents = list(YAML(typ="safe", pure=True).load_all(Path(file).read_text(encoding="utf-8")))
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(file)) from None
    except YAMLError as error:
        raise UserError(f"is no YAML: {error}", where=str(file)) from None
    spec = next((each for each in documents if isinstance(each, dict) and "root" in each), None)
    if spec is None:
        raise UserError(
            "is no compiled pipeline: no document has a `root`",
            where=str(file),
            fix="make one with `headrace kubeflow compile`",
        )
    platform = next((each for each in documents if isinstance(each, dict) and "platforms" in each), {})
    return spec, platform
