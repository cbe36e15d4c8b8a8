"""The page at /: what is served, and a form to try a row."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from serving.hosted import HostedModel
from serving.model import Model
from serving.models import Models
from serving.names import input_name
from serving.signature import DEFAULT_SIGNATURE, RAW_SIGNATURE, Signature


@functools.cache
def page_html() -> str:
    """The page; its data comes from `describe`, by a request of its own."""
    return (Path(__file__).parent / "page.html").read_text(encoding="utf-8")


def describe(models: Models, grpc: str) -> dict[str, Any]:
    """The models, their versions, and what the newest version of each takes."""
    return {"grpc": grpc, "models": [_describe(hosted) for hosted in models]}


def _describe(hosted: HostedModel) -> dict[str, Any]:
    labels = hosted.labels
    versions = [
        {
            "version": str(number),  # as text: JavaScript rounds large integers
            "state": state.state,
            "message": state.message,
            "labels": sorted(label for label, version in labels.items() if version == number),
        }
        for number, state in hosted.states.items()
    ]
    described: dict[str, Any] = {"name": hosted.name, "path": str(hosted.path), "versions": versions}
    if hosted.loaded:
        described |= _form(hosted.current)
    return described


def _form(model: Model) -> dict[str, Any]:
    """What a form needs: the signature to call, its inputs, and what the manifest says of them."""
    name = RAW_SIGNATURE if RAW_SIGNATURE in model.signatures else DEFAULT_SIGNATURE
    signature = model.signatures.get(name) or next(iter(model.signatures.values()), Signature("", {}))
    manifest = model.manifest
    columns = {input_name(column): column for column in manifest.features} if manifest else {}
    sample = manifest.sample if manifest else {}
    return {
        "signature": signature.name,
        "signatures": sorted(model.signatures),
        "task": manifest.task if manifest else "",
        "label": manifest.label if manifest else "",
        "inputs": [
            {
                "name": key,
                "column": columns.get(key, key),
                "dtype": info.dtype,
                "rank": None if info.shape is None else len(info.shape),
                "sample": sample.get(key, sample.get(columns.get(key, key))),
            }
            for key, info in signature.inputs.items()
        ],
    }
