"""Where versions are pushed to, seen alike: a folder, or a URL."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol

from components.pusher.remote import RemoteVersions, is_remote
from components.pusher.versions import ROLLED_BACK, list_versions, turn


class Versions(Protocol):
    """The versions of a model; `aside` are those that a person took back, which no server looks at."""

    def numbers(self) -> list[int]:
        """Those that servers see, lowest first."""

    def empty(self) -> list[int]:
        """Those without a model, which TensorFlow Serving all the same tries to load."""

    def aside(self) -> list[int]:
        """Those that were taken back, lowest first."""

    def moment(self, number: int) -> datetime:
        """When a version was written, in UTC."""

    def set_aside(self, number: int) -> None:
        """Takes a version from where servers look."""

    def bring_back(self, number: int) -> None:
        """Puts a version that is aside where servers look."""

    def turn(self) -> contextlib.AbstractContextManager[object]:
        """Keeps others from changing the versions meanwhile, where that can be."""


class LocalVersions:
    """The versions in a folder; each moves by one rename.

    Args:
      base: the folder.
    """

    def __init__(self, base: Path) -> None:
        self.base = base

    def numbers(self) -> list[int]:
        return [int(path.name) for path in list_versions(self.base) if _is_whole(path)]

    def empty(self) -> list[int]:
        return [int(path.name) for path in list_versions(self.base) if not _is_whole(path)]

    def aside(self) -> list[int]:
        return [int(path.name) for path in list_versions(self.base / ROLLED_BACK) if _is_whole(path)]

    def moment(self, number: int) -> datetime:
        folder = self.base / str(number)
        if not folder.is_dir():
            folder = self.base / ROLLED_BACK / str(number)
        return datetime.fromtimestamp(folder.stat().st_mtime, timezone.utc)

    def set_aside(self, number: int) -> None:
        (self.base / ROLLED_BACK).mkdir(exist_ok=True)
        (self.base / str(number)).rename(self.base / ROLLED_BACK / str(number))

    def bring_back(self, number: int) -> None:
        (self.base / ROLLED_BACK / str(number)).rename(self.base / str(number))

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        if not self.base.is_dir():
            yield  # there is nothing to change, and nowhere to put the lock
            return
        with turn(self.base):
            yield


def _is_whole(version: Path) -> bool:
    return (version / "saved_model.pb").is_file()


def open_versions(place: Path | str) -> Versions:
    """The versions in a folder or at a URL; UserError when nothing here can read such a URL."""
    return RemoteVersions(str(place)) if is_remote(str(place)) else LocalVersions(Path(place))
