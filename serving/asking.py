"""What both clients check before they ask, whatever they speak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from serving.errors import ServingError
from serving.signature import RAW_SIGNATURE

Signature = TypeVar("Signature")


def check_address(version: int | None, label: str) -> None:
    """A model is asked by version or by label.

    Raises:
      ServingError: both are given.
    """
    if version is not None and label:
        raise ServingError(f"got version {version} and label {label!r}; expected one of them", "the client")


def raw_signature(signatures: Mapping[str, Signature], where: str) -> Signature:
    """The one that takes a row's columns.

    Args:
      signatures: name to description, of a model.
      where: the model's place.

    Raises:
      ServingError: there is none.
    """
    if RAW_SIGNATURE not in signatures:
        raise ServingError(
            f"the model has no signature {RAW_SIGNATURE!r}; it has {', '.join(sorted(signatures))}",
            where,
            "serve a model that headrace has exported",
        )
    return signatures[RAW_SIGNATURE]
