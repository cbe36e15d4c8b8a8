"""A file system of Beam's that is an object store: flat names, no folders, no rename; on this disk.

Beam finds it by its scheme, as it finds gs:// and s3://.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from apache_beam.io.filesystem import BeamIOError, CompressionTypes, FileMetadata, FileSystem


class FlatStore(FileSystem):
    """Objects of `flat://NAME`, each a file below `root` that is named by its quoted key.

    Attributes:
      left: how many writes may still succeed, as before a disk is full; None is any number.
      written: the keys that appeared, in order.
    """

    root: Path
    left: int | None = None
    written: list[str] = []

    @classmethod
    def scheme(cls) -> str:
        return "flat"

    def join(self, basepath: str, *paths: str) -> str:
        return "/".join([basepath.rstrip("/"), *paths])

    def split(self, path: str) -> tuple[str, str]:
        head, _, tail = path.rpartition("/")
        return head, tail

    def mkdirs(self, path: str) -> None:
        raise BeamIOError("an object store has no folders")

    def has_dirs(self) -> bool:
        return False

    def _list(self, dir_or_prefix: str) -> Any:
        for file in sorted(self.root.iterdir()):
            key = unquote(file.name)
            if key.startswith(dir_or_prefix):
                yield FileMetadata(key, file.stat().st_size)

    def _file(self, key: str) -> Path:
        return self.root / quote(key, safe="")

    def _spend(self, key: str) -> None:
        if self.left is not None:
            if not self.left:
                raise OSError(28, "No space left on device")
            type(self).left = self.left - 1
        self.written.append(key)

    def create(self, path: str, mime_type: str = "", compression_type: str = CompressionTypes.AUTO) -> Any:
        self._spend(path)
        return self._file(path).open("wb")

    def open(self, path: str, mime_type: str = "", compression_type: str = CompressionTypes.AUTO) -> Any:
        return self._file(path).open("rb")

    def copy(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        for source, target in zip(source_file_names, destination_file_names):
            self._spend(target)
            shutil.copyfile(self._file(source), self._file(target))

    def rename(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        raise BeamIOError("an object store cannot rename")

    def exists(self, path: str) -> bool:
        return self._file(path).exists()

    def size(self, path: str) -> int:
        return self._file(path).stat().st_size

    def last_updated(self, path: str) -> float:
        return self._file(path).stat().st_mtime

    def checksum(self, path: str) -> str:
        return ""

    def metadata(self, path: str) -> FileMetadata:
        return FileMetadata(path, self.size(path))

    def delete(self, paths: list[str]) -> None:
        for path in paths:
            self._file(path).unlink(missing_ok=True)
