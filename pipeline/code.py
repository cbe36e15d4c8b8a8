"""Fingerprints of all code that shapes a step: ours, the user's and the libraries'."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import components
from components.user_code import bundle, reachable

_ROOT = Path(components.__file__).parent.parent
_LIBRARIES = (
    "apache-beam",
    "keras",
    "tensorflow",
    "tensorflow-data-validation",
    "tensorflow-model-analysis",
    "tensorflow-transform",
    "tfx",
)
_SHORT = 12  # hex digits that tell two versions of a file apart


@dataclass(frozen=True)
class UserCode:
    """The user's modules, in an archive named by its content.

    Attributes:
      uri: the archive; empty when the config names no code of the user's.
      files: path in the project to SHA-256 of all that the named code imports from it.
    """

    uri: str = ""
    files: tuple[tuple[str, str], ...] = ()


_NO_CODE = UserCode()


def step_code(folder: str, user: UserCode = _NO_CODE, *, starts: str = "") -> str:
    """Fingerprint of a component, as JSON: each file that its executor reaches, each library, its version.

    Args:
      folder: the component's folder below components/.
      user: the user's code that the step runs, if it runs any.
      starts: a package of ours that the step runs as a program, which it does not import.
    """
    files = [*reachable(_ROOT, f"components.{folder}.executor", "components").values()]
    if starts:
        files += reachable(_ROOT, f"{starts}.__main__", starts).values()
    found = {
        path.relative_to(_ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:_SHORT]
        for path in files
    }
    found.update((path, digest[:_SHORT]) for path, digest in user.files)
    found["python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
    found.update((library, version(library)) for library in _LIBRARIES)
    return json.dumps(found, sort_keys=True)


def keep_user_code(project: Path, dotted: str | None, home: Path) -> UserCode:
    """Puts the archive of the user's code below `home` and says where it is.

    Raises:
      UserError: when the project has no such module, or one of its files cannot be parsed.
    """
    if not dotted:
        return UserCode()
    archive, files = bundle(project, dotted)
    path = home / "code" / f"{hashlib.sha256(archive).hexdigest()}.zip"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_bytes(archive)
        partial.rename(path)
    return UserCode(str(path), tuple(files.items()))
