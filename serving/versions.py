"""Versions on disk: a model's base folder holds one directory a version, named by an integer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

GRAPH_FILE = "saved_model.pb"


@dataclass(frozen=True)
class Version:
    """One version directory."""

    number: int
    path: Path

    def last_change(self) -> int:
        """The newest modification time of its files, in nanoseconds; tells whether it changed since."""
        newest = 0
        for item in (self.path, *self.path.rglob("*")):
            try:
                newest = max(newest, item.stat().st_mtime_ns)
            except FileNotFoundError:  # removed while we look
                continue
        return newest


def is_version_directory(path: Path) -> bool:
    """Whether this folder itself holds a SavedModel."""
    return (path / GRAPH_FILE).is_file()


def version_number(name: str) -> int | None:
    """The version that a directory's name says; None for hidden names and names that are no integer."""
    return int(name) if name.isascii() and name.isdigit() else None


def list_versions(base: Path) -> list[Version]:
    """The complete versions in a base folder, newest first; empty when the folder does not exist.

    Staging folders (`.18.tmp`), logs and versions without `saved_model.pb` are not listed.
    """
    found = {}
    try:
        children = sorted(base.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    for child in children:
        number = version_number(child.name)
        if number is not None and is_version_directory(child):
            found[number] = Version(number, child)
    return [found[number] for number in sorted(found, reverse=True)]
