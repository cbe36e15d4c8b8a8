"""Run Trainer: build, fit and export, under the strategy and the precision of the config."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
import tensorflow_transform as tft
from tfx.dsl.components.base import base_executor
from tfx.dsl.io import fileio
from tfx.types import artifact_utils
from tfx.utils import path_utils

from components.base import say
from components.records import split_files
from components.trainer import checkpoints, devices, learning, models
from components.trainer.bottleneck import measure
from components.trainer.config import ModelConfig, TrainConfig
from components.trainer.export import export
from components.trainer.feed import evaluation, feed
from components.trainer.fitting import Fitted, fit
from components.transform.plan import FeaturePlan


class Executor(base_executor.BaseExecutor):
    """Writes Format-Serving/ in the model artifact; TensorBoard's logs and epochs.csv in the model run."""

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        examples = artifact_utils.get_single_instance(input_dict["examples"])
        graph = artifact_utils.get_single_instance(input_dict["transform_graph"])
        model_artifact = artifact_utils.get_single_instance(output_dict["model"])
        run = artifact_utils.get_single_instance(output_dict["model_run"])
        sections = json.loads(exec_properties["config"])
        model_config = ModelConfig.model_validate(sections["model"])
        train = TrainConfig.model_validate(sections["train"])
        plan = FeaturePlan.load(graph.uri)
        build = models.builder(model_config, exec_properties["user_code"])

        keras.utils.set_random_seed(train.seed)
        precision = devices.precision(train.precision)
        keras.config.set_dtype_policy(precision)
        strategy = devices.strategy(train.strategy)
        with tempfile.TemporaryDirectory(dir=self._local_folder(), ignore_cleanup_errors=True) as scratch:
            fed = feed(split_files(examples, "train"), plan, train, Path(scratch))
            watched = evaluation(split_files(examples, "eval"), plan, train, Path(scratch))
            with strategy.scope():
                model = build(plan, model_config)
                model.compile(
                    learning.optimizer(train, fed.steps * train.epochs),
                    learning.loss(plan, soft_labels=fed.soft_labels),
                    **learning.compiled_metrics(plan, soft_labels=fed.soft_labels),
                    steps_per_execution=fed.steps_at_once,
                )
            place = (
                checkpoints.place(self._context, input_dict, exec_properties) if train.checkpoint else None
            )
            fitted = fit(model, fed, watched, plan, train, run.uri, place)
            served = _in_float32(model, build, plan, model_config, precision)
            sides = measure(model, fed, rows_a_second=fitted.rows_a_second, seconds=fitted.seconds)

        folder = path_utils.serving_model_dir(model_artifact.uri)
        fileio.makedirs(folder)
        transform = tft.TFTransformOutput(graph.uri)
        export(
            served,
            plan,
            transform,
            exec_properties["name"],
            folder,
        )
        say(
            model_artifact,
            _account(fitted, model, train, strategy, precision) + (f"; {sides}" if sides else ""),
        )
        if place:
            checkpoints.remove(place)

    def _local_folder(self) -> str | None:
        """Where TFX wants what is temporary; None, the system's own place, where that is no local folder."""
        folder = self._get_tmp_dir()
        return folder if os.path.isdir(folder) else None


def _in_float32(
    model: keras.Model, build: Any, plan: FeaturePlan, config: ModelConfig, precision: str
) -> keras.Model:
    """The same weights in float32 and outside any strategy: how it was trained does not show in serving."""
    keras.config.set_dtype_policy("float32")
    served = build(plan, config)
    served.set_weights(model.get_weights())
    return served


def _account(
    fitted: Fitted,
    model: keras.Model,
    train: TrainConfig,
    strategy: tf.distribute.Strategy,
    precision: str,
) -> str:
    history = fitted.history
    epochs = len(history["loss"])
    best = epochs - 1
    if train.keep == "best":
        best = min(range(epochs), key=history["val_loss"].__getitem__)
    measured = ", ".join(
        f"{name.removeprefix('val_')} {values[best]:.4f}"
        for name, values in history.items()
        if name.startswith("val_")
    )
    stopped = (
        f"stopped after {epochs} of {train.epochs} epochs" if epochs < train.epochs else f"{epochs} epochs"
    )
    resumed = f", the first {fitted.resumed} before an interruption" if fitted.resumed else ""
    replicas = strategy.num_replicas_in_sync
    return (
        f"{model.name}, {model.count_params():,} parameters, {stopped}{resumed}; eval {measured} "
        f"(epoch {best + 1}); {fitted.rows_a_second:,.0f} rows/s, {precision} on {replicas} "
        f"device{'s' if replicas > 1 else ''}"
    )
