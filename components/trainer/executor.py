"""Run Trainer: build, fit and export, under the strategy and the precision of the config."""

from __future__ import annotations

import json
from typing import Any

import tensorflow_transform as tft
from tfx.dsl.components.base import base_executor
from tfx.dsl.io import fileio
from tfx.types import artifact_utils
from tfx.utils import path_utils

from components.base import say
from components.records import split_files
from components.trainer import checkpoints, devices, distill, models, multi_worker, training
from components.trainer.config import ModelConfig, TrainConfig
from components.trainer.export import export
from components.trainer.warm_start import WarmStart
from components.transform.plan import FeaturePlan
from components.tuner import space


class Executor(base_executor.BaseExecutor):
    """Writes Format-Serving/ in the model artifact; TensorBoard's logs and epochs.csv in the model run.

    Of several workers, the first alone writes; the others only train with it.
    """

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        sections = json.loads(exec_properties["config"])
        tuned = _tuned(input_dict)
        sections = space.put(sections, tuned)
        model_config = ModelConfig.model_validate(sections["model"])
        train = TrainConfig.model_validate(sections["train"])
        # Before anything else: workers must meet before TensorFlow has done a thing.
        used, train = devices.ready(train)

        examples = artifact_utils.get_single_instance(input_dict["examples"])
        graph = artifact_utils.get_single_instance(input_dict["transform_graph"])
        model_artifact = artifact_utils.get_single_instance(output_dict["model"])
        run = artifact_utils.get_single_instance(output_dict["model_run"])
        plan = FeaturePlan.load(graph.uri)
        taught = None
        if train.distill:
            raw = artifact_utils.get_single_instance(input_dict["raw_examples"])
            taught = distill.taught_rows(split_files(raw, "train"), plan, graph.uri, train)
        transform = tft.TFTransformOutput(graph.uri)
        base = input_dict.get("base_model")
        blessed = path_utils.serving_model_path(base[0].uri) if base else None
        warm = WarmStart(train.warm_start, blessed, plan, transform)
        place = checkpoints.place(self._context, input_dict, exec_properties) if train.checkpoint else None
        with training.scratch_folder(self._get_tmp_dir()) as scratch:
            trained = training.train(
                {split: split_files(examples, split) for split in ("train", "eval")},
                plan,
                model_config,
                train,
                models.builder(model_config, exec_properties["user_code"]),
                used,
                run_uri=run.uri,
                scratch=scratch,
                checkpoint=place,
                taught=taught,
                begin=warm.begin,
            )
        if used.here.number == 0:
            folder = path_utils.serving_model_dir(model_artifact.uri)
            fileio.makedirs(folder)
            export(trained.model, trained.plan, transform, exec_properties["name"], folder)
            warm.keep(trained.model, folder)
            said = f"; tuned: {space.described(tuned)}" if tuned else ""
            say(model_artifact, trained.account + warm.said + said)
        if used.here.workers > 1:
            multi_worker.wait_for_all(used.strategy)
        if place and used.here.number == 0:
            checkpoints.remove(place)


def _tuned(input_dict: dict) -> dict[str, Any]:
    """What Tuner found, by config key; nothing where there was no Tuner."""
    found = input_dict.get("hyperparameters")
    return space.best_values(artifact_utils.get_single_uri(found)) if found else {}
