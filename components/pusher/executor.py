"""Run Pusher: a blessed model becomes a new version directory, whole, or nothing does."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from pathlib import Path
from typing import Any

from absl import logging
from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils
from tfx.utils import path_utils

from components.base import say
from components.errors import UserError
from components.pusher.config import PushConfig


class Executor(base_executor.BaseExecutor):
    """Writes the version directory and the pushed model's properties, as TFX's Pusher does."""

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        config = PushConfig.model_validate_json(exec_properties["config"])
        model = artifact_utils.get_single_instance(input_dict["model"])
        blessing = artifact_utils.get_single_instance(input_dict["model_blessing"])
        infra = artifact_utils.get_single_instance(input_dict["infra_blessing"])
        pushed = artifact_utils.get_single_instance(output_dict["pushed_model"])
        refused = _refusal(blessing, infra)
        if refused:
            pushed.set_int_custom_property("pushed", 0)
            logging.warning("%s", refused)
            say(pushed, refused)
            return
        assert config.to, "the pipeline gives Pusher an absolute folder"
        version, sentence = push(Path(path_utils.serving_model_path(model.uri)), Path(config.to), config.keep)
        pushed.set_int_custom_property("pushed", 1)
        pushed.set_string_custom_property("pushed_destination", str(version))
        pushed.set_string_custom_property("pushed_version", version.name)
        logging.info("%s", sentence)
        say(pushed, sentence)


def _refusal(blessing: Any, infra: Any) -> str:
    """Why the model must not be pushed; empty when it may."""
    if not blessing.get_int_custom_property("blessed"):
        return f"not pushed because the model is {blessing.get_string_custom_property('reason')}"
    if not infra.get_int_custom_property("blessed"):
        return f"not pushed because infra validation {infra.get_string_custom_property('summary')}"
    return ""


def versions(base: Path) -> list[Path]:
    """The version directories of a model, oldest first."""
    if not base.is_dir():
        return []
    return sorted((p for p in base.iterdir() if p.is_dir() and p.name.isdigit()), key=lambda p: int(p.name))


def digest(folder: Path) -> str:
    """SHA-256 over the names and contents of all files below a folder."""
    total = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        total.update(f"{path.relative_to(folder).as_posix()}\0".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def push(model: Path, base: Path, keep: int) -> tuple[Path, str]:
    """Copies a model beside the versions and renames it into place.

    Args:
      model: a SavedModel's folder.
      base: the folder of version directories; made when it is not there.
      keep: how many of the newest versions stay.

    Returns:
      The version directory that holds the content, and what was done in a sentence.

    Raises:
      UserError: when the folder cannot be written.
    """
    content = digest(model)
    existing = versions(base)
    for version in reversed(existing):
        if digest(version) == content:
            newest = (
                ""
                if version == existing[-1]
                else f"; version {existing[-1].name} is newer and is what is served"
            )
            return version, f"not pushed again: version {version.name} in {base} has the same content{newest}"
    # Numbered by time, and above all that is there, so that a number is never used twice.
    number = max(int(time.time()), *(int(version.name) + 1 for version in existing), 0)
    staged = base / f".staged-{number}-{os.getpid()}"
    try:
        base.mkdir(parents=True, exist_ok=True)
        shutil.copytree(model, staged)
        _sync(staged)
        staged.rename(base / str(number))
    except OSError as error:
        shutil.rmtree(staged, ignore_errors=True)
        raise UserError(
            f"cannot write the model: {error}",
            where=f"push.to: {base}",
            fix="free space, or choose another folder",
        ) from error
    gone = versions(base)[:-keep]
    for version in gone:
        shutil.rmtree(version)
    deleted = f"; deleted version {', '.join(v.name for v in gone)} (keep: {keep})" if gone else ""
    return base / str(number), f"pushed version {number} to {base}{deleted}"


def _sync(folder: Path) -> None:
    """Makes sure that a power cut after the rename cannot leave empty files."""
    for path in [*folder.rglob("*"), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
