"""Version directories: each appears whole, none is numbered as one that was there before."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from components.errors import UserError

# Held while a push goes on, here and in other processes; says the highest number that was ever given.
_LOCK = ".push.lock"
# What is on its way in or out, by names that no server takes for a version.
_STAGED, _GONE = ".staged-", ".gone-"
# Versions that a person took back; no server looks there.
ROLLED_BACK = ".rolled_back"


@dataclass(frozen=True)
class Pushed:
    """What came of a push.

    Attributes:
      version: the directory that holds the content, a path or a URL.
      new: whether this push made it.
      sentence: what was done.
      rolled_back: whether that version is one that was taken back, and stays so.
    """

    version: Any
    new: bool
    sentence: str
    rolled_back: bool = False


def list_versions(base: Path) -> list[Path]:
    """The version directories of a model, oldest first."""
    if not base.is_dir():
        return []
    found = (path for path in base.iterdir() if path.name.isascii() and path.name.isdigit() and path.is_dir())
    return sorted(found, key=lambda path: int(path.name))


def digest(folder: Path) -> str:
    """SHA-256 over the names and contents of all files below a folder."""
    total = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        total.update(f"{path.relative_to(folder).as_posix()}\0".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def rolled_back_sentence(number: int, base: str) -> str:
    """Why content that a person took back is not pushed again."""
    return (
        f"not pushed: version {number} in {base} has the same content and was rolled back; "
        f"`headrace rollback {number}` brings it back"
    )


def push(model: Path, base: Path, keep: int) -> Pushed:
    """Copies a model beside the versions and renames it into place.

    Args:
      model: a SavedModel's folder.
      base: the folder of version directories; made when it is not there.
      keep: how many of the newest versions stay.

    Raises:
      UserError: when the folder cannot be written.
    """
    try:
        base.mkdir(parents=True, exist_ok=True)
        with turn(base) as lock:
            _tidy(base)
            return _push(model, base, keep, lock)
    except OSError as error:
        raise UserError(
            f"cannot write the model: {error}",
            where=f"push.to: {base}",
            fix="free space, or choose another folder",
        ) from error


def _push(model: Path, base: Path, keep: int, lock: TextIO) -> Pushed:
    content, existing = digest(model), list_versions(base)
    for version in reversed(existing):
        if digest(version) == content:
            newer = f"; version {existing[-1].name} is newer and is what is served"
            sentence = f"not pushed again: version {version.name} in {base} has the same content"
            return Pushed(version, False, sentence + ("" if version == existing[-1] else newer))
    aside = list_versions(base / ROLLED_BACK)
    for version in reversed(aside):
        if digest(version) == content:
            # Else a pipeline that runs again with nothing new would undo what a person has done.
            return Pushed(
                version,
                False,
                rolled_back_sentence(int(version.name), str(base)),
                rolled_back=True,
            )
    numbers = (int(version.name) + 1 for version in (*existing, *aside))
    number = max(int(time.time()), _last_number(lock) + 1, *numbers)
    staged = base / f"{_STAGED}{number}"
    try:
        shutil.copytree(model, staged)
        os.utime(staged)  # it says when it was pushed, not when the model was made
        for path in (*staged.rglob("*"), staged):
            _sync(path)
        _note_number(lock, number)
        staged.rename(base / str(number))
        _sync(base)
    except OSError:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    gone = list_versions(base)[:-keep] + list_versions(base / ROLLED_BACK)[:-keep]
    for version in gone:
        version.rename(base / f"{_GONE}{version.name}")
    _tidy(base)
    deleted = f"; deleted version {', '.join(v.name for v in gone)} (keep: {keep})" if gone else ""
    return Pushed(base / str(number), True, f"pushed version {number} to {base}{deleted}")


@contextlib.contextmanager
def turn(base: Path) -> Iterator[TextIO]:
    """Waits until no one else pushes here; the kernel ends the turn with the process."""
    with open(base / _LOCK, "a+", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def _tidy(base: Path) -> None:
    """Removes what was on its way out, and what pushes that were killed left."""
    for path in base.iterdir():
        if path.name.startswith((_STAGED, _GONE)):
            shutil.rmtree(path, ignore_errors=True)


def _last_number(lock: TextIO) -> int:
    lock.seek(0)
    text = lock.read().strip()
    return int(text) if text.isdigit() else 0


def _note_number(lock: TextIO, number: int) -> None:
    lock.truncate(0)
    lock.write(str(number))
    lock.flush()
    os.fsync(lock.fileno())


def _sync(path: Path) -> None:
    """Makes sure that a power cut after the rename cannot leave empty files."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
