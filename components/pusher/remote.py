"""Versions in an object store or on a file system of Beam's: there is no rename that moves a folder at once.

What stands in for it: a version counts from when its saved_model.pb is there, and that object is written
last. Until then a server that looks finds a folder without a model, says so, and looks again. Files go up
under a name that no server takes for a version, then are copied by the store itself, which is fast, so that
the time between the first file and saved_model.pb is short. Deleting goes the other way round. Killed in
between, a push leaves files that the next one removes, and the version of before. A version is taken back
by a copy below .rolled_back/ and a deletion; what is in both places counts as not taken back.

What it does not have is a lock: two pushes at once into one folder are for whoever schedules them to avoid.
The number is checked just before, so that one does not write into the other's version.
"""

from __future__ import annotations

import re
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from components.errors import UserError
from components.pusher.versions import ROLLED_BACK, Pushed, digest, rolled_back_sentence

GRAPH_FILE = "saved_model.pb"
_STAGED = ".staged-"
_DIGESTS = (
    ".digests"  # an object a version with the SHA-256 of its content, so that no model has to be fetched
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_AS_IT_IS = "uncompressed"  # Beam's word; else it goes by the endings of names


def is_remote(place: str) -> bool:
    """Whether a folder is named by a URL."""
    return _SCHEME.match(place) is not None


def exists(version: str) -> bool:
    """Whether a version that was pushed to a path or a URL is still there; no, where that cannot be told."""
    if not is_remote(version):
        return Path(version).exists()
    from apache_beam.io.filesystems import FileSystems

    try:
        return bool(FileSystems.exists(f"{version}/{GRAPH_FILE}"))
    except Exception:  # each store has its own
        return False


class RemoteVersions:
    """The versions below a URL.

    Args:
      base: the folder's URL.

    Raises:
      UserError: Beam has no file system for it.
    """

    def __init__(self, base: str) -> None:
        from apache_beam.io.filesystems import FileSystems

        self.base = base.rstrip("/")
        self._aside = f"{self.base}/{ROLLED_BACK}"
        self._files: Any = FileSystems
        try:
            FileSystems.get_filesystem(self.base)
        except ValueError as error:
            raise UserError(
                f"no file system for it: {error}",
                where=f"push.to: {base}",
                fix="give a folder, gs://, or another that Beam knows, with the packages that it needs",
            ) from error

    def numbers(self) -> list[int]:
        """The versions that are whole, lowest first."""
        return self._whole(self.base)

    def empty(self) -> list[int]:
        """None: a store has no empty folders, and what a push left half is whole when it is pushed again."""
        return []

    def aside(self) -> list[int]:
        """Those that a person took back, lowest first."""
        return sorted({*self._whole(self._aside)} - {*self.numbers()})

    def moment(self, number: int) -> datetime:
        """When a version was written, in UTC; by its number where the store does not tell."""
        # The digest stays where it is when the version is moved.
        paths = (f"{_DIGESTS}/{number}", f"{number}/{GRAPH_FILE}", f"{ROLLED_BACK}/{number}/{GRAPH_FILE}")
        found = (each for path in paths for each in self._metadata(f"{self.base}/{path}"))
        seconds = next((each.last_updated_in_seconds for each in found), 0)
        return datetime.fromtimestamp(seconds or number, timezone.utc)

    def digest(self, number: int) -> str:
        """SHA-256 of what was pushed as this version; "" where it is not known."""
        path = f"{self.base}/{_DIGESTS}/{number}"
        if not self._files.exists(path):
            return ""
        with self._files.open(path) as stream:
            return bytes(stream.read()).decode()

    def fetch(self, number: int, folder: Path) -> None:
        """Copies a version into a folder here."""
        source = f"{self.base}/{number}"
        for path in self._match(f"{source}/**"):
            target = folder / path[len(source) + 1 :]
            target.parent.mkdir(parents=True, exist_ok=True)
            with self._files.open(path, compression_type=_AS_IT_IS) as stream, target.open("wb") as out:
                shutil.copyfileobj(stream, out, 1 << 20)

    def set_aside(self, number: int) -> None:
        """Takes a version from where servers look."""
        self._move(f"{self.base}/{number}", f"{self._aside}/{number}")

    def bring_back(self, number: int) -> None:
        """Puts a version that is aside where servers look."""
        self._move(f"{self._aside}/{number}", f"{self.base}/{number}")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Stores have no locks; what was killed on its way aside is completed first."""
        for number in self.aside():
            self._delete(self._match(f"{self.base}/{number}/**"))
        yield

    def push(self, model: Path, keep: int) -> Pushed:
        """Puts a model's folder there as a new version, unless one has the same content."""
        try:
            self._tidy()
            return self._push(model, keep)
        except (OSError, RuntimeError) as error:  # Beam's own, and those of the stores' clients
            raise UserError(
                f"cannot write the model: {error}",
                where=f"push.to: {self.base}",
                fix="see that the store can be reached and written, and run again",
            ) from error

    def _push(self, model: Path, keep: int) -> Pushed:
        content, there, aside = digest(model), self.numbers(), self.aside()
        for number in reversed(there):
            if self.digest(number) == content:
                newer = f"; version {there[-1]} is newer and is what is served"
                sentence = f"not pushed again: version {number} in {self.base} has the same content"
                return Pushed(self._version(number), False, sentence + ("" if number == there[-1] else newer))
        for number in reversed(aside):
            if self.digest(number) == content:
                version = f"{self._aside}/{number}"
                return Pushed(version, False, rolled_back_sentence(number, self.base), rolled_back=True)
        number = max([int(time.time()), *(each + 1 for each in (*there, *aside))])
        staged = f"{self.base}/{_STAGED}{uuid.uuid4().hex}"
        files = [path.relative_to(model).as_posix() for path in sorted(model.rglob("*")) if path.is_file()]
        for name in files:
            self._upload(model / name, f"{staged}/{name}")
        while self._match(f"{self.base}/{number}/**"):
            number += 1
        target = f"{self.base}/{number}"
        self._copy(staged, target, [name for name in files if name != GRAPH_FILE])
        self._write(f"{self.base}/{_DIGESTS}/{number}", content.encode())
        self._copy(staged, target, [GRAPH_FILE])
        folders = dict.fromkeys(self.numbers()[:-keep], self.base)
        folders.update(dict.fromkeys(self.aside()[:-keep], self._aside))
        for each, folder in folders.items():
            self._remove(f"{folder}/{each}")
            self._delete([f"{self.base}/{_DIGESTS}/{each}"])
        self._tidy()
        deleted = f"; deleted version {', '.join(map(str, folders))} (keep: {keep})" if folders else ""
        return Pushed(target, True, f"pushed version {number} to {self.base}{deleted}")

    def _version(self, number: int) -> str:
        return f"{self.base}/{number}"

    def _tidy(self) -> None:
        """Removes what pushes that were killed left: staged files, and folders without a model."""
        self._delete(self._match(f"{self.base}/{_STAGED}*/**"))
        whole = self.numbers()
        for folder, kept in ((self.base, whole), (self._aside, self.aside())):
            for path in self._match(f"{folder}/[0-9]*/**"):
                name = path[len(folder) + 1 :].split("/")[0]
                if name.isdigit() and int(name) not in kept:
                    self._delete([path])

    def _whole(self, folder: str) -> list[int]:
        found = (path.split("/")[-2] for path in self._match(f"{folder}/*/{GRAPH_FILE}"))
        return sorted(int(name) for name in found if name.isascii() and name.isdigit())

    def _move(self, source: str, target: str) -> None:
        """Copies a version, its model last, and deletes it, its model first."""
        names = [path[len(source) + 1 :] for path in self._match(f"{source}/**")]
        self._copy(source, target, [name for name in names if name != GRAPH_FILE])
        self._copy(source, target, [GRAPH_FILE])
        self._remove(source)

    def _remove(self, folder: str) -> None:
        """Deletes a version: its model first, so that it is no version from then on."""
        self._delete([f"{folder}/{GRAPH_FILE}"])
        self._delete(self._match(f"{folder}/**"))

    def _match(self, pattern: str) -> list[str]:
        return [each.path for each in self._metadata(pattern)]

    def _metadata(self, pattern: str) -> list[Any]:
        (found,) = self._files.match([pattern])
        return list(found.metadata_list)

    def _upload(self, source: Path, target: str) -> None:
        with source.open("rb") as stream, self._create(target) as out:
            shutil.copyfileobj(stream, out, 1 << 20)

    def _write(self, target: str, content: bytes) -> None:
        with self._create(target) as out:
            out.write(content)

    def _create(self, target: str) -> Any:
        return self._files.create(target, "application/octet-stream", compression_type=_AS_IT_IS)

    def _copy(self, source: str, target: str, names: Iterable[str]) -> None:
        names = list(names)
        if self._files.get_filesystem(target).has_dirs():
            for folder in sorted({f"{target}/{name}".rpartition("/")[0] for name in names}):
                if not self._files.exists(folder):
                    self._files.mkdirs(folder)
        if names:
            self._files.copy([f"{source}/{name}" for name in names], [f"{target}/{name}" for name in names])

    def _delete(self, paths: list[str]) -> None:
        if paths:
            self._files.delete(paths)
