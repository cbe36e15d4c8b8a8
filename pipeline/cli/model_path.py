"""Where the pushed model is: a project, a data file that was run, a folder of versions, or one version."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from components.errors import UserError
from components.pusher.remote import is_remote
from components.pusher.versions import ROLLED_BACK
from serving.errors import ServingError
from serving.manifest import Manifest, read_manifest
from serving.versions import is_version_directory, list_versions

if TYPE_CHECKING:
    from pipeline.config import PipelineConfig


_YAML = (".yaml", ".yml")


@dataclass(frozen=True)
class ModelPath:
    """A place to serve from.

    Args:
      path: a base folder that holds version directories, or one version directory.
      name: the project's name; "" when there is no project.
      label: the project's label column; "" when it is not known.
    """

    path: Path
    name: str = ""
    label: str = ""


def is_project(path: Path) -> bool:
    """Whether PATH is a project's folder or its YAML file."""
    from pipeline.config import FILE_NAME

    return (path / FILE_NAME).is_file() or (path.is_file() and path.suffix in _YAML)


def find_model(path: Path, home: str | None = None) -> ModelPath:
    """What PATH means; raises UserError when no model was pushed there.

    Args:
      path: a project's folder, its YAML file, a data file that was run without one, a folder of version
        directories, or one version directory.
      home: where runs leave what they leave, as `load_config` takes it.
    """
    if not path.exists():
        raise UserError(
            "no such file or folder",
            where=str(path),
            fix="give a project, a folder of pushed versions, or one version",
        )
    if path.is_file() or is_project(path):
        return _project(path, home)
    if is_version_directory(path) or list_versions(path):
        return ModelPath(path)
    return _only_model(path, home)


def place_of(given: str, home: str | None = None) -> str:
    """The folder of version directories that PATH means, or its URL, whether or not any is in it now."""
    warnings.simplefilter("ignore", FutureWarning)  # of Google's clients, about Python's age
    if is_remote(given):
        return given
    path = Path(given)
    if path.is_file() or is_project(path):
        return _config(path, home).push_to
    if is_version_directory(path):
        raise UserError(
            "this is one version; expected the folder of versions", where=str(path), fix=f"give {path.parent}"
        )
    if path.is_dir() and any(child.name == ROLLED_BACK for child in path.iterdir()):
        return given
    return str(find_model(path, home).path)


def home_or_none(path: Path, home: str | None = None) -> Path | None:
    """The folder with the metadata of the runs of PATH; None where nothing tells it or none were made."""
    from pipeline.config import home_of
    from pipeline.metadata.store import DATABASE_NAME

    folder = home_of(path, home)
    if not (folder / DATABASE_NAME).is_file() and path.absolute().parent.name == "models":
        folder = path.absolute().parent.parent  # .headrace/models/NAME
    return folder if (folder / DATABASE_NAME).is_file() else None


def newest_manifest(found: ModelPath) -> Manifest | None:
    """What the newest version says of itself, when it can be read."""
    newest = found.path
    if not is_version_directory(newest):
        versions = list_versions(newest)
        if not versions:
            return None
        newest = versions[0].path
    try:
        return read_manifest(newest)
    except ServingError:
        return None


def _config(path: Path, home: str | None) -> PipelineConfig:
    """Of a project, or of a data file that was run without one; of that the label is not known."""
    from pipeline.config import load_config

    # Where the versions are does not depend on it.
    return load_config(path, label=None if is_project(path) else "unknown", home=home)


def _project(path: Path, home: str | None) -> ModelPath:
    config = _config(path, home)
    if not list_versions(_folder(config)):
        raise UserError(
            f"no model of {config.name} is pushed yet",
            where=str(config.push_dir),
            fix=f"run `headrace run {path}` first",
        )
    return ModelPath(config.push_dir, config.name, config.label if is_project(path) else "")


def _folder(config: PipelineConfig) -> Path:
    """The folder that the project pushes to; refuses a URL."""
    if is_remote(config.push_to):
        raise UserError(
            f"the versions of {config.name} are at {config.push_to}, where this command does not look",
            where="push.to",
            fix="give a folder into which they were copied, or ask a server that serves them, with --url",
        )
    return config.push_dir


def _only_model(folder: Path, home: str | None) -> ModelPath:
    """The one model that runs of data files in this folder have pushed."""
    from pipeline.config import FILE_NAME, HOME_NAME, HOME_VARIABLE

    home = home or os.environ.get(HOME_VARIABLE)
    models = (Path(home).expanduser() if home else folder / HOME_NAME) / "models"
    found = [base for base in sorted(models.glob("*")) if list_versions(base)]
    if len(found) == 1:
        return ModelPath(found[0])
    if found:
        raise UserError(
            f"several models were pushed here: {', '.join(base.name for base in found)}",
            where=str(models),
            fix=f"name one: {found[0]}",
        )
    raise UserError(
        f"no model to serve: no {FILE_NAME}, no version directory, and nothing pushed below {models}",
        where=str(folder),
        fix="run `headrace run PATH` first, or give a folder of pushed versions",
    )
