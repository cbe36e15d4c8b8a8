"""Sections of the config as the JSON text that steps get."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel


def as_json(section: BaseModel | Mapping[str, Any]) -> str:
    """A section, or a mapping of them, as JSON with sorted keys: the same config is the same text."""
    return json.dumps(_plain(section), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def differences(before: str, after: str) -> list[str]:
    """What changed between two sections, such as `train.epochs 10 -> 5`."""
    old, new = _leaves(json.loads(before)), _leaves(json.loads(after))
    return [
        f"{key} {old.get(key, 'unset')} -> {new.get(key, 'unset')}"
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key)
    ]


def _leaves(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {prefix: value}
    leaves: dict[str, Any] = {}
    for key, item in value.items():
        leaves.update(_leaves(item, f"{prefix}.{key}" if prefix else key))
    return leaves
