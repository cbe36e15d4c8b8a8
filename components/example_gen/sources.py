"""Where the rows are: a source string of the config becomes files, and files a fingerprint."""

from __future__ import annotations

import glob
import hashlib
import importlib.util
from pathlib import Path

from components.errors import UserError

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")


def find_files(source: str) -> list[Path]:
    """The files behind a source, in the order of their names.

    Args:
      source: an absolute path of a file or folder, a glob, or `package:path` inside an installed package.

    Raises:
      UserError: when nothing is there, or what is there is not a table that can be read.
    """
    pattern = _package_path(source) if source.startswith("package:") else source
    path = Path(pattern)
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.name.lower().endswith(SUFFIXES))
        if not files:
            raise UserError(
                f"the folder {path} holds no file ending in {', '.join(SUFFIXES)}",
                where="data.source",
                fix="point data.source at a folder of tables, or at one file",
            )
        return files
    files = [path] if path.is_file() else sorted(Path(p) for p in glob.glob(pattern) if Path(p).is_file())
    if not files:
        raise UserError(
            f"no such file: {source}",
            where="data.source",
            fix="check the path; it is relative to pipeline.yaml",
        )
    for file in files:
        if not file.name.lower().endswith(SUFFIXES):
            raise UserError(
                f"cannot read {file.name}: expected a name ending in {', '.join(SUFFIXES)}",
                where="data.source",
            )
    return files


def _package_path(source: str) -> str:
    name, _, inside = source.removeprefix("package:").partition("/")
    # find_spec of a top-level package does not import it.
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise UserError(
            f"no installed package {name!r} in {source!r}",
            where="data.source",
            fix=f"install {name}, or correct the name; expected package:NAME/path/inside",
        )
    return str(Path(next(iter(spec.submodule_search_locations))) / inside)


def fingerprint(files: list[Path]) -> str:
    """SHA-256 over names and contents: two sets of files with the same rows have the same one."""
    total = hashlib.sha256()
    for file in files:
        digest = hashlib.sha256()
        with open(file, "rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
        total.update(f"{file.name}\0{digest.hexdigest()}\n".encode())
    return total.hexdigest()
