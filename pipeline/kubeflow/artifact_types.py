"""Artifact types as the spec names them, and the TFX classes that they are."""

from __future__ import annotations

from typing import Any

_PREFIX = "tfx."
# Of what Kubeflow makes artifacts for itself, such as a log.
SYSTEM = {"schemaTitle": "system.Artifact", "schemaVersion": "0.0.1"}
DATASET = {"schemaTitle": "system.Dataset", "schemaVersion": "0.0.1"}


def schema_of(name: str) -> dict[str, str]:
    """The type of a standard artifact of TFX, such as Examples.

    The backend takes the title for the type in ML Metadata; as an instance schema, since that is the form
    that its cache keeps.
    """
    return {"instanceSchema": f"title: {_PREFIX}{name}\ntype: object\n"}


def class_of(name: str) -> Any:
    """The class of a standard artifact of TFX by its type's name."""
    from tfx.types import standard_artifacts

    return getattr(standard_artifacts, name)
