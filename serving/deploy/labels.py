"""Labels in a models.config: the way to a canary and back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from serving.config_files import read_models
from serving.errors import ServingError
from serving.versions import list_versions


def move_labels(
    file: Path, move: Mapping[str, int], drop: Iterable[str] = (), model: str = ""
) -> dict[str, int]:
    """Writes labels into a models.config, whole or not at all; servers that watch it follow.

    The versions that are served become those that labels name, since no server can move a label to a version
    that it does not load. Without any label left it is the newest one again.

    Args:
      file: a ModelServerConfig as text. Comments in it are lost.
      move: label to version.
      drop: labels to remove.
      model: which model of the file; "" is the only one.

    Returns:
      All labels of the model afterwards.

    Raises:
      ServingError: the file is not valid, or a label or version is not there.
    """
    from google.protobuf import text_format
    from tensorflow_serving.config import model_server_config_pb2

    _check_file(file)
    message = model_server_config_pb2.ModelServerConfig()
    text_format.Parse(file.read_text(encoding="utf-8"), message)
    config = _config(message, model, file)
    labels = dict(config.version_labels)
    for label in drop:
        if label not in labels:
            raise ServingError(
                f"there is no label {label!r}", str(file), f"there is {', '.join(sorted(labels)) or 'none'}"
            )
        del labels[label]
    labels.update(move)
    _check_versions(config.base_path, labels)
    config.version_labels.clear()
    config.version_labels.update(labels)
    config.model_version_policy.Clear()
    if labels:
        config.model_version_policy.specific.versions.extend(sorted(set(labels.values())))
    else:
        config.model_version_policy.latest.num_versions = 1
    staged = file.with_name(f".{file.name}.partial")
    staged.write_text(text_format.MessageToString(message), encoding="utf-8")
    os.replace(staged, file)
    return labels


def _config(message: Any, model: str, file: Path) -> Any:
    configs = message.model_config_list.config
    names = [config.name for config in configs]
    if model and model not in names:
        raise ServingError(f"there is no model {model!r}", str(file), f"name one of {', '.join(names)}")
    if not model and len(names) > 1:
        raise ServingError(f"it has the models {', '.join(names)}", str(file), "name one with --model")
    return next(config for config in configs if not model or config.name == model)


def _check_versions(base_path: str, labels: Mapping[str, int]) -> None:
    """Refuses a label for a version that is not there, where this machine can see that."""
    here = {version.number for version in list_versions(Path(base_path))}
    for label, number in labels.items():
        if here and number not in here:
            raise ServingError(
                f"label {label}: there is no version {number}",
                base_path,
                f"name one of {', '.join(map(str, sorted(here)))}",
            )


def _check_file(file: Path) -> None:
    """Refuses a file that no server could read; base paths at gs:// are TensorFlow Serving's to read."""
    try:
        read_models(file)
    except ServingError as error:
        if "absolute path; got base_path()=gs://" not in error.what:
            raise
