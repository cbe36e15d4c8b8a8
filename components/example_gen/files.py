"""Files of this machine and of any file system that Beam knows, as Arrow streams of bytes."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from components.errors import UserError

_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_MAGIC = {
    b"PAR1": "a Parquet file",
    b"Obj\x01": "an Avro file",
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"\x1f\x8b": "compressed with gzip",
    b"BZh": "compressed with bzip2",
    b"\x28\xb5\x2f\xfd": "compressed with zstandard",
    b"SQLite format 3": "an SQLite database",
    b"ARROW1": "an Arrow file",
    b"%PDF": "a PDF document",
}


@dataclass(frozen=True)
class FileStat:
    """What a file system says of a file.

    Attributes:
      version: tells two contents of a remote file apart: its checksum, else its size and time of change.
    """

    path: str
    size: int
    version: str = ""


def is_remote(path: str) -> bool:
    """Whether a path is a URL of a file system, such as gs://bucket/file."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path) is not None


def open_raw(path: str) -> pa.NativeFile:
    """The file's bytes as they are; seekable."""
    if not is_remote(path):
        return pa.OSFile(path)
    from apache_beam.io.filesystem import CompressionTypes

    return pa.PythonFile(_beam().open(path, compression_type=CompressionTypes.UNCOMPRESSED), mode="r")


def open_bytes(path: str) -> pa.NativeFile:
    """The file's bytes, decompressed where its name ends in .gz, .bz2 or .zst."""
    raw = open_raw(path)
    codec = _CODECS.get(os.path.splitext(path)[1].lower())
    return pa.CompressedInputStream(raw, codec) if codec else raw


def reading(path: str) -> _Reading:
    """A context in which errors of the file system become the user's, with the file's name."""
    return _Reading(path)


class _Reading:
    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, (OSError, EOFError)):
            raise unreadable(self._path, error) from error


def unreadable(path: str, error: BaseException) -> UserError:
    """The error for a file that the file system does not give."""
    text = getattr(error, "strerror", None) or str(error).split("\n", 1)[0]
    fix = "check that the file is whole: it may be cut off" if _is_compressed(path) else ""
    return UserError(f"cannot be read: {text}", where=path, fix=fix)


def what_it_is(start: bytes) -> str | None:
    """What a file is that begins so, when it is certainly no text."""
    return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)


def match(pattern: str) -> list[FileStat]:
    """The files that a path or glob stands for, in the order of their names.

    A pattern may have * and ? in any of its parts, and ** for any folders. Hidden files and those that
    jobs leave beside their output (_SUCCESS) do not count unless they are named.
    """
    if is_remote(pattern):
        # Some file systems take a folder for a match of its name.
        if not glob.has_magic(pattern) and _matched(pattern, f"{pattern.rstrip('/')}/**", 1):
            return []
        return _match_remote(pattern)
    if not glob.has_magic(pattern) or os.path.exists(pattern):
        paths = [pattern] if os.path.isfile(pattern) else []
    else:
        paths = [path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)]
        paths = [path for path in paths if _counts(path)]
    return [FileStat(path, os.path.getsize(path)) for path in sorted(paths)]


def list_folder(folder: str, *, deep: bool = False) -> list[FileStat]:
    """The files in a folder, in the order of their names; empty when there is no such folder.

    Args:
      deep: also those in its folders, at any depth.
    """
    if is_remote(folder):
        found = _match_remote(folder.rstrip("/") + ("/**" if deep else "/*"))
        start = len(folder.rstrip("/")) + 1
        return [stat for stat in found if deep or "/" not in stat.path[start:]]
    found = list(_walk(folder, deep)) if os.path.isdir(folder) else []
    return sorted(found, key=lambda stat: stat.path)


def _walk(folder: str, deep: bool) -> Iterator[FileStat]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if not _counts(entry.name):
                continue
            if entry.is_file():
                yield FileStat(entry.path, entry.stat().st_size)
            elif deep and entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path, deep)


def _counts(path: str) -> bool:
    return not any(part.startswith((".", "_")) and part not in (".", "..") for part in _last_parts(path))


def _last_parts(path: str) -> list[str]:
    # Of an absolute path the name alone decides: a project may well lie in a hidden folder.
    return [os.path.basename(path)] if os.path.isabs(path) else path.split(os.sep)


def _match_remote(pattern: str) -> list[FileStat]:
    stats = [
        FileStat(each.path, each.size_in_bytes, f"{each.size_in_bytes}@{each.last_updated_in_seconds}")
        for each in _matched(pattern, pattern)
        if pattern == each.path or not os.path.basename(each.path).startswith((".", "_"))
    ]
    return sorted(stats, key=lambda stat: stat.path)


def _matched(source: str, pattern: str, most: int | None = None) -> list[Any]:
    """What Beam finds for a pattern; `source` is what the config names."""
    from apache_beam.io.filesystem import BeamIOError

    try:
        return _beam().match([pattern], limits=[most])[0].metadata_list
    except (BeamIOError, OSError, ValueError) as error:
        raise UserError(
            f"cannot be listed: {str(error).splitlines()[0]}",
            where=source,
            fix="check the address, your credentials, and that the file system's package is installed",
        ) from error


def checksum(stat: FileStat) -> str:
    """What tells the contents of a remote file: its checksum where the file system keeps one."""
    try:
        return str(_beam().checksum(stat.path)) + "/" + stat.version
    except Exception:  # not every file system has one, and each says so in its own way
        return stat.version


def _is_compressed(path: str) -> bool:
    return os.path.splitext(path)[1].lower() in _CODECS


def _beam() -> Any:
    from apache_beam.io.filesystems import FileSystems

    return FileSystems
