"""Which model a request means, and which versions of a model are served."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from serving.versions import Version


@dataclass(frozen=True)
class ModelSpec:
    """The model of a request: its newest version, or the one of a number or of a label."""

    name: str
    version: int | None = None
    label: str = ""


@dataclass(frozen=True)
class VersionPolicy:
    """Which of the versions on disk are served, as TensorFlow Serving's ServableVersionPolicy says it.

    Args:
      kind: the newest `count` ones, all of them, or those of `versions`.
      count: how many of the newest.
      versions: the numbers for `specific`.
    """

    kind: Literal["latest", "all", "specific"] = "latest"
    count: int = 1
    versions: tuple[int, ...] = ()

    def choose(self, found: list[Version]) -> tuple[list[Version], int]:
        """The candidates, newest first, and how many of them are to be served.

        With `latest` an older version stands in for a newer one that cannot be loaded.
        """
        if self.kind == "specific":
            wanted = [version for version in found if version.number in self.versions]
            return wanted, len(wanted)
        return found, self.count if self.kind == "latest" else len(found)

    def numbers(self, found: list[int]) -> list[int]:
        """Those of the versions, lowest first, that would be served if all can be loaded."""
        if self.kind == "specific":
            return [number for number in found if number in self.versions]
        return found[-self.count :] if self.kind == "latest" else found


NEWEST = VersionPolicy()


@dataclass(frozen=True)
class ModelConfig:
    """One model to serve.

    Args:
      name: its name in requests; "" takes it from the manifest, else from the folder.
      path: a base folder that holds version directories, or one version directory.
      policy: which versions are served.
      labels: label to version.
      sampling: the share of its requests that are logged; None leaves that to the server's option.
    """

    name: str
    path: Path
    policy: VersionPolicy = NEWEST
    labels: tuple[tuple[str, int], ...] = ()
    sampling: float | None = None
