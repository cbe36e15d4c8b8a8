"""Run Pusher: a blessed model becomes a new version directory, whole, or nothing does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from absl import logging
from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils
from tfx.utils import path_utils

from components.base import say
from components.local_folder import local_folder
from components.pusher.config import PushConfig
from components.pusher.remote import RemoteVersions, is_remote
from components.pusher.versions import push


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
        with local_folder(model_to_push(model, infra)) as folder:
            if is_remote(config.to):
                done = RemoteVersions(config.to).push(Path(folder), config.keep)
            else:
                done = push(Path(folder), Path(config.to), config.keep)
        pushed.set_int_custom_property("pushed", int(not done.rolled_back))
        pushed.set_int_custom_property("new", int(done.new))
        if not done.rolled_back:
            pushed.set_string_custom_property("pushed_destination", str(done.version))
            pushed.set_string_custom_property("pushed_version", str(done.version).rpartition("/")[2])
        logging.info("%s", done.sentence)
        say(pushed, done.sentence)


def model_to_push(model: Any, infra: Any) -> str:
    """The folder of the SavedModel: that which InfraValidator added a warm-up file to, where it did.

    TFX's Pusher takes the bare model whenever it is given both.
    """
    if infra.get_int_custom_property("has_model"):
        return path_utils.stamped_model_path(infra.uri)
    return path_utils.serving_model_path(model.uri)


def _refusal(blessing: Any, infra: Any) -> str:
    """Why the model must not be pushed; empty when it may."""
    if not blessing.get_int_custom_property("blessed"):
        return f"not pushed because the model is {blessing.get_string_custom_property('reason')}"
    if not infra.get_int_custom_property("blessed"):
        return f"not pushed because infra validation {infra.get_string_custom_property('summary')}"
    return ""
