"""What a version says of itself: assets.extra/headrace.json, written by the exporter."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serving.errors import ServingError

MANIFEST_FILE = "assets.extra/headrace.json"
_FORMAT = 1


@dataclass(frozen=True)
class Manifest:
    """A pushed model's name, task, label, classes and raw features (column to its type)."""

    name: str
    task: str
    label: str
    classes: tuple[str, ...] = ()
    features: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)
    sample: dict[str, Any] = field(default_factory=dict)


def read_manifest(version: Path) -> Manifest | None:
    """The manifest of a version directory; None for a SavedModel that this project did not export."""
    path = version / MANIFEST_FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise ServingError(f"not valid JSON: {error}", str(path), "export the model again") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        received = content.get("format") if isinstance(content, dict) else type(content).__name__
        raise ServingError(
            f"manifest format {received!r} is not known; expected {_FORMAT}",
            str(path),
            "serve it with the version of headrace that exported it",
        )
    try:
        return Manifest(
            name=content["name"],
            task=content["task"],
            label=content["label"],
            classes=tuple(content.get("classes") or ()),
            features=dict(content.get("features") or {}),
            metrics=dict(content.get("metrics") or {}),
            sample=dict(content.get("sample") or {}),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ServingError(
            f"manifest is incomplete: {error!r}", str(path), "export the model again"
        ) from error
