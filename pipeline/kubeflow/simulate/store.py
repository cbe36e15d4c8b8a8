"""What outlives a simulated run: objects, the cache, claims and secrets, below one folder.

objects/s3/BUCKET/…, objects/minio/…, objects/gcs/…    object storage
claims/NAME/                                           persistent volume claims
secrets/NAME/KEY                                       secrets, a file for each key; the user's to make
cache.json                                             fingerprint of a task to what it gave
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from components.errors import UserError
from pipeline.kubeflow.mounts import to_path
from pipeline.kubeflow.simulate.pod import Pod


class Store:
    """The folder.

    Args:
      folder: made when it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "cache.json"
        known = json.loads(self._file.read_text()) if self._file.exists() else {}
        self._numbers: int = known.get("artifacts", 0)
        self._imports: dict[str, str] = known.get("imports", {})
        self._cache: dict[str, Any] = known.get("cache", {})

    def new_name(self) -> str:
        """The name of a new artifact: its number in the metadata store, as the driver has it."""
        self._numbers += 1
        return str(self._numbers)

    def imported(self, uri: str) -> str:
        """The name of an imported artifact: the same for the same URI.

        Raises:
          UserError: there is no such object here.
        """
        if not self._object(uri).exists():
            raise UserError(
                f"{uri} is not in the simulated storage",
                where="data_source",
                fix=f"put it there: {self._object(uri)}",
            )
        if uri not in self._imports:
            self._imports[uri] = self.new_name()
            self._save()
        return self._imports[uri]

    def cached(self, fingerprint: str) -> dict[str, Any] | None:
        """What a task of this fingerprint gave."""
        return self._cache.get(fingerprint)

    def remember(self, fingerprint: str, given: dict[str, Any]) -> None:
        """Notes what a task gave; without a fingerprint, only that its artifacts have their names."""
        if fingerprint:
            self._cache[fingerprint] = given
        self._save()

    def claim(self, name: str) -> Path:
        """The folder that stands for a claim."""
        return self.folder / "claims" / name

    def secret(self, name: str, key: str) -> str:
        """The value of a secret.

        Raises:
          UserError: the user has made no such file.
        """
        file = self.folder / "secrets" / name / key
        if not file.is_file():
            raise UserError(
                f"the simulated cluster has no secret {name} with a key {key}",
                where="kubeflow.secrets",
                fix=f"write its value to {file}",
            )
        return file.read_text().rstrip("\n")

    def secret_folder(self, name: str) -> Path:
        """The folder of a secret's files.

        Raises:
          UserError: the user has made none.
        """
        folder = self.folder / "secrets" / name
        if not folder.is_dir():
            raise UserError(
                f"the simulated cluster has no secret {name}",
                where="kubeflow.secrets",
                fix=f"write its values to files in {folder}",
            )
        return folder

    def fetch(self, uri: str, pod: Pod) -> None:
        """Puts an object into a pod; nothing when it is not there, as the launcher does."""
        _copy(self._object(uri), pod.path(to_path(uri)))

    def keep(self, uri: str, pod: Pod) -> None:
        """Takes an object out of a pod, if the task has made it."""
        _copy(pod.path(to_path(uri)), self._object(uri))

    def _object(self, uri: str) -> Path:
        return self.folder / "objects" / to_path(uri).lstrip("/")

    def _save(self) -> None:
        partial = self._file.with_suffix(".partial")
        known = {"artifacts": self._numbers, "imports": self._imports, "cache": self._cache}
        partial.write_text(json.dumps(known))
        partial.rename(self._file)


def _copy(source: Path, target: Path) -> None:
    """Copies as object storage does: files by their content, and no folder for its own sake."""
    if source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    elif source.is_dir():
        for each in source.iterdir():
            _copy(each, target / each.name)
